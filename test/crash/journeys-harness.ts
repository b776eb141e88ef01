import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, provisionTenant, type ProvisionedTenant } from '../../scripts/service-api.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { openTestPostgres } from '../engines/wiring.ts';
import { complaintsAboutTimers } from '../engage/journeys/interleavings/complaints.ts';
import { startReceiver, type Receiver } from '../engage/webhooks/receiver.ts';
import { startCountingProvider, type CountingProvider } from './counting-provider.ts';
import { prepareService, startChild } from './journey-process.ts';
import { JourneysLoad } from './journeys-load.ts';
import { verifyJourneys, type JourneysCounts } from './journeys-verify.ts';
import { Random } from './random.ts';

export interface JourneysTortureOptions {
  kills: number;
  seed: number;
  onKill?: (number: number) => void;
}

/** The result of a run. `differences` is empty when no run was lost and nothing happened twice. */
export interface JourneysTortureResult extends JourneysCounts {
  kills: number;
  /** Awaited events that were accepted, by the runs that waited for them; and runs that were cancelled. */
  answered: number;
  cancelled: number;
  /** Requests without an answer. */
  unanswered: number;
  duration_ms: number;
}

const ROLES = 'api,intake,player-fold,messenger,journey-runner,webhook-deliverer,scheduler';
const PLAYERS = 60;
const KILL_AFTER_MS = { min: 30, max: 900 };
const KILL_WHILE_STARTING_MS = { min: 50, max: 700 };
const START_SHARE = 0.1;
/** Provider and receiver delay their answers, so that kills happen while requests are under way. */
const ANSWER_AFTER_MS = 40;
const RECEIVER_AFTER_MS = 15;
const REFUSED_SHARE = 0.1;
/** Whether it takes longer says nothing but that the machine is busy; what is lost is missing after that, too. */
const DRAIN_TIMEOUT_MS = 300_000;
const HONOUR_TIMEOUT_MS = 120_000;
const START_NODE = 'mail';

interface Ground {
  sql: Db;
  base_url: string;
  ingest_url: string;
  environment: Record<string, string>;
  provider: CountingProvider;
  receiver: Receiver;
}

/**
 * Runs the service (without analytics) in a process of its own under a load of journeys, and kills that process repeatedly
 * with SIGKILL: runner, matcher, messenger, deliverer, fold and intake at once. After each kill every running run must have
 * its timer. In the end it compares runs and steps with the accepted events, and what provider and receiver were given with
 * the steps.
 */
export async function tortureJourneys(options: JourneysTortureOptions): Promise<JourneysTortureResult> {
  const started_ms = performance.now();
  const engine = await openTestPostgres({ prepared: true });
  const sql = connectPool(engine.url);
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-journeys-'));
  const random = new Random(options.seed);
  const provider = await startCountingProvider(ANSWER_AFTER_MS);
  const receiver = await startReceiver((response, _n, { headers }) => {
    // Later attempts may have long pauses before them.
    const is_refused = headers['x-service-attempt'] === '1' && random.chance(REFUSED_SHARE);
    setTimeout(
      () => response.writeHead(is_refused ? 503 : 200).end('{"ok":true}'),
      random.integer(0, RECEIVER_AFTER_MS),
    );
  });
  try {
    const ground = await prepareGround({ sql, url: engine.url, data_dir, provider, receiver });
    return await tortureOn(ground, random, options, started_ms);
  } finally {
    await provider.close();
    await receiver.close();
    await sql.end({ timeout: 5 });
    await engine.close();
    await rm(data_dir, { recursive: true, force: true });
  }
}

async function prepareGround(given: {
  sql: Db;
  url: string;
  data_dir: string;
  provider: CountingProvider;
  receiver: Receiver;
}): Promise<Ground> {
  const { sql, url, data_dir, provider, receiver } = given;
  const { base_url, ingest_url, environment } = await prepareService({ sql, url, data_dir, roles: ROLES });
  return { sql, base_url, ingest_url, environment, provider, receiver };
}

async function tortureOn(
  ground: Ground,
  random: Random,
  { kills, onKill }: JourneysTortureOptions,
  started_ms: number,
): Promise<JourneysTortureResult> {
  const { sql, base_url, environment, provider, receiver } = ground;
  let child = await startChild(environment);
  let load: JourneysLoad | undefined;
  const differences: string[] = [];
  try {
    const internal_secret = environment['INTERNAL_SECRET'] ?? '';
    const names = {
      name: 'Torture',
      project_name: 'Torture',
      base_currency: 'EUR',
      admin_user_id: 'torture',
    };
    const tenant = await provisionTenant({ base_url, internal_secret }, names);
    const journey_id = await newJourney(ground, tenant);
    const player_ids = await newPlayers(sql, tenant);
    load = new JourneysLoad({ ...ground, ...tenant, journey_id, player_ids }, random);
    for (let kill = 1; kill <= kills; kill++) {
      load.up = true;
      await sleep(random.integer(KILL_AFTER_MS.min, KILL_AFTER_MS.max));
      load.up = false;
      await child.kill();
      differences.push(...(await afterKill(sql)).map((what) => `after kill ${kill}: ${what}`));
      onKill?.(kill);
      if (kill < kills && random.chance(START_SHARE)) {
        const starting = startChild(
          environment,
          random.integer(KILL_WHILE_STARTING_MS.min, KILL_WHILE_STARTING_MS.max),
        );
        await (await starting).kill();
        await afterKill(sql);
        kill++;
        onKill?.(kill);
      }
      child = await startChild(environment);
    }
    differences.push(...(await drain(sql, load)));
    const counts = await verifyJourneys({
      sql,
      journey_id,
      start_node_id: START_NODE,
      load,
      provider,
      received: receiver.received,
    });
    return {
      kills,
      ...counts,
      answered: load.answered.size,
      cancelled: load.cancelled.size,
      unanswered: load.unanswered,
      duration_ms: performance.now() - started_ms,
      differences: [...differences, ...counts.differences],
    };
  } finally {
    if (load !== undefined) load.up = false;
    await child.kill();
  }
}

/**
 * Waits until what the process had sent to Postgres is done, and looks at the timers. Then the claims of the killed process run
 * out, to save the wait.
 */
async function afterKill(sql: Db): Promise<string[]> {
  for (let busy = true; busy;) {
    const [row] = await sql<{ busy: number }[]>`
      select count(*)::integer as busy from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
    busy = row?.busy !== 0;
    if (busy) await sleep(5);
  }
  const differences = await complaintsAboutTimers({ sql });
  await sql`update message_sends set claimed_until = now() where status = 'sending'`;
  await sql`update webhook_deliveries set next_at = now() where status = 'pending'`;
  await sql`update trigger_events set claimed_until = null where decided_at is null`;
  return differences;
}

/** A journey through every kind of node that can be killed in between; returns its id. */
async function newJourney(ground: Ground, { session_token }: ProvisionedTenant): Promise<string> {
  const create = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${session_token}` };
    const url = `${ground.base_url}/v1/${path}`;
    const { data } = await call<{ data: { id: string } }>(url, { method: 'POST', headers, body });
    return data.id;
  };
  await create('webhook-secrets', {});
  const provider_id = await create('messaging-providers', {
    name: 'counting',
    kind: 'sendgrid',
    channel: 'email',
    config: { api_key: 'SG.test', from: 'casino@example.com', base_url: ground.provider.url },
  });
  const text = { subject: 'Hello', body: '<p>Dear player</p>' };
  const template_id = await create('templates', {
    name: 'hello',
    channel: 'email',
    status: 'active',
    ...text,
  });
  const mail = (id: string, next: string) => ({ id, type: 'send_message', template_id, provider_id, next });
  const wait = (id: string, duration_ms: number, next: string) => ({ id, type: 'wait', duration_ms, next });
  const awaiting = (id: string, event: string, timeout_ms: number, next: string, timeout_next: string) => {
    return { id, type: 'wait_for_event', event, timeout_ms, next, timeout_next };
  };
  const { url } = ground.receiver;
  const retry = { max_attempts: 10, backoff_ms: 20 };
  const nodes = [
    mail(START_NODE, 'call'),
    { id: 'call', type: 'call_webhook', url, timeout_ms: 5_000, retry, save_as: 'crm', next: 'w' },
    wait('w', 100, 'which'),
    {
      id: 'which',
      type: 'split',
      branches: [
        { weight: 60, next: 'e' },
        { weight: 40, next: 'short' },
      ],
    },
    awaiting('e', 'custom_answer', 3_600_000, 'set', 'late'),
    awaiting('short', 'custom_never', 150, 'never', 'set'),
    { id: 'set', type: 'update_player', set: { traits: { journey_done: true } }, next: 'w2' },
    wait('w2', 120, 'again'),
    mail('again', 'end'),
    ...['never', 'late', 'end'].map((id) => ({ id, type: 'end' })),
  ];
  const trigger = { kind: 'event', event: 'deposit_confirmed' };
  const graph = { start_node_id: START_NODE, nodes };
  const journey_id = await create('journeys', { name: 'torture', trigger, graph });
  await create(`journeys/${journey_id}/activate`, {});
  return journey_id;
}

async function newPlayers(sql: Db, { tenant_id, project_id }: ProvisionedTenant): Promise<string[]> {
  const rows = await sql<{ player_id: string }[]>`
    with made as (
      insert into players (tenant_id, project_id, player_id, email, default_currency_code, created_at, updated_at)
      select ${tenant_id}::uuid, ${project_id}::uuid, gen_random_uuid(), n || '@example.com', 'EUR', now(), now()
      from generate_series(1, ${PLAYERS}::integer) n
      returning *
    ), totals as (
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
      select tenant_id, project_id, player_id, now(), now(), now() from made
    )
    select player_id from made order by player_id`;
  return rows.map(({ player_id }) => player_id);
}

/** Lets every run come to its end. An event that was accepted before must wake its runs without any further one. */
async function drain(sql: Db, load: JourneysLoad): Promise<string[]> {
  load.up = true;
  await load.finish();
  const differences: string[] = [];
  const answered = [...load.answered].join(',');
  const unhonoured = () => sql<{ run_id: string }[]>`
    select run_id from journey_runs
    where run_id = any (${`{${answered}}`}::text::uuid[]) and status = 'running' and node_id = 'e'`;
  const honoured_by_ms = Date.now() + HONOUR_TIMEOUT_MS;
  let left = await unhonoured();
  while (left.length > 0 && Date.now() < honoured_by_ms) {
    await sleep(50);
    left = await unhonoured();
  }
  differences.push(...left.map(({ run_id }) => `run ${run_id} still waits for its accepted event`));
  for (const deadline_ms = Date.now() + DRAIN_TIMEOUT_MS; ; await sleep(100)) {
    const [open] = await sql<{ runs: number; events: number; sends: number; calls: number }[]>`
      select (select count(*) from journey_runs where status = 'running')::integer as runs,
        (select count(*) from trigger_events where decided_at is null)::integer as events,
        (select count(*) from message_sends where status in ('queued', 'sending'))::integer as sends,
        (select count(*) from webhook_deliveries where status = 'pending')::integer as calls`;
    const begun = await sql<{ runs: number }[]>`select count(*)::integer as runs from journey_runs`;
    const is_over = Object.values(open ?? {}).every((count) => count === 0);
    if (is_over && (begun[0]?.runs ?? 0) >= load.entries.length) return differences;
    if (Date.now() > deadline_ms) {
      return [...differences, `not over in time: ${JSON.stringify(open)} of ${load.entries.length} runs`];
    }
    await load.answerAll();
  }
}
