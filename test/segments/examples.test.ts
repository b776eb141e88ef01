import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestClickHouse } from '../engines/wiring.ts';
import { migrateClickHouse } from '../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import {
  AGGREGATES,
  CONDITION_SCHEMAS,
  conditionsOf,
  type Condition,
} from '../../src/segments/language/conditions.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { OPERATORS } from '../../src/segments/language/operators.ts';
import { compileMembers, type CompiledQuery } from '../../src/segments/sql/compile.ts';
import { compileMatrix } from '../../src/segments/sql/matrix.ts';
import { expectGolden } from '../golden/golden.ts';
import { EXAMPLE_NOW, playerOf, type Example } from './example-shapes.ts';
import { CAMPAIGN_EXAMPLES, LANGUAGE_EXAMPLES } from './examples.ts';
import { matches } from './naive.ts';
import { storePopulation } from './population.ts';

const EXAMPLES = [...LANGUAGE_EXAMPLES, ...CAMPAIGN_EXAMPLES];
const NOW_MS = Date.parse(EXAMPLE_NOW);

let clickhouse: ClickHouse;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-examples-'));
  clickhouse = await openTestClickHouse(dir);
  await migrateClickHouse(clickhouse);
});
afterAll(async () => {
  await clickhouse?.close();
  await rm(dir, { recursive: true, force: true });
});

describe('the SQL in the golden files', () => {
  it.each([
    ['language', LANGUAGE_EXAMPLES],
    ['campaigns', CAMPAIGN_EXAMPLES],
  ])('%s', async (name, examples) => {
    const parts = examples.map(({ title, definition }) =>
      shown(title, compileMembers(readDefinition(definition))),
    );
    await expectGolden(`test/golden/segments/${name}.golden.sql`, `${HEADER}\n\n${parts.join('\n\n')}\n`);
  });

  it('for several definitions and some players at once', async () => {
    const some = CAMPAIGN_EXAMPLES.slice(0, 3);
    const titles = some.map(({ title }) => title).join('\n-- ');
    const query = compileMatrix(
      some.map(({ definition }) => readDefinition(definition)),
      NOW_MS,
    );
    await expectGolden('test/golden/segments/matrix.golden.sql', `${HEADER}\n\n${shown(titles, query)}\n`);
  });
});

const HEADER = '-- What the examples compile to. Made by a test: UPDATE_GOLDEN=1 writes it anew.';

function shown(title: string, { sql, params }: CompiledQuery): string {
  const values = Object.entries(params).map(([name, value]) => `-- ${name} = ${JSON.stringify(value)}`);
  return [`-- ${title}`, sql, ...values].join('\n');
}

describe('the players that an example names', () => {
  it.each(EXAMPLES.map((example) => [example.title, example] as const))('%s', async (_title, example) => {
    const { names, players } = playersOf(example);
    const project = { tenant_id: randomUUID(), project_id: randomUUID() };
    await storePopulation(clickhouse, project, players);
    const definition = readDefinition(example.definition);
    const namesOf = (rows: { player_id: string }[]) =>
      rows.map(({ player_id }) => names.get(player_id) ?? player_id).sort();
    const wanted = Object.keys(example.in).sort();

    const query = compileMembers(definition);
    const params = { ...project, now_ms: NOW_MS };
    const members = await clickhouse.query<{ player_id: string }>(query.sql, { ...query.params, ...params });
    expect(namesOf(members), 'members').toEqual(wanted);

    const matrix = compileMatrix([definition], NOW_MS);
    const rows = await clickhouse.query<{ player_id: string }>(matrix.sql, {
      ...matrix.params,
      ...params,
      players: players.map(({ player_id }) => player_id),
      former: [],
    });
    expect(namesOf(rows.filter((row) => matrix.verdicts(row)[0])), 'matrix').toEqual(wanted);
    expect(rows).toHaveLength(players.length);

    const word_by_word = players.filter((player) => matches(example.definition, player, NOW_MS));
    expect(namesOf(word_by_word), 'word by word').toEqual(wanted);
  });
});

function playersOf(example: Example) {
  const names = new Map<string, string>();
  const players = [...Object.entries(example.in), ...Object.entries(example.out)].map(([name, one]) => {
    const player = playerOf(one, randomUUID());
    names.set(player.player_id, name);
    return player;
  });
  return { names, players };
}

describe('the examples', () => {
  it('have unique titles, and players both in and out', () => {
    expect(new Set(EXAMPLES.map(({ title }) => title)).size).toBe(EXAMPLES.length);
    expect(CAMPAIGN_EXAMPLES).toHaveLength(30);
    for (const example of EXAMPLES) {
      expect(Object.keys(example.in), example.title).not.toEqual([]);
      expect(Object.keys(example.out), example.title).not.toEqual([]);
      expect(new Set([...Object.keys(example.in), ...Object.keys(example.out)]).size, example.title).toBe(
        Object.keys(example.in).length + Object.keys(example.out).length,
      );
    }
  });

  it('cover every type of condition, every operator and every aggregate', () => {
    const written = JSON.stringify(LANGUAGE_EXAMPLES.map(({ definition }) => definition));
    const conditions = LANGUAGE_EXAMPLES.flatMap(({ definition }) => [
      ...conditionsOf(readDefinition(definition)),
    ]);
    expect(new Set(conditions.map(({ type }) => type))).toEqual(new Set(Object.keys(CONDITION_SCHEMAS)));
    const aggregates = conditions.flatMap((one: Condition) => (one.type === 'event' ? [one.aggregate] : []));
    expect(new Set(aggregates)).toEqual(new Set(AGGREGATES));
    const aliased = written
      .replaceAll('"op":"="', '"op":"eq"')
      .replaceAll('"op":"!="', '"op":"neq"')
      .replaceAll('"op":">"', '"op":"gt"');
    for (const operator of OPERATORS) expect(aliased).toContain(`"op":"${operator}"`);
  });
});
