import { expect, it } from 'vitest';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { compileMembers } from '../../src/segments/sql/compile.ts';
import { medianCost } from '../cost.ts';
import { CAMPAIGN_EXAMPLES } from './examples.ts';

const COMPILE_P99_MS = 1;

it('99 of 100 definitions are compiled within a millisecond', () => {
  const definitions = CAMPAIGN_EXAMPLES.map(({ definition }) => readDefinition(definition));
  const times = Array.from({ length: 20 }, () => definitions).flat();
  for (const definition of times) compileMembers(definition);
  const costs = times.map((definition) => medianCost(() => compileMembers(definition), COMPILE_P99_MS));
  const sorted = costs.toSorted((a, b) => a - b);
  expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThanOrEqual(COMPILE_P99_MS);
});
