import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CAMPAIGN_RANGES, FanOut } from '../../../src/engage/campaigns/fan-out.ts';
import { deleteRanges, takeRange, type RangeOwner } from '../../../src/engage/member-ranges/range-queries.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db, Tx } from '../../../src/platform/postgres/port.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

let postgres: Awaited<ReturnType<typeof openTestPostgres>>;
let sql: ReturnType<typeof connectPool>;
beforeAll(async () => {
  postgres = await openTestPostgres({ prepared: true });
  sql = connectPool(postgres.url);
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await postgres?.close();
});

/** Before every campaign. */
const FIRST = '00000000-0000-0000-0000-000000000000';

it('one range is taken at a time, whichever join the planner chooses', async () => {
  const ref = { tenant_id: randomUUID(), project_id: randomUUID(), owner_id: randomUUID() };
  const player_ids = Array.from({ length: 20 }, () => randomUUID()).sort();
  // The table's statistics are stale, as after many finished campaigns: the planner expects almost no rows.
  await sql`
    insert into member_ranges (work, tenant_id, project_id, owner_id, occasion, from_player_id)
    select 'campaign', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '', gen_random_uuid() from generate_series(1, 5000)`;
  await sql`analyze member_ranges`;
  await sql`delete from member_ranges`;
  for (const from of player_ids) {
    await sql`
      insert into member_ranges (work, tenant_id, project_id, owner_id, occasion, from_player_id)
      values ('campaign', ${ref.tenant_id}, ${ref.project_id}, ${ref.owner_id}, '', ${from})`;
  }
  const left = async () => (await sql`select from member_ranges`).length;
  for (const [n, way] of ['hashjoin', 'mergejoin', 'nestloop', 'nestloop'].entries()) {
    const taken = await sql.begin(async (tx) => {
      // Runs as the API's role, whose row-level policy makes the planner expect few rows.
      await tx`select set_config('app.tenant_id', ${ref.tenant_id}, true), set_config('role', 'engagement_api', true)`;
      for (const other of ['hashjoin', 'mergejoin', 'nestloop', 'material', 'seqscan']) {
        if (other !== way) await tx`select set_config(${`enable_${other}`}, 'off', true)`;
      }
      return takeRange(tx, CAMPAIGN_RANGES, n === 2 ? undefined : FIRST, []);
    });
    expect(taken).toMatchObject({ ...ref, from_player_id: player_ids[n] });
    expect(await left()).toBe(player_ids.length - n - 1);
  }
  await sql.begin((tx) => deleteRanges(tx, ref));
  expect(await left()).toBe(0);
  expect(await sql.begin((tx) => takeRange(tx, CAMPAIGN_RANGES, undefined, []))).toBeUndefined();
});

async function insertBatches(ref: RangeOwner, many: number): Promise<void> {
  for (let n = 0; n < many; n++) {
    await sql`
      insert into member_ranges (work, tenant_id, project_id, owner_id, occasion, from_player_id)
      values ('campaign', ${ref.tenant_id}, ${ref.project_id}, ${ref.owner_id}, '', ${randomUUID()})`;
  }
}
const newRefs = (many: number) =>
  Array.from({ length: many }, () => ({
    tenant_id: randomUUID(),
    project_id: randomUUID(),
    owner_id: randomUUID(),
  })).sort((a, b) => (a.owner_id < b.owner_id ? -1 : 1));

it('campaigns take turns, one range each, except those in back-off', async () => {
  const refs = newRefs(3);
  for (const ref of refs) await insertBatches(ref, 3);
  const [first, second, third] = refs.map(({ owner_id }) => owner_id);
  const taken: (string | undefined)[] = [];
  let last: string | undefined;
  for (let n = 0; n < 8; n++) {
    const but_of = n < 5 ? [second ?? ''] : [];
    last = (await sql.begin((tx) => takeRange(tx, CAMPAIGN_RANGES, last, but_of)))?.owner_id;
    taken.push(last);
  }
  expect(taken).toEqual([first, third, first, third, first, second, third, second]);
  await sql`delete from member_ranges`;
});

it('a campaign whose ranges fail delays no other campaign, and keeps its ranges', async () => {
  const refs = newRefs(3);
  for (const ref of refs) await insertBatches(ref, 2);
  const failing_id = refs[0]?.owner_id;
  const asked: unknown[] = [];
  const failingFor = (tx: Tx) =>
    new Proxy(tx, {
      apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
        const id = args.find((arg) => arg === failing_id);
        if (id !== undefined && String(args[0]).includes('campaign_id =')) {
          asked.push(id);
          throw new Error('a row of it cannot be written');
        }
        return Reflect.apply(target as unknown as (...given: unknown[]) => unknown, self, args);
      },
    });
  const service = {
    begin: (work: (tx: Tx) => Promise<unknown>) => sql.begin((tx) => work(failingFor(tx))),
  } as unknown as Db;
  const warnings: unknown[] = [];
  const logger = { warn: (fields: unknown) => warnings.push(fields) };
  const fanOut = new FanOut({ postgres: { service }, clock: systemClock, logger } as never);
  let turns = 0;
  while (await fanOut.turn()) turns += 1;
  // The campaigns do not exist, so the first turn of each removes all its ranges. The failing one is tried once.
  expect(turns).toBe(3);
  expect(asked).toEqual([failing_id]);
  expect(warnings).toMatchObject([{ campaign_id: failing_id }]);
  const left = await sql<{ owner_id: string }[]>`select owner_id from member_ranges`;
  expect(left.map(({ owner_id }) => owner_id)).toEqual([failing_id, failing_id]);
});
