import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiError } from '../../../src/errors.ts';
import type { InsightScope } from '../../../src/analytics/insights/kind.ts';
import { kindOf, queryBody, readCell } from '../../../src/analytics/insights/kinds.ts';
import { stepsOf } from '../../../src/analytics/insights/range.ts';
import { liveDefinition } from '../../../src/analytics/insights/saving/live.ts';
import { compileFilter } from '../../../src/analytics/insights/sql/filter.ts';
import type { InsightQuery } from '../../../src/analytics/insights/schema.ts';
import { migrateClickHouse } from '../../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../../src/platform/clickhouse/port.ts';
import { exactJson } from '../../../src/platform/exact-json.ts';
import { TimeZone } from '../../../src/platform/time-zone.ts';
import { readDefinition } from '../../../src/segments/language/definition.ts';
import { compileMembers } from '../../../src/segments/sql/compile.ts';
import { runs, SEED } from '../../engines/effort.ts';
import { openTestClickHouse } from '../../engines/wiring.ts';
import { definitionOver, KEYS, NOW_MS, player } from '../../segments/arbitraries.ts';
import { storePopulation } from '../../segments/population.ts';

// The number of a figure, the list of its players and the segment that is saved of them are the same people.

const CELLS = runs(200, { nightly: 5_000 });
const PLAYERS = 150;
const SEGMENTS = [randomUUID(), randomUUID()];
const project = { tenant_id: randomUUID(), project_id: randomUUID() };

let clickhouse: ClickHouse;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-cells-'));
  clickhouse = await openTestClickHouse(dir);
  await migrateClickHouse(clickhouse);
  const drawn = fc.sample(fc.tuple(player, fc.subarray(SEGMENTS)), { numRuns: PLAYERS, seed: SEED });
  await storePopulation(
    clickhouse,
    project,
    drawn.map(([one, segments]) => ({ ...one, segment_ids: new Set(segments) })),
  );
});
afterAll(async () => {
  await clickhouse?.close();
  await rm(dir, { recursive: true, force: true });
});

const EVENTS = ['deposit_confirmed', 'bet_placed', 'login', 'custom_spin'];
const METRICS = [
  'deposits',
  'withdrawals',
  'deposit_count',
  'depositors',
  'bettors',
  'active_players',
  'signups',
  'new_players',
  'first_deposits',
];
const where = fc.array(
  fc.record({ property: fc.constantFrom(...KEYS), op: fc.constantFrom('exists', 'not_exists') }),
  { maxLength: 2 },
);
const series = fc.oneof(
  fc.constantFrom(...METRICS).map((metric) => ({ metric })),
  fc.record({
    event: fc.constantFrom(...EVENTS),
    aggregate: fc.constantFrom('count', 'players'),
    where,
  }),
  fc.record({
    event: fc.constantFrom(...EVENTS),
    aggregate: fc.constant('sum'),
    property: fc.constantFrom('amount', 'points'),
    where,
  }),
);
const filter = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom(...SEGMENTS).map((segment_id) => ({ segment_id })),
  definitionOver(SEGMENTS).map((definition) => ({ definition })),
);
const breakdown = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom('tier', 'currency', 'kyc_status', 'player_status').map((by) => ({ by, top: 2 })),
);
const asked = fc.record({
  series,
  filter,
  breakdown,
  interval: fc.constantFrom('day', 'week'),
  is_of_interval: fc.boolean(),
  place: fc.nat(),
});

function scopeOf(query: InsightQuery): InsightScope {
  const zone = TimeZone.named('Europe/Malta');
  if (zone === undefined) throw new Error('the zone is known');
  const { segment_id, definition, where: clauses } = query.filter ?? {};
  return {
    project,
    now_ms: NOW_MS,
    zone,
    reporting: { zone, deductions: [], bonus_cost: 'feed' },
    steps: stepsOf(query, NOW_MS, zone),
    compared: undefined,
    are_first_deposits_known: true,
    filter: compileFilter({
      segment_id,
      definition: definition === undefined ? undefined : readDefinition(definition),
      where: clauses,
    }),
  };
}

const answer = (sql: string, params: object) =>
  clickhouse.query<Record<string, string>>(sql, { ...params, ...project, now_ms: NOW_MS });

it(
  'a figure, the list of its players and the segment that is saved of them agree',
  async () => {
    let said = 0;
    const property = fc.asyncProperty(asked, async ({ place, is_of_interval, ...rest }) => {
      const query = queryBody.parse({
        kind: 'trend',
        range: { from: '2026-05-06T00:00:00Z', to: '2026-05-15T23:00:00Z' },
        interval: rest.interval,
        series: [rest.series],
        ...(rest.filter === undefined ? {} : { filter: rest.filter }),
        ...(rest.breakdown === undefined ? {} : { breakdown: rest.breakdown }),
      });
      const scope = scopeOf(query);
      const kind = kindOf(query);
      const plan = kind.plan(query, scope);
      const rows = [];
      for (const { sql, params } of plan.statements) rows.push(await answer(sql, params));
      const figures = plan.read(rows);
      // A cell: an interval or the whole range; one of the groups, or the rest of them.
      const shown = figures.rows.length > 0 && is_of_interval ? figures.rows : figures.totals;
      const row = shown[place % Math.max(1, shown.length)];
      if (row === undefined) return;
      const at = row[0];
      const group = query.kind === 'trend' && query.breakdown !== undefined ? row[2] : null;
      const cell = readCell(query, {
        ...(typeof at === 'string' ? { at } : {}),
        ...(typeof group === 'string' ? { group } : {}),
      });
      const statement = kind.players(query, scope, cell);
      const listed = await answer(
        `select toString(player_id) as id, value from (${statement.sql}) order by id`,
        statement.params,
      );
      const column = rest.breakdown === undefined ? 2 : 3;
      const total = listed.reduce((sum, { value }) => sum + Number(value), 0);
      expect(total, JSON.stringify({ query, cell })).toBeCloseTo(Number(exactJson(row[column] ?? 0)), 6);
      let definition;
      try {
        definition = liveDefinition(query, scope, cell);
      } catch (error) {
        // Deep definitions within a filter cannot be said.
        expect((error as ApiError).code).toBe('INSIGHT_NOT_A_SEGMENT');
        expect((error as ApiError).details).toEqual({ path: 'query.filter' });
        return;
      }
      said++;
      const members = compileMembers(readDefinition(definition));
      const found = await answer(
        `select toString(player_id) as id from (${members.sql}) order by id`,
        members.params,
      );
      expect(
        found.map(({ id }) => id),
        JSON.stringify({ query, cell, definition }),
      ).toEqual(listed.map(({ id }) => id));
    });
    await fc.assert(property, { numRuns: CELLS, seed: SEED });
    expect(said).toBeGreaterThan(CELLS / 2);
  },
  120_000 + CELLS * 200,
);
