import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RETRY_TASK } from '../../../src/engage/campaigns/retry-failed.ts';
import { openForUpgrade, type Upgraded } from '../../engines/upgrade.ts';

const UPGRADE = 14;
const [FIRST_ID, LAST_ID] = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];
const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

let upgraded: Upgraded;
beforeAll(async () => {
  upgraded = await openForUpgrade('before_ranges');
});
afterAll(() => upgraded?.close());

it('ranges that wait in the tables of campaigns and journeys go on as member ranges, and retries as jobs', async () => {
  const { sql, migrate } = upgraded;
  const [tenant_id, project_id, campaign, journey] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await migrate((version) => version < UPGRADE);
  await sql`
    insert into campaign_batches (tenant_id, project_id, campaign_id, from_player_id, until_player_id) values
      (${tenant_id}, ${project_id}, ${campaign}, ${id(1)}, ${id(3)}), (${tenant_id}, ${project_id}, ${campaign}, ${id(3)}, null)`;
  const before = new Date('2026-11-01T00:00:00Z');
  await sql`
    insert into journey_batches (tenant_id, project_id, journey_id, version, occasion, from_player_id, to_player_id,
      members_before) values
      (${tenant_id}, ${project_id}, ${journey}, 1, 'a', ${FIRST_ID}, ${id(2)}, ${before}),
      (${tenant_id}, ${project_id}, ${journey}, 1, 'a', ${id(5)}, ${LAST_ID}, ${before}),
      (${tenant_id}, ${project_id}, ${journey}, 1, 'b', ${id(4)}, ${LAST_ID}, null)`;
  await sql.begin(async (tx) => {
    // Without the rows that the campaign refers to.
    await tx`set local session_replication_role = replica`;
    await tx`
      insert into campaigns (tenant_id, project_id, campaign_id, name, type, channel, status, created_at, updated_at,
        retry_failed_until)
      values (${tenant_id}, ${project_id}, ${campaign}, 'c', 'broadcast', 'email', 'sending', now(), now(), now())`;
  });
  await migrate((version) => version === UPGRADE);
  const rows = await sql`
    select work, owner_id, occasion, from_player_id, until_player_id, members_before from member_ranges
    order by work, occasion, from_player_id`;
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['campaign', campaign, '', id(1), id(3), null],
    ['campaign', campaign, '', id(3), null, null],
    ['journey', journey, 'a', FIRST_ID, id(5), before],
    ['journey', journey, 'a', id(5), null, before],
    ['journey', journey, 'b', id(4), null, null],
  ]);
  const jobs = await sql`
    select t.identifier, j.payload from graphile_worker._private_jobs j
    join graphile_worker._private_tasks t on t.id = j.task_id`;
  expect(jobs).toEqual([
    { identifier: RETRY_TASK, payload: { tenant_id, project_id, campaign_id: campaign } },
  ]);
});
