import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provisionTenant, type ProvisionedTenant } from '../../scripts/service-api.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { openTestPostgres } from '../engines/wiring.ts';
import { until } from '../engines/until.ts';
import { prepareService, startChild, type Child, type PreparedService } from './journey-process.ts';

type Json = Record<string, unknown>;

const DAY_MS = 86_400_000;
/** Nothing sends: messages stay queued, and webhooks pending. */
const ROLES = 'api,intake,player-fold,journey-runner,scheduler';

/** The program of a process: the present one, or one of `test/engines/programs`. */
export type Program = 'present' | 'other-advance' | 'older-reader';

/** The first version: runs wait, await an event or a webhook, ask ClickHouse, or have a message queued. */
function firstGraph(template_id: string, provider_id: string) {
  const awaits = { type: 'wait_for_event', event: 'custom_answer', timeout_ms: 10 * DAY_MS };
  const condition = { type: 'event', event: 'deposit_confirmed', aggregate: 'count', op: 'gte', value: 1 };
  const url = 'http://127.0.0.1:9/';
  return graphOf([
    { id: 'w', type: 'wait', duration_ms: 10 * DAY_MS, next: 'which' },
    { id: 'which', type: 'split', branches: ['x0', 'x1'].map((next) => ({ name: next, weight: 50, next })) },
    ...['x0', 'x1'].map((id) => ({ id, type: 'wait', duration_ms: DAY_MS, next: 'end' })),
    { id: 'e', ...awaits, next: 'came', timeout_next: 'late' },
    { id: 'c', type: 'call_webhook', url, next: 'end' },
    { id: 'm', type: 'send_message', template_id, provider_id, next: 'mw' },
    { id: 'mw', type: 'wait', duration_ms: 10 * DAY_MS, next: 'end' },
    { id: 'b', type: 'branch', branches: [{ condition, next: 'came' }], else_next: 'late' },
    ...['came', 'late', 'end'].map((id) => ({ id, type: 'end' })),
  ]);
}

/** The edited one: nodes of the same ids do other things, others are gone, and `u` is of a type that is new. */
const SECOND_GRAPH = graphOf([
  { id: 'u', type: 'wait_until', at: 'context.trigger_payload.at', past: 'continue', next: 'w' },
  { id: 'w', type: 'wait_for_event', event: 'custom_new', timeout_ms: DAY_MS, next: 'mw', timeout_next: 'e' },
  { id: 'mw', type: 'end', reason: 'answered' },
  { id: 'e', type: 'end', reason: 'silent' },
]);

function graphOf(nodes: readonly (Json & { id: string })[]) {
  return { start_node_id: nodes[0]?.id, nodes };
}

/** Where the runs begin, by their number. */
const KINDS = 'wwwwwwwwweeeeccmmmmb'.split('');

/** The tables that say where runs stand and what was done for them; `by` finds the run of a row. */
const TABLES = {
  journey_runs: 'run_id',
  journey_timers: 'run_id',
  journey_waits: 'run_id',
  journey_steps: 'run_id',
  message_sends: 'journey_run_id',
  webhook_deliveries: 'run_id',
} as const;

/** The service on a Postgres of its own, as one program after the other, under runs that stand. */
export class StandingRuns {
  readonly sql: Db;
  readonly #service: PreparedService;
  readonly #close: () => Promise<void>;
  #child: Child | undefined;
  #tenant: ProvisionedTenant | undefined;
  #template_id = '';
  #provider_id = '';

  private constructor(sql: Db, service: PreparedService, close: () => Promise<void>) {
    this.sql = sql;
    this.#service = service;
    this.#close = close;
  }

  static async open(): Promise<StandingRuns> {
    const engine = await openTestPostgres({ prepared: true });
    const sql = connectPool(engine.url);
    const data_dir = await mkdtemp(join(tmpdir(), 'engagement-deploy-'));
    const close = async () => {
      await sql.end({ timeout: 5 });
      await engine.close();
      await rm(data_dir, { recursive: true, force: true });
    };
    try {
      const service = await prepareService({ sql, url: engine.url, data_dir, roles: ROLES });
      return new StandingRuns(sql, service, close);
    } catch (error) {
      await close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#child?.kill();
    await this.#close();
  }

  /** Ends the process that runs, and starts this program in its place, so much later. */
  async deploy(program: Program, after_ms = 0): Promise<void> {
    await this.#child?.kill();
    this.#child = undefined;
    if (after_ms > 0) await this.#pass(after_ms);
    const { environment } = this.#service;
    this.#child = await startChild({
      ...environment,
      ...(program === 'present' ? {} : { PROGRAM: program }),
    });
    await this.#provision();
  }

  /** Lets time pass, while no process runs: everything that is stored about runs happened that much earlier. */
  async #pass(ms: number): Promise<void> {
    // What the process that was killed had sent is still done.
    await this.none(
      () => this.sql`
        select from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
    );
    const by = this.sql`interval '1 millisecond' * ${ms}::float8`;
    await this.sql`
      update journey_runs set due_at = due_at - ${by}, entered_at = entered_at - ${by}, started_at = started_at - ${by}`;
    await this.sql`update journey_timers set due_at = due_at - ${by}`;
  }

  async #provision(): Promise<void> {
    if (this.#tenant !== undefined) return;
    const names = { name: 'Deploy', project_name: 'Deploy', base_currency: 'EUR', admin_user_id: 'deploy' };
    this.#tenant = await provisionTenant(this.#service, names);
    await this.api('POST', 'webhook-secrets', {});
    this.#provider_id = await this.#made('messaging-providers', {
      name: 'sandbox',
      kind: 'sandbox',
      channel: 'email',
      config: {},
    });
    const text = { subject: 'Hello', body: '<p>Dear player</p>' };
    const template = { name: 'hello', channel: 'email', status: 'active', ...text };
    this.#template_id = await this.#made('templates', template);
  }

  /** A call of the API; throws unless it succeeds. */
  async api(method: string, path: string, body?: Json): Promise<Json> {
    const { session_token = '' } = this.#tenant ?? {};
    const headers = { authorization: `Bearer ${session_token}` };
    return this.#call(`${this.#service.base_url}/v1/${path}`, method, headers, body);
  }

  async #made(path: string, body: Json): Promise<string> {
    return String((await this.api('POST', path, body))['id']);
  }

  async #call(
    url: string,
    method: string,
    headers: Record<string, string>,
    body: Json | undefined,
  ): Promise<Json> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(url, { method, headers: { ...headers, ...type }, ...sent });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
    return (JSON.parse(text) as { data: Json }).data;
  }

  /** An event of a player, accepted. */
  async event(player_id: string, event: string): Promise<void> {
    const { api_key = '' } = this.#tenant ?? {};
    const headers = { authorization: `Bearer ${api_key}` };
    const url = `${this.#service.ingest_url}/v1/events`;
    await this.#call(url, 'POST', headers, { event, player_id, properties: {} });
  }

  /** An active journey of the first graph; returns its id. */
  async journey(): Promise<string> {
    const graph = firstGraph(this.#template_id, this.#provider_id);
    const body = { name: `journey ${randomUUID()}`, trigger: { kind: 'api' }, graph };
    const journey_id = await this.#made('journeys', body);
    await this.api('POST', `journeys/${journey_id}/activate`);
    return journey_id;
  }

  /** Saves the second graph: an active journey has it as its next version. */
  async edit(journey_id: string): Promise<void> {
    await this.api('PATCH', `journeys/${journey_id}`, { graph: SECOND_GRAPH });
  }

  /** Begins runs of new players, due now, each at the node that `nodes` has for its number. */
  async begin(journey_id: string, version: number, count: number, nodes: readonly string[]): Promise<void> {
    const { tenant_id = '', project_id = '' } = this.#tenant ?? {};
    await this.sql`
      with drawn as materialized (
        select gen_random_uuid() as player_id, (${`{${nodes.join(',')}}`}::text::text[])[n % ${nodes.length} + 1] as node_id
        from generate_series(0, ${count - 1}::integer) n
      ), players as (
        insert into players (tenant_id, project_id, player_id, email, default_currency_code, created_at, updated_at)
        select ${tenant_id}::uuid, ${project_id}::uuid, player_id, player_id || '@example.com', 'EUR', now(), now() from drawn
      ), totals as (
        insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
        select ${tenant_id}::uuid, ${project_id}::uuid, player_id, now(), now(), now() from drawn
      ), begun as (
        insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
          due_at, trigger_key, re_entry, trigger, context, started_at)
        select ${tenant_id}::uuid, ${project_id}::uuid, new_id(), ${journey_id}::uuid, ${version}, player_id, 'running',
          node_id, 1, date_trunc('milliseconds', now()), new_id()::text, 'always', '{"kind": "api"}', '{}', now()
        from drawn
        returning *
      )
      insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
      select tenant_id, project_id, due_at, run_id, seq from begun`;
    await this.sql.unsafe('vacuum analyze journey_runs, journey_timers, players, player_totals');
    await this.sql`notify journey_timers`;
  }

  /** Begins runs at every kind of rest, and waits until they stand there. */
  async stand(journey_id: string, count: number): Promise<void> {
    await this.begin(journey_id, 1, count, KINDS);
    await this.none(
      () => this.sql`
        select from journey_runs where journey_id = ${journey_id} and node_id <> 'b' and entered_at is null limit 1`,
    );
    await this.none(() => this.sql`select from journey_waits where not is_checked limit 1`);
  }

  /** Waits until the query finds nothing; for minutes, because 100,000 runs may move meanwhile. */
  async none(query: () => PromiseLike<readonly unknown[]>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await until(async (saw) => saw((await query()).length) === 0);
        return;
      } catch (error) {
        if (tries === 20) throw error;
      }
    }
  }

  /** Keeps what there is, to compare with it. */
  async remember(): Promise<void> {
    await this.sql.begin(async (tx) => {
      await tx`drop schema if exists before cascade`;
      await tx`create schema before`;
      for (const table of Object.keys(TABLES)) {
        await tx`create table before.${tx(table)} as select * from ${tx(table)}`;
      }
    });
  }

  /**
   * How many of the runs that were remembered differ in something, by the node where they stood. A run that asks
   * ClickHouse comes due every 15 s, and asks again, or has no timer while it is held: its time is no difference.
   */
  async moved(): Promise<Record<string, number>> {
    const { sql } = this;
    const parts = Object.entries(TABLES).map(([table, run]) => {
      const rows = (from: ReturnType<typeof sql>) => sql`
        select t.${sql(run)} as run_id, (to_jsonb(t) - case when r.is_asking then 'due_at' else '' end)::text as it
        from ${from} t join known r on r.run_id = t.${sql(run)}
        where not (r.is_asking and ${table === 'journey_timers'})`;
      const [now, then] = [rows(sql`${sql(table)}`), rows(sql`before.${sql(table)}`)];
      return sql`(select run_id from ((${now}) except all (${then})) a
        union all select run_id from ((${then}) except all (${now})) b)`;
    });
    const all = parts.reduce((left, right) => sql`${left} union all ${right}`);
    const found = await sql<{ kind: string; runs: number }[]>`
      with known as materialized (
        select run_id, journey_id, node_id, node_id = 'b' as is_asking from before.journey_runs)
      select k.node_id as kind, count(distinct run_id)::integer as runs
      from (${all}) d join known k using (run_id) group by 1`;
    return Object.fromEntries(found.map(({ kind, runs }) => [kind, runs]));
  }

  /** Paths of the journey's runs: where they stand, how, and the steps, each with how many runs have it. */
  async paths(journey_id: string, version = 1): Promise<Record<string, number>> {
    const rows = await this.sql<{ path: string; runs: number }[]>`
      select path, count(*)::integer as runs from (
        select r.status || ' ' || r.node_id || ':' || coalesce((
          select string_agg(' ' || s.node_id || ' ' || s.outcome, ',' order by s.seq) from journey_steps s
          where s.run_id = r.run_id), '') as path
        from journey_runs r where r.journey_id = ${journey_id} and r.version = ${version}) p
      group by path`;
    return Object.fromEntries(rows.map(({ path, runs }) => [path, runs]));
  }
}
