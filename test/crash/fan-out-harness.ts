import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCampaign } from '../../src/engage/campaigns/send.ts';
import { encryptSecrets } from '../../src/engage/providers/credentials.ts';
import { migratePostgres } from '../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { until } from '../engines/until.ts';
import { openTestPostgres } from '../engines/wiring.ts';
import { startCountingProvider, type CountingProvider } from './counting-provider.ts';
import { Random } from './random.ts';

export interface FanOutTortureOptions {
  kills: number;
  /** The number of members of each campaign's segment. */
  members: number;
  seed: number;
  onKill?: (number: number) => void;
}

/** The result of a run. `differences` is empty when every player has one row and no player got two messages. */
export interface FanOutTortureResult {
  kills: number;
  campaigns: number;
  messages: number;
  /** Messages with an unknown outcome: they may or may not have gone out. */
  unknown: number;
  differences: string[];
}

const CHILD = 'dist/test/engines/messenger-child.js';
/** Delay of a kill after the messenger is ready. Some kills come before it is ready. */
const KILL_AFTER_MS = { min: 0, max: 900 };
const KILL_WHILE_STARTING = 0.2;
const DRAIN_TIMEOUT_MS = 300_000;
/** The provider delays its answers, so that kills happen while requests are under way. */
const ANSWER_AFTER_MS = 5;

interface Ground {
  sql: Db;
  url: string;
  key: string;
  provider: CountingProvider;
  project: { tenant_id: string; project_id: string };
  template_id: string;
  segment_id: string;
  provider_id: string;
}

/**
 * Sends campaigns through a messenger in a process of its own and kills that process repeatedly with SIGKILL. Then it
 * compares the rows, the members, and the messages that a server with SendGrid's protocol received.
 */
export async function tortureFanOut(options: FanOutTortureOptions): Promise<FanOutTortureResult> {
  const engine = await openTestPostgres({ prepared: true });
  const sql = connectPool(engine.url);
  const provider = await startCountingProvider(ANSWER_AFTER_MS);
  try {
    const ground = await prepare({ sql, url: engine.url, provider }, options.members);
    const campaigns: string[] = [];
    const random = new Random(options.seed);
    let kills = 0;
    while (kills < options.kills) {
      if (await isIdle(ground, campaigns)) campaigns.push(await newCampaign(ground));
      await runAndKill(ground, random);
      kills += 1;
      options.onKill?.(kills);
    }
    await drain(ground, campaigns);
    const { differences, unknown } = await compare(ground, campaigns, options.members);
    return { kills, campaigns: campaigns.length, messages: provider.total(), unknown, differences };
  } finally {
    await provider.close();
    await sql.end({ timeout: 5 });
    await engine.close();
  }
}

async function prepare(
  { sql, url, provider }: Pick<Ground, 'sql' | 'url' | 'provider'>,
  members: number,
): Promise<Ground> {
  await migratePostgres(sql);
  await migratePostgres(sql, 'pg-migrations/event-log');
  const [tenant_id, project_id, template_id, segment_id, provider_id] = Array.from({ length: 5 }, () =>
    randomUUID(),
  );
  if (!tenant_id || !project_id || !template_id || !segment_id || !provider_id)
    throw new Error('unreachable');
  const key = 'ab'.repeat(32);
  const credentials = encryptSecrets(
    { current: key, previous: undefined },
    { tenant_id, provider_id },
    { api_key: 'SG.test' },
  );
  const config = JSON.stringify({ from: 'casino@example.com', base_url: provider.url });
  await sql`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'Test operator', 'EUR')`;
  await sql`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'Test casino')`;
  await sql`
    insert into templates (tenant_id, project_id, template_id, name, channel, status, subject, body, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${template_id}, 'hello', 'email', 'active', 'Hello', 'Dear player', now(), now())`;
  await sql`
    insert into messaging_providers (tenant_id, provider_id, name, kind, channel, status, config, credentials, created_at,
      updated_at)
    values (${tenant_id}, ${provider_id}, 'counting', 'sendgrid', 'email', 'active', ${config}::text::jsonb, ${credentials},
      now(), now())`;
  await sql`
    insert into segments (tenant_id, project_id, segment_id, name, definition, refresh_strategy, reads, defined_at,
      created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${segment_id}, 'everybody', '{}', 'manual', '{}', now(), now(), now())`;
  await sql`
    with made as (
      insert into players (tenant_id, project_id, player_id, email, default_currency_code, created_at, updated_at)
      select ${tenant_id}::uuid, ${project_id}::uuid, gen_random_uuid(), n || '@example.com', 'EUR', now(), now()
      from generate_series(1, ${members}::integer) n
      returning *
    )
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select tenant_id, project_id, ${segment_id}::uuid, player_id, now() from made`;
  return {
    sql,
    url,
    key,
    provider,
    project: { tenant_id, project_id },
    template_id,
    segment_id,
    provider_id,
  };
}

async function newCampaign({ sql, project, ...ground }: Ground): Promise<string> {
  const { template_id, segment_id, provider_id } = ground;
  const { tenant_id, project_id } = project;
  const [campaign_id, variant_id] = [randomUUID(), randomUUID()];
  await sql.begin(async (tx) => {
    await tx`
      insert into campaigns (tenant_id, project_id, campaign_id, name, type, channel, segment_id, template_id, provider_id,
        status, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${campaign_id}, 'everybody', 'broadcast', 'email', ${segment_id},
        ${template_id}, ${provider_id}, 'draft', now(), now())`;
    await tx`
      insert into campaign_variants (tenant_id, project_id, campaign_id, variant_id, name, label, weight, sort_order,
        is_default, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${campaign_id}, ${variant_id}, 'default', 'default', 100, 0, true, now(), now())`;
    await startCampaign(tx, { ...project, campaign_id }, new Date());
  });
  return campaign_id;
}

async function isIdle({ sql, project }: Ground, campaigns: readonly string[]): Promise<boolean> {
  if (campaigns.length === 0) return true;
  const [row] = await sql<{ busy: boolean }[]>`
    select exists (select from member_ranges where tenant_id = ${project.tenant_id})
      or exists (select from message_sends where tenant_id = ${project.tenant_id} and status in ('queued', 'sending')) as busy`;
  return row?.busy === false;
}

function startChild({ url, key }: Ground) {
  return spawn(process.execPath, [CHILD], {
    env: { ...process.env, MESSENGER_POSTGRES_URL: url, MESSENGER_CREDENTIALS_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function runAndKill(ground: Ground, random: Random): Promise<void> {
  const child = startChild(ground);
  const exited = once(child, 'exit');
  const ready = once(child.stdout, 'data');
  const ended = exited.then(([code, signal]: unknown[]) => {
    if (signal !== 'SIGKILL') throw new Error(`the messenger ended with ${String(code)}; was it built?`);
  });
  if (!random.chance(KILL_WHILE_STARTING)) await Promise.race([ready, ended]);
  await sleep(random.integer(KILL_AFTER_MS.min, KILL_AFTER_MS.max));
  child.kill('SIGKILL');
  await ended;
}

/** Lets a messenger finish the campaigns. The claims of killed messengers are ended first, to save the wait. */
async function drain(ground: Ground, campaigns: readonly string[]): Promise<void> {
  await ground.sql`update message_sends set claimed_until = now() where status = 'sending'`;
  const child = startChild(ground);
  const exited = once(child, 'exit');
  try {
    await until(
      'the campaigns are sent',
      async (saw) => {
        if (child.exitCode !== null) throw new Error(`the messenger ended with ${child.exitCode}`);
        return saw(await countSent(ground)) === campaigns.length;
      },
      DRAIN_TIMEOUT_MS,
    );
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

async function countSent({ sql }: Ground): Promise<number> {
  const [row] = await sql<{ sent: bigint }[]>`select count(*) as sent from campaigns where status = 'sent'`;
  return Number(row?.sent ?? 0n);
}

async function compare({ sql, provider }: Ground, campaigns: readonly string[], members: number) {
  const differences: string[] = [];
  let unknown = 0;
  for (const campaign_id of campaigns) {
    const rows = await sql<
      { send_id: string; player_id: string; status: string; error_code: string | null }[]
    >`
      select send_id, player_id, status, error_code from message_sends where campaign_id = ${campaign_id}`;
    const players = new Set(rows.map(({ player_id }) => player_id));
    if (rows.length !== members)
      differences.push(`${campaign_id} has ${rows.length} rows for ${members} members`);
    if (players.size !== rows.length) differences.push(`${campaign_id} has players with several rows`);
    for (const { send_id, status, error_code } of rows) {
      const given = provider.count(send_id);
      const is_unknown = status === 'failed' && error_code === 'OUTCOME_UNKNOWN';
      if (is_unknown) unknown += 1;
      const right = is_unknown ? given <= 1 : status === 'sent' && given === 1;
      if (!right)
        differences.push(`${send_id} is ${status} ${error_code ?? ''} and was given ${given} times`);
    }
  }
  return { differences, unknown };
}
