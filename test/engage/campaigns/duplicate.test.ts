import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Fields } from '../../engines/http-client.ts';
import { openCampaignFixture, UNKNOWN, type CampaignFixture } from './campaign-fixture.ts';

let f: CampaignFixture;
beforeAll(async () => {
  f = await openCampaignFixture();
});
afterAll(() => f?.fixture.close());

const duplicate = (id: string, body?: object) => f.api('POST', `/v1/campaigns/${id}/duplicate`, body);
const variantsOf = async (id: unknown) =>
  ((await f.api('GET', `/v1/campaigns/${String(id)}/variants`)).data as unknown as Fields[]).map(
    ({ name, weight, template_id, is_default }) => ({ name, weight, template_id, is_default }),
  );

it('is a draft with audience, content, variants and goal, but not the time', async () => {
  const id = await f.make({
    name: 'Original',
    goal_event: 'login',
    provider_id: f.provider_id,
    schedule_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  for (const [name, weight] of [
    ['A', 70],
    ['B', 30],
  ] as const)
    await f.api('POST', `/v1/campaigns/${id}/variants`, { name, template_id: f.template_id, weight });
  const answer = await duplicate(id);
  expect(answer.status, answer.text).toBe(201);
  expect(answer.data).toMatchObject({
    name: 'Copy of Original',
    status: 'draft',
    segment_id: f.segment_id,
    template_id: f.template_id,
    provider_id: f.provider_id,
    schedule_at: null,
    goal_event: 'login',
    goal_attribution_days: 7,
  });
  const copy = String(answer.data['id']);
  expect(copy).not.toBe(id);
  const expected = ['A', 'B'].map((name, i) => ({
    name,
    weight: [70, 30][i],
    template_id: f.template_id,
    is_default: false,
  }));
  expect(await variantsOf(copy)).toEqual(expected);
  // The copy is a campaign of its own: without its variants it has the default again.
  for (const { id: variant } of (await f.api('GET', `/v1/campaigns/${copy}/variants`))
    .data as unknown as Fields[])
    await f.api('DELETE', `/v1/campaigns/${copy}/variants/${String(variant)}`);
  expect(await variantsOf(copy)).toMatchObject([{ name: 'default', is_default: true }]);
  expect(await variantsOf(id)).toEqual(expected);
});

it('takes a name, and leaves out what was deleted meanwhile', async () => {
  const [segment_id, template_id] = [await f.segment(), await f.template('email')];
  const id = await f.make({ segment_id });
  await f.api('POST', `/v1/campaigns/${id}/variants`, { name: 'A', template_id, weight: 1 });
  await f.api('POST', `/v1/campaigns/${id}/variants`, { name: 'B', template_id: f.template_id, weight: 2 });
  await f.api('DELETE', `/v1/templates/${template_id}`);
  await f.api('DELETE', `/v1/segments/${segment_id}`);
  const answer = await duplicate(id, { name: 'Another' });
  expect(answer.data).toMatchObject({ name: 'Another', segment_id: null, template_id: f.template_id });
  expect((await variantsOf(answer.data['id'])).map(({ name }) => name)).toEqual(['B']);
  await f.api('DELETE', `/v1/campaigns/${id}`);
  for (const gone of [id, UNKNOWN]) expect((await duplicate(gone)).code).toBe('CAMPAIGN_NOT_FOUND');
});
