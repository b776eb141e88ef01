import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyAll } from '../../../src/engage/messaging/callbacks/apply.ts';
import type { Callback } from '../../../src/engage/messaging/callbacks/callback-queries.ts';
import { encodePlayerEvent, type PlayerEvent } from '../../../src/ingest/events/envelope.ts';
import { withoutErased } from '../../../src/players/erasure/events-queries.ts';
import { insertTriggerEvents } from '../../../src/engage/triggers/trigger-queries.ts';
import { keepUnrated } from '../../../src/engage/triggers/unrated.ts';
import { runEraseJob } from '../../../src/players/erasure/job.ts';
import { insertChunk } from '../../../src/platform/export-files/export-queries.ts';
import { PLAYER_EXPORTS } from '../../../src/players/export/queries.ts';
import { call, sendBatch, type Answer } from '../../engines/http-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { asOwner } from '../../http/idempotency-fixture.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import { until } from '../../engines/until.ts';
import { newMarkers, plantRows } from './planted.ts';

// What protects a person is never lost by an erasure, whatever happens at the same time.

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service?.close());

const api = (method: string, path: string, body?: unknown): Promise<Answer> =>
  call(service.base_url + path, service.session_token, { method, body });

async function identify(body: object): Promise<string> {
  const { data, text } = await call(`${service.base_url}/v1/players/identify`, service.api_key, { body });
  expect(data?.['player_id'], text).toBeDefined();
  return String(data['player_id']);
}
const register = (traits: object) => identify({ external_id: randomUUID(), traits });
const emailOf = (name: string) => `${name}-${randomUUID()}@example.com`;
const statusOf = async (id: string) => (await api('GET', `/v1/players/${id}`)).data['status'];
const patch = async (id: string, body: object) =>
  expect((await api('PATCH', `/v1/players/${id}`, body)).status).toBe(200);

async function ask(player_id: string): Promise<unknown> {
  const asked = await api('POST', `/v1/players/${player_id}/erase`, { reason: 'asked', basis: 'GDPR' });
  expect(asked.status, asked.text).toBe(202);
  return asked.data['confirmation_token'];
}
async function confirm(player_id: string, confirmation_token: unknown): Promise<void> {
  const { status, text } = await api('POST', `/v1/players/${player_id}/erase`, { confirmation_token });
  expect(status, text).toBe(202);
}
const done = (player_id: string) =>
  until(`player ${player_id} is erased`, async (saw) => {
    const [row] = saw(
      (await api('GET', `/v1/erasures?player_id=${player_id}`)).data as unknown as Record<string, unknown>[],
    );
    return row?.['status'] === 'done' ? row : undefined;
  });
async function erase(player_id: string): Promise<void> {
  await confirm(player_id, await ask(player_id));
  await done(player_id);
}

/** Resolves when the erasure has noted which transactions it waits for: those that write from then on do not delay it. */
async function erasureWaits(): Promise<void> {
  const { service: sql } = service.platform.postgres;
  const [now] = await sql<{ at: string }[]>`select clock_timestamp()::text as at`;
  await until('the erasure waits for other transactions', async (saw) => {
    // In a transaction of its own: within one, Postgres says the same of other sessions each time.
    const asked = await asOwner(
      sql,
      (owner) => owner<{ query: string }[]>`
        select query from pg_stat_activity
        where pid <> pg_backend_pid() and query_start > ${now?.at ?? ''}::text::timestamptz
          and query like '%pg_snapshot_xmin(pg_current_snapshot()) >= % as past'`,
    );
    return saw(asked).length > 0;
  });
}

describe('what protects a person', () => {
  it('is the ban that the player had when it was deleted', async () => {
    const email = emailOf('ban');
    const banned = await register({ email });
    await patch(banned, { status: 'banned' });
    expect((await api('DELETE', `/v1/players/${banned}`)).status).toBe(200);
    await erase(banned);
    expect(await statusOf(await register({ email }))).toBe('banned');
  });

  it('is an exclusion that was accepted before the erasure began, and is folded later', async () => {
    const email = emailOf('flight');
    const player_id = await register({ email });
    const token = await ask(player_id);
    const { service: sql } = service.platform.postgres;
    await sql.begin(async (tx) => {
      await tx`select from fold_positions for update`;
      const sent = await sendBatch(service, service, [
        { event: 'self_exclusion_set', player_id, properties: {} },
      ]);
      expect(sent.data['accepted']).toBe(1);
      await statementWaits(sql, tx);
      await confirm(player_id, token);
    });
    await done(player_id);
    expect(await statusOf(await register({ email }))).toBe('self_excluded');
  });

  const NAMED_BY = ['player_id', 'anonymous_id'] as const;
  const until_ms = Date.parse('2099-01-01T00:00:00Z');
  const BARS = [
    ['self_exclusion_set', {}, { status: 'self_excluded', cooldown_until: null }],
    ['cooldown_entered', { until: new Date(until_ms).toISOString() }, { cooldown_until: new Date(until_ms) }],
  ] as const;
  it.each(NAMED_BY.flatMap((named_by) => BARS.map((bar) => [named_by, ...bar] as const)))(
    'is what is accepted while the row is being emptied, and folded after that: by %s, %s',
    async (named_by, event, properties, barred) => {
      const [email, anonymous_id, external_id] = [emailOf('late'), randomUUID(), randomUUID()];
      const push_token = `Token-${anonymous_id}`;
      const player_id = await identify({ external_id, anonymous_id, traits: { email, push_token } });
      const suppression = await api('POST', '/v1/suppressions', { channel: 'email', address: email });
      expect(suppression.status, suppression.text).toBe(201);
      const token = await ask(player_id);
      const { service: sql } = service.platform.postgres;
      const keptAndErased = async () => {
        const [row] = await sql<{ kept: number; is_erased: boolean }[]>`
          select p.erased_at is not null as is_erased, (
            select count(*)::integer from kept_protections k where k.tenant_id = ${service.tenant_id}) as kept
          from players p where p.player_id = ${player_id}`;
        return row;
      };
      const kept = (await keptAndErased())?.kept ?? 0;
      const between: string[] = [];
      await sql.begin(async (fold) => {
        await sql.begin(async (other) => {
          // The erasure waits for every transaction that has written.
          await other`select pg_current_xact_id()`;
          await confirm(player_id, token);
          await until('protections are kept', async (saw) => (saw(await keptAndErased())?.kept ?? 0) > kept);
          await erasureWaits();
          await fold`select from fold_positions for update`;
          const named = named_by === 'player_id' ? { player_id } : { anonymous_id };
          const sent = await sendBatch(service, service, [{ event, ...named, properties }]);
          expect(sent.data['accepted'], sent.text).toBe(1);
          await statementWaits(sql, fold);
        });
        await until('the row is empty', async (saw) => saw(await keptAndErased())?.is_erased === true);
        between.push(await register({ email }), await identify({ external_id }));
      });
      await done(player_id);
      const after = [await register({ email }), await register({ push_token: push_token.toLowerCase() })];
      for (const registered of [...between, ...after])
        expect(
          await sql`select status, cooldown_until from players where player_id = ${registered}`,
        ).toMatchObject([barred]);
      expect(between).not.toContain(player_id);
      expect(await sql`select from merged_addresses where player_id = ${player_id}`).toHaveLength(0);
      expect(await sql`select from player_identities where player_id = ${player_id}`).toHaveLength(0);
    },
  );

  it('comes with a push token that a journey sets', async () => {
    const push_token = `token-${randomUUID()}`;
    const excluded = await register({ push_token });
    await patch(excluded, { status: 'self_excluded' });
    await erase(excluded);
    const graph = {
      start_node_id: 'set',
      nodes: [
        { id: 'set', type: 'update_player', set: { traits: { push_token } }, next: 'end' },
        { id: 'end', type: 'end' },
      ],
    };
    const event = `custom_${randomUUID().replaceAll('-', '_')}`;
    const trigger = { kind: 'event', event };
    const made = await api('POST', '/v1/journeys', { name: 'token', trigger, graph });
    expect(made.status, made.text).toBe(201);
    const activated = await api('POST', `/v1/journeys/${String(made.data['id'])}/activate`);
    expect(activated.status, activated.text).toBe(200);
    const player_id = await register({});
    await sendBatch(service, service, [{ event, player_id, properties: {} }]);
    const { data } = await until('the journey has set the token', async (saw) => {
      const read = await api('GET', `/v1/players/${player_id}`);
      return (saw(read.data['custom_attributes']) as Record<string, unknown>)['push_token'] === push_token
        ? read
        : undefined;
    });
    expect(data['status']).toBe('self_excluded');
  });

  it('is given to those who have the address, and to those who get it while the erasure runs', async () => {
    const [email, phone] = [emailOf('race'), `+35699${Math.floor(Math.random() * 1e8)}`];
    const player_id = await register({ email, phone });
    const sharer = await register({ phone: `00${phone.slice(1)}` });
    await patch(player_id, { status: 'self_excluded' });
    const token = await ask(player_id);
    const other = await register({});
    let registered = '';
    const sql = service.platform.postgres.service;
    const kept = async () =>
      (await sql`select from kept_protections where tenant_id = ${service.tenant_id}`).length;
    const before = await kept();
    await sql.begin(async (tx) => {
      // A change of a player that has looked for kept protections already, and has not committed.
      await tx`update players set email = ${email} where player_id = ${other}`;
      await confirm(player_id, token);
      await until('the protections are kept', async (saw) => saw(await kept()) > before);
      registered = await register({ email });
    });
    await done(player_id);
    expect(await statusOf(registered)).toBe('self_excluded');
    expect(await statusOf(sharer)).toBe('self_excluded');
    expect(await statusOf(other)).toBe('self_excluded');
  });

  it('is kept once of an address that a merged player had as well', async () => {
    const email = emailOf('twice');
    const anonymous_id = randomUUID();
    const merged_id = await identify({ anonymous_id, traits: { email } });
    const external_id = randomUUID();
    const player_id = await identify({ external_id, traits: { email: emailOf('own') } });
    expect(await identify({ external_id, anonymous_id })).toBe(player_id);
    await patch(player_id, { status: 'banned', email });
    await erase(player_id);
    expect(await statusOf(await register({ email }))).toBe('banned');
    // Its lines on the log, from before the merge, have the merged player's id.
    const { tenant_id, project_id, platform } = service;
    const of_event = {
      event: 'page_view',
      ingestion_id: randomUUID(),
      event_index: 0,
      properties: { email },
    };
    const of_time = { occurred_at: 0, received_at: 0, base_amount: null, base_payout: null };
    const line = encodePlayerEvent({ tenant_id, project_id, player_id: merged_id, ...of_event, ...of_time });
    expect((await withoutErased(platform.postgres.service, [line])).join()).not.toContain(email);
  });

  it('is a suppression of an address that somebody else has too, and goes with the last one', async () => {
    const email = emailOf('shared');
    const [one, two] = [await register({ email }), await register({ email: email.toUpperCase() })];
    expect((await api('POST', '/v1/suppressions', { channel: 'email', address: email })).status).toBe(201);
    const listed = async () =>
      (await api('GET', `/v1/suppressions?address=${encodeURIComponent(email)}`)).data as unknown as object[];
    await erase(one);
    expect(await listed()).toMatchObject([{ channel: 'email', reason: 'manual' }]);
    await erase(two);
    expect(await listed()).toEqual([]);
    await register({ email });
    expect(await listed()).toMatchObject([{ channel: 'email', reason: 'manual' }]);
  });

  it('bars an address that the survivor of a merge does not take over', async () => {
    const [device, external_id] = [randomUUID(), randomUUID()];
    const guest = await identify({ anonymous_id: device, traits: { push_token: `token-${device}` } });
    const survivor = await identify({ external_id, traits: { push_token: '' } });
    await patch(guest, { status: 'self_excluded' });
    expect(await identify({ external_id, anonymous_id: device })).toBe(survivor);
    const kept = await service.platform.postgres.service`
      select channel, address_key from merged_addresses where player_id = ${survivor}`;
    expect(kept).toMatchObject([{ channel: 'push', address_key: `token-${device}` }]);
  });
});

describe('an erasure', () => {
  it('says why it goes on later when the processors do not catch up', async () => {
    const { platform } = service;
    const failing = {
      ...platform,
      clickhouse: Object.create(platform.clickhouse, {
        rewrite: { value: () => Promise.reject(new Error('ClickHouse is away')) },
      }) as typeof platform.clickhouse,
      dependents: [],
      erasers: [],
      erasure_key: Buffer.alloc(32),
    };
    const other = await register({});
    const sql = platform.postgres.service;
    await sql`
      insert into erasures (tenant_id, erasure_id, project_id, player_id, status, reason, basis, requested_by, requested_at,
        confirm_before, confirmed_by, confirmed_at)
      values (${service.tenant_id}, ${randomUUID()}, ${service.project_id}, ${other}, 'running', 'asked', 'GDPR', 'u', now(),
        now(), 'u', now())`;
    await expect(runEraseJob(failing, new AbortController().signal)).rejects.toThrow(/not done yet/);
    const [row] = await sql`select status, last_error from erasures where player_id = ${other}`;
    expect(row).toMatchObject({
      status: 'running',
      last_error: expect.stringMatching(/a step failed/) as string,
    });
    await runEraseJob({ ...failing, clickhouse: platform.clickhouse }, new AbortController().signal);
    expect(await sql`select status, last_error from erasures where player_id = ${other}`).toMatchObject([
      { status: 'done', last_error: null },
    ]);
  });

  it('is of the survivor when the player is merged before the job comes', async () => {
    const [device, external_id] = [randomUUID(), randomUUID()];
    const email = emailOf('merged');
    const guest = await identify({ anonymous_id: device, traits: { email } });
    const survivor = await identify({ external_id });
    await ask(guest);
    const sql = service.platform.postgres.service;
    const begin = (status: string) => sql`
      update erasures set status = ${status}, token_hash = null, confirmed_by = 'u', confirmed_at = now()
      where player_id = ${guest}`;
    // As if it was confirmed, and the job were late.
    expect(await identify({ external_id, anonymous_id: device })).toBe(survivor);
    await begin('running');
    const other = await register({});
    await confirm(other, await ask(other));
    await done(guest);
    await done(other);
    const { data } = await api('GET', `/v1/players/${survivor}`);
    expect(data).toMatchObject({ email: null, external_id: null, status: 'deleted' });
  });

  it('is not undone by what a provider reports later, and a complaint is kept', async () => {
    const markers = newMarkers().of(0);
    const email = `${markers.marker}@example.com`;
    const player_id = await register({ email });
    const sql = service.platform.postgres.service;
    const { tenant_id, project_id } = service;
    await plantRows(sql, { tenant_id, project_id, player_id, ...markers });
    const [row] = await sql<{ send_id: string }[]>`
      update message_sends set status = 'sent', error_code = null where player_id = ${player_id} returning send_id`;
    await erase(player_id);
    const callback: Callback = {
      send_id: row?.send_id ?? null,
      provider_message_id: `id-${markers.marker}`,
      address: email,
      step: 'bounced',
      suppression: 'complaint',
      lifts: false,
      is_machine_open: false,
      fault: { code: '550', text: `no such user: ${email}` },
      at_ms: Date.now(),
    };
    const [provider_id] = [randomUUID()];
    await applyAll(service.platform.postgres, { tenant_id, provider_id }, [callback], Date.now());
    expect(
      await sql`
      select status, provider_message, provider_message_id, recipient from message_sends where player_id = ${player_id}`,
    ).toMatchObject([
      { status: 'bounced', provider_message: null, provider_message_id: null, recipient: null },
    ]);
    expect(await sql`select reason from suppressions where address = ${email}`).toMatchObject([
      { reason: 'complaint' },
    ]);
  });

  it('is not undone by an event that is recorded for a listener later', async () => {
    const player_id = await register({});
    await erase(player_id);
    const { tenant_id, project_id } = service;
    const sql = service.platform.postgres.service;
    const event = {
      tenant_id,
      project_id,
      listener_id: randomUUID(),
      listener_kind: 'campaign' as const,
      event_key: randomUUID(),
      player_id,
      partition: 0,
      log_offset: 0n,
      log_id: 'log',
      value: '{}',
      keep_until: new Date(Date.now() + 60_000),
    };
    await insertTriggerEvents(sql, [event], new Date());
    expect(await sql`select from trigger_events where player_id = ${player_id}`).toHaveLength(0);
  });

  it('is not undone by an event that is kept for its rate, also while the person is being erased', async () => {
    const { tenant_id, project_id } = service;
    const sql = service.platform.postgres.service;
    const keep = (player_id: string) => {
      const event: PlayerEvent = {
        tenant_id,
        project_id,
        event: 'deposit_confirmed',
        player_id,
        occurred_at: Date.now(),
        received_at: Date.now(),
        ingestion_id: randomUUID(),
        event_index: 0,
        base_amount: null,
        base_payout: null,
        properties: { amount: 5, currency: 'KRW', transaction_id: randomUUID(), payment_method: 'card' },
      };
      const record = { offset: 0n, value: encodePlayerEvent(event) };
      return keepUnrated(sql, { log_id: 'log', partition: 0 }, [{ record, event }], new Date());
    };
    const kept = (player_id: string) =>
      sql`select from unrated_events where value::jsonb ->> 'player_id' = ${player_id}`;
    const player_id = await register({});
    await keep(player_id);
    expect(await kept(player_id)).toHaveLength(1);
    await erase(player_id);
    await keep(player_id);
    expect(await kept(player_id)).toEqual([]);
    // An erasure that is not committed yet: what comes meanwhile waits for it.
    const other = await register({});
    const keeping = await sql.begin(async (tx) => {
      await tx`update players set erased_at = now() where player_id = ${other}`;
      const begun = keep(other);
      await Promise.race([statementWaits(sql, tx), begun]);
      return { begun };
    });
    await keeping.begun;
    expect(await kept(other)).toEqual([]);
  });

  it('takes an export that is being made: no chunk is added to one that is gone', async () => {
    const { tenant_id } = service;
    const { service: sql } = service.platform.postgres;
    const ref = { tenant_id, export_id: randomUUID() };
    const chunk = { run_id: randomUUID(), chunk_no: 0, encrypted: Buffer.from('x') };
    expect(await insertChunk(sql, PLAYER_EXPORTS, ref, chunk)).toBe(false);
    expect(await sql`select from player_export_chunks where export_id = ${ref.export_id}`).toHaveLength(0);
  });
});
