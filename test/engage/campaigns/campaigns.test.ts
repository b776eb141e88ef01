import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectRefusal, openCampaignFixture, UNKNOWN, type CampaignFixture } from './campaign-fixture.ts';

let f: CampaignFixture;
beforeAll(async () => {
  f = await openCampaignFixture();
});
afterAll(() => f?.fixture.close());

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

describe('a campaign', () => {
  it('is created as a draft of a broadcast', async () => {
    const answer = await f.api('POST', '/v1/campaigns', f.body());
    expect(answer.status, answer.text).toBe(201);
    const { id, created_at, updated_at, ...rest } = answer.body.data;
    expect(rest).toEqual({
      tenant_id: f.tenant.tenant_id,
      project_id: f.tenant.project_id,
      name: 'A campaign',
      type: 'broadcast',
      segment_id: f.segment_id,
      template_id: f.template_id,
      provider_id: null,
      channel: 'email',
      schedule_at: null,
      trigger_event: null,
      goal_event: null,
      goal_attribution_days: null,
      goal_value_property: null,
      holdout_percent: 0,
      send_time: null,
      status: 'draft',
      last_error: null,
      started_at: null,
      finished_at: null,
      deleted_at: null,
    });
    expect(created_at).toBe(updated_at);
    const read = await f.api('GET', `/v1/campaigns/${String(id)}`);
    expect(read.body.data).toEqual(answer.body.data);
    expect((await f.api('GET', `/v1/campaigns/${String(id).toUpperCase()}`)).body).toEqual(read.body);
  });

  it('keeps every field that the request sets', async () => {
    const said = {
      type: 'triggered',
      provider_id: f.provider_id,
      trigger_event: 'custom_spin',
      goal_event: 'deposit_confirmed',
      goal_attribution_days: 3,
      goal_value_property: 'amount',
    };
    const { body } = await f.api('POST', '/v1/campaigns', f.body(said));
    expect(body.data).toMatchObject(said);
  });

  it('has an attribution window of 7 days by default', async () => {
    const id = await f.make({ goal_event: 'login' });
    expect((await f.api('GET', `/v1/campaigns/${id}`)).body.data['goal_attribution_days']).toBe(7);
    const patched = await f.api('PATCH', `/v1/campaigns/${id}`, {
      goal_event: 'custom_x',
      goal_attribution_days: 365,
    });
    expect(patched.body.data).toMatchObject({ goal_event: 'custom_x', goal_attribution_days: 365 });
    const taken = await f.api('PATCH', `/v1/campaigns/${id}`, {
      goal_event: null,
      goal_attribution_days: null,
    });
    expect(taken.body.data).toMatchObject({ goal_event: null, goal_attribution_days: null });
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ['nothing', {}, ['name', 'channel']],
    ['no such type', { type: 'drip' }, ['type']],
    ['no such channel', { channel: 'fax' }, ['channel']],
    ['a field nobody knows', { colour: 'red' }, ['colour']],
    ['a name of spaces', { name: '  ' }, ['name']],
    ['no day for the goal', { goal_event: 'login', goal_attribution_days: 0 }, ['goal_attribution_days']],
    ['too many days', { goal_event: 'login', goal_attribution_days: 366 }, ['goal_attribution_days']],
    ['half a day', { goal_event: 'login', goal_attribution_days: 0.5 }, ['goal_attribution_days']],
    ['a goal that is no event', { goal_event: 'won' }, ['goal_event']],
    ['a trigger that is no event', { type: 'triggered', trigger_event: 'won' }, ['trigger_event']],
    ['a trigger of a broadcast', { trigger_event: 'login' }, ['trigger_event']],
    ['a time that is past', { schedule_at: '2020-01-01T00:00:00Z' }, ['schedule_at']],
    ['a time of the year 10000 in UTC', { schedule_at: '9999-12-31T23:59:59-01:00' }, ['schedule_at']],
    ['a time without an offset', { schedule_at: '2090-01-01T00:00:00' }, ['schedule_at']],
    ['an unknown segment', { segment_id: UNKNOWN }, ['segment_id']],
    ['an unknown template', { template_id: UNKNOWN }, ['template_id']],
    ['an unknown provider', { provider_id: UNKNOWN }, ['provider_id']],
    ['several at once', { segment_id: UNKNOWN, provider_id: UNKNOWN }, ['segment_id', 'provider_id']],
  ])('is refused with %s', async (title, rest, paths) => {
    const body = title === 'nothing' ? {} : f.body(rest);
    expectRefusal(await f.api('POST', '/v1/campaigns', body), 422, 'VALIDATION_ERROR', paths);
    if (title === 'nothing') return;
    const id = await f.make();
    expectRefusal(await f.api('PATCH', `/v1/campaigns/${id}`, rest), 422, 'VALIDATION_ERROR', paths);
  });

  it('refuses a template or provider of another channel', async () => {
    const bodies = [
      [{ template_id: f.sms_template_id }, 'template_id'],
      [{ provider_id: await f.provider('sms') }, 'provider_id'],
    ] as const;
    const id = await f.make({ provider_id: f.provider_id });
    for (const [rest, path] of bodies) {
      expectRefusal(await f.api('POST', '/v1/campaigns', f.body(rest)), 422, 'VALIDATION_ERROR', [path]);
      expectRefusal(await f.api('PATCH', `/v1/campaigns/${id}`, rest), 422, 'VALIDATION_ERROR', [path]);
    }
    const moved = await f.api('PATCH', `/v1/campaigns/${id}`, { channel: 'sms' });
    expectRefusal(moved, 422, 'VALIDATION_ERROR', ['template_id', 'provider_id']);
    const whole = { channel: 'sms', template_id: f.sms_template_id, provider_id: null };
    expect((await f.api('PATCH', `/v1/campaigns/${id}`, whole)).body.data).toMatchObject(whole);
  });

  it('refuses deleted objects, and objects of other tenants or projects', async () => {
    const other = await f.fixture.makeTenant();
    const project = { tenant_id: f.tenant.tenant_id, name: 'Second' };
    const { body: second } = await f.fixture.internal('/v1/internal/projects', project);
    const sibling = { ...f.tenant, project_id: String(second.data['project_id']) };
    const gone = await f.segment();
    await f.api('DELETE', `/v1/segments/${gone}`);
    for (const rest of [
      { segment_id: gone },
      { segment_id: await f.segment(other) },
      { template_id: await f.template('email', other) },
      { template_id: await f.template('email', sibling) },
      { provider_id: await f.provider('email', other) },
    ]) {
      const paths = Object.keys(rest);
      expectRefusal(await f.api('POST', '/v1/campaigns', f.body(rest)), 422, 'VALIDATION_ERROR', paths);
    }
  });

  it('refuses fields that only the service sets', async () => {
    const id = await f.make();
    for (const field of ['id', 'status', 'started_at', 'last_error', 'deleted_at']) {
      const body = { [field]: null };
      expectRefusal(await f.api('PATCH', `/v1/campaigns/${id}`, body), 422, 'FIELD_NOT_WRITABLE', [field]);
    }
  });

  it('can be changed after its segment was deleted', async () => {
    const segment_id = await f.segment();
    const id = await f.make({ segment_id });
    await f.api('DELETE', `/v1/segments/${segment_id}`);
    expect((await f.api('PATCH', `/v1/campaigns/${id}`, { name: 'Renamed' })).status).toBe(200);
  });
});

describe('a schedule', () => {
  it('makes a campaign scheduled, and removing it makes it a draft again', async () => {
    const at = inHours(1);
    const { body } = await f.api('POST', '/v1/campaigns', f.body({ schedule_at: at }));
    expect(body.data).toMatchObject({ status: 'scheduled', schedule_at: at });
    const path = `/v1/campaigns/${String(body.data['id'])}`;
    const renamed = await f.api('PATCH', path, { name: 'Later' });
    expect(renamed.body.data).toMatchObject({ name: 'Later', status: 'scheduled', schedule_at: at });
    const drafted = await f.api('PATCH', path, { schedule_at: null });
    expect(drafted.body.data).toMatchObject({ status: 'draft', schedule_at: null });
    const with_offset = '2090-06-01T12:00:00.000+02:00';
    const again = await f.api('PATCH', path, { schedule_at: with_offset });
    expect(again.body.data).toMatchObject({ status: 'scheduled', schedule_at: '2090-06-01T10:00:00.000Z' });
  });
});

describe('a campaign that was started', () => {
  it.each(['sending', 'sent', 'cancelled'])('is not changed or deleted once it is %s', async (status) => {
    const id = await f.make();
    const variant = await f.api('POST', `/v1/campaigns/${id}/variants`, newVariant());
    await f.setStatus(id, status);
    const path = `/v1/campaigns/${id}`;
    const variant_path = `${path}/variants/${String(variant.body.data['id'])}`;
    for (const [method, url, body] of [
      ['PATCH', path, { name: 'x' }],
      ['DELETE', path, undefined],
      ['POST', `${path}/variants`, newVariant()],
      ['PATCH', variant_path, { weight: 2, name: 'x' }],
      ['DELETE', variant_path, undefined],
    ] as const) {
      expectRefusal(await f.api(method, url, body), 409, 'CAMPAIGN_INVALID_STATUS');
    }
    expect((await f.api('GET', path)).body.data).toMatchObject({ status, deleted_at: null });
  });

  it('accepts a new weight for messages sent afterwards, and no other change', async () => {
    const id = await f.make();
    const { body } = await f.api('POST', `/v1/campaigns/${id}/variants`, newVariant());
    const path = `/v1/campaigns/${id}/variants/${String(body.data['id'])}`;
    await f.setStatus(id, 'sending');
    expect((await f.api('PATCH', path, { weight: 7 })).body.data['weight']).toBe(7);
    expectRefusal(await f.api('PATCH', path, { weight: 7, name: 'x' }), 409, 'CAMPAIGN_INVALID_STATUS');
  });
});

describe('deleting', () => {
  it('is soft, and may be repeated', async () => {
    const id = await f.make();
    const deleted = await f.api('DELETE', `/v1/campaigns/${id}`);
    expect(deleted.status).toBe(200);
    expect(deleted.body.data['deleted_at']).toEqual(expect.any(String));
    expect((await f.api('DELETE', `/v1/campaigns/${id}`)).body).toEqual(deleted.body);
    expect((await f.api('GET', `/v1/campaigns/${id}`)).body).toEqual(deleted.body);
    expectRefusal(await f.api('PATCH', `/v1/campaigns/${id}`, { name: 'x' }), 404, 'CAMPAIGN_NOT_FOUND');
    const listed = await f.api('GET', '/v1/campaigns?limit=200');
    expect(listed.text).not.toContain(id);
  });

  it.each(['GET', 'PATCH', 'DELETE'])('%s of an unknown one is 404', async (method) => {
    for (const id of [UNKNOWN, 'nonsense']) {
      const body = method === 'PATCH' ? { name: 'x' } : undefined;
      const answer = await f.api(method, `/v1/campaigns/${id}`, body);
      expectRefusal(answer, 404, 'CAMPAIGN_NOT_FOUND');
      expect(answer.body.error.message).toContain(id);
    }
  });
});

it('the list goes from newest to oldest in pages, and filters by status', async () => {
  const tenant = await f.fixture.makeTenant();
  const [segment_id, template_id] = [await f.segment(tenant), await f.template('email', tenant)];
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    const schedule = n % 2 === 0 ? { schedule_at: inHours(2) } : {};
    const body = f.body({ name: `c${n}`, segment_id, template_id, ...schedule });
    const { body: made } = await f.api('POST', '/v1/campaigns', body, tenant);
    ids.unshift(String(made.data['id']));
  }
  const list = async (query: string) => {
    const { body } = await f.api('GET', `/v1/campaigns${query}`, undefined, tenant);
    const found = (body.data as unknown as { id: string }[]).map(({ id }) => id);
    return { found, next: body.meta['next_cursor'] };
  };
  expect(await list('')).toEqual({ found: ids, next: null });
  const first = await list('?limit=3');
  expect(first.found).toEqual(ids.slice(0, 3));
  expect(await list(`?limit=3&cursor=${String(first.next)}`)).toEqual({ found: ids.slice(3), next: null });
  expect((await list('?status=scheduled')).found).toEqual([ids[0], ids[2], ids[4]]);
  expect((await list('?status=sent')).found).toEqual([]);
  const foreign = await f.api(
    'GET',
    `/v1/campaigns?status=draft&cursor=${String(first.next)}`,
    undefined,
    tenant,
  );
  expectRefusal(foreign, 422, 'VALIDATION_ERROR', ['cursor']);
  for (const query of ['?limit=0', '?limit=201', '?status=unsent', '?cursor=x', '?page=2']) {
    expectRefusal(await f.api('GET', `/v1/campaigns${query}`), 422, 'VALIDATION_ERROR');
  }
});

const newVariant = (rest: Record<string, unknown> = {}) => {
  return { name: 'B', label: 'Warm', template_id: f.template_id, weight: 30, sort_order: 2, ...rest };
};

describe('variants', () => {
  const list = async (id: string) => {
    const { body } = await f.api('GET', `/v1/campaigns/${id}/variants`);
    return body.data as unknown as Record<string, unknown>[];
  };

  it('consist of one default variant at first, with the template of the campaign', async () => {
    const id = await f.make();
    const shown = { campaign_id: id, name: 'default', label: 'default', weight: 100, is_default: true };
    expect(await list(id)).toEqual([expect.objectContaining({ ...shown, template_id: f.template_id })]);
    const template_id = await f.template('email');
    await f.api('PATCH', `/v1/campaigns/${id}`, { template_id });
    expect(await list(id)).toEqual([expect.objectContaining({ ...shown, template_id })]);
  });

  it('replace the default one, which returns when the last of them is deleted', async () => {
    const id = await f.make();
    const [first] = await list(id);
    const made = await f.api('POST', `/v1/campaigns/${id}/variants`, newVariant());
    expect(made.status, made.text).toBe(201);
    expect(made.body.data).toMatchObject({ ...newVariant(), campaign_id: id, is_default: false });
    const { label: _, sort_order: __, ...rest } = newVariant({ name: 'C' });
    const second = await f.api('POST', `/v1/campaigns/${id}/variants`, rest);
    expect(second.body.data).toMatchObject({ name: 'C', label: 'C', sort_order: 3 });
    const early = await f.api(
      'POST',
      `/v1/campaigns/${id}/variants`,
      newVariant({ name: 'A', sort_order: 0 }),
    );
    expect((await list(id)).map(({ name }) => name)).toEqual(['A', 'B', 'C']);
    for (const { body } of [made, second, early]) {
      const path = `/v1/campaigns/${id}/variants/${String(body.data['id'])}`;
      const deleted = await f.api('DELETE', path);
      expect(deleted.body.data).toEqual(body.data);
      expectRefusal(await f.api('DELETE', path), 404, 'VARIANT_NOT_FOUND');
      expectRefusal(await f.api('PATCH', path, { weight: 1 }), 404, 'VARIANT_NOT_FOUND');
    }
    expect(await list(id)).toEqual([{ ...first, updated_at: expect.any(String) as string }]);
  });

  it('accept partial changes; the default one has no template of its own', async () => {
    const id = await f.make();
    const [first = {}] = await list(id);
    const path = `/v1/campaigns/${id}/variants/${String(first['id'])}`;
    const patched = await f.api('PATCH', path, { weight: 5, name: 'All' });
    expect(patched.body.data).toMatchObject({ weight: 5, name: 'All', label: 'default', is_default: true });
    const template_id = await f.template('email');
    expectRefusal(await f.api('PATCH', path, { template_id }), 422, 'VALIDATION_ERROR', ['template_id']);
    expect((await f.api('PATCH', path, { template_id: f.template_id })).status).toBe(200);
    expectRefusal(await f.api('DELETE', path), 409, 'CONFLICT');
    const { body } = await f.api('POST', `/v1/campaigns/${id}/variants`, newVariant());
    const other = await f.api('PATCH', `/v1/campaigns/${id}/variants/${String(body.data['id'])}`, {
      template_id,
    });
    expect(other.body.data).toMatchObject({ ...newVariant(), template_id });
  });

  it.each<[string, Record<string, unknown>]>([
    ['weight', { weight: 0 }],
    ['weight', { weight: -1 }],
    ['weight', { weight: 1_000_001 }],
    ['weight', { weight: 1.5 }],
    ['weight', { weight: '30' }],
    ['sort_order', { sort_order: -1 }],
    ['name', { name: '' }],
    ['template_id', { template_id: UNKNOWN }],
    ['colour', { colour: 'red' }],
  ])('are refused a wrong %s', async (path, rest) => {
    const id = await f.make();
    const { body } = await f.api('POST', `/v1/campaigns/${id}/variants`, newVariant());
    const variants = `/v1/campaigns/${id}/variants`;
    expectRefusal(await f.api('POST', variants, newVariant(rest)), 422, 'VALIDATION_ERROR', [path]);
    const one = `${variants}/${String(body.data['id'])}`;
    expectRefusal(await f.api('PATCH', one, rest), 422, 'VALIDATION_ERROR', [path]);
  });

  it('have templates of the campaign’s channel; a campaign with variants keeps its channel', async () => {
    const id = await f.make();
    const variants = `/v1/campaigns/${id}/variants`;
    const foreign = newVariant({ template_id: f.sms_template_id });
    expectRefusal(await f.api('POST', variants, foreign), 422, 'VALIDATION_ERROR', ['template_id']);
    await f.api('POST', variants, newVariant());
    const moved = await f.api('PATCH', `/v1/campaigns/${id}`, {
      channel: 'sms',
      template_id: f.sms_template_id,
    });
    expectRefusal(moved, 422, 'VALIDATION_ERROR', ['channel']);
  });

  it('belong to one campaign', async () => {
    const [id, other] = [await f.make(), await f.make()];
    const { body } = await f.api('POST', `/v1/campaigns/${id}/variants`, newVariant());
    const elsewhere = `/v1/campaigns/${other}/variants/${String(body.data['id'])}`;
    expectRefusal(await f.api('PATCH', elsewhere, { weight: 1 }), 404, 'VARIANT_NOT_FOUND');
    expectRefusal(await f.api('DELETE', elsewhere), 404, 'VARIANT_NOT_FOUND');
    for (const unknown of [UNKNOWN, 'nonsense']) {
      const path = `/v1/campaigns/${unknown}/variants`;
      expectRefusal(await f.api('GET', path), 404, 'CAMPAIGN_NOT_FOUND');
      expectRefusal(await f.api('POST', path, newVariant()), 404, 'CAMPAIGN_NOT_FOUND');
      const variant = `/v1/campaigns/${id}/variants/${unknown}`;
      expectRefusal(await f.api('PATCH', variant, { weight: 1 }), 404, 'VARIANT_NOT_FOUND');
    }
  });
});
