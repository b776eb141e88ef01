import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { moneyOnly } from '../../../src/ingest/events/money-only.ts';
import { loadEvents } from '../../../src/reconcile/load-events.ts';
import { packageRoot } from '../../../src/package-root.ts';
import { TOPICS } from '../../../src/platform/event-log/topics.ts';
import { runs } from '../../engines/effort.ts';
import { call, sendBatch, type Answer, type Fields } from '../../engines/http-client.ts';
import { sunk, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { foundInClickHouse, foundInPostgres, newMarkers, plantRows, type Planted } from './planted.ts';

/** People who are erased together. */
const PEOPLE = runs(20, { quick: 3, nightly: 1_000 });
/** For all of them. */
const LONGEST_MS = 60_000 + PEOPLE * 2_000;

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service?.close());

type Rows = Record<string, unknown>[];

const api = (method: string, path: string, body?: unknown, who: TestTenant = service): Promise<Answer> =>
  call(service.base_url + path, who.session_token, { method, body });

async function identify(body: object, who: TestTenant = service): Promise<string> {
  const { data, text } = await call(`${service.base_url}/v1/players/identify`, who.api_key, { body });
  expect(data?.['player_id'], text).toBeDefined();
  return String(data['player_id']);
}

const REQUEST = { reason: 'the person asked', basis: 'GDPR Art. 17(1)(b)' };

/** Asks for the erasure of a player and confirms it. */
async function erase(player_id: string): Promise<void> {
  const asked = await api('POST', `/v1/players/${player_id}/erase`, REQUEST);
  expect(asked, asked.text).toMatchObject({
    status: 202,
    data: { status: 'requested', log: { erased: false } },
  });
  const { confirmation_token } = asked.data;
  const confirmed = await api('POST', `/v1/players/${player_id}/erase`, { confirmation_token });
  expect(confirmed, confirmed.text).toMatchObject({ status: 202, data: { status: 'running' } });
}

async function erased(player_id: string): Promise<Record<string, unknown>> {
  const isDone = async (saw: <T>(seen: T) => T) => {
    const [row] = saw((await api('GET', `/v1/erasures?player_id=${player_id}`)).data as unknown as Rows);
    return row?.['status'] === 'done' ? row : undefined;
  };
  return until(`player ${player_id} is erased`, isDone, LONGEST_MS);
}

/** The events of a person, with texts in every property. */
function eventsOf({ player_id, marker }: Planted): { event: string; properties: Record<string, unknown> }[] {
  const money = { amount: 5_000, currency: 'EUR' };
  return [
    {
      event: 'deposit_confirmed',
      properties: { ...money, transaction_id: `t-${player_id}`, payment_method: marker },
    },
    {
      event: 'deposit_failed',
      properties: { amount: '77', transaction_id: `f-${player_id}`, [marker]: marker },
    },
    { event: 'custom_note', properties: { note: marker, amount: marker, currency: 'EUR', bet_id: marker } },
    { event: 'bet_lost', properties: { bet_id: `b-${player_id}`, game: [{ deep: marker }], amount: marker } },
    { event: 'page_view', properties: { url: `https://example.com/${marker}`, transaction_id: marker } },
    { event: 'self_exclusion_set', properties: { note: marker } },
  ];
}

async function plant(markers: Pick<Planted, 'marker' | 'digits'>): Promise<Planted> {
  const { marker, digits } = markers;
  const traits = {
    email: `${marker}@Example.com`,
    phone: `+${digits}`,
    telegram_id: `@${marker}`,
    first_name: marker,
    push_token: `token-${marker}`,
  };
  const player_id = await identify({ external_id: `e-${marker}`, anonymous_id: `device-${marker}`, traits });
  const planted = { tenant_id: service.tenant_id, project_id: service.project_id, player_id, marker, digits };
  const events = eventsOf(planted).map((event, n) =>
    n === 2 ? { ...event, anonymous_id: `device-${marker}` } : { ...event, player_id },
  );
  const sent = await sendBatch(service, service, events);
  expect(sent.data['accepted'], sent.text).toBe(events.length);
  await api('POST', '/v1/suppressions', { channel: 'sms', address: `00${digits}` });
  await api('PATCH', `/v1/players/${player_id}`, { custom_attributes: { note: `${marker} changed` } });
  await plantRows(service.platform.postgres.service, planted);
  return planted;
}

describe('erasures of people', () => {
  const markers = newMarkers();
  const people: Planted[] = [];
  let first: Planted;
  let erasure: Record<string, unknown>;

  beforeAll(async () => {
    for (let n = 0; n < PEOPLE; n++) people.push(await plant(markers.of(n)));
    first = people[0] as Planted;
    await sunk(service.platform);
    await waitUntilCaughtUp(service.platform, 60_000);
    const before = await foundInPostgres(service.platform, markers.texts);
    expect(new Set(before.map((row) => row.split(':')[0])).size).toBeGreaterThan(15);
    const copied = await foundInClickHouse(service.platform, markers.texts);
    expect(new Set(copied.map((row) => row.split(':')[0])).size).toBe(3);
    for (const { player_id } of people) await erase(player_id);
    for (const { player_id } of people) erasure = await erased(player_id);
  }, 2 * LONGEST_MS);

  it('leave nothing of them in Postgres and ClickHouse', async () => {
    expect(await foundInPostgres(service.platform, markers.texts)).toEqual([]);
    expect(await foundInClickHouse(service.platform, markers.texts)).toEqual([]);
  });

  it('say what was done, and that the log keeps its records', () => {
    expect(erasure).toMatchObject({ ...REQUEST, status: 'done', last_error: null, log: { erased: false } });
    const steps = erasure['steps'] as { step: string; rows: number | null }[];
    expect(steps.map(({ step }) => step)).toEqual(
      expect.arrayContaining(['profile', 'messages', 'bonus_grants', 'audit_log', 'clickhouse']),
    );
    // ClickHouse does not say how many rows a rewrite changed.
    expect(steps.filter(({ rows }) => rows === null).map(({ step }) => step)).toEqual(['clickhouse']);
  });

  it('name their steps as the documentation explains them', async () => {
    const page = await readFile(join(packageRoot, 'docs/privacy.md'), 'utf8');
    const steps = (erasure['steps'] as { step: string }[]).map(({ step }) => step);
    expect(steps.filter((step) => !page.includes(`| \`${step}\``))).toEqual([]);
  });

  it('keep the totals, the ledger and what is about money in events', async () => {
    for (const planted of people.slice(0, 5)) {
      const { player_id } = planted;
      const { data } = await api('GET', `/v1/players/${player_id}`);
      expect(data).toMatchObject({
        status: 'deleted',
        email: null,
        external_id: null,
        total_deposited: 5_000,
      });
      const ledger = await api('GET', `/v1/players/${player_id}/ledger`);
      expect(new Set((ledger.data as unknown as Rows).map(({ event }) => event))).toEqual(
        new Set(['bet_lost', 'deposit_confirmed', 'deposit_failed']),
      );
      // What ClickHouse computes and what the fold computes is one rule.
      const timeline = (await api('GET', `/v1/players/${player_id}/timeline`)).data as unknown as Rows;
      for (const { event, properties } of eventsOf(planted)) {
        const shown = timeline.find((one) => one['event'] === event);
        expect(shown?.['properties'], event).toEqual(moneyOnly(event, properties));
      }
    }
  });

  it('keep who changed what, without the content', async () => {
    const { data } = await api('GET', `/v1/audit-log?resource_id=${first.player_id}`);
    const rows = data as unknown as Rows;
    const changed = rows.filter(({ action }) => action === 'update');
    expect(changed.length).toBeGreaterThan(0);
    for (const { before, after } of changed) {
      expect([before, after]).toEqual([
        { erased: expect.any(String) as string },
        { erased: expect.any(String) as string },
      ]);
    }
    expect(
      rows.filter(({ action }) => action === 'erase').map(({ after }) => (after as Fields)['status']),
    ).toEqual(['running', 'requested']);
  });

  it('bar the person who registers again, by any of the addresses', async () => {
    const { marker, digits } = first;
    for (const body of [
      { external_id: `e-${marker}` },
      { external_id: 'other-1', traits: { email: `${marker.toUpperCase()}@example.com` } },
      { external_id: 'other-2', traits: { phone: `00${digits}` } },
      { external_id: 'other-3', traits: { push_token: `token-${marker}` } },
    ]) {
      const player_id = await identify(body);
      expect(player_id).not.toBe(first.player_id);
      const { data } = await api('GET', `/v1/players/${player_id}`);
      expect(data['status'], JSON.stringify(body)).toBe('self_excluded');
    }
    const listed = await api('GET', `/v1/suppressions?address=${encodeURIComponent(`+${digits}`)}`);
    expect(listed.data).toMatchObject([{ channel: 'sms', reason: 'manual' }]);
    const excluded = (await api('GET', '/v1/compliance/exclusions')).data as unknown as Rows;
    expect(excluded.map(({ cause }) => (cause as Fields)['source'])).toContain('erasure');
  });

  it('bar a player who gets the address by a change, and do not bar again what was lifted', async () => {
    const email = `${first.marker}@example.com`;
    const player_id = await identify({ external_id: 'other-4' });
    const path = `/v1/players/${player_id}`;
    expect((await api('PATCH', path, { email })).data['status']).toBe('self_excluded');
    expect((await api('PATCH', path, { status: 'active' })).data['status']).toBe('active');
    await identify({ external_id: 'other-4', traits: { email } });
    expect((await api('GET', path)).data['status']).toBe('active');
  });

  it('bar test messages to addresses that no live player has', async () => {
    const { marker, digits } = people[1] as Planted;
    const create = async (path: string, body: object) => String((await api('POST', path, body)).data['id']);
    const outcomes = new Map<string, (recipient: string, player_id?: string) => Promise<unknown>>();
    for (const channel of ['email', 'sms', 'push']) {
      await create('/v1/messaging-providers', { name: 'sandbox', kind: 'sandbox', channel, config: {} });
      const subject = channel === 'email' ? { subject: 'Hi' } : {};
      const template = { name: 'x', channel, ...subject, body: 'Hello', status: 'active' };
      const id = await create('/v1/templates', template);
      outcomes.set(channel, async (recipient, player_id) => {
        const { data } = await api('POST', `/v1/templates/${id}/send-test`, { recipient, player_id });
        return data['error_code'] ?? data['status'];
      });
    }
    const unwilling = await identify({ external_id: 'unwilling', traits: { 'consent.email': false } });
    const outcome = (channel: string, recipient: string, player_id?: string) =>
      outcomes.get(channel)?.(recipient, player_id);
    expect(await outcome('email', `${marker.toUpperCase()}@example.com`)).toBe('SKIPPED_SELF_EXCLUDED');
    expect(await outcome('email', `${marker}@example.com`, unwilling)).toBe('SKIPPED_SELF_EXCLUDED');
    expect(await outcome('sms', `00${digits}`)).toBe('SKIPPED_SELF_EXCLUDED');
    expect(await outcome('push', `token-${marker}`)).toBe('SKIPPED_SELF_EXCLUDED');
    expect(await outcome('push', `token-${marker}x`)).toBe('sent');
    // What an operator lifts for the player who has the address now stays lifted.
    const email = `${marker}@example.com`;
    const player_id = await identify({ external_id: 'tested', traits: { email } });
    expect(await outcome('email', email)).toBe('SKIPPED_SELF_EXCLUDED');
    await api('PATCH', `/v1/players/${player_id}`, { status: 'active' });
    expect(await outcome('email', email)).toBe('sent');
    await api('DELETE', `/v1/players/${player_id}`);
    expect(await outcome('email', email)).toBe('SKIPPED_SELF_EXCLUDED');
  });

  it('bar nobody of another tenant', async () => {
    const other = await service.newTenant();
    const player_id = await identify(
      { external_id: 'a', traits: { email: `${first.marker}@example.com` } },
      other,
    );
    expect((await api('GET', `/v1/players/${player_id}`, undefined, other)).data['status']).toBe('active');
  });

  it('take later events under the id, without what is not about money', async () => {
    const { player_id } = first;
    const later = randomUUID();
    const properties = { amount: 700, currency: 'EUR', transaction_id: later };
    await sendBatch(service, service, [
      { event: 'deposit_confirmed', player_id, properties: { ...properties, payment_method: 'card' } },
      { event: 'custom_note', player_id, properties: { note: later } },
    ]);
    await sunk(service.platform);
    const { data } = await api('GET', `/v1/players/${player_id}`);
    expect(data).toMatchObject({ total_deposited: 5_700 });
    const timeline = (await api('GET', `/v1/players/${player_id}/timeline?limit=2`)).data as unknown as Rows;
    expect(timeline.map((one) => one['properties'])).toEqual(expect.arrayContaining([{}, properties]));
  });

  it('are not undone when the log is read into ClickHouse again', async () => {
    const { platform, tenant_id, project_id } = service;
    const logged: string[] = [];
    for (const [partition, end] of await platform.eventLog.endOffsets(TOPICS.playerEvents)) {
      for await (const { records } of platform.eventLog.read(TOPICS.playerEvents, partition, 0n, end)) {
        logged.push(...records.map(({ value }) => value).filter((value) => value.includes(first.marker)));
      }
    }
    expect(logged.length).toBeGreaterThan(0);
    await loadEvents(platform, [{ tenant_id, project_id }], 'events', () => Promise.resolve());
    // Whoever has registered with an address of the person since then is in `players`.
    const found = await foundInClickHouse(platform, [first.marker]);
    expect(found.filter((row) => !row.startsWith('players: '))).toEqual([]);
  });

  it('are not asked for again', async () => {
    const again = await api('POST', `/v1/players/${first.player_id}/erase`, REQUEST);
    expect([again.status, again.code]).toEqual([409, 'CONFLICT']);
  });
});

describe('a request for an erasure', () => {
  it('needs a reason and a basis, and then the token of the last answer', async () => {
    const player_id = await identify({ external_id: `asked-${randomUUID()}` });
    const path = `/v1/players/${player_id}/erase`;
    expect((await api('POST', path, { reason: 'asked' })).code).toBe('VALIDATION_ERROR');
    const [one, two] = [await api('POST', path, REQUEST), await api('POST', path, REQUEST)];
    for (const confirmation_token of ['', 'x', one.data['confirmation_token']]) {
      expect((await api('POST', path, { confirmation_token })).code).toBe('VALIDATION_ERROR');
    }
    expect(two.data['confirm_before']).toEqual(expect.any(String));
    const sql = service.platform.postgres.service;
    await sql`update erasures set confirm_before = now() where player_id = ${player_id}`;
    const late = await api('POST', path, { confirmation_token: two.data['confirmation_token'] });
    expect(late.code).toBe('VALIDATION_ERROR');
    expect((await api('GET', `/v1/erasures?player_id=${player_id}`)).data).toEqual([]);
    expect((await api('GET', `/v1/players/${player_id}`)).data['status']).toBe('active');
  });
});

describe('the audit log', () => {
  it('takes no change but by an erasure', async () => {
    const sql = service.platform.postgres.service;
    const { tenant_id } = service;
    const id = randomUUID();
    await sql`
      insert into audit_log (tenant_id, audit_id, occurred_at, action, resource_type, resource_id, before, after, request_id)
      values (${tenant_id}, ${id}, now(), 'update', 'player', 'p', '{"a": 1}', null, 'r')`;
    const change = (side: string | null) =>
      sql`update audit_log set before = ${side}::text::jsonb where tenant_id = ${tenant_id} and audit_id = ${id}`;
    for (const side of ['{"a": 2}', null, '{"erased": "x"}', `{"erased": "${id}", "a": 1}`]) {
      await expect(change(side), String(side)).rejects.toThrow(/never changed/);
    }
    await expect(
      sql`update audit_log set user_id = 'x', role = 'owner' where audit_id = ${id}`,
    ).rejects.toThrow(/permission/);
    await expect(sql`update audit_log set after = '{}' where audit_id = ${id}`).rejects.toThrow(
      /never changed/,
    );
    await change(`{"erased": "${id}"}`);
  });
});
