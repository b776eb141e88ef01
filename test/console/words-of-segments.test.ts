import { expect, it } from 'vitest';
import { journeys } from '../../console/src/messages/en/journeys.ts';
import { segments } from '../../console/src/messages/en/segments.ts';
import { OPERATORS as WITH_CONTROLS } from '../../console/src/screens/journeys/clauses.ts';
import { AGGREGATES } from '../../src/segments/language/conditions.ts';
import { OPERATORS } from '../../src/segments/language/operators.ts';

// The console must not use the source of the service, so this compares what both know of the language of segments.

it('every operator and every aggregate has words in the console, and no other', () => {
  expect(Object.keys(segments.words.operators).toSorted()).toEqual(OPERATORS.toSorted());
  expect(Object.keys(journeys.says.comparisons).toSorted()).toEqual(OPERATORS.toSorted());
  expect(Object.keys(segments.words.aggregates).toSorted()).toEqual(AGGREGATES.toSorted());
});

it('the form of filters has a control for every operator but those of ranges and of times', () => {
  const without = ['between', 'before', 'after', 'within_last', 'not_within_last'];
  expect([...Object.keys(WITH_CONTROLS), ...without].toSorted()).toEqual(OPERATORS.toSorted());
});
