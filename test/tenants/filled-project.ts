import { fillInsights } from './filled-insights.ts';
import { fillKyc } from './filled-kyc.ts';
import { fillRuns } from './filled-runs.ts';
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { call, type Answer } from '../engines/http-client.ts';
import { sunk, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';

/** A project of a tenant, with data that no other tenant or project may see or change. */
export interface FilledProject {
  /** A session of the tenant's owner. */
  session: string;
  api_key: string;
  tenant_id: string;
  project_id: string;
  key_id: string;
  player_id: string;
  external_id: string;
  anonymous_id: string;
  email: string;
  phone: string;
  telegram_id: string;
  /** A segment that contains all players of the project, and to which other segments refer. */
  segment_id: string;
  /** An email template. */
  template_id: string;
  bonus_template_id: string;
  /** An active bonus grant to the player. */
  grant_id: string;
  bonus_campaign_id: string;
  /** A sandbox for email. It belongs to the tenant, whichever project created it. */
  provider_id: string;
  /** A VIP tier that is not active. It belongs to the tenant, too. */
  tier_id: string;
  /** A draft campaign for all players of the project, with one variant; it can still be changed. */
  campaign_id: string;
  /** A journey; of every project but the attacker's it is active, so that it has a version. */
  journey_id: string;
  /** The number of a version that the attacker's own journey does not have. */
  journey_version: string;
  variant_id: string;
  /** Another journey, with a run that waits. */
  run_journey_id: string;
  run_id: string;
  /** A sandbox adapter, which was given a bonus and whose platform has sent a webhook. */
  adapter_id: string;
  adapter_slug: string;
  webhook_secret_id: string;
  event_subscription_id: string;
  insight_id: string;
  dashboard_id: string;
  alert_id: string;
  report_id: string;
  /** A journey whose webhook of this event has failed. */
  webhook_journey_id: string;
  webhook_event_id: string;
  /** Texts that occur in the project's data and nowhere else. */
  markers: string[];
}

/** A definition that refers to a segment below its top level. */
export function referring(segment_id: string, op = 'in') {
  return {
    operator: 'OR',
    conditions: [
      { type: 'trait', field: 'email', op: 'exists' },
      { operator: 'NOT', conditions: [{ type: 'segment', segment_id, op }] },
    ],
  };
}

async function made(answer: Promise<Answer>): Promise<Record<string, string>> {
  const { status, text, body } = await answer;
  expect([200, 201, 202], text).toContain(status);
  return body.data as Record<string, string>;
}

/** Fills a project with an API key, players, events, totals and segments; `label` is part of every text. */
export async function fillProject(
  service: TestService,
  owner: { session_token: string; tenant_id: string; project_id: string },
  label: string,
): Promise<FilledProject> {
  const { base_url, ingest_url } = service;
  const { session_token: session, tenant_id, project_id } = owner;
  const path = `${base_url}/v1/projects/${project_id}/api-keys`;
  const key = await made(call(path, session, { method: 'POST', body: { name: `${label}-key` } }));
  const api_key = key['key'] ?? '';
  const identified = async (n: number) => {
    const digits = String(BigInt(`0x${Buffer.from(label).toString('hex').slice(-12)}`)).slice(0, 10);
    const traits = {
      email: `${label}-${n}@example.com`,
      phone: `+${digits}${n}`,
      telegram_id: `@${label}-${n}`,
      first_name: `${label}-name-${n}`,
    };
    const ids = { external_id: `${label}-external-${n}`, anonymous_id: `${label}-device-${n}` };
    const body = { ...ids, traits };
    const { player_id = '' } = await made(
      call(`${base_url}/v1/players/identify`, api_key, { method: 'POST', body }),
    );
    return { player_id, ...ids, ...traits };
  };
  const { first_name, ...player } = await identified(0);
  const others = [await identified(1), await identified(2)];
  const { anonymous_id } = player;
  const properties = { amount: 5_000, currency: 'EUR', payment_method: 'card' };
  for (const n of [0, 1, 2]) {
    const transaction_id = `${label}-deposit-${n}`;
    const deposit = {
      event: 'deposit_confirmed',
      anonymous_id,
      properties: { ...properties, transaction_id },
    };
    const note = { event: 'custom_note', anonymous_id, properties: { note: `${label}-note-${n}` } };
    const body = { events: [deposit, note, { event: 'session_start', anonymous_id }] };
    await made(call(`${ingest_url}/v1/events/batch`, api_key, { method: 'POST', body }));
  }
  const { id: key_id = '', prefix = '' } = key;
  const markers = [label, project_id, key_id, prefix, player.player_id, player.phone, first_name];
  markers.push(...others.flatMap((other) => [other.player_id, other.phone]));
  const segment_ids = await fillSegments(service, owner, label);
  const segment_id = segment_ids[0] ?? '';
  markers.push(...segment_ids);
  const player_ids = [player, ...others].map((one) => one.player_id);
  const { template_ids, bonus_template_id, provider_id } = await fillMessaging(service, owner, label);
  const [template_id = ''] = template_ids;
  const tier_id = await fillTiers(service, owner, label);
  const campaign = await fillCampaigns(service, owner, { label, segment_id, template_id, player_ids });
  const journey_id = await fillJourneys(service, owner, label);
  markers.push(...template_ids, bonus_template_id, ...Object.values(campaign), journey_id);
  const { player_id } = player;
  const run = await fillRuns(service.platform, { tenant_id, project_id, player_id });
  markers.push(...Object.values(run));
  // The mirrors copy nothing of the project after this.
  await waitUntilCaughtUp(service.platform, 30_000);
  const of_run = { run_journey_id: run.journey_id, run_id: run.run_id };
  const journey = { journey_id, journey_version: '1', ...of_run };
  const webhooks = await fillWebhooks(service, owner, player.player_id);
  const { journey_id: webhook_journey_id, ...of_webhooks } = webhooks;
  markers.push(...Object.values(webhooks));
  const adapter_id = await fillAdapters(service, owner, label);
  await fillKyc(service, owner, player.player_id);
  const grant_body = {
    template_id: bonus_template_id,
    player_id,
    granted_by_kind: 'api',
    granted_by_id: null,
  };
  const granted = await made(
    call(`${base_url}/v1/bonus-grants`, session, {
      method: 'POST',
      body: grant_body,
      headers: { 'x-project-id': project_id },
    }),
  );
  const grant_id = granted['id'] ?? '';
  markers.push(grant_id);
  // Its event is on the log, and its bets are looked up and counted: nothing changes it by itself any more.
  await until('the grant is at rest', async (saw) => {
    const [row] = saw(
      await service.platform.postgres.service<{ is_at_rest: boolean }[]>`
      select are_bets_recorded and activated_at is not distinct from counted_from and not exists (
        select from bonus_grant_events e where e.grant_id = g.grant_id and e.is_to_publish) as is_at_rest
      from bonus_grants g where g.grant_id = ${grant_id}`,
    );
    return row?.is_at_rest === true;
  });
  const campaign_body = { name: `bonuses-${label}`, template_id: bonus_template_id, segment_id };
  const { id: bonus_campaign_id = '' } = await made(
    call(`${base_url}/v1/bonus-campaigns`, session, {
      method: 'POST',
      body: campaign_body,
      headers: { 'x-project-id': project_id },
    }),
  );
  markers.push(bonus_campaign_id);
  markers.push(adapter_id, `adapter-${label}`);
  const insights = await fillInsights(service, owner, label);
  markers.push(...Object.values(insights));
  const ids = {
    adapter_id,
    adapter_slug: `adapter-${label}`,
    grant_id,
    bonus_campaign_id,
    webhook_journey_id,
    ...of_webhooks,
    tenant_id,
    project_id,
    key_id,
    segment_id,
    template_id,
    bonus_template_id,
    provider_id,
    tier_id,
    ...campaign,
    ...journey,
    ...insights,
  };
  return { session, api_key, ...ids, ...player, markers };
}

/** How many rows the audit log of a tenant has: more than a page. */
export async function countRows(sql: Tx, tenant_id: string): Promise<number> {
  return (await sql`select from audit_log where tenant_id = ${tenant_id}`).length;
}

/** Writes a journey with a webhook that has failed. */
export async function failedWebhook(
  sql: Tx,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  player_id: string,
): Promise<{ journey_id: string; event_id: string }> {
  const [journey_id, event_id] = [randomUUID(), randomUUID()];
  await sql`
    insert into journeys (tenant_id, project_id, journey_id, name, status, trigger, graph, settings, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${journey_id}, 'journey', 'draft', '{}', '{}', '{}', now(), now())`;
  await sql`
    insert into webhook_deliveries (tenant_id, project_id, event_id, journey_id, journey_version, run_id, node_id, seq,
      player_id, url, host, headers, timeout_ms, max_attempts, wait_for_response, payload, status, attempts, next_at,
      created_at, expires_at, completed_at)
    values (${tenant_id}, ${project_id}, ${event_id}, ${journey_id}, 1, ${randomUUID()}, 'n', 1, ${player_id},
      'http://10.0.0.1/', '10.0.0.1', '{}', 1000, 1, true, '{}', 'failed', 1, now(), now(), now(), now())`;
  return { journey_id, event_id };
}

/** Creates a sandbox adapter with a bonus and a webhook of it. */
async function fillAdapters(
  { base_url, platform }: TestService,
  { session_token, tenant_id, project_id }: { session_token: string; tenant_id: string; project_id: string },
  label: string,
): Promise<string> {
  const slug = `adapter-${label}`;
  const headers = { 'x-project-id': project_id };
  const body = { slug, kind: 'sandbox' };
  const { id = '' } = await made(
    call(`${base_url}/v1/adapters`, session_token, { method: 'POST', body, headers }),
  );
  const sql = platform.postgres.service;
  await sql`
    insert into sandbox_bonuses (tenant_id, project_id, adapter_slug, grant_id, platform_bonus_id, status, sent,
      created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${slug}, ${randomUUID()}, ${randomUUID()}, 'active', '{}', now(), now())`;
  await sql`
    insert into adapter_webhooks (adapter_slug, event_id, tenant_id, project_id, name, body_hash, received_at)
    values (${slug}, ${randomUUID()}, ${tenant_id}, ${project_id}, 'bonus-events', '', now())`;
  return id;
}

/** Creates a secret, a subscription, and a journey with a webhook that has failed. */
async function fillWebhooks(
  { base_url, platform }: TestService,
  owner: { session_token: string; tenant_id: string; project_id: string },
  player_id: string,
): Promise<{
  webhook_secret_id: string;
  event_subscription_id: string;
  journey_id: string;
  webhook_event_id: string;
}> {
  const { session_token, project_id } = owner;
  const headers = { 'x-project-id': project_id };
  const { id = '' } = await made(
    call(`${base_url}/v1/webhook-secrets`, session_token, { method: 'POST', headers }),
  );
  const subscription = { name: 'data', url: 'https://example.com/', events: ['segment.entered'] };
  const { id: event_subscription_id = '' } = await made(
    call(`${base_url}/v1/event-subscriptions`, session_token, {
      method: 'POST',
      body: subscription,
      headers,
    }),
  );
  const { journey_id, event_id } = await failedWebhook(platform.postgres.service, owner, player_id);
  return { webhook_secret_id: id, event_subscription_id, journey_id, webhook_event_id: event_id };
}

/** Creates two tiers. They belong to the tenant, so their codes name the project by two letters only. */
async function fillTiers(
  { base_url }: TestService,
  { session_token }: { session_token: string },
  label: string,
): Promise<string> {
  const make = async (code: string, rank: number) => {
    const body = { code, name: code.split('_')[0], rank, is_active: false };
    const { id = '' } = await made(call(`${base_url}/v1/vip-tiers`, session_token, { method: 'POST', body }));
    return id;
  };
  await make(`top_${label.slice(0, 2)}`, 2);
  return make(`base_${label.slice(0, 2)}`, 1);
}

/**
 * Creates two templates of messages, two of bonuses, and two providers. The providers belong to the tenant, so they contain no text of the project.
 */
async function fillMessaging(
  { base_url }: TestService,
  { session_token, project_id }: { session_token: string; project_id: string },
  label: string,
): Promise<{ template_ids: string[]; bonus_template_id: string; provider_id: string }> {
  const headers = { 'x-project-id': project_id };
  const make = async (path: string, body: object) => {
    const { id = '' } = await made(call(base_url + path, session_token, { method: 'POST', body, headers }));
    return id;
  };
  const template = { channel: 'email', subject: label, body: `${label} {{ first_name }}`, status: 'active' };
  const template_ids = [
    await make('/v1/templates', { ...template, name: `${label}-first` }),
    await make('/v1/templates', { ...template, name: `${label}-second` }),
  ];
  const settings = await made(call(`${base_url}/v1/tenant/config`, session_token));
  const bonus = { type: 'no_deposit', config: { amount: 500, currency: settings['base_currency'] } };
  const bonus_template_id = await make('/v1/bonus-templates', { ...bonus, name: `${label}-bonus` });
  await make('/v1/bonus-templates', { ...bonus, name: `${label}-other-bonus` });
  const provider_id = await make('/v1/messaging-providers', { name: 'first', channel: 'email' });
  await make('/v1/messaging-providers', { name: 'second', channel: 'email' });
  return { template_ids, bonus_template_id, provider_id };
}

/** Creates two campaigns, and a message of the first to every player of the project. */
async function fillCampaigns(
  { base_url, platform }: TestService,
  { session_token, tenant_id, project_id }: { session_token: string; tenant_id: string; project_id: string },
  {
    label,
    segment_id,
    template_id,
    player_ids,
  }: Record<'label' | 'segment_id' | 'template_id', string> & {
    player_ids: string[];
  },
): Promise<{ campaign_id: string; variant_id: string }> {
  const { service: sql } = platform.postgres;
  const campaigns = `${base_url}/v1/campaigns`;
  const at = new Date();
  const shared = { tenant_id, project_id, channel: 'email', template_id };
  const make = async (url: string, body: object) => {
    const headers = { 'x-project-id': project_id };
    const { id = '' } = await made(call(url, session_token, { method: 'POST', body, headers }));
    return id;
  };
  const body = { name: `${label}-campaign`, channel: 'email', segment_id, template_id };
  const campaign_id = await make(campaigns, body);
  await make(campaigns, { ...body, name: `${label}-second` });
  const variant = { name: `${label}-variant`, template_id, weight: 10 };
  const variant_id = await make(`${campaigns}/${campaign_id}/variants`, variant);
  for (const player_id of player_ids) {
    const send = {
      send_id: randomUUID(),
      campaign_id,
      variant_id,
      player_id,
      recipient: `${label}@example.com`,
    };
    await sql`insert into message_sends ${sql({ ...shared, ...send, status: 'sent', enqueued_at: at, sent_at: at })}`;
  }
  await waitUntilCaughtUp(platform, 30_000);
  return { campaign_id, variant_id };
}

/** Creates two journeys; the first is active, except in the project `mine`. */
async function fillJourneys(
  { base_url }: TestService,
  { session_token, project_id }: { session_token: string; project_id: string },
  label: string,
): Promise<string> {
  const headers = { 'x-project-id': project_id };
  const url = `${base_url}/v1/journeys`;
  const wait = { id: 'wait', name: label, type: 'wait', duration_ms: 5, next: 'end' };
  const graph = { start_node_id: 'wait', nodes: [wait, { id: 'end', type: 'end' }] };
  const make = async (name: string) => {
    const body = { name, trigger: { kind: 'api' }, graph };
    const { id = '' } = await made(call(url, session_token, { method: 'POST', body, headers }));
    return id;
  };
  const journey_id = await make(`${label}-journey`);
  await make(`${label}-draft`);
  if (label !== 'mine') {
    const activated = await call(`${url}/${journey_id}/activate`, session_token, { method: 'POST', headers });
    expect(activated.status, activated.text).toBe(200);
  }
  return journey_id;
}

/**
 * Creates segments that contain the three players of a project: a manual one that the others refer to, another manual
 * one, and a realtime one. Resolves when no evaluation or publication of them is pending.
 */
async function fillSegments(
  { base_url, platform }: TestService,
  { session_token, project_id }: { session_token: string; project_id: string },
  label: string,
): Promise<string[]> {
  // Waits before the first segment exists, so that the players are not marked dirty for it later.
  await waitUntilCaughtUp(platform, 30_000);
  const segments = `${base_url}/v1/segments`;
  const headers = { 'x-project-id': project_id };
  const make = async (name: string, condition: object, refresh_strategy: string) => {
    const definition = { operator: 'AND', conditions: [condition] };
    const body = { name: `${label}-${name}`, description: label, definition, refresh_strategy };
    const { id = '' } = await made(call(segments, session_token, { method: 'POST', body, headers }));
    return id;
  };
  const plan = { type: 'trait', field: 'email', op: 'starts_with', value: label };
  const all = await make('players', plan, 'manual');
  const of_all = { type: 'segment', segment_id: all, op: 'in' };
  const members = await make('members', of_all, 'manual');
  for (const id of [all, members]) {
    const refresh = `${segments}/${id}/refresh`;
    const { matched } = await made(call(refresh, session_token, { method: 'POST', headers }));
    expect(matched).toBe(3);
  }
  const followers = await make('followers', of_all, 'realtime');
  await until('the segments of the project are at rest', async (saw) => {
    const { estimated_size } = saw(await made(call(`${segments}/${followers}`, session_token, { headers })));
    // Not computed yet, or just being computed, is not at rest: both are written later.
    const waiting = saw(
      await platform.postgres.service`
      select from dirty_players where project_id = ${project_id}
      union all select from segment_changes where project_id = ${project_id}
      union all select from segments where project_id = ${project_id} and segment_id = ${followers}
        and (last_computed_at is null or refresh_progress is not null)`,
    );
    return Number(estimated_size) === 3 && waiting.length === 0;
  });
  return [all, members, followers];
}

interface Tables {
  /** `tables` are those of Postgres, `stores` those of ClickHouse. */
  tables: { name: string; by_number: boolean }[];
  stores: { name: string }[];
}

const tables_with = new Map<string, Promise<Tables>>();

/** The tables with this column, from the catalogues. Read once, because no endpoint creates a table. */
function tablesWith({ platform }: TestService, column: 'tenant_id' | 'project_id'): Promise<Tables> {
  const { clickhouse, postgres } = platform;
  const read = async () => ({
    // Rows of some tables have only the number of their project.
    tables: await postgres.service<{ name: string; by_number: boolean }[]>`
      select c.relname as name, bool_and(a.attname = 'project_no') as by_number
      from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
        and a.attname in (${column}, 'project_no') and not a.attisdropped
        -- Written at every full hour, whoever asks what.
        and c.relname <> 'segment_sizes'
      group by c.relname order by 1`,
    stores: await clickhouse.query<{ name: string }>(
      `select distinct c.table as name from system.columns c join system.tables t
        on t.database = c.database and t.name = c.table
      where c.database = currentDatabase() and c.name = {column:String} and t.engine like '%MergeTree' order by 1`,
      { column },
    ),
  });
  const known = tables_with.get(column) ?? read();
  tables_with.set(column, known);
  return known;
}

/**
 * One text per table with the number and a hash of all rows that Postgres and ClickHouse have of the tenant or of the
 * project. The tables come from the catalogues, so new ones are included.
 */
export async function digestOf(
  service: TestService,
  { tenant_id, project_id }: Pick<FilledProject, 'tenant_id' | 'project_id'>,
  only: 'tenant' | 'project',
): Promise<Record<string, string>> {
  await sunk(service.platform);
  const { clickhouse, postgres } = service.platform;
  const column = only === 'tenant' ? 'tenant_id' : 'project_id';
  const value = only === 'tenant' ? tenant_id : project_id;
  const { tables, stores } = await tablesWith(service, column);
  const rows = await postgres.service.unsafe<{ name: string; digest: string }[]>(
    tables
      .map(
        ({ name, by_number }) => `select '${name}' as name, count(*) || ' rows, '
          || md5(coalesce(string_agg(t::text, chr(10) order by t::text), '')) as digest
        from ${name} t ${by_number ? 'join projects using (project_no)' : ''} where ${column} = '${value}'`,
      )
      .join(' union all '),
  );
  const mirrored = await clickhouse.query<{ name: string; digest: string }>(
    stores
      .map(
        ({ name }) => `select 'clickhouse ${name}' as name,
          concat(toString(count()), ' rows, ', toString(groupBitXor(sipHash64(formatRow('JSONEachRow', *))))) as digest
        from ${name} final where ${column} = '${value}'`,
      )
      .join(' union all '),
  );
  return Object.fromEntries([...rows, ...mirrored].map(({ name, digest }) => [name, digest]));
}
