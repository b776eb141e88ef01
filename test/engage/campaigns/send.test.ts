import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { variantChooser } from '../../../src/engage/campaigns/fan-out.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import {
  messagingClient,
  type Body,
  type MessagingClient,
  type ShownSend,
} from '../messaging/messaging-client.ts';

let service: TestService;
let client: MessagingClient;
let tenant: Awaited<ReturnType<TestService['newTenant']>>;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());
beforeEach(async () => {
  tenant = await service.newTenant();
  client = messagingClient(service, tenant);
});

/** Creates an email campaign with a template and a sandbox of its own. */
async function campaignFor(player_ids: readonly string[], rest: Body = {}) {
  const parts = await partsFor(player_ids);
  const campaign_id = await client.campaign({ ...parts, ...rest });
  return { ...parts, campaign_id };
}

/** Creates what a campaign refers to. */
async function partsFor(player_ids: readonly string[]) {
  const provider_id = await client.provider();
  const template_id = await client.template();
  const segment_id = await client.segment(player_ids);
  return { provider_id, template_id, segment_id };
}

/** Creates a campaign that is due in an hour, and lets it become due now; returns its id. */
async function scheduledCampaign(rest: Body) {
  const schedule_at = new Date(Date.now() + 3_600_000).toISOString();
  const body = { name: 'scheduled', type: 'broadcast', channel: 'email', schedule_at, ...rest };
  const { status, data, error } = await client.api('POST', '/v1/campaigns', body);
  expect([status, data?.['status']], JSON.stringify(error)).toEqual([201, 'scheduled']);
  const campaign_id = String(data['id']);
  await service.platform.postgres.service`
    update campaigns set schedule_at = now() where campaign_id = ${campaign_id}`;
  return campaign_id;
}

const patchPlayer = async (player_id: string, patch: Body) =>
  expect((await client.api('PATCH', `/v1/players/${player_id}`, patch)).status).toBe(200);
const codesOf = (rows: readonly ShownSend[]) =>
  Object.fromEntries(rows.map(({ player_id, error_code }) => [player_id, error_code]));

it('a campaign reaches the players it may reach, records the reason for each other player, and ends', async () => {
  const [ada = '', excluded = '', banned = '', deleted = ''] = await client.players(4);
  const [silent = ''] = await client.players(1, { email: null });
  await patchPlayer(ada, { custom_attributes: { first_name: '<Ada>' } });
  await client.event(excluded, 'self_exclusion_set');
  await patchPlayer(banned, { status: 'banned' });
  const { provider_id, template_id, campaign_id } = await campaignFor([
    ada,
    excluded,
    banned,
    deleted,
    silent,
  ]);
  await client.api('DELETE', `/v1/players/${deleted}`);
  const sent = await client.send(campaign_id);
  expect(sent.status, JSON.stringify(sent.error)).toBe(200);
  expect(sent.data).toMatchObject({ campaign_id, recipients_total: 4, no_recipient: 1 });
  await client.reaches(campaign_id, 'sent');
  const rows = await client.recipients(campaign_id);
  expect(codesOf(rows)).toEqual({
    [ada]: null,
    [excluded]: 'SKIPPED_SELF_EXCLUDED',
    [banned]: 'SKIPPED_BANNED',
    [silent]: 'SKIPPED_NO_RECIPIENT',
  });
  const row = rows.find(({ player_id }) => player_id === ada);
  expect(row).toMatchObject({ status: 'sent', recipient: `${ada}@example.com`, template_id });
  const messages = await client.messages(provider_id);
  expect(messages).toHaveLength(1);
  expect(messages[0]).toMatchObject({
    send_id: row?.id,
    recipient: `${ada}@example.com`,
    subject: 'Hello <Ada>',
    body: '<p>Dear &lt;Ada&gt;</p>',
  });
  expect(messages[0]?.headers['List-Unsubscribe-Post']).toBe('List-Unsubscribe=One-Click');
  expect((await client.stats(campaign_id)).counters).toEqual({
    recipients_total: 4,
    sent: 1,
    delivered: 0,
    opened: 0,
    clicked: 0,
    bounced: 0,
    failed: 3,
    capped: 0,
  });
});

describe('the gate', () => {
  it('enforces the caps across several campaigns that are sent at the same time', async () => {
    await client.configure({ frequency_caps: { email: { per_day: 1 } } });
    const player_ids = await client.players(30);
    const first = await campaignFor(player_ids);
    const second = await campaignFor(player_ids);
    await Promise.all([client.send(first.campaign_id), client.send(second.campaign_id)]);
    await Promise.all([
      client.reaches(first.campaign_id, 'sent'),
      client.reaches(second.campaign_id, 'sent'),
    ]);
    const rows = [
      ...(await client.recipients(first.campaign_id)),
      ...(await client.recipients(second.campaign_id)),
    ];
    for (const player_id of player_ids) {
      const own = rows
        .filter((row) => row.player_id === player_id)
        .map(({ status, error_code }) => `${status} ${error_code}`);
      expect(own.sort()).toEqual(['capped SKIPPED_FREQUENCY_CAP', 'sent null']);
    }
  });

  it('counts rolling days and weeks to the millisecond, and only messages that may have gone out', async () => {
    await client.configure({ frequency_caps: { email: { per_day: 1, per_week: 2 } } });
    const DAY = 86_400_000;
    // The service's clock runs on during the campaign, so edges are one minute away on either side.
    const MINUTE = 60_000;
    const cases: { ages_ms: number[]; status?: string; error_code?: string; passes: boolean }[] = [
      { ages_ms: [], passes: true },
      { ages_ms: [DAY - MINUTE], passes: false },
      { ages_ms: [DAY + MINUTE], passes: true },
      { ages_ms: [2 * DAY, 7 * DAY - MINUTE], passes: false },
      { ages_ms: [2 * DAY, 7 * DAY + MINUTE], passes: true },
      { ages_ms: [MINUTE], status: 'failed', error_code: 'OUTCOME_UNKNOWN', passes: false },
    ];
    const player_ids = await client.players(cases.length);
    const { service: sql } = service.platform.postgres;
    for (const [i, { ages_ms, status = 'sent', error_code = null }] of cases.entries()) {
      for (const age_ms of ages_ms) {
        const at = new Date(Date.now() - age_ms);
        await sql`
          insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, status, error_code,
            counted_at, enqueued_at)
          values (${tenant.tenant_id}, ${tenant.project_id}, ${randomUUID()}, ${randomUUID()}, ${player_ids[i] ?? ''},
            'email', ${status}, ${error_code}, ${at}, ${at})`;
      }
    }
    const { campaign_id } = await campaignFor(player_ids);
    await client.send(campaign_id);
    await client.reaches(campaign_id, 'sent');
    const codes = codesOf(await client.recipients(campaign_id));
    const passed = player_ids.map((player_id) => codes[player_id] === null);
    expect(passed).toEqual(cases.map(({ passes }) => passes));
  });

  it('checks consent, cool-downs, suppressed addresses and quiet hours', async () => {
    const ids = await client.players(6);
    const [no = '', nested = '', paused = '', suppressed = '', awake = '', torn = ''] = ids;
    const [asleep = ''] = await client.players(1, { timezone: 'Asia/Tokyo' });
    await patchPlayer(no, { custom_attributes: { 'consent.email': false } });
    await patchPlayer(torn, { custom_attributes: { 'consent.email': true, consent: { email: false } } });
    await patchPlayer(nested, { custom_attributes: { consent: { email: 'no', sms: true } } });
    await client.event(paused, 'cooldown_entered', { until: new Date(Date.now() + 3_600_000).toISOString() });
    await service.platform.postgres.service`
      insert into suppressions (tenant_id, channel, address, reason, created_at)
      values (${tenant.tenant_id}, 'email', ${`${suppressed}@example.com`}, 'bounce', now())`;
    // Quiet in Tokyo only: an hour around the current time there.
    const clock = (zone: string, shift_ms: number) =>
      new Intl.DateTimeFormat('en-GB', {
        timeZone: zone,
        hour: '2-digit',
        minute: '2-digit',
        hour12: false,
      }).format(Date.now() + shift_ms);
    await client.configure({
      quiet_hours: {
        start: clock('Asia/Tokyo', -1_800_000),
        end: clock('Asia/Tokyo', 1_800_000),
        default_timezone: 'America/New_York',
      },
    });
    const { campaign_id } = await campaignFor([...ids, asleep]);
    await client.send(campaign_id);
    await client.reaches(campaign_id, 'sent');
    expect(codesOf(await client.recipients(campaign_id))).toEqual({
      [no]: 'SKIPPED_NO_CONSENT',
      [nested]: 'SKIPPED_NO_CONSENT',
      [torn]: 'SKIPPED_NO_CONSENT',
      [paused]: 'SKIPPED_COOLDOWN',
      [suppressed]: 'SKIPPED_SUPPRESSED',
      [awake]: null,
      [asleep]: 'SKIPPED_QUIET_HOURS',
    });
    await client.configure({ consent_required: true, quiet_hours: null });
    await patchPlayer(no, { custom_attributes: { 'consent.email': true } });
    const second = await campaignFor([no, awake]);
    await client.send(second.campaign_id);
    await client.reaches(second.campaign_id, 'sent');
    expect(codesOf(await client.recipients(second.campaign_id))).toEqual({
      [no]: null,
      [awake]: 'SKIPPED_NO_CONSENT',
    });
  });
});

it('every member gets the variant that the hash chooses, in batches of a thousand', async () => {
  const player_ids = await client.players(2_345);
  const { campaign_id, template_id } = await campaignFor(player_ids);
  const other = await client.template({ body: 'B' });
  for (const [name, weight, of] of [
    ['a', 70, template_id],
    ['b', 30, other],
  ] as const) {
    const body = { name, label: name.toUpperCase(), template_id: of, weight, sort_order: weight };
    expect((await client.api('POST', `/v1/campaigns/${campaign_id}/variants`, body)).status).toBe(201);
  }
  const { data } = await client.api<
    { id: string; weight: number; sort_order: number; template_id: string }[]
  >('GET', `/v1/campaigns/${campaign_id}/variants`);
  const variants = data.map((one) => ({ ...one, variant_id: one.id }));
  const sent = await client.send(campaign_id);
  expect(sent.data).toMatchObject({ recipients_total: 2_345, enqueued: 2_345, no_recipient: 0 });
  await client.reaches(campaign_id, 'sent', 60_000);
  const rows = await client.recipients(campaign_id);
  expect(rows.map(({ player_id }) => player_id).sort()).toEqual(player_ids.toSorted());
  for (const row of rows) {
    const expected = variantChooser(campaign_id, variants)(row.player_id);
    expect([row.variant_id, row.template_id, row.status]).toEqual([
      expected.id,
      expected.template_id,
      'sent',
    ]);
  }
  expect(new Set(rows.map(({ variant_id }) => variant_id)).size).toBe(2);
});

describe('life of a campaign', () => {
  it('is sent once, with one or many Idempotency-Keys', async () => {
    const one = await campaignFor(await client.players(20));
    const key = randomUUID();
    const same = await Promise.all(
      Array.from({ length: 8 }, () => client.send(one.campaign_id, { 'idempotency-key': key })),
    );
    const answered = same.filter(({ status }) => status === 200);
    expect(answered.length).toBeGreaterThan(0);
    expect(new Set(answered.map(({ data }) => JSON.stringify(data))).size).toBe(1);
    for (const { status, code } of same) {
      if (status !== 200) expect([status, code]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS']);
    }
    const replay = await client.send(one.campaign_id, { 'idempotency-key': key });
    expect(replay.data).toEqual(answered[0]?.data);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect(await client.recipients(one.campaign_id)).toHaveLength(20);

    const other = await campaignFor(await client.players(20));
    const many = await Promise.all(
      Array.from({ length: 8 }, () => client.send(other.campaign_id, { 'idempotency-key': randomUUID() })),
    );
    expect(many.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(7).fill(409),
    ]);
    expect(new Set(many.flatMap(({ code }) => code ?? []))).toEqual(new Set(['CAMPAIGN_INVALID_STATUS']));
    await client.reaches(other.campaign_id, 'sent');
    const { counters } = await client.stats(other.campaign_id);
    expect(counters).toMatchObject({ recipients_total: 20, sent: 20 });
    expect(await client.messages(other.provider_id)).toHaveLength(20);
  });

  it('sends nothing after it is cancelled; a cancelled or sent campaign stays so', async () => {
    const draft = await campaignFor(await client.players(1));
    expect((await client.api('POST', `/v1/campaigns/${draft.campaign_id}/cancel`)).data['status']).toBe(
      'cancelled',
    );
    expect((await client.send(draft.campaign_id)).code).toBe('CAMPAIGN_INVALID_STATUS');

    const provider_id = await client.provider({ rate_per_second: 1 });
    const paused = await campaignFor(await client.players(1_500), { provider_id });
    expect((await client.send(paused.campaign_id)).status).toBe(200);
    const cancelled = await client.api('POST', `/v1/campaigns/${paused.campaign_id}/cancel`);
    expect([cancelled.status, cancelled.data['status']]).toEqual([200, 'cancelled']);
    expect((await client.api('POST', `/v1/campaigns/${paused.campaign_id}/cancel`)).status).toBe(409);
    const rows = await closed(paused.campaign_id);
    expect(rows.length).toBeGreaterThanOrEqual(1_000);
    const sent = rows.filter(({ status }) => status === 'sent');
    // At one message a second, a few were handed over before the cancellation.
    expect(sent.length).toBeLessThan(10);
    expect(await client.messages(provider_id)).toHaveLength(sent.length);
    const others = rows.filter(({ status }) => status !== 'sent');
    expect(new Set(others.map(({ status, error_code }) => `${status} ${error_code}`))).toEqual(
      new Set(['failed SKIPPED_CANCELLED']),
    );
  });

  it('shows missing objects row by row, or refuses to send', async () => {
    const without_template = await campaignFor(await client.players(2));
    await client.api('DELETE', `/v1/templates/${without_template.template_id}`);
    expect((await client.send(without_template.campaign_id)).status).toBe(200);
    await client.reaches(without_template.campaign_id, 'sent');
    const codes = Object.values(codesOf(await client.recipients(without_template.campaign_id)));
    expect(codes).toEqual(['SKIPPED_TEMPLATE_MISSING', 'SKIPPED_TEMPLATE_MISSING']);

    const without_segment = await campaignFor(await client.players(2));
    await client.api('DELETE', `/v1/segments/${without_segment.segment_id}`);
    expect((await client.send(without_segment.campaign_id)).data).toMatchObject({ recipients_total: 0 });
    await client.reaches(without_segment.campaign_id, 'sent');

    const draft = await campaignFor([], { template_id: await client.template({ status: 'draft' }) });
    const refused = await client.send(draft.campaign_id);
    expect([refused.status, refused.code]).toEqual([422, 'TEMPLATE_NOT_ACTIVE']);

    const paused = await campaignFor([]);
    await client.api('PATCH', `/v1/messaging-providers/${paused.provider_id}`, { status: 'paused' });
    expect((await client.send(paused.campaign_id)).code).toBe('PROVIDER_NOT_CONFIGURED');

    const bare = await campaignFor([], { provider_id: null });
    await client.api('DELETE', `/v1/messaging-providers/${bare.provider_id}`);
    for (const { id } of (await client.api<{ id: string }[]>('GET', '/v1/messaging-providers')).data) {
      await client.api('DELETE', `/v1/messaging-providers/${id}`);
    }
    const homeless = await client.send(bare.campaign_id);
    expect([homeless.status, homeless.code]).toEqual([422, 'PROVIDER_NOT_CONFIGURED']);
  });

  it('is sent once when its schedule is due', async () => {
    const parts = await partsFor(await client.players(3));
    await client.reaches(await scheduledCampaign(parts), 'sent');
    expect(await client.messages(parts.provider_id)).toHaveLength(3);
  });

  it('becomes a draft with the reason when the schedule is due and an object is missing', async () => {
    const parts = await partsFor(await client.players(1));
    const template_id = await client.template({ status: 'draft' });
    const draft = await client.reaches(await scheduledCampaign({ ...parts, template_id }), 'draft');
    expect(draft['last_error']).toMatch(/active/);
  });
});

/** The messages of a campaign, once none is open any more. */
const closed = (campaign_id: string): Promise<ShownSend[]> =>
  until('every message is closed', async (saw) => {
    const rows = saw(await client.recipients(campaign_id));
    return rows.every(({ status }) => status !== 'queued' && status !== 'sending') ? rows : undefined;
  });

describe('messages on bonuses under a licence', () => {
  /** Players who differ in what they said; by name. */
  async function players() {
    const ids = await client.players(5);
    const [casino = '', all = '', silent = '', risky = '', unknown = ''] = ids;
    const yes = { casino: true, betting: true, bingo: true };
    // Inserted players have attributes of their own; these replace them.
    const say = async (id: string, attributes: Body) =>
      service.platform.postgres.service`
        update players set custom_attributes = ${JSON.stringify(attributes)}::text::jsonb where player_id = ${id}`;
    await say(casino, { rg_risk: 'none', consent: { email: { casino: true } } });
    await say(all, { rg_risk: 'low', consent: { email: yes }, 'consent.email': true });
    await say(silent, { rg_risk: 'none', 'consent.email': true });
    await say(risky, { rg_risk: 'strong', consent: { email: yes } });
    await say(unknown, { consent: { email: yes } });
    return { ids, casino, all, silent, risky, unknown };
  }

  const licensed = async (config: Body = {}) => {
    const body = { license_jurisdiction: 'ukgc', config };
    expect((await client.api('PATCH', '/v1/tenant/config', body)).status).toBe(200);
  };

  /** The codes of the members in the order of `ids`, after the answer to `send`. */
  async function codesFor(template: Body, ids: readonly string[], rest: Body = {}) {
    const template_id = await client.template(template);
    const { campaign_id } = await campaignFor(ids, { template_id, ...rest });
    const sent = await client.send(campaign_id);
    await client.reaches(campaign_id, 'sent');
    const codes = codesOf(await client.recipients(campaign_id));
    expect(sent.data['enqueued']).toBe(ids.filter((id) => codes[id] === null).length);
    return ids.map((id) => codes[id]);
  }

  it('go to players who consented to the product on the channel, and are not at risk', async () => {
    const { ids } = await players();
    await licensed();
    const [no, risk] = ['SKIPPED_NO_CONSENT', 'SKIPPED_AT_RISK'];
    const about = (bonus_product: string) => codesFor({ bonus_product }, ids);
    expect(await about('casino')).toEqual([null, null, no, risk, risk]);
    expect(await about('betting')).toEqual([no, null, no, risk, risk]);
    expect(await about('any')).toEqual([no, null, no, risk, risk]);
    expect(await about('lottery')).toEqual([null, null, null, risk, risk]);
    // Nobody said what this one is about: it may show any bonus.
    const reading = { body: '{% if bonus %}{{ bonus.name }}{% endif %}!' };
    expect(await codesFor(reading, ids)).toEqual([no, null, no, risk, risk]);
    expect(await codesFor({ ...reading, bonus_product: 'casino' }, ids)).toEqual([
      null,
      null,
      no,
      risk,
      risk,
    ]);
    // A message on something else needs none of this.
    expect(await codesFor({}, ids)).toEqual([null, null, null, null, null]);
    // What is not known refuses nothing where the tenant has loosened the rule.
    const warn = { severity: 'warn', reason: 'asked counsel' };
    await licensed({ license_rules: { ukgc_at_risk: warn, ukgc_marketing_consent: warn } });
    expect(await about('casino')).toEqual([null, null, null, risk, null]);
  });

  it('are told apart by a change of the template, and by the licence alone', async () => {
    const { ids, silent } = await players();
    const body = { body: '{{ bonus.name }}!' };
    expect(await codesFor(body, ids)).toEqual([null, null, null, null, null]);
    await licensed();
    const template_id = await client.template();
    const changed = await client.api('PATCH', `/v1/templates/${template_id}`, { bonus_product: 'bingo' });
    expect(changed.data).toMatchObject({ bonus_product: 'bingo' });
    const test = async () => {
      const answer = { recipient: 'me@example.com', player_id: silent };
      return (await client.api('POST', `/v1/templates/${template_id}/send-test`, answer)).data['error_code'];
    };
    expect(await test()).toBe('SKIPPED_NO_CONSENT');
    await client.api('PATCH', `/v1/templates/${template_id}`, { bonus_product: null });
    expect(await test()).toBeNull();
    await client.api('PATCH', `/v1/templates/${template_id}`, body);
    expect(await test()).toBe('SKIPPED_NO_CONSENT');
  });

  it('are decided by the template of the variant', async () => {
    const { casino, silent } = await players();
    await licensed();
    const [template_id, plain] = [
      await client.template({ bonus_product: 'casino' }),
      await client.template(),
    ];
    const { campaign_id } = await campaignFor([casino, silent]);
    for (const [name, of] of Object.entries({ plain, bonus: template_id })) {
      const variant = { name, label: name, template_id: of, weight: 50, sort_order: 1 };
      await client.api('POST', `/v1/campaigns/${campaign_id}/variants`, variant);
    }
    // Only players whom every variant reaches are counted before.
    expect((await client.send(campaign_id)).data).toMatchObject({ recipients_total: 2, enqueued: 1 });
    await client.reaches(campaign_id, 'sent');
    for (const { player_id, template_id: of, error_code } of await client.recipients(campaign_id)) {
      const is_refused = player_id === silent && of === template_id;
      expect(error_code).toBe(is_refused ? 'SKIPPED_NO_CONSENT' : null);
    }
  });
});
