import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../../engines/http-client.ts';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { messagingClient, type Body, type MessagingClient } from './messaging-client.ts';

let service: TestService;
let tenant: TestTenant;
let client: MessagingClient;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());
beforeEach(async () => {
  tenant = await service.newTenant();
  client = messagingClient(service, tenant);
});

interface Shown {
  channel: string;
  verdict: string;
  codes: string[];
  caps: Record<'day' | 'week', { used: number; limit: number | null }>;
  quiet_until: string | null;
  consent: boolean | null;
  consent_required: boolean;
  suppressed: boolean;
}

async function reachability(player_id: string, query = ''): Promise<Record<string, Shown>> {
  const { status, data, error } = await client.api<Shown[]>(
    'GET',
    `/v1/players/${player_id}/reachability${query}`,
  );
  expect(status, JSON.stringify(error)).toBe(200);
  expect(data.map(({ channel }) => channel)).toEqual(['email', 'sms', 'push']);
  return Object.fromEntries(data.map((one) => [one.channel, one]));
}

const change = async (player_id: string, body: Body) => {
  const { status, error } = await client.api('PATCH', `/v1/players/${player_id}`, body);
  expect(status, JSON.stringify(error)).toBe(200);
};

/** A campaign to these players, sent and decided; returns what became of the message of each. */
async function outcomes(player_ids: string[]): Promise<Map<string, string>> {
  const [segment_id, provider_id, template_id] = await Promise.all([
    client.segment(player_ids),
    client.provider(),
    client.template(),
  ]);
  const campaign_id = await client.campaign({ segment_id, provider_id, template_id });
  await client.send(campaign_id);
  await client.reaches(campaign_id, 'sent');
  const rows = await client.recipients(campaign_id);
  return new Map(rows.map(({ player_id, error_code }) => [player_id, error_code ?? 'reachable']));
}

async function suppress(address: string, channel = 'email') {
  await service.platform.postgres.service`
    insert into suppressions (tenant_id, channel, address, reason, created_at)
    values (${tenant.tenant_id}, ${channel}, ${address}, 'bounce', now())`;
}

it('of a player without restrictions says what a tenant without rules allows', async () => {
  const [id = ''] = await client.players(1, { phone: '+1001' });
  const shown = await reachability(id);
  const open = {
    verdict: 'reachable',
    codes: [],
    caps: { day: { used: 0, limit: null }, week: { used: 0, limit: null } },
    quiet_until: null,
    consent: null,
    consent_required: false,
    suppressed: false,
  };
  expect(shown['email']).toEqual({ channel: 'email', ...open });
  expect(shown['sms']).toEqual({ channel: 'sms', ...open });
  expect(shown['push']).toMatchObject({ verdict: 'SKIPPED_NO_RECIPIENT', codes: ['SKIPPED_NO_RECIPIENT'] });
});

it('has the verdict with which a message sent now is decided, for every code of the gate', async () => {
  const ids = await client.players(7);
  const [open = '', excluded = '', banned = '', suppressed = '', refused = '', capped = '', cooling = ''] =
    ids;
  const [nowhere = ''] = await client.players(1, { email: null });
  await client.configure({ frequency_caps: { email: { per_day: 1 } } });
  await outcomes([capped]);
  await change(excluded, { status: 'self_excluded' });
  await change(banned, { status: 'banned' });
  await suppress(`${suppressed}@example.com`);
  await change(refused, { custom_attributes: { consent: { email: false } } });
  await service.platform.postgres.service`
    update players set cooldown_until = now() + interval '1 day' where player_id = ${cooling}`;
  const wanted = {
    [open]: 'reachable',
    [excluded]: 'SKIPPED_SELF_EXCLUDED',
    [banned]: 'SKIPPED_BANNED',
    [suppressed]: 'SKIPPED_SUPPRESSED',
    [refused]: 'SKIPPED_NO_CONSENT',
    [capped]: 'SKIPPED_FREQUENCY_CAP',
    [cooling]: 'SKIPPED_COOLDOWN',
    [nowhere]: 'SKIPPED_NO_RECIPIENT',
  };
  const verdicts = new Map<string, string | undefined>();
  for (const id of [...ids, nowhere]) verdicts.set(id, (await reachability(id))['email']?.verdict);
  expect(Object.fromEntries(verdicts)).toEqual(wanted);
  expect(Object.fromEntries(await outcomes([...ids, nowhere]))).toEqual(wanted);
});

it('is not that of strangers with the same text of an empty value in place of an address', async () => {
  for (const phone of ['undefined', 'N/A', '000000000', '+11 11 11']) {
    const [id = '', excluded = '', person = ''] = await client.players(3, { phone });
    await change(excluded, { status: 'self_excluded' });
    expect((await reachability(excluded))['sms'], phone).toMatchObject({ verdict: 'SKIPPED_SELF_EXCLUDED' });
    expect((await reachability(id))['sms'], phone).toMatchObject({ codes: [] });
    await service.platform.postgres.service`
      insert into merged_addresses (tenant_id, project_id, player_id, channel, address_key)
      select tenant_id, project_id, player_id, 'sms', sms_key from players where player_id = ${excluded}`;
    expect((await reachability(person))['sms'], phone).toMatchObject({ codes: [] });
  }
  // What the API takes for a number is one, though its digits behind the zero are equal.
  for (const phone of ['+35699001122', '07777 777777']) {
    const [id = '', excluded = ''] = await client.players(2, { phone });
    await change(excluded, { status: 'self_excluded' });
    expect((await reachability(id))['sms'], phone).toMatchObject({ verdict: 'SKIPPED_SELF_EXCLUDED' });
  }
});

it('has every code that applies in the order of the gate, and what the rules look at', async () => {
  const [id = ''] = await client.players(1);
  await outcomes([id]);
  await suppress(`${id}@example.com`);
  await change(id, { status: 'self_excluded', custom_attributes: { consent: { email: false, sms: true } } });
  const day = { start: '00:00', end: '23:59', default_timezone: 'UTC' };
  await client.configure({
    consent_required: true,
    quiet_hours: day,
    frequency_caps: { email: { per_day: 1, per_week: 5 }, sms: { per_day: 0 } },
  });
  const { email, sms, push } = await reachability(id);
  expect(email?.codes.filter((code) => code !== 'SKIPPED_QUIET_HOURS')).toEqual([
    'SKIPPED_SELF_EXCLUDED',
    'SKIPPED_SUPPRESSED',
    'SKIPPED_NO_CONSENT',
    'SKIPPED_FREQUENCY_CAP',
  ]);
  expect(email).toMatchObject({
    verdict: 'SKIPPED_SELF_EXCLUDED',
    caps: { day: { used: 1, limit: 1 }, week: { used: 1, limit: 5 } },
    consent: false,
    consent_required: true,
    suppressed: true,
  });
  expect(sms).toMatchObject({ consent: true, caps: { day: { used: 0, limit: 0 }, week: { limit: null } } });
  expect(sms?.codes).toEqual(expect.arrayContaining(['SKIPPED_NO_RECIPIENT', 'SKIPPED_FREQUENCY_CAP']));
  expect(push?.codes).toEqual(expect.arrayContaining(['SKIPPED_NO_CONSENT']));
});

it('says until when it is quiet where the player is', async () => {
  const [near = ''] = await client.players(1, { timezone: 'UTC' });
  const [far = ''] = await client.players(1, { timezone: 'Asia/Tokyo' });
  // A window of ten hours around this hour in UTC; in Tokyo it is nine hours later then.
  const hour = new Date(service.platform.clock.now_ms()).getUTCHours();
  const at = (hours: number) => `${String((hours + 24) % 24).padStart(2, '0')}:00`;
  await client.configure({
    quiet_hours: { start: at(hour - 1), end: at(hour + 2), default_timezone: 'UTC' },
  });
  const { email } = await reachability(near);
  expect(email).toMatchObject({ verdict: 'SKIPPED_QUIET_HOURS', codes: ['SKIPPED_QUIET_HOURS'] });
  expect(new Date(email?.quiet_until ?? '').toISOString()).toMatch(new RegExp(`T${at(hour + 2)}:00.000Z`));
  expect((await reachability(far))['email']).toMatchObject({ verdict: 'reachable', quiet_until: null });
});

it('about a bonus asks what the licence asks', async () => {
  const [id = ''] = await client.players(1);
  const { status } = await client.api('PATCH', '/v1/tenant/config', { license_jurisdiction: 'ukgc' });
  expect(status).toBe(200);
  await change(id, { custom_attributes: { rg_risk: 'strong' } });
  expect((await reachability(id))['email']).toMatchObject({ verdict: 'reachable' });
  const about = (await reachability(id, '?bonus_product=casino'))['email'];
  expect(about?.codes).toEqual(['SKIPPED_AT_RISK', 'SKIPPED_NO_CONSENT']);
  const wrong = await client.api('GET', `/v1/players/${id}/reachability?bonus_product=poker`);
  expect([wrong.status, wrong.code]).toEqual([422, 'VALIDATION_ERROR']);
});

describe('of which player', () => {
  const identify = async (body: Body): Promise<string> => {
    const response = await call<{ player_id: string }>(
      `${service.base_url}/v1/players/identify`,
      tenant.api_key,
      { body },
    );
    return response.data.player_id;
  };

  it('a merged one is answered by its survivor', async () => {
    const survivor = await identify({ external_id: 'kept', traits: { email: 'kept@example.com' } });
    const gone = await identify({ anonymous_id: 'gone' });
    await identify({ external_id: 'kept', anonymous_id: 'gone' });
    await suppress('kept@example.com');
    expect(await reachability(gone)).toEqual(await reachability(survivor));
    expect((await reachability(gone))['email']).toMatchObject({ verdict: 'SKIPPED_SUPPRESSED' });
  });

  it('a deleted one gets nothing, and one of another tenant is not found', async () => {
    const [id = ''] = await client.players(1);
    await client.api('DELETE', `/v1/players/${id}`);
    expect((await reachability(id))['email']?.verdict).toBe('SKIPPED_NO_RECIPIENT');
    const stranger = messagingClient(service, await service.newTenant());
    for (const named of [id, 'nonsense']) {
      const answer = await stranger.api('GET', `/v1/players/${named}/reachability`);
      expect([answer.status, answer.code]).toEqual([404, 'PLAYER_NOT_FOUND']);
    }
  });
});
