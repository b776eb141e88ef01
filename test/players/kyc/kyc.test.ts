import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../../engines/http-client.ts';
import { sunk, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { KycClient } from './kyc-client.ts';

let service: TestService;
/** One tenant of each model. */
let on: Record<'dual' | 'crm_owns' | 'platform_owns' | 'none' | 'undecided', KycClient>;
let players = 0;

beforeAll(async () => {
  service = await sharedService();
  on = {
    dual: await KycClient.open(service, 'dual'),
    crm_owns: await KycClient.open(service, 'crm_owns'),
    platform_owns: await KycClient.open(service, 'platform_owns'),
    none: await KycClient.open(service, 'none'),
    undecided: await KycClient.open(service, null),
  };
});
afterAll(() => service?.close());

async function person(client: KycClient): Promise<{ id: string; external_id: string }> {
  const external_id = `person-${++players}`;
  return { id: await client.identify(external_id), external_id };
}

/** The same hour is the same time for all events of this file: a repeated event is one statement. */
const STARTED_MS = Date.now();
const hoursAgo = (hours: number) => new Date(STARTED_MS - hours * 3_600_000).toISOString();

describe('an operator', () => {
  it('requests, approves and revokes; who did it is in the history and the audit log', async () => {
    const client = on.crm_owns;
    const { id } = await person(client);
    const requested = await client.decide(id, 'request', {
      requirements: ['passport'],
      reason: 'first deposit',
    });
    expect(requested).toMatchObject({
      status: 202,
      data: {
        player_id: id,
        kyc_status: 'pending',
        kyc_level: 0,
        requested_level: 1,
        expires_at: null,
        decided_at: null,
        decided_by: null,
        provider_ref: null,
        sync: 'done',
      },
    });
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const approved = await client.decide(id, 'approve', { level: 2, expires_at, note: 'seen by us' });
    expect(approved).toMatchObject({
      status: 200,
      data: { kyc_status: 'approved', kyc_level: 2, requested_level: null, expires_at },
    });
    expect(approved.data['decided_by']).toMatch(/^owner-/);
    expect(Object.keys(approved.data).sort()).toEqual([
      'decided_at',
      'decided_by',
      'expires_at',
      'kyc_level',
      'kyc_status',
      'player_id',
      'provider_ref',
      'requested_level',
      'sync',
    ]);
    expect((await client.api('GET', `/v1/players/${id}`)).data).toMatchObject({
      kyc_status: 'approved',
      kyc_level: 2,
    });
    expect(await client.decide(id, 'approve', { level: 1 })).toMatchObject({
      status: 409,
      error: { code: 'KYC_INVALID_STATUS' },
    });
    const revoked = await client.decide(id, 'revoke', { reason: 'forged passport' });
    expect(revoked).toMatchObject({
      status: 200,
      data: { kyc_status: 'revoked', kyc_level: 2, expires_at: null },
    });
    expect(await client.decide(id, 'revoke', { reason: 'again' })).toMatchObject({
      status: 409,
      error: { code: 'KYC_INVALID_STATUS' },
    });
    const { history, ...kyc } = await client.kyc(id);
    expect(kyc).toMatchObject({ kyc_status: 'revoked', sync: 'done', calls: [] });
    const decided_by = approved.data['decided_by'];
    expect(history).toMatchObject([
      { decision: 'revoked', source: 'api', applied: true, reason: 'forged passport', decided_by },
      {
        decision: 'approved',
        level: 2,
        expires_at,
        reason: 'seen by us',
        decided_by,
        kyc_status: 'approved',
      },
      { decision: 'submitted', level: 1, requirements: ['passport'], reason: 'first deposit', decided_by },
    ]);
    const log = await client.api('GET', '/v1/audit-log?limit=20');
    const rows = (log.data as unknown as Record<string, unknown>[]).filter(
      (row) => row['resource_id'] === id,
    );
    expect(rows.map((row) => row['action'])).toEqual(['revoke', 'approve', 'request']);
    expect(rows[0]).toMatchObject({ resource_type: 'player_kyc' });
  });

  it('refuses a pending case by revoking it; a request may be empty', async () => {
    const { id } = await person(on.dual);
    expect(await on.dual.decide(id, 'revoke', { reason: 'x' })).toMatchObject({ status: 409 });
    expect((await on.dual.decide(id, 'request')).status).toBe(202);
    expect(await on.dual.decide(id, 'revoke', { reason: 'x' })).toMatchObject({
      data: { kyc_status: 'rejected' },
    });
    expect(await on.dual.decide(id, 'revoke', { reason: 'x' })).toMatchObject({ status: 409 });
  });

  it('keeps an approval while a higher level is asked for', async () => {
    const { id } = await person(on.dual);
    await on.dual.decide(id, 'approve', { level: 1 });
    expect(await on.dual.decide(id, 'request')).toMatchObject({
      data: { kyc_status: 'approved', kyc_level: 1, requested_level: 2 },
    });
  });

  it('decides while nobody has chosen a model, and no platform is told', async () => {
    const client = on.undecided;
    const { id } = await person(client);
    expect(await client.decide(id, 'request')).toMatchObject({
      status: 202,
      data: { kyc_status: 'pending', sync: 'done' },
    });
    expect(await client.decide(id, 'approve', { level: 1 })).toMatchObject({
      status: 200,
      data: { kyc_status: 'approved', kyc_level: 1, sync: 'done' },
    });
    expect(await client.decide(id, 'revoke', { reason: 'x' })).toMatchObject({
      status: 200,
      data: { kyc_status: 'revoked', sync: 'done' },
    });
  });

  it.each([['platform_owns'], ['none']] as const)('may not decide under %s', async (model) => {
    const { id } = await person(on[model]);
    for (const [decision, body] of [
      ['request', {}],
      ['approve', { level: 1 }],
      ['revoke', { reason: 'x' }],
    ] as const)
      expect(await on[model].decide(id, decision, body)).toMatchObject({
        status: 403,
        error: { code: 'FORBIDDEN' },
      });
    expect(await on[model].kyc(id)).toMatchObject({ kyc_status: 'none', history: [] });
  });

  it('gets 404 for unknown and deleted players, and 422 for unusable bodies', async () => {
    const { id } = await person(on.dual);
    for (const [decision, body] of [
      ['approve', {}],
      ['approve', { level: 0 }],
      ['approve', { level: 1, expires_at: hoursAgo(1) }],
      ['approve', { level: 1, expires_at: 'tomorrow' }],
      ['approve', { level: 1, surprise: true }],
      ['revoke', {}],
      ['revoke', { reason: '' }],
      ['request', { level: 1.5 }],
      ['request', { requirements: 'passport' }],
    ] as const) {
      const said = await on.dual.decide(id, decision, body);
      expect(said, JSON.stringify(body)).toMatchObject({ status: 422, error: { code: 'VALIDATION_ERROR' } });
    }
    await on.dual.api('DELETE', `/v1/players/${id}`);
    for (const gone of [id, randomUUID(), 'nobody'])
      for (const [decision, body] of [
        ['request', undefined],
        ['approve', { level: 1 }],
        ['revoke', { reason: 'x' }],
      ] as const)
        expect(await on.dual.decide(gone, decision, body)).toMatchObject({
          status: 404,
          error: { code: 'PLAYER_NOT_FOUND' },
        });
  });
});

describe('a platform', () => {
  it('decides by webhooks, in the order of their times', async () => {
    const client = on.platform_owns;
    const { id, external_id } = await person(client);
    const say = (event: string, hours: number, fields = {}) =>
      client.webhook({
        event: `kyc.${event}`,
        ts: hoursAgo(hours),
        player_external_id: external_id,
        ...fields,
      });
    const answer = (applied: boolean, new_status: string) => ({
      status: 200,
      data: { received: true, applied, new_status },
    });
    expect(await say('submitted', 9, { level: 1 })).toMatchObject(answer(true, 'pending'));
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    // A submission is no decision: an approval with an earlier time counts.
    expect(await say('approved', 10, { level: 1, data: { expires_at } })).toMatchObject(
      answer(true, 'approved'),
    );
    expect(await say('rejected', 11, { level: 1, data: { reason: 'late' } })).toMatchObject(
      answer(false, 'approved'),
    );
    expect(await say('submitted', 8, { level: 2 })).toMatchObject(answer(true, 'approved'));
    expect(await client.kyc(id)).toMatchObject({
      kyc_level: 1,
      requested_level: 2,
      expires_at,
      decided_by: null,
    });
    expect(await say('rejected', 7, { level: 2 })).toMatchObject(answer(true, 'approved'));
    expect(await client.kyc(id)).toMatchObject({ kyc_level: 1, requested_level: null });
    expect(await say('level_upgraded', 6, { level: 3 })).toMatchObject(answer(true, 'approved'));
    expect(await say('rejected', 5, { level: 3 })).toMatchObject(answer(true, 'rejected'));
    expect(await say('approved', 4, { level: 3 })).toMatchObject(answer(true, 'approved'));
    expect(await say('expired', 3)).toMatchObject(answer(true, 'expired'));
    const { history, ...kyc } = await client.kyc(id);
    expect(kyc).toMatchObject({ kyc_status: 'expired', kyc_level: 3 });
    expect(history).toHaveLength(9);
    expect(history.find(({ reason }) => reason === 'late')).toMatchObject({
      applied: false,
      source: 'webhook',
      adapter_slug: client.adapter.slug,
    });
    await until('the decisions are in the timeline', async (saw) => {
      await sunk(service.platform);
      const { data } = saw(await client.api('GET', `/v1/players/${id}/timeline?limit=50`));
      const events = data as unknown as { event: string; properties: Record<string, unknown> }[];
      if (events.length < 8) return undefined;
      expect(events.map(({ event }) => event)).toEqual([
        'kyc_expired',
        'kyc_approved',
        'kyc_rejected',
        'kyc_level_upgraded',
        'kyc_rejected',
        'kyc_submitted',
        'kyc_submitted',
        'kyc_approved',
      ]);
      expect(events[1]?.properties).toMatchObject({ source: 'adapter', level: 3 });
      return true;
    });
  });

  it('is heard once per event_id, and a clock that is ahead does not silence later decisions', async () => {
    const { id, external_id: player_external_id } = await person(on.dual);
    const event = { event: 'kyc.approved', event_id: randomUUID(), level: 1, player_external_id };
    const ts = new Date(Date.now() + 3_600_000).toISOString();
    expect(await on.dual.webhook({ ...event, ts })).toMatchObject({ data: { applied: true } });
    expect(await on.dual.webhook({ ...event, ts })).toMatchObject({ data: { applied: false, replay: true } });
    expect(await on.dual.decide(id, 'revoke', { reason: 'x' })).toMatchObject({
      data: { kyc_status: 'revoked' },
    });
    expect((await on.dual.kyc(id)).history).toHaveLength(2);
  });

  it('is heard in the order of its times also while its clock is ahead, by webhooks and events alike', async () => {
    const client = on.dual;
    const now_ms = Date.now();
    const secondsAhead = (seconds: number) => new Date(now_ms + seconds * 1_000).toISOString();
    const byWebhook = await person(client);
    const player_external_id = byWebhook.external_id;
    const hear = (event: string, ts: string) =>
      client.webhook({ event: `kyc.${event}`, ts, level: 1, player_external_id });
    expect(await hear('approved', secondsAhead(62))).toMatchObject({
      data: { applied: true, new_status: 'approved' },
    });
    expect(await hear('rejected', secondsAhead(61))).toMatchObject({
      data: { applied: false, new_status: 'approved' },
    });
    expect(await hear('rejected', secondsAhead(0))).toMatchObject({
      data: { applied: false, new_status: 'approved' },
    });
    const { id } = await person(client);
    const approved = { event: 'kyc_approved', timestamp: secondsAhead(62), properties: { level: 1 } };
    await client.events(id, approved);
    await client.events(id, { event: 'kyc_rejected', timestamp: secondsAhead(61), properties: { level: 1 } });
    expect(await client.kyc(id)).toMatchObject({
      kyc_status: 'approved',
      decided_at: approved.timestamp,
      history: [{ decision: 'approved' }, { decision: 'rejected', applied: false }],
    });
    // A clock that is far ahead counts as 300 s ahead: it does not silence others for longer.
    await hear('rejected', secondsAhead(80_000));
    expect((await client.kyc(byWebhook.id))['kyc_status']).toBe('rejected');
    const ahead_ms = Date.parse(String((await client.kyc(byWebhook.id))['decided_at'])) - now_ms;
    expect(ahead_ms).toBeGreaterThanOrEqual(300_000);
    expect(ahead_ms).toBeLessThan(400_000);
    await client.events(id, { event: 'kyc_expired', timestamp: secondsAhead(80_000) });
    expect(await hear('approved', secondsAhead(80_000))).toMatchObject({ data: { new_status: 'approved' } });
    await client.events(id, {
      event: 'kyc_approved',
      timestamp: secondsAhead(80_000),
      properties: { level: 1 },
    });
    expect(await client.kyc(id)).toMatchObject({ kyc_status: 'approved' });
  });

  it('does not hold an operator up by a clock that is ahead', async () => {
    const { id, external_id: player_external_id } = await person(on.dual);
    const say = (event: string) => {
      const ts = new Date(Date.now() + 200_000).toISOString();
      return on.dual.webhook({ event: `kyc.${event}`, ts, level: 2, player_external_id });
    };
    await say('submitted');
    expect(await on.dual.decide(id, 'request', { level: 3 })).toMatchObject({ data: { requested_level: 3 } });
    expect(await on.dual.decide(id, 'revoke', { reason: 'x' })).toMatchObject({
      data: { kyc_status: 'rejected' },
    });
    await say('rejected');
    expect(await on.dual.decide(id, 'approve', { level: 1 })).toMatchObject({
      data: { kyc_status: 'approved', kyc_level: 1, requested_level: null },
    });
    await say('approved');
    expect(await on.dual.decide(id, 'revoke', { reason: 'x' })).toMatchObject({
      data: { kyc_status: 'revoked' },
    });
  });

  it('is refused: model, signature, player, shape', async () => {
    const { external_id: player_external_id } = await person(on.dual);
    const event = { event: 'kyc.approved', level: 1, player_external_id };
    for (const model of ['crm_owns', 'none'] as const) {
      const { external_id } = await person(on[model]);
      const said = await on[model].webhook({ ...event, player_external_id: external_id });
      expect(said).toMatchObject({ status: 403, error: { code: 'FORBIDDEN' } });
    }
    expect(await on.dual.webhook(event, 'x'.repeat(43))).toMatchObject({ status: 401 });
    const event_id = randomUUID();
    const stranger = { ...event, event_id, player_external_id: 'stranger' };
    expect(await on.dual.webhook(stranger)).toMatchObject({
      status: 404,
      error: { code: 'PLAYER_NOT_FOUND' },
    });
    // Another tenant's player is unknown, too.
    const other = await person(on.platform_owns);
    expect((await on.dual.webhook({ ...event, player_external_id: other.id })).status).toBe(404);
    // It left no trace, so the platform's retry counts once the player exists.
    await on.dual.identify('stranger');
    expect(await on.dual.webhook(stranger)).toMatchObject({ data: { applied: true } });
    for (const wrong of [
      { event: 'kyc.lost' },
      { event_id: 'x' },
      { ts: 'now' },
      { level: 'one' },
      { level: undefined },
      { player_external_id: undefined },
      { data: { expires_at: 'never' } },
    ])
      expect(await on.dual.webhook({ ...event, ...wrong }), JSON.stringify(wrong)).toMatchObject({
        status: 422,
      });
  });

  it('names a player without an external_id by the id that it was told', async () => {
    const { data } = await on.dual.api(
      'POST',
      '/v1/players/identify',
      { anonymous_id: 'nameless' },
      on.dual.tenant.api_key,
    );
    const player_external_id = String(data['player_id']);
    const said = await on.dual.webhook({ event: 'kyc.approved', level: 1, player_external_id });
    expect(said).toMatchObject({ status: 200, data: { new_status: 'approved' } });
  });
});

describe('ingested kyc events', () => {
  it('say when an approval ends by a date or a time, and are refused when that cannot be read', async () => {
    const client = on.platform_owns;
    const { id } = await person(client);
    const send = (event: string, expires_at: unknown) =>
      call(`${service.ingest_url}/v1/events`, client.tenant.api_key, {
        body: { event, player_id: id, properties: { level: 1, expires_at } },
      });
    for (const expires_at of ['soon', '2027-02-30', 1_900_000_000, '0000-01-01T00:00:00Z', '']) {
      for (const event of ['kyc_approved', 'kyc_level_upgraded']) {
        const refused = await send(event, expires_at);
        expect(refused.status, String(expires_at)).toBe(422);
        expect(refused.body).toMatchObject({
          error: { code: 'PROPERTIES_INVALID', message: expect.stringContaining('2026-01-31') as string },
        });
      }
    }
    expect((await send('kyc_rejected', 'soon')).status).toBe(202);
    await client.events(id, { event: 'kyc_approved', properties: { level: 1, expires_at: null } });
    expect(await client.kyc(id)).toMatchObject({ kyc_status: 'approved', expires_at: null });
    await client.events(id, { event: 'kyc_approved', properties: { level: 1, expires_at: '2099-03-31' } });
    expect(await client.kyc(id)).toMatchObject({ expires_at: '2099-03-31T00:00:00.000Z' });
    // One that is over when it is told gives no right.
    await client.events(id, { event: 'kyc_approved', properties: { level: 1, expires_at: '2020-03-31' } });
    const { history, ...kyc } = await client.kyc(id);
    expect(kyc).toMatchObject({ kyc_status: 'expired', kyc_level: 1, expires_at: null });
    expect(history[0]).toMatchObject({ decision: 'lapsed', source: 'clock' });
  });

  it.each([
    ['platform_owns', true],
    ['dual', true],
    ['crm_owns', false],
    ['none', false],
    ['undecided', true],
  ] as const)('under %s set the status: %s; the timeline has them always', async (model, sets) => {
    const client = on[model];
    const { id } = await person(client);
    await client.events(
      id,
      { event: 'kyc_submitted', timestamp: hoursAgo(5), properties: { level: 1 } },
      { event: 'kyc_level_upgraded', timestamp: hoursAgo(2), properties: { level: 2 } },
      { event: 'kyc_approved', timestamp: hoursAgo(3), properties: { level: 1 } },
      { event: 'kyc_expired', timestamp: hoursAgo(4) },
      { event: 'kyc_approved', timestamp: hoursAgo(3), properties: { level: 1 } },
    );
    const { history, ...kyc } = await client.kyc(id);
    expect(kyc).toMatchObject(
      sets ? { kyc_status: 'approved', kyc_level: 2 } : { kyc_status: 'none', kyc_level: 0 },
    );
    expect(history.map(({ decision, applied }) => [decision, applied])).toEqual(
      sets
        ? [
            ['level_upgraded', true],
            ['approved', true],
            ['expired', false],
            ['submitted', true],
          ]
        : [],
    );
    await sunk(service.platform);
    const { data } = await client.api('GET', `/v1/players/${id}/timeline?limit=50`);
    expect(data).toHaveLength(5);
  });

  it('of a new player and with webhooks and operators are one order', async () => {
    const client = on.dual;
    const { id, external_id: player_external_id } = await person(client);
    await client.webhook({ event: 'kyc.approved', ts: hoursAgo(3), level: 2, player_external_id });
    await client.events(id, { event: 'kyc_rejected', timestamp: hoursAgo(4), properties: { level: 1 } });
    expect(await client.kyc(id)).toMatchObject({ kyc_status: 'approved', kyc_level: 2 });
    await client.events(id, { event: 'kyc_rejected', timestamp: hoursAgo(2), properties: { level: 1 } });
    expect(await client.kyc(id)).toMatchObject({ kyc_status: 'rejected' });
    expect(await client.decide(id, 'approve', { level: 1 })).toMatchObject({
      data: { kyc_status: 'approved' },
    });
    await client.events(id, { event: 'kyc_rejected', timestamp: hoursAgo(1), properties: { level: 1 } });
    expect(await client.kyc(id)).toMatchObject({ kyc_status: 'approved', kyc_level: 1 });
  });
});
