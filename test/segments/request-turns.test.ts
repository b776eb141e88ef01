import { afterAll, beforeAll, expect, it } from 'vitest';
import { lockMembership } from '../../src/segments/lock-queries.ts';
import { refreshJob, runRefreshJob } from '../../src/segments/refresh-job.ts';
import { until } from '../engines/until.ts';
import { openSegmentFixture, type Outcome, type SegmentFixture } from './segment-fixture.ts';

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
  const requests: Promise<Outcome>[] = [];
  const refused: Outcome[] = [];
  await platform.postgres.longSession(async (session) => {
    // As a refresh of these segments that takes long.
    for (const segment_id of [mine, also_mine])
      await lockMembership(session, { tenant_id, project_id, segment_id });
    for (let i = 0; i < 6; i++) {
      for (const path of [`/v1/segments/${mine}/refresh`, `/v1/players/${player}/refresh-segments`]) {
        const request = api('POST', path);
        requests.push(request);
        void request.then((outcome) => outcome.status === 503 && refused.push(outcome));
      }
    }
    await until(() => refused.length === requests.length - 2);
    expect(refused[0]).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      text: expect.stringContaining('try again'),
    });
    expect((await api('POST', `/v1/segments/${theirs}/refresh`, undefined, other)).status).toBe(200);
    const path = `/v1/players/${their_player}/refresh-segments`;
    expect((await api('POST', path, undefined, other)).status).toBe(200);
    const ref = { tenant_id: other.tenant_id, project_id: other.project_id, segment_id: theirs };
    await runRefreshJob(platform, refreshJob(ref).payload);
  });
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(2);
  // Their turns have ended.
  expect((await api('POST', `/v1/segments/${mine}/refresh`)).status).toBe(200);
});
