import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { conditionPaths } from '../../src/segments/language/conditions.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { compileConditions, compileMembers } from '../../src/segments/sql/compile.ts';
import { compileMatrix } from '../../src/segments/sql/matrix.ts';
import { openTestClickHouse } from '../engines/wiring.ts';
import { migrateClickHouse } from '../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import { runs, SEED } from '../engines/effort.ts';
import { definitionOver, NOW_MS, player } from './arbitraries.ts';
import { matches, type NaivePlayer, type WrittenGroup } from './naive.ts';
import { storePopulation } from './population.ts';

/** Number of pairs of a definition and a population. One statement checks a definition on every population. */
const RUNS = runs(1_000, { nightly: 20_000 });
const POPULATIONS = 4;
const PLAYERS = 40;
/** Number of definitions in one statement. */
const AT_ONCE = 20;
/** Of these, the definitions whose conditions are counted one by one. */
const COUNTED = 4;
const SEGMENTS = [randomUUID(), randomUUID()];

let clickhouse: ClickHouse;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-segments-'));
  clickhouse = await openTestClickHouse(dir);
  await migrateClickHouse(clickhouse);
});
afterAll(async () => {
  await clickhouse?.close();
  await rm(dir, { recursive: true, force: true });
});

function newPopulation(seed: number): NaivePlayer[] {
  const drawn = fc.sample(fc.tuple(player, fc.subarray(SEGMENTS)), { numRuns: PLAYERS, seed });
  return drawn.map(([one, segments]) => ({ ...one, segment_ids: new Set(segments) }));
}

/** The condition at a path like `definition.conditions.0`, as it was written. */
function writtenAt(definition: WrittenGroup, path: string): WrittenGroup['conditions'][number] {
  const keys = path.split('.').slice(1);
  return keys.reduce<unknown>(
    (node, key) => (node as Record<string, unknown>)[key],
    definition,
  ) as WrittenGroup['conditions'][number];
}

it(
  'the compiled SQL of random definitions agrees with a direct evaluation',
  async () => {
    const players = Array.from({ length: POPULATIONS }, (_, n) => newPopulation(SEED + n)).flat();
    const project = { tenant_id: randomUUID(), project_id: randomUUID() };
    await storePopulation(clickhouse, project, players);
    const params = { ...project, now_ms: NOW_MS };
    const of_players = { players: players.map(({ player_id }) => player_id), former: [] };
    const expected = (written: WrittenGroup) =>
      players
        .filter((one) => matches(written, one, NOW_MS))
        .map(({ player_id }) => player_id)
        .sort();
    const definitions = fc.array(definitionOver(SEGMENTS), {
      minLength: AT_ONCE,
      maxLength: AT_ONCE,
    });
    const property = fc.asyncProperty(definitions, async (written) => {
      const read = written.map(readDefinition);
      for (const [i, definition] of read.entries()) {
        const query = compileMembers(definition);
        const rows = await clickhouse.query<{ player_id: string }>(query.sql, { ...query.params, ...params });
        const members = rows.map(({ player_id }) => player_id).sort();
        expect(members, JSON.stringify(written[i])).toEqual(expected(written[i] as WrittenGroup));
      }
      for (const [i, definition] of read.slice(0, COUNTED).entries()) {
        const counted = compileConditions(definition);
        const rows = await clickhouse.query<Record<string, unknown>>(counted.sql, {
          ...counted.params,
          ...params,
        });
        const whole = written[i] as WrittenGroup;
        const members = (column: string) =>
          rows
            .filter((row) => Number(row[column]) === 1)
            .map((row) => String(row['player_id']))
            .sort();
        expect(members('matches'), JSON.stringify(whole)).toEqual(expected(whole));
        for (const [n, [path]] of [...conditionPaths(definition)].entries()) {
          const alone: WrittenGroup = { operator: 'AND', conditions: [writtenAt(whole, path)] };
          expect(members(counted.columns[n] ?? ''), JSON.stringify(alone)).toEqual(expected(alone));
        }
      }
      const matrix = compileMatrix(read, NOW_MS);
      const rows = await clickhouse.query<Record<string, unknown>>(matrix.sql, {
        ...matrix.params,
        ...params,
        ...of_players,
      });
      for (const [i, one] of written.entries()) {
        const members = rows.filter((row) => matrix.verdicts(row)[i]).map((row) => String(row['player_id']));
        expect(members.sort(), JSON.stringify(one)).toEqual(expected(one));
      }
    });
    await fc.assert(property, { numRuns: Math.ceil(RUNS / POPULATIONS / AT_ONCE) });
  },
  120_000 + RUNS * 20,
);
