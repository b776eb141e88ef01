import { afterAll, beforeAll, expect, it } from 'vitest';
import { auditNothing } from '../../src/http/audit.ts';
import { createFrozenSegment } from '../../src/segments/change.ts';
import { fillFrozenSegment } from '../../src/segments/freeze.ts';
import { refreshJob } from '../../src/segments/refresh-job.ts';
import type { SegmentRef } from '../../src/segments/queries.ts';
import { call } from '../engines/http-client.ts';
import type { TestTenant } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import {
  expectRefused,
  group,
  openSegmentFixture,
  trait,
  within,
  type SegmentFixture,
} from './segment-fixture.ts';

let f: SegmentFixture;
beforeAll(async () => {
  f = await openSegmentFixture();
});
afterAll(() => f?.service.close());

const onList = (list_id: string) => ({ type: 'list', list_id });

/** A frozen segment that is still to be written. */
async function freeze(): Promise<SegmentRef> {
  const { tenant_id, project_id } = f.service;
  const { segment_id } = await createFrozenSegment(
    { ...f.service.platform, audit: auditNothing },
    { tenant_id, project_id },
    { name: 'a list', description: '' },
    refreshJob,
  );
  return { tenant_id, project_id, segment_id };
}

async function* pagesOf(...pages: string[][]) {
  yield* pages;
}

async function frozenOf(...pages: string[][]): Promise<string> {
  const ref = await freeze();
  const players = { total: pages.flat().length, pages: pagesOf(...pages) };
  await fillFrozenSegment(f.service.platform, ref, async () => players);
  return ref.segment_id;
}

const membersOf = async (id: string) => {
  const { data } = await f.api('GET', `/v1/segments/${id}/members?limit=100`);
  return (data as unknown as { player_id: string }[]).map((one) => one.player_id);
};

/** The size of a definition by ClickHouse. */
const sizeBy = async (definition: object) =>
  (await f.api('POST', '/v1/segments/preview', { definition })).data['estimated_size'];

it('a frozen segment keeps the players it was written with, in every form of the language', async () => {
  const people = await Promise.all([f.person({ vip: true }), f.person({ vip: false }), f.person()]);
  await f.caughtUp();
  const [first, second, other] = people;
  const id = await frozenOf([first], [second]);
  expect(await membersOf(id)).toEqual([first, second].toSorted());
  const { data } = await f.api('GET', `/v1/segments/${id}`);
  expect(data).toMatchObject({
    estimated_size: 2,
    last_error: null,
    refresh_progress: null,
    refresh_strategy: 'manual',
    definition: group(onList(id)),
  });
  expect(data['last_computed_at']).not.toBeNull();

  const vip = await f.make(group(onList(id), trait('custom_attributes.vip', 'eq', true)));
  const refreshed = await f.api('POST', `/v1/segments/${vip}/refresh`);
  expect(refreshed.data).toMatchObject({ matched: 1 });
  expect(await membersOf(vip)).toEqual([first]);
  expect(await sizeBy(group(onList(id)))).toBe(2);

  const explained = await f.api('GET', `/v1/segments/${id}/explain?player_id=${other}`);
  expect(explained.data).toMatchObject({ matches: false, is_member: false });

  // Neither a refresh nor an evaluation of a player changes it, whatever the copy in ClickHouse has.
  const { platform, tenant_id, project_id } = f.service;
  await platform.clickhouse.command(
    `delete from segment_members where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}`,
    { tenant_id, project_id },
  );
  const again = await f.api('POST', `/v1/segments/${id}/refresh`);
  expect(again.data).toMatchObject({ matched: 2, added: 0, removed: 0 });
  const evaluated = await f.api('POST', `/v1/players/${first}/refresh-segments`);
  expect(evaluated.status, evaluated.text).toBe(200);
  expect(await membersOf(id)).toEqual([first, second].toSorted());
});

it('who is on a list that is not written yet cannot be excluded, also through another segment', async () => {
  const ref = await freeze();
  const inside = await f.make(group(onList(ref.segment_id)));
  const create = async (condition: Parameters<typeof group>[0]) =>
    (await f.api('POST', '/v1/segments', { name: 'not them', definition: group(condition) })).status;
  const conditions = [
    { operator: 'NOT', conditions: [onList(ref.segment_id)] },
    { type: 'segment', segment_id: ref.segment_id, op: 'not_in' },
    { type: 'segment', segment_id: inside, op: 'not_in' },
  ];
  for (const condition of conditions) expect(await create(condition)).toBe(422);
  await fillFrozenSegment(f.service.platform, ref, async () => ({ total: 0, pages: pagesOf([]) }));
  for (const condition of conditions) expect(await create(condition)).toBe(201);
});

it('a realtime segment follows the list while it is written', async () => {
  const one = await f.person();
  await f.caughtUp();
  const ref = await freeze();
  const realtime = await f.make(group(onList(ref.segment_id)), { refresh_strategy: 'realtime' });
  await fillFrozenSegment(f.service.platform, ref, async () => ({ total: 1, pages: pagesOf([one]) }));
  await until(async () => (await membersOf(realtime)).includes(one));
});

it('a merged member is replaced by its survivor, and a deleted one leaves', async () => {
  const old = await f.person({}, { anonymous_id: 'frozen-device' });
  const gone = await f.person();
  const survivor = await f.person({}, { external_id: 'frozen-survivor' });
  const id = await frozenOf([old, gone]);
  const body = { anonymous_id: 'frozen-device', external_id: 'frozen-survivor' };
  const merged = await call(`${f.service.base_url}/v1/players/identify`, f.service.api_key, { body });
  expect(merged.data['player_id'], merged.text).toBe(survivor);
  const deleted = await f.api('DELETE', `/v1/players/${gone}`);
  expect(deleted.status, deleted.text).toBe(200);
  expect(await membersOf(id)).toEqual([survivor]);
  await f.caughtUp();
  await until(async () => (await sizeBy(group(onList(id)))) === 1);
});

it('a list that is written anew after a crash takes the survivors of merged players, and is written once', async () => {
  const old = await f.person({}, { anonymous_id: 'crashed-device' });
  const survivor = await f.person({}, { external_id: 'crashed-survivor' });
  const other = await f.person();
  const ref = await freeze();
  const { platform } = f.service;
  async function* broken() {
    yield [old];
    throw new Error('the engine went away');
  }
  await expect(fillFrozenSegment(platform, ref, async () => ({ total: 2, pages: broken() }))).rejects.toThrow(
    'went away',
  );
  const failed = await f.api('GET', `/v1/segments/${ref.segment_id}`);
  expect(failed.data).toMatchObject({ last_error: 'the engine went away', last_computed_at: null });
  const body = { anonymous_id: 'crashed-device', external_id: 'crashed-survivor' };
  await call(`${f.service.base_url}/v1/players/identify`, f.service.api_key, { body });
  const both = async () => ({ total: 2, pages: pagesOf([old, other]) });
  await fillFrozenSegment(platform, ref, both);
  expect(await membersOf(ref.segment_id)).toEqual([survivor, other].toSorted());
  await fillFrozenSegment(platform, ref, async () => {
    throw new Error('it is written already');
  });
});

it('a deleted list is not written', async () => {
  const ref = await freeze();
  await f.api('DELETE', `/v1/segments/${ref.segment_id}`);
  await fillFrozenSegment(f.service.platform, ref, async () => {
    throw new Error('it is deleted');
  });
});

it('definition and strategy of a frozen segment stay; name and description change', async () => {
  const id = await frozenOf([]);
  const patch = (body: object) => f.api('PATCH', `/v1/segments/${id}`, body);
  const renamed = await patch({ name: 'March', description: 'winners', definition: group(onList(id)) });
  expect(renamed.data, renamed.text).toMatchObject({ name: 'March', description: 'winners' });
  expectRefused(
    await patch({ definition: group(trait('bet_count', 'gt', 1)) }),
    'SEGMENT_DEFINITION_INVALID',
  );
  expectRefused(
    await patch({ definition: group(onList(id), trait('bet_count', 'gt', 1)) }),
    'SEGMENT_DEFINITION_INVALID',
    'definition',
  );
  expectRefused(await patch({ refresh_strategy: 'realtime' }), 'SEGMENT_DEFINITION_INVALID');
});

it('a list condition names a frozen segment of the project, which then cannot be deleted', async () => {
  const id = await frozenOf([]);
  const ordinary = await f.make();
  const create = (condition: object, of: TestTenant = f.service) =>
    f.api('POST', '/v1/segments', { name: 'a segment', definition: group({ ...condition }) }, of);
  const path = 'definition.conditions.0.list_id';
  expectRefused(await create(onList(ordinary)), 'SEGMENT_DEFINITION_INVALID', path);
  const elsewhere = await f.service.newTenant();
  expectRefused(await create(onList(id), elsewhere), 'SEGMENT_DEFINITION_INVALID', path);
  expectRefused(await create({ ...onList(id), op: 'in' }), 'SEGMENT_DEFINITION_INVALID');
  const user = await f.make(group(within(id), onList(id)));
  expectRefused(await f.api('DELETE', `/v1/segments/${id}`), 'CONFLICT');
  await f.api('DELETE', `/v1/segments/${user}`);
  const deleted = await f.api('DELETE', `/v1/segments/${id}`);
  expect(deleted.status, deleted.text).toBe(200);
});
