import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { call, CallFailed, type InternalApi, type ProvisionedTenant } from '../../scripts/service-api.ts';
import { until } from '../engines/until.ts';
import type { CountingProvider } from './counting-provider.ts';
import type { Model } from './model.ts';
import { readPlayers } from './verify.ts';

const POLL_MS = 250;
const RETRY_MS = 200;
const SEND_TIMEOUT_MS = 300_000;
const MAX_CONCURRENT = 8;

/** The campaigns of a run; all of them send through one counting provider. */
export interface Mailing {
  /** Fired by each `deposit_confirmed`. */
  triggered: string;
  /** Drafts to all players, one for each broadcast of the run. */
  broadcasts: string[];
}

/** Makes the model's players known, each with an email address: a message needs one. */
export async function identifyPlayers(
  api: InternalApi,
  { api_key }: ProvisionedTenant,
  players: number,
): Promise<void> {
  const names = Array.from({ length: players }, (_, i) => `player-${i + 1}`);
  const worker = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      await call(`${api.base_url}/v1/players/identify`, {
        method: 'POST',
        headers: { authorization: `Bearer ${api_key}` },
        body: { anonymous_id: name, traits: { email: `${name}@example.com` } },
      });
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
}

/** The service that is not in development takes no address without TLS, which the counting provider does not have. */
async function withoutTls(
  { postgres_url, provider_url }: { postgres_url: string; provider_url: string },
  provider_id: string,
): Promise<void> {
  const sql = postgres(postgres_url, { max: 1, onnotice: () => undefined });
  await sql`
    update messaging_providers set config = jsonb_set(config, '{base_url}', to_jsonb(${provider_url}::text))
    where provider_id = ${provider_id}`;
  await sql.end();
}

/**
 * Creates the provider, the template, the segments and the campaigns; starts the triggered one. Resolves when every
 * player is a member of the segment of the broadcasts.
 */
export async function prepareMailing(
  api: InternalApi,
  { session_token }: ProvisionedTenant,
  options: { provider_url: string; players: number; broadcasts: number; postgres_url: string },
): Promise<Mailing> {
  const headers = { authorization: `Bearer ${session_token}` };
  const create = async (path: string, body: object) => {
    const url = `${api.base_url}/v1/${path}`;
    const { data } = await call<{ data: { id: string } }>(url, { method: 'POST', headers, body });
    return data.id;
  };
  const segment = (name: string, condition: object) =>
    create('segments', {
      name,
      definition: { operator: 'AND', conditions: [condition] },
      refresh_strategy: 'realtime',
    });
  const provider_id = await create('messaging-providers', {
    name: 'counting',
    kind: 'sendgrid',
    channel: 'email',
    config: {
      api_key: 'SG.test',
      from: 'casino@example.com',
      base_url: options.provider_url.replace('http:', 'https:'),
    },
  });
  await withoutTls(options, provider_id);
  const template_id = await create('templates', {
    name: 'hello',
    channel: 'email',
    status: 'active',
    subject: 'Hello',
    body: '<p>Dear player</p>',
  });
  const everybody = await segment('everybody', { type: 'trait', field: 'email', op: 'exists' });
  // An event makes its player a member: it fires only because it is decided with itself included.
  const depositors = await segment('depositors', {
    type: 'event',
    event: 'deposit_confirmed',
    aggregate: 'count',
    op: 'gte',
    value: 1,
  });
  const plan = { channel: 'email', template_id, provider_id };
  const triggered = await create('campaigns', {
    ...plan,
    name: 'thanks',
    type: 'triggered',
    trigger_event: 'deposit_confirmed',
    segment_id: depositors,
  });
  const broadcasts: string[] = [];
  for (let i = 0; i < options.broadcasts; i++) {
    const broadcast = { ...plan, name: `broadcast ${i + 1}`, type: 'broadcast', segment_id: everybody };
    broadcasts.push(await create('campaigns', broadcast));
  }
  await until(
    'everybody is in the segment',
    async (saw) => {
      const url = `${api.base_url}/v1/segments/${everybody}`;
      const { data } = saw(await call<{ data: { estimated_size: number } }>(url, { headers }));
      return data.estimated_size === options.players;
    },
    SEND_TIMEOUT_MS,
  );
  await sendCampaign(api, session_token, triggered);
  return { triggered, broadcasts };
}

/** Sends the campaign; repeats the request under the same key until it is answered with success. */
export async function sendCampaign(
  api: InternalApi,
  session_token: string,
  campaign_id: string,
): Promise<void> {
  const headers = { authorization: `Bearer ${session_token}`, 'idempotency-key': randomUUID() };
  for (const deadline_ms = Date.now() + SEND_TIMEOUT_MS; ; await sleep(RETRY_MS)) {
    try {
      await call(`${api.base_url}/v1/campaigns/${campaign_id}/send`, { method: 'POST', headers });
      return;
    } catch (error) {
      const is_passing =
        !(error instanceof CallFailed) || error.status === 503 || error.code === 'IDEMPOTENCY_IN_PROGRESS';
      if (!is_passing || Date.now() > deadline_ms) throw error;
    }
  }
}

interface SendRow {
  send_id: string;
  campaign_id: string;
  player_id: string;
  status: string;
  error_code: string | null;
  counted_ms: number | null;
  /** The number of the model's event that fired a triggered campaign. */
  n: number | null;
}

/** What {@link verifyMailing} compares. */
export interface MailingSources {
  api: InternalApi;
  tenant: ProvisionedTenant;
  postgres_url: string;
  provider: CountingProvider;
  model: Model;
}

/** The result of a comparison: how many rows have which status or error code, and every difference. */
export interface MailingResult {
  rows: number;
  outcomes: Map<string, number>;
  differences: string[];
}

/**
 * Waits until nothing is to be decided or sent any more, then compares the rows with the model and with what the provider
 * was given.
 */
export async function verifyMailing(
  sources: MailingSources,
  mailing: Mailing,
  wait_ms: number,
): Promise<MailingResult> {
  const { tenant, model } = sources;
  const sql = postgres(sources.postgres_url, { max: 1, onnotice: () => undefined });
  try {
    const deposits = model.events.filter(({ body }) => body.event === 'deposit_confirmed').length;
    const differences: string[] = [];
    for (const deadline_ms = Date.now() + wait_ms; ; await sleep(POLL_MS)) {
      const waiting = await readWaiting(sql, tenant, mailing);
      if (waiting.undecided + waiting.open === 0 && waiting.fired >= deposits) break;
      if (Date.now() < deadline_ms) continue;
      differences.push(
        `after ${wait_ms} ms ${waiting.undecided} events are undecided and ${waiting.open} messages are open`,
      );
      break;
    }
    const rows = await sql<SendRow[]>`
      select send_id, campaign_id, player_id, status, error_code, (context->>'n')::integer as n,
        (extract(epoch from counted_at) * 1000)::float8 as counted_ms
      from message_sends where tenant_id = ${tenant.tenant_id}`;
    differences.push(...(await compareRows(sources, mailing, rows)));
    const outcomes = new Map<string, number>();
    for (const { status, error_code } of rows) {
      const outcome = error_code ?? status;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    return { rows: rows.length, outcomes, differences };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function readWaiting(sql: postgres.Sql, { tenant_id }: ProvisionedTenant, { triggered }: Mailing) {
  const [row] = await sql<{ undecided: number; open: number; fired: number }[]>`
    select
      (select count(*)::integer from trigger_events where tenant_id = ${tenant_id} and decided_at is null) as undecided,
      (select count(*)::integer from message_sends where tenant_id = ${tenant_id}
        and status in ('queued', 'sending')) as open,
      (select count(*)::integer from message_sends where tenant_id = ${tenant_id}
        and campaign_id = ${triggered}) as fired`;
  return row ?? { undecided: 0, open: 0, fired: 0 };
}

async function compareRows(
  { api, tenant, provider, model }: MailingSources,
  { triggered, broadcasts }: Mailing,
  rows: readonly SendRow[],
): Promise<string[]> {
  const players = await readPlayers(api, tenant);
  const nameOf = new Map(players.map(({ id, anonymous_ids }) => [id, anonymous_ids.join(',')]));
  const wrong: string[] = [];
  const deposits = model.events.filter(({ body }) => body.event === 'deposit_confirmed');
  wrong.push(
    ...compareOnce(
      'the triggered campaign',
      deposits.map(({ n, player }) => `event ${n} of ${player}`),
      rows
        .filter(({ campaign_id }) => campaign_id === triggered)
        .map(({ n, player_id }) => `event ${n} of ${nameOf.get(player_id) ?? player_id}`),
    ),
  );
  for (const [i, broadcast] of broadcasts.entries()) {
    const own = rows.filter(({ campaign_id }) => campaign_id === broadcast);
    const found = own.map(({ player_id }) => nameOf.get(player_id) ?? player_id);
    wrong.push(...compareOnce(`broadcast ${i + 1}`, [...nameOf.values()], found));
  }
  const exclusions = exclusionsOf(model);
  for (const { id, status } of players) {
    const exclusion = exclusions.get(nameOf.get(id) ?? '');
    const accepted = exclusion?.accepted_ms !== undefined;
    if (status === 'self_excluded' ? exclusion === undefined : accepted)
      wrong.push(`player ${nameOf.get(id)} is ${status}`);
  }
  for (const row of rows) {
    const reason = judge(row, provider.count(row.send_id), exclusions.get(nameOf.get(row.player_id) ?? ''));
    if (reason !== undefined)
      wrong.push(`${row.send_id} is ${row.status} ${row.error_code ?? ''}: ${reason}`);
  }
  const known = new Set(rows.map(({ send_id }) => send_id));
  wrong.push(
    ...provider
      .sendIds()
      .filter((send_id) => !known.has(send_id))
      .map((send_id) => `${send_id} was given to the provider and has no row`),
  );
  return wrong;
}

/** Each of `expected` has to be found exactly once, and nothing else. */
function compareOnce(what: string, expected: readonly string[], found: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const one of found) counts.set(one, (counts.get(one) ?? 0) + 1);
  const wrong: string[] = [];
  for (const one of expected) {
    const count = counts.get(one) ?? 0;
    if (count !== 1) wrong.push(`${what} has ${count} rows for ${one}`);
    counts.delete(one);
  }
  for (const one of counts.keys()) wrong.push(`${what} has a row for ${one}, which is not expected`);
  return wrong;
}

/** Player → when the first request that excluded the player was answered; undefined: none was answered. */
function exclusionsOf(model: Model): Map<string, { accepted_ms: number | undefined }> {
  const exclusions = new Map<string, { accepted_ms: number | undefined }>();
  for (const { player, body, accepted, ambiguous, accepted_ms } of model.events) {
    if (body.event !== 'self_exclusion_set' || accepted + ambiguous === 0) continue;
    const known = exclusions.get(player)?.accepted_ms;
    const first = Math.min(known ?? Infinity, accepted_ms ?? Infinity);
    exclusions.set(player, { accepted_ms: first === Infinity ? undefined : first });
  }
  return exclusions;
}

/** What is wrong with a row that is `given` times at the provider; undefined: nothing. */
function judge(
  { status, error_code, counted_ms }: SendRow,
  given: number,
  exclusion: { accepted_ms: number | undefined } | undefined,
): string | undefined {
  if (status === 'failed' && error_code === 'SKIPPED_SELF_EXCLUDED') {
    if (exclusion === undefined) return 'nobody excluded the player';
    return given === 0 ? undefined : `it was given to the provider ${given} times`;
  }
  const is_unknown = status === 'failed' && error_code === 'OUTCOME_UNKNOWN';
  if (!is_unknown && status !== 'sent') return `it was given to the provider ${given} times`;
  if (is_unknown ? given > 1 : given !== 1) return `it was given to the provider ${given} times`;
  if (counted_ms === null) return 'its decision has no time';
  // The decision must precede the moment at which the caller received the acceptance.
  if (given > 0 && counted_ms > (exclusion?.accepted_ms ?? Infinity))
    return `decided ${Math.round(counted_ms - (exclusion?.accepted_ms ?? 0))} ms after the exclusion was accepted`;
  return undefined;
}
