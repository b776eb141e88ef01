import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { campaignTriggers } from '../../../src/engage/campaigns/trigger.ts';
import { recordTriggerEvents } from '../../../src/engage/triggers/record.ts';
import { encodePlayerEvent } from '../../../src/ingest/events/envelope.ts';
import { call } from '../../engines/http-client.ts';
import { sunk, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type MessagingClient } from '../messaging/messaging-client.ts';

let service: TestService;
let client: MessagingClient;
beforeAll(async () => {
  service = await sharedService();
  client = messagingClient(service);
});
afterAll(async () => service?.close());
afterEach(() => {
  vi.restoreAllMocks();
});

const deposit = (transaction_id: string) => ({
  amount: 5_000,
  currency: 'EUR',
  transaction_id,
  payment_method: 'card',
});

/** Creates a segment that only this player matches; returns its id. */
async function segmentOf(member: string): Promise<string> {
  const conditions = [{ type: 'trait', field: 'email', op: 'eq', value: `${member}@example.com` }];
  const body = {
    name: `of ${member}`,
    definition: { operator: 'AND', conditions },
    refresh_strategy: 'manual',
  };
  const { status, data, error } = await client.api('POST', '/v1/segments', body);
  expect(status, JSON.stringify(error)).toBe(201);
  return String(data['id']);
}

/** Starts a triggered campaign for its event. It has a provider of its own, which identifies its messages. */
async function armed(trigger_event: string, member: string) {
  const segment_id = await segmentOf(member);
  const [provider_id, template_id] = await Promise.all([client.provider(), client.template()]);
  const plan = { segment_id, template_id, provider_id, type: 'triggered', trigger_event };
  const campaign_id = await client.campaign(plan);
  expect((await client.send(campaign_id)).status).toBe(200);
  return { campaign_id, provider_id };
}

/** Sends an event that happened this many hours ago. */
async function tellLate(player_id: string, hours: number, event: string, properties: object) {
  const timestamp = new Date(Date.now() - hours * 3_600_000).toISOString();
  const response = await call(`${service.ingest_url}/v1/events`, service.api_key, {
    body: { event, player_id, properties, timestamp },
  });
  expect(response.status, response.text).toBe(202);
}

const messagesOf = ({ provider_id }: { provider_id: string }, count: number) =>
  until(`${count} messages`, async (saw) => {
    const found = saw(await client.messages(provider_id));
    return found.length >= count ? found : undefined;
  });

/** Records events for the decision, as the consumer of `player-events` does. */
async function record(values: readonly string[]): Promise<void> {
  const records = values.map((value, i) => ({ offset: BigInt(i), key: '', value }));
  await recordTriggerEvents(service.platform, [campaignTriggers(service.platform)], {
    partition: 0,
    records,
  });
}

/** Resolves when every recorded event is decided. */
const decided = () =>
  until('every event is decided', async (saw) => {
    const [waiting] = saw(
      await service.platform.postgres.service`select from trigger_events where decided_at is null limit 1`,
    );
    return waiting === undefined;
  });

/** Runs statements as the owner of the database. */
const asOwner = (statements: string) =>
  service.platform.postgres.service.begin(async (tx) => {
    await tx`set local role none`;
    await tx.unsafe(statements);
  });

it('a triggered campaign messages a member at each of its events, from its start until it is cancelled', async () => {
  const [member = '', stranger = ''] = await client.players(2);
  const segment_id = await segmentOf(member);
  const provider_id = await client.provider();
  const template_id = await client.template({ body: 'Thank you for {{context.amount}}' });
  const rest = { type: 'triggered', trigger_event: 'deposit_confirmed' };
  const campaign_id = await client.campaign({ segment_id, template_id, provider_id, ...rest });
  await client.event(member, 'deposit_confirmed', deposit('too early'));
  await sunk(service.platform);
  expect((await client.send(campaign_id)).data).toMatchObject({ recipients_total: 0, enqueued: 0 });
  await client.event(member, 'deposit_confirmed', deposit('first'));
  await client.event(member, 'deposit_confirmed', deposit('first'));
  await client.event(member, 'login');
  await client.event(stranger, 'deposit_confirmed', deposit('of a stranger'));
  await client.event(member, 'deposit_confirmed', deposit('second'));
  const messages = await until('two messages', async (saw) => {
    const found = saw(await client.messages(provider_id));
    return found.length >= 2 ? found : undefined;
  });
  expect(messages.map(({ body, recipient }) => [body, recipient])).toEqual(
    Array.from({ length: 2 }, () => ['Thank you for 5000', `${member}@example.com`]),
  );
  // It goes on: only a cancellation ends it.
  expect((await client.api('GET', `/v1/campaigns/${campaign_id}`)).data['status']).toBe('sending');
  expect((await client.api('POST', `/v1/campaigns/${campaign_id}/cancel`)).status).toBe(200);
  await client.event(member, 'deposit_confirmed', deposit('too late'));
  await sunk(service.platform);
  await until('the trigger has seen it', async (saw) => {
    const lag = saw(await service.platform.eventLog.lag('player-events', 'campaign-trigger'));
    return lag.every(({ next_offset, end_offset }) => next_offset >= end_offset);
  });
  expect(await client.recipients(campaign_id)).toHaveLength(2);
});

it('a message on a bonus goes to a member who consented to its product, where the licence asks for that', async () => {
  const tenant = await service.newTenant();
  const licensed = messagingClient(service, tenant);
  await licensed.api('PATCH', '/v1/tenant/config', { license_jurisdiction: 'ukgc' });
  const [consenting = '', silent = ''] = await licensed.players(2);
  await service.platform.postgres.service`
    update players set custom_attributes = case when player_id = ${consenting} then
      '{"rg_risk": "none", "consent.email.casino": true}'::jsonb else '{"rg_risk": "none"}'::jsonb end
    where tenant_id = ${tenant.tenant_id}`;
  const conditions = [{ type: 'trait', field: 'email', op: 'contains', value: '@example.com' }];
  const everybody = { name: 'all', definition: { operator: 'AND', conditions }, refresh_strategy: 'manual' };
  const segment_id = (await licensed.api('POST', '/v1/segments', everybody)).data['id'];
  const template_id = await licensed.template({ bonus_product: 'casino' });
  const rest = {
    type: 'triggered',
    trigger_event: 'deposit_confirmed',
    provider_id: await licensed.provider(),
  };
  const campaign_id = await licensed.campaign({ segment_id, template_id, ...rest });
  expect((await licensed.send(campaign_id)).status).toBe(200);
  for (const id of [consenting, silent]) await licensed.event(id, 'deposit_confirmed', deposit(id));
  const rows = await until('both events have fired it', async (saw) => {
    const found = saw(await licensed.recipients(campaign_id));
    return found.length === 2 && found.every(({ status }) => !/queued|sending/.test(status))
      ? found
      : undefined;
  });
  const codes = Object.fromEntries(rows.map(({ player_id, error_code }) => [player_id, error_code]));
  expect(codes).toEqual({ [consenting]: null, [silent]: 'SKIPPED_NO_CONSENT' });
});

it('needs an event, which cannot be the event of one of its own messages', async () => {
  const segment_id = await client.segment([]);
  const provider_id = await client.provider();
  const template_id = await client.template();
  const body = { segment_id, template_id, provider_id, type: 'triggered' };
  const refused = await client.send(await client.campaign(body));
  expect([refused.status, refused.code]).toEqual([422, 'VALIDATION_ERROR']);
  const circular = { ...body, name: 'circular', channel: 'email', trigger_event: 'email_sent' };
  expect((await client.api('POST', '/v1/campaigns', circular)).code).toBe('VALIDATION_ERROR');
});

it('is fired by events up to 24 hours late, but not by an imported history', async () => {
  const [member = ''] = await client.players(1);
  const name = 'custom_late';
  const segment_id = await segmentOf(member);
  const [provider_id, template_id] = await Promise.all([
    client.provider(),
    client.template({ body: 'after {{context.hours}} hours' }),
  ]);
  const plan = { segment_id, template_id, provider_id, type: 'triggered', trigger_event: name };
  const campaign_id = await client.campaign(plan);
  expect((await client.send(campaign_id)).status).toBe(200);
  // The campaign started before the oldest imported event, so only the age of the events can exclude them.
  await service.platform.postgres.service`
    update campaigns set started_at = ${new Date(Date.now() - 1_000 * 24 * 3_600_000)} where campaign_id = ${campaign_id}`;
  const told = [2 * 365 * 24, 25, 23, 1, 0];
  for (const hours of told) await tellLate(member, hours, name, { hours });
  const messages = await messagesOf({ provider_id }, 3);
  await decided();
  const expected = ['after 0 hours', 'after 1 hours', 'after 23 hours'];
  expect(messages.map(({ body }) => body).toSorted()).toEqual(expected);
  expect(await client.recipients(campaign_id)).toHaveLength(3);
});

it('is fired by an event that happened shortly before its start and arrives after it', async () => {
  const [member = ''] = await client.players(1);
  const campaign = await armed('custom_offline', member);
  await tellLate(member, 1, 'custom_offline', {});
  expect(await messagesOf(campaign, 1)).toHaveLength(1);
});

it('is not fired by a click of long ago that is on the log again, but by one of the last 24 hours', async () => {
  const [member = ''] = await client.players(1);
  const segment_id = await segmentOf(member);
  const [provider_id, template_id] = await Promise.all([client.provider(), client.template()]);
  const plan = { segment_id, template_id, provider_id, type: 'triggered', trigger_event: 'sms_clicked' };
  const campaign_id = await client.campaign(plan);
  expect((await client.send(campaign_id)).status).toBe(200);
  await service.platform.postgres.service`
    update campaigns set started_at = ${new Date(Date.now() - 1_000 * 24 * 3_600_000)} where campaign_id = ${campaign_id}`;
  const clicked = (hours: number) =>
    encodePlayerEvent({
      tenant_id: service.tenant_id,
      project_id: service.project_id,
      event: 'sms_clicked',
      player_id: member,
      occurred_at: Date.now() - hours * 3_600_000,
      received_at: Date.now() - hours * 3_600_000,
      ingestion_id: randomUUID(),
      event_index: 2,
      base_amount: null,
      base_payout: null,
      properties: { hours },
    });
  const values = [100 * 24, 25, 23].map(clicked);
  await record(values);
  await decided();
  expect(await client.recipients(campaign_id)).toHaveLength(1);
});

it('an event fires every campaign of its name and project, and no event of other projects is parsed', async () => {
  const [member = ''] = await client.players(1);
  const [first, second, longer] = [
    await armed('custom_once', member),
    await armed('custom_once', member),
    await armed('custom_once_more', member),
  ];
  const now_ms = Date.now();
  const values = [service.project_id, randomUUID()].map((project_id) =>
    encodePlayerEvent({
      tenant_id: service.tenant_id,
      project_id,
      event: 'custom_once',
      player_id: member,
      occurred_at: now_ms,
      received_at: now_ms,
      ingestion_id: randomUUID(),
      event_index: 0,
      base_amount: null,
      base_payout: null,
      properties: {},
    }),
  );
  const parse = vi.spyOn(JSON, 'parse');
  await record(values);
  const read = values.map((value) => parse.mock.calls.filter(([text]) => text === value).length);
  parse.mockRestore();
  expect(read[1]).toBe(0);
  // The decisions of the two campaigns may have begun, and parse what they fire.
  expect(read[0]).toBeLessThanOrEqual(3);
  await decided();
  const rows = await Promise.all(
    [first, second, longer].map(({ campaign_id }) => client.recipients(campaign_id)),
  );
  expect(rows.map(({ length }) => length)).toEqual([1, 1, 0]);
});

it.each([
  [
    'no variant',
    'RangeError',
    (id: string) => `delete from campaign_variants where campaign_id = '${id}'`,
    'select 1',
  ],
  [
    'a row that is refused',
    '23514',
    (id: string) =>
      `alter table message_sends add constraint refused check (campaign_id is distinct from '${id}'::uuid) not valid`,
    'alter table message_sends drop constraint refused',
  ],
])(
  'a campaign that cannot be fired is logged, waits and delays no other: %s',
  async (_what, code, spoil, mend) => {
    const [member = ''] = await client.players(1);
    const broken = await armed('deposit_confirmed', member);
    const sound = await armed('login', member);
    await asOwner(spoil(broken.campaign_id));
    const warn = vi.spyOn(service.platform.logger, 'warn');
    try {
      await client.event(member, 'deposit_confirmed', deposit(`with ${code}`));
      await client.event(member, 'login');
      expect(await messagesOf(sound, 1)).toHaveLength(1);
      expect(await client.recipients(broken.campaign_id)).toEqual([]);
      const logged = () => warn.mock.calls.map(([fields]) => fields);
      const reason = `the decision failed: ${code}`;
      const expected = { listener_id: broken.campaign_id, listener_kind: 'campaign', reason, events: 1 };
      await vi.waitFor(() => expect(logged()).toContainEqual(expected), { timeout: 45_000 });
      expect(JSON.stringify(logged())).not.toContain(member);
      await until('the campaign shows it', async (saw) => {
        const { data } = saw(await client.api('GET', `/v1/campaigns/${broken.campaign_id}`));
        return data['last_error'] === reason;
      });
    } finally {
      await asOwner(mend);
      for (const { campaign_id } of [broken, sound])
        await client.api('POST', `/v1/campaigns/${campaign_id}/cancel`);
    }
  },
);

it('a failure that is not the campaign’s fault is retried until it succeeds', async () => {
  const [member = ''] = await client.players(1);
  const campaign = await armed('custom_patience', member);
  await asOwner(`
    create function no_room() returns trigger language plpgsql as $$
      begin raise exception 'no room' using errcode = '53100'; end $$;
    create trigger no_room before insert on message_sends
      for each row when (new.campaign_id = '${campaign.campaign_id}'::uuid) execute function no_room()`);
  const warn = vi.spyOn(service.platform.logger, 'warn');
  await client.event(member, 'custom_patience');
  try {
    await until('it has failed', () => {
      const failed = warn.mock.calls.some(
        ([fields]) => (fields as { reason?: string }).reason === 'the decision failed: 53100',
      );
      return Promise.resolve(failed ? true : undefined);
    });
  } finally {
    await asOwner('drop trigger no_room on message_sends; drop function no_room()');
  }
  expect(await messagesOf(campaign, 1)).toHaveLength(1);
});
