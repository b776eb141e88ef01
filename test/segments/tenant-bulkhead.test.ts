import { afterAll, beforeAll, expect, it } from 'vitest';
import { lockMembership } from '../../src/segments/lock-queries.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { TenantBulkhead } from '../../src/segments/tenant-bulkhead.ts';
import { refreshJob, runRefreshJob } from '../../src/segments/refresh-job.ts';
import { until } from '../engines/until.ts';
import type { Answer } from '../engines/http-client.ts';
import { openSegmentFixture, type SegmentFixture } from './segment-fixture.ts';

let fixture: SegmentFixture;
beforeAll(async () => {
  fixture = await openSegmentFixture();
});
afterAll(() => fixture?.service.close());

it('requests of one tenant that wait for a refresh stop neither other tenants nor jobs', async () => {
  const { service, api, make, person } = fixture;
  const { platform } = service;
  const other = await service.newTenant();
  const manual = { refresh_strategy: 'manual' };
  const [mine, also_mine] = [await make(undefined, manual), await make(undefined, manual)];
  const theirs = await make(undefined, manual, other);
  const [player, their_player] = [await person(), await person({}, { external_id: 'other' }, other)];
  const { tenant_id, project_id } = service;
  const requests: Promise<Answer>[] = [];
  await platform.postgres.patientSession(async (session) => {
    // As a refresh of these segments that takes long.
    for (const segment_id of [mine, also_mine])
      await lockMembership(session, { tenant_id, project_id, segment_id });
    for (let i = 0; i < 6; i++) {
      for (const path of [`/v1/segments/${mine}/refresh`, `/v1/players/${player}/refresh-segments`]) {
        requests.push(api('POST', path));
      }
    }
    await until(async (saw) => saw(await waitingSessions(platform.postgres.service)) === 2);
    expect((await api('POST', `/v1/segments/${theirs}/refresh`, undefined, other)).status).toBe(200);
    const path = `/v1/players/${their_player}/refresh-segments`;
    expect((await api('POST', path, undefined, other)).status).toBe(200);
    const ref = { tenant_id: other.tenant_id, project_id: other.project_id, segment_id: theirs };
    await runRefreshJob(platform, refreshJob(ref).payload);
  });
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  expect(statuses).toEqual(requests.map(() => 200));
});

it('of one tenant two requests run, fifty wait, and further ones are refused', async () => {
  const turns = new TenantBulkhead();
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let [running, most] = [0, 0];
  const request = (tenant_id: string) =>
    turns.run(tenant_id, async () => {
      most = Math.max(most, ++running);
      await opened;
      running -= 1;
    });
  const first = Array.from({ length: 52 }, () => request('one'));
  await expect(request('one')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  const other = request('two');
  expect([running, most]).toEqual([3, 3]);
  open();
  await Promise.all([...first, other]);
  expect([running, most]).toEqual([0, 3]);
  await request('one');
});

/** How many requests wait for the lock of a segment. */
async function waitingSessions(sql: Tx): Promise<number> {
  const [row] = await sql<{ waiting: number }[]>`
    select count(*)::integer as waiting from pg_locks
    where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
  return row?.waiting ?? 0;
}
