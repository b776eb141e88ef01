import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { selectCopiedSample } from '../../../src/engage/campaigns/audience-queries.ts';
import { messagingClient, type Body, type MessagingClient } from '../messaging/messaging-client.ts';

// What the console shows of a campaign before and after it is sent, and what uses a template.

let service: TestService;
let tenant: TestTenant;
let client: MessagingClient;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service?.close());
beforeEach(async () => {
  tenant = await service.newTenant();
  client = messagingClient(service, tenant);
});

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

interface Audience {
  members: number;
  sendable: number;
  by_code: Record<string, number>;
  exact: boolean;
  counted: number;
}
const audience = async (campaign_id: string, body?: Body) => {
  const answer = await client.api<Audience>('POST', `/v1/campaigns/${campaign_id}/audience`, body);
  expect(answer.status, JSON.stringify(answer.error)).toBe(200);
  return answer.data;
};
async function campaignFor(player_ids: readonly string[], rest: Body = {}) {
  const segment_id = await client.segment(player_ids);
  return client.campaign({
    segment_id,
    provider_id: await client.provider(),
    template_id: await client.template(),
    ...rest,
  });
}

describe('the audience', () => {
  it('is what sending will find, by code, before anything is sent', async () => {
    const players = await client.players(12);
    const [excluded = '', banned = '', capped = ''] = players;
    const silent = await client.players(2, { email: null });
    const [deleted = ''] = await client.players(1);
    await client.event(excluded, 'self_exclusion_set');
    await client.api('PATCH', `/v1/players/${banned}`, { status: 'banned' });
    await client.configure({ frequency_caps: { email: { per_day: 1 } } });
    const first = await campaignFor([capped]);
    await client.send(first);
    await client.reaches(first, 'sent');
    const campaign_id = await campaignFor([...players, ...silent, deleted]);
    await client.api('DELETE', `/v1/players/${deleted}`);
    await until('the exclusion is known', async (saw) => {
      const { by_code } = saw(await audience(campaign_id));
      return by_code['SKIPPED_SELF_EXCLUDED'] === 1;
    });
    const before = await audience(campaign_id, { exact: true });
    expect(before).toEqual({
      members: 14,
      sendable: 9,
      by_code: {
        SKIPPED_SELF_EXCLUDED: 1,
        SKIPPED_BANNED: 1,
        SKIPPED_NO_RECIPIENT: 2,
        SKIPPED_FREQUENCY_CAP: 1,
      },
      exact: true,
      effect: null,
      send_time: null,
      counted: 14,
    });
    expect(await client.recipients(campaign_id)).toEqual([]);
    const { data } = await client.send(campaign_id);
    expect(data).toMatchObject({ recipients_total: 14, enqueued: 9, no_recipient: 2 });
    await client.reaches(campaign_id, 'sent');
    const codes: Record<string, number> = {};
    for (const { error_code } of await client.recipients(campaign_id)) {
      if (error_code !== null) codes[error_code] = (codes[error_code] ?? 0) + 1;
    }
    expect(codes).toEqual(before.by_code);
    const failures = await client.api('GET', `/v1/campaigns/${campaign_id}/failures`);
    expect(failures.data).toEqual({ by_code: before.by_code });
  });

  it('knows the quiet hours of each zone', async () => {
    const [here, there] = [
      await client.players(3, { timezone: 'UTC' }),
      await client.players(2, { timezone: 'Etc/GMT-12' }),
    ];
    const minute = (off: number) => new Date(Date.now() + off * 60_000).toISOString().slice(11, 16);
    await client.configure({
      quiet_hours: { start: minute(-60), end: minute(60), default_timezone: 'UTC' },
    });
    const found = await audience(await campaignFor([...here, ...there]));
    expect(found).toMatchObject({ sendable: 2, by_code: { SKIPPED_QUIET_HOURS: 3 } });
  });

  it('of a large segment is estimated from a sample, and exact when all are asked', async () => {
    const [mailed, silent] = [await client.players(30_000), await client.players(10_000, { email: null })];
    const campaign_id = await campaignFor([...mailed, ...silent]);
    const sample = await audience(campaign_id);
    expect(sample).toMatchObject({ members: 40_000, exact: false });
    expect(Math.abs(sample.counted - 10_000)).toBeLessThan(600);
    expect(Math.abs(sample.sendable - 30_000)).toBeLessThan(1_200);
    expect(Math.abs(sample.sendable + (sample.by_code['SKIPPED_NO_RECIPIENT'] ?? 0) - 40_000)).toBeLessThan(
      3,
    );
    // The same members each time: a page that asks again shows no other figures.
    expect(await audience(campaign_id)).toEqual(sample);
    const { clickhouse, postgres } = service.platform;
    const segment = await client.api<{ segment_id: string }>('GET', `/v1/campaigns/${campaign_id}`);
    const ref = { ...tenant, campaign_id, segment_id: segment.data.segment_id, channel: 'email' } as const;
    const copied = async () => (await selectCopiedSample(clickhouse, ref, 0.25, 20_000)).length;
    expect(await copied()).toBe(0);
    await postgres.service`
      insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
      select tenant_id, project_id, segment_id, true, array_agg(player_id), now()
      from segment_members where segment_id = ${ref.segment_id}
      group by tenant_id, project_id, segment_id, get_byte(uuid_send(player_id), 15) % 64`;
    await until('the members are in ClickHouse', async (saw) => saw(await copied()) > 9_400);
    const from_copy = await until('all are copied', async (saw) => {
      const [before, found, after] = [await copied(), await audience(campaign_id), await copied()];
      return saw(found.counted) === before && before === after ? found : undefined;
    });
    expect(from_copy.exact).toBe(false);
    expect(Math.abs(from_copy.sendable - 30_000)).toBeLessThan(1_200);
    expect(await audience(campaign_id)).toEqual(from_copy);
    expect(await audience(campaign_id, { exact: true })).toEqual({
      members: 40_000,
      sendable: 30_000,
      by_code: { SKIPPED_NO_RECIPIENT: 10_000 },
      exact: true,
      effect: null,
      send_time: null,
      counted: 40_000,
    });
  });

  it('is nobody without a segment, for a deleted one, and for a triggered campaign', async () => {
    const nobody = {
      members: 0,
      sendable: 0,
      by_code: {},
      exact: true,
      counted: 0,
      effect: null,
      send_time: null,
    };
    const parts = { provider_id: await client.provider(), template_id: await client.template() };
    expect(await audience(await client.campaign(parts))).toEqual(nobody);
    const segment_id = await client.segment(await client.players(2));
    const triggered = { ...parts, segment_id, type: 'triggered', trigger_event: 'login' };
    expect(await audience(await client.campaign(triggered))).toEqual(nobody);
    const gone = await client.campaign({ ...parts, segment_id });
    await client.api('DELETE', `/v1/segments/${segment_id}`);
    expect(await audience(gone)).toMatchObject({ sendable: 0, by_code: {} });
  });

  it('refuses other bodies and campaigns that are not there', async () => {
    const campaign_id = await campaignFor([]);
    const ask = (id: string, body: Body) => client.api('POST', `/v1/campaigns/${id}/audience`, body);
    expect((await ask(campaign_id, { exact: 'yes' })).code).toBe('VALIDATION_ERROR');
    expect((await ask(campaign_id, { all: true })).code).toBe('VALIDATION_ERROR');
    expect((await ask(UNKNOWN, {})).code).toBe('CAMPAIGN_NOT_FOUND');
    await client.api('DELETE', `/v1/campaigns/${campaign_id}`);
    expect((await ask(campaign_id, {})).code).toBe('CAMPAIGN_NOT_FOUND');
  });

  it('stops counting when nobody waits for the answer', async () => {
    const { postgres } = service.platform;
    const leaving = new AbortController();
    const counted = postgres.countAsTenant(
      tenant.tenant_id,
      (tx) => tx`select pg_sleep(50)`,
      {},
      leaving.signal,
    );
    const refused = expect(counted).rejects.toThrow('left meanwhile');
    const running = () =>
      postgres.service.begin(async (tx) => {
        await tx`set local role none`;
        return tx`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
      });
    await until('the statement runs', async () => (await running()).length === 1);
    leaving.abort(new Error('left meanwhile'));
    await refused;
    // Postgres was asked to stop: the limits of statements and of waiting are longer.
    await until('the statement is cancelled', async () => (await running()).length === 0, 20_000);
    // Others have a connection.
    const rows = await postgres.countAsTenant(tenant.tenant_id, (tx) => tx<{ n: number }[]>`select 1 as n`);
    expect(rows).toEqual([{ n: 1 }]);
    const gone = AbortSignal.abort(new Error('left before'));
    await expect(postgres.countAsTenant(tenant.tenant_id, (tx) => tx`select 1`, {}, gone)).rejects.toThrow(
      'left before',
    );
  });
});

describe('the series', () => {
  interface Series {
    interval: string;
    points: ({ at: string } & Record<string, number>)[];
    is_complete: boolean;
  }
  const series = async (campaign_id: string, query = '') =>
    client.api<Series>('GET', `/v1/campaigns/${campaign_id}/series${query}`);

  it('counts stages and conversions by their time, also where nothing happened', async () => {
    const players = await client.players(4);
    const campaign_id = await campaignFor(players);
    await client.send(campaign_id);
    await client.reaches(campaign_id, 'sent');
    const times = [
      { sent: '2026-05-01T10:10:00Z', delivered: '2026-05-01T10:11:00Z', opened: '2026-05-01T12:00:00Z' },
      { sent: '2026-05-01T10:59:59.999Z', delivered: null, opened: null },
      { sent: '2026-05-01T11:00:00Z', delivered: '2026-05-01T11:00:01Z', opened: null },
      { sent: null, delivered: null, opened: null },
    ];
    for (const [i, { sent, delivered, opened }] of times.entries()) {
      await service.platform.postgres.service`
        update message_sends set sent_at = ${sent}, delivered_at = ${delivered}, opened_at = ${opened},
          changed_xid = pg_current_xact_id()
        where campaign_id = ${campaign_id} and player_id = ${players[i] ?? ''}`;
    }
    const none = { sent: 0, delivered: 0, opened: 0, clicked: 0, converted: 0 };
    expect((await series(campaign_id)).data).toEqual({
      interval: 'hour',
      points: [
        { ...none, at: '2026-05-01T10:00:00.000Z', sent: 2, delivered: 1 },
        { ...none, at: '2026-05-01T11:00:00.000Z', sent: 1, delivered: 1 },
        { ...none, at: '2026-05-01T12:00:00.000Z', opened: 1 },
      ],
      is_complete: true,
    });
    const lines = [
      // Twice within the window counts once; after it, or of a player who got nothing, not at all.
      { player: 0, at: '2026-05-03T00:30:00Z' },
      { player: 0, at: '2026-05-04T00:30:00Z' },
      { player: 1, at: '2026-05-03T01:30:00Z' },
      { player: 2, at: '2026-05-20T00:00:00Z' },
      { player: 3, at: '2026-05-03T00:30:00Z' },
    ].map(({ player, at }, i) =>
      JSON.stringify({
        tenant_id: tenant.tenant_id,
        project_id: tenant.project_id,
        player_id: players[player],
        event: 'login',
        occurred_at: Date.parse(at),
        received_at: 0,
        ingestion_id: UNKNOWN.replace(/.$/, String(i)),
        event_index: 0,
        properties: {},
      }),
    );
    await service.platform.clickhouse.insertLines('events', lines, campaign_id);
    await service.platform.postgres.service`
      update campaigns set goal_event = 'login', goal_attribution_days = 7 where campaign_id = ${campaign_id}`;
    await waitUntilCaughtUp(service.platform, 30_000);
    const { data } = await series(campaign_id, '?interval=day');
    expect(data.points.map(({ at, sent, converted }) => [at.slice(0, 10), sent, converted])).toEqual([
      ['2026-05-01', 3, 0],
      ['2026-05-02', 0, 0],
      ['2026-05-03', 0, 2],
    ]);
    const stats = await client.api<{ variants: { conversions: number }[] }>(
      'GET',
      `/v1/campaigns/${campaign_id}/conversion-stats`,
    );
    expect(stats.data.variants.map(({ conversions }) => conversions)).toEqual([2]);
    // Conversions come late; the stages of the messages tell how long the campaign took.
    expect((await series(campaign_id)).data).toMatchObject({ interval: 'hour', is_complete: true });
    await service.platform.postgres.service`
      update message_sends set opened_at = '2026-05-04T11:00:00Z', changed_xid = pg_current_xact_id()
      where campaign_id = ${campaign_id} and player_id = ${players[2] ?? ''}`;
    expect((await series(campaign_id)).data).toEqual({
      interval: 'day',
      points: [
        { ...none, at: '2026-05-01T00:00:00.000Z', sent: 3, delivered: 2, opened: 1 },
        { ...none, at: '2026-05-02T00:00:00.000Z' },
        { ...none, at: '2026-05-03T00:00:00.000Z', converted: 2 },
        { ...none, at: '2026-05-04T00:00:00.000Z', opened: 1 },
      ],
      is_complete: true,
    });
  });

  it('of a campaign that was not sent is empty, and of none it is refused', async () => {
    const campaign_id = await campaignFor([]);
    expect((await series(campaign_id)).data).toEqual({ interval: 'hour', points: [], is_complete: true });
    expect((await series(campaign_id, '?interval=week')).code).toBe('VALIDATION_ERROR');
    expect((await series(UNKNOWN)).code).toBe('CAMPAIGN_NOT_FOUND');
  });
});

describe('the calendar', () => {
  interface Entry {
    kind: string;
    id: string;
    name: string;
    channel: string | null;
    status: string;
    at: string;
  }
  const calendar = (from: string, to: string) =>
    client.api<{ entries: Entry[]; is_complete: boolean }>('GET', `/v1/calendar?from=${from}&to=${to}`);
  const day = (off: number) => new Date(Date.now() + off * 86_400_000).toISOString();

  it('has what was sent, what is scheduled, and when schedules start journeys', async () => {
    const sent = await campaignFor(await client.players(1), { name: 'sent' });
    await client.send(sent);
    await client.reaches(sent, 'sent');
    const schedule_at = day(1.5);
    const due = await campaignFor([], { name: 'due', schedule_at });
    await campaignFor([], { name: 'later', schedule_at: day(40) });
    await campaignFor([], { name: 'draft' });
    const segment_id = await client.segment([]);
    const made = await client.api('POST', '/v1/journeys', {
      name: 'daily',
      trigger: { kind: 'schedule', cron: '0 9 * * *', timezone: 'Europe/Amsterdam', segment_id },
      graph: { start_node_id: 'end', nodes: [{ id: 'end', type: 'end' }] },
    });
    expect(made.status, JSON.stringify(made.error)).toBe(201);
    const [from, to] = [day(-1), day(3)];
    expect((await calendar(from, to)).data.entries.map(({ id }) => id)).toEqual([sent, due]);
    await client.api('POST', `/v1/journeys/${String(made.data['id'])}/activate`, {});
    const { entries, is_complete } = (await calendar(from, to)).data;
    expect(is_complete).toBe(true);
    expect(entries.filter(({ kind }) => kind === 'campaign')).toEqual([
      {
        kind: 'campaign',
        id: sent,
        name: 'sent',
        channel: 'email',
        status: 'sent',
        at: expect.any(String) as string,
      },
      { kind: 'campaign', id: due, name: 'due', channel: 'email', status: 'scheduled', at: schedule_at },
    ]);
    const starts = entries.filter(({ kind }) => kind === 'journey');
    expect(starts).toHaveLength(3);
    const local = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Europe/Amsterdam',
      hour: '2-digit',
      minute: '2-digit',
    });
    expect(new Set(starts.map(({ at }) => local.format(new Date(at))))).toEqual(new Set(['09:00']));
    expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).toSorted());
  });

  it('is bounded, also for a schedule of every minute, and is empty for others', async () => {
    const segment_id = await client.segment([]);
    const made = await client.api('POST', '/v1/journeys', {
      name: 'each minute',
      trigger: { kind: 'schedule', cron: '* * * * *', timezone: 'UTC', segment_id },
      graph: { start_node_id: 'end', nodes: [{ id: 'end', type: 'end' }] },
    });
    await client.api('POST', `/v1/journeys/${String(made.data['id'])}/activate`, {});
    const { entries, is_complete } = (await calendar(day(0), day(90))).data;
    expect([entries.length, is_complete]).toEqual([40, false]);
    const other = messagingClient(service, await service.newTenant());
    expect((await other.api('GET', `/v1/calendar?from=${day(0)}&to=${day(90)}`)).data).toEqual({
      entries: [],
      is_complete: true,
    });
    for (const [from, to] of [
      [day(0), day(94)],
      [day(1), day(0)],
      ['soon', day(0)],
    ]) {
      expect((await calendar(from ?? '', to ?? '')).code).toBe('VALIDATION_ERROR');
    }
  });
});

describe('a template', () => {
  const frame = async (id: string, query = '', headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${tenant.session_token}`;
    const response = await fetch(`${service.base_url}/v1/templates/${id}/preview-frame${query}`, {
      headers: { authorization, ...headers },
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const POLICY =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

  it('is shown in a frame as a player would get it, with a policy under which nothing runs', async () => {
    const [ada = ''] = await client.players(1);
    await client.api('PATCH', `/v1/players/${ada}`, { custom_attributes: { first_name: '<b>Ada</b>' } });
    const id = await client.template({
      body: '<p style="color:red">Dear {{first_name}}</p><script>x</script>',
    });
    const { project_id, tenant_id } = tenant;
    const found = await frame(id, `?player_id=${ada}&tenant_id=${tenant_id}&project_id=${project_id}`);
    expect(found.status).toBe(200);
    expect(found.text).toBe('<p style="color:red">Dear &lt;b&gt;Ada&lt;/b&gt;</p><script>x</script>');
    expect(found.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(found.headers.get('content-security-policy')).toBe(POLICY);
    const sms = await client.template({ channel: 'sms', subject: undefined, body: 'a < b {{first_name}}' });
    expect((await frame(sms)).text).toContain('a &lt; b ');
    expect((await frame(id, '?player_id=x')).status).toBe(422);
    expect((await frame(id, `?player_id=${UNKNOWN}`)).text).toContain('PLAYER_NOT_FOUND');
    expect((await frame(UNKNOWN)).text).toContain('TEMPLATE_NOT_FOUND');
  });

  it('is shown only in its own project, whether a header or the address names it', async () => {
    const id = await client.template();
    const other = await service.newTenant();
    const foreign = `?tenant_id=${other.tenant_id}&project_id=${other.project_id}`;
    expect((await frame(id, foreign)).status).toBe(403);
    const theirs = { authorization: `Bearer ${other.session_token}` };
    expect((await frame(id, '', theirs)).status).toBe(404);
    const mine = `?tenant_id=${tenant.tenant_id}&project_id=${tenant.project_id}`;
    expect((await frame(id, mine, theirs)).status).toBe(403);
    expect((await frame(id, `?project_id=${other.project_id}`)).status).toBe(404);
  });

  it('says what uses it: campaigns, variants and journeys', async () => {
    const [id, another] = [await client.template(), await client.template()];
    const references = async (of: string) =>
      client.api<Record<'campaigns' | 'journeys', { id: string; name: string; status: string }[]>>(
        'GET',
        `/v1/templates/${of}/references`,
      );
    expect((await references(id)).data).toEqual({ campaigns: [], journeys: [] });
    const own = await client.campaign({ name: 'own', template_id: id });
    const by_variant = await client.campaign({ name: 'by variant', template_id: another });
    await client.api('POST', `/v1/campaigns/${by_variant}/variants`, {
      name: 'B',
      template_id: id,
      weight: 1,
    });
    const provider_id = await client.provider();
    const send = { id: 'mail', type: 'send_message', template_id: id, provider_id, next: 'end' };
    const journey = await client.api('POST', '/v1/journeys', {
      name: 'welcome',
      trigger: { kind: 'api' },
      graph: { start_node_id: 'mail', nodes: [send, { id: 'end', type: 'end' }] },
    });
    expect(journey.status, JSON.stringify(journey.error)).toBe(201);
    expect((await references(id)).data).toEqual({
      campaigns: [
        { id: by_variant, name: 'by variant', status: 'draft' },
        { id: own, name: 'own', status: 'draft' },
      ],
      journeys: [{ id: journey.data['id'], name: 'welcome', status: 'draft' }],
    });
    expect((await references(another)).data.campaigns).toHaveLength(1);
    expect((await references(UNKNOWN)).code).toBe('TEMPLATE_NOT_FOUND');
  });
});
