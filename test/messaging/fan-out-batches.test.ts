import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deleteBatches, takeFirstBatch, takeNextBatch } from '../../src/campaigns/fan-out-queries.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import { openTestPostgres } from '../engines/wiring.ts';

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

it('one range is taken at a time, whichever way the planner joins', async () => {
  const ref = { tenant_id: randomUUID(), project_id: randomUUID(), campaign_id: randomUUID() };
  const player_ids = Array.from({ length: 20 }, () => randomUUID()).sort();
  // As after many campaigns that have come and gone: one would expect to find next to nothing.
  await sql`
    insert into campaign_batches (tenant_id, project_id, campaign_id, from_player_id)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid() from generate_series(1, 5000)`;
  await sql`analyze campaign_batches`;
  await sql`delete from campaign_batches`;
  for (const from of player_ids) {
    await sql`
      insert into campaign_batches (tenant_id, project_id, campaign_id, from_player_id)
      values (${ref.tenant_id}, ${ref.project_id}, ${ref.campaign_id}, ${from})`;
  }
  const left = async () => (await sql`select from campaign_batches`).length;
  for (const [n, way] of ['hashjoin', 'mergejoin', 'nestloop', 'nestloop'].entries()) {
    const taken = await sql.begin(async (tx) => {
      // As the API's role, whose policy makes every row look rare.
      await tx`select set_config('app.tenant_id', ${ref.tenant_id}, true), set_config('role', 'engagement_api', true)`;
      for (const other of ['hashjoin', 'mergejoin', 'nestloop', 'material', 'seqscan']) {
        if (other !== way) await tx`select set_config(${`enable_${other}`}, 'off', true)`;
      }
      return n === 2 ? takeNextBatch(tx, undefined, []) : takeFirstBatch(tx, ref);
    });
    expect(taken).toMatchObject({ ...ref, from_player_id: player_ids[n] });
    expect(await left()).toBe(player_ids.length - n - 1);
  }
  await sql.begin((tx) => deleteBatches(tx, ref));
  expect(await left()).toBe(0);
  expect(await sql.begin((tx) => takeNextBatch(tx, undefined, []))).toBeUndefined();
});
