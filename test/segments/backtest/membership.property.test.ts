import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { referredDefinitions } from '../../../src/segments/backtest/backtest.ts';
import { readDefinition } from '../../../src/segments/language/definition.ts';
import { refreshSegment } from '../../../src/segments/refresh.ts';
import { compileMembersAsOf } from '../../../src/segments/sql/compile.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { runs, SEED } from '../../engines/effort.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { definitionOver, NOW_MS } from '../arbitraries.ts';
import type { WrittenGroup } from '../naive.ts';
import { segmentClient, type SegmentClient } from '../segment-client.ts';
import { playerOfTwoTimes, storeAt } from './two-times.ts';

// What was a member at a time is what the backtest says of that time, once other events have come, some of them late.

const DEFINITIONS = runs(100, { nightly: 1_000, nightly_on_servers: 100 });
const PLAYERS = 60;

let service: TestService;
let client: SegmentClient;
let platform: Platform;
let project: { tenant_id: string; project_id: string };
beforeAll(async () => {
  service = await sharedService();
  client = segmentClient(service);
  project = { tenant_id: service.tenant_id, project_id: service.project_id };
  platform = { ...service.platform, clock: { ...service.platform.clock, now_ms: () => NOW_MS } };
});
afterAll(() => service?.close());

async function storedMembers(segment_id: string): Promise<string[]> {
  const rows = await platform.postgres.service<{ player_id: string }[]>`
    select player_id from segment_members where tenant_id = ${project.tenant_id} and segment_id = ${segment_id}
    order by player_id`;
  return rows.map(({ player_id }) => player_id);
}

async function membersAsOf(written: WrittenGroup): Promise<string[]> {
  const definition = readDefinition(written);
  const inlined = await referredDefinitions(platform.postgres, project, definition);
  const { sql, params } = compileMembersAsOf(definition, inlined);
  const rows = await platform.clickhouse.query<{ player_id: string }>(sql, {
    ...params,
    ...project,
    now_ms: NOW_MS,
  });
  return rows.map(({ player_id }) => player_id).sort();
}

/** Conditions on each total, so that each has its share of the definitions. */
const onTotals: fc.Arbitrary<WrittenGroup> = fc
  .array(
    fc.record({
      type: fc.constant('trait' as const),
      field: fc.constantFrom(
        'total_deposited',
        'total_withdrawn',
        'total_wagered',
        'total_won',
        'total_bonus_wagered',
        'total_bonus_won',
        'total_credited',
        'total_debited',
        'ggr',
        'ngr',
        'session_count',
      ),
      op: fc.constantFrom('gt', 'lte', 'eq', 'neq'),
      value: fc.constantFrom(0, 1, 2, 250, 500, 750, 1_000),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((conditions) => ({ operator: 'AND', conditions }));

it(
  'membership that was stored at a time is what the backtest says of it',
  async () => {
    const players = fc.sample(playerOfTwoTimes, { numRuns: PLAYERS, seed: SEED });
    const { clickhouse, postgres } = platform;
    await storeAt(clickhouse, project, players, 'now');
    await postgres.service`
      insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
      select ${project.tenant_id}, ${project.project_id}, r::uuid, 'EUR', now(), now()
      from unnest(${`{${players.map(({ player_id }) => player_id).join(',')}}`}::text::text[]) as r`;
    const make = (written: WrittenGroup) => client.make([written as never], { refresh_strategy: 'manual' });
    const base = fc.sample(onTotals, { numRuns: 2, seed: SEED });
    const referred = await Promise.all(base.map(make));
    const drawn = fc.sample(fc.oneof({ weight: 3, arbitrary: definitionOver(referred, []) }, onTotals), {
      numRuns: DEFINITIONS,
      seed: SEED,
    });
    const stored = new Map<WrittenGroup, string[]>();
    for (const written of drawn) {
      const segment_id = await make(written);
      await refreshSegment(platform, { ...project, segment_id });
      stored.set(written, await storedMembers(segment_id));
    }
    await storeAt(clickhouse, project, players, 'later');
    let differ_now = 0;
    for (const [written, members] of stored) {
      expect(await membersAsOf(written), JSON.stringify(written)).toEqual(members);
      const { sql, params } = compileMembersAsOf(readDefinition(written), new Map());
      const now = { ...params, ...project, now_ms: NOW_MS + 100 * 86_400_000 };
      const rows = await clickhouse.query<{ player_id: string }>(sql, now);
      if (JSON.stringify(rows.map(({ player_id }) => player_id).sort()) !== JSON.stringify(members))
        differ_now++;
    }
    // The later events do change who is a member: otherwise the test would show nothing.
    expect(differ_now).toBeGreaterThan(DEFINITIONS / 4);
  },
  600_000 + DEFINITIONS * 3_000,
);
