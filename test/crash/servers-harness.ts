import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProvisionedTenant } from '../../scripts/service-api.ts';
import { connectClickHouse } from '../../src/platform/clickhouse/http.ts';
import { createSegments, verifyMembers, type FollowedSegment } from './audience.ts';
import { startCountingProvider, type CountingProvider } from './counting-provider.ts';
import { ALL_PROCESSORS, startDistributedService, type DistributedService } from './distributed-service.ts';
import { Load } from './load.ts';
import { identifyPlayers, prepareMailing, sendCampaign, verifyMailing, type Mailing } from './mailing.ts';
import { Model } from './model.ts';
import { Random } from './random.ts';
import { planStrikes, ServerKills, type Strike, type VictimName } from './server-kills.ts';
import { verifyEvents, verifyService } from './verify.ts';

export interface ServersTortureOptions {
  kills: number;
  seed: number;
  /** Called after each strike with the number of kills so far, to report progress. */
  onStrike?: (strike: Strike, kills: number, restart_ms: number) => void;
}

/** The result of a run. `differences` is empty when nothing was lost, doubled or sent against an exclusion. */
export interface ServersTortureResult {
  kills: Map<VictimName, number>;
  events: number;
  requests: number;
  repeated: number;
  ambiguous: number;
  /** Number of 500 answers: each is a difference, too. */
  faults: number;
  repeated_rows: number;
  /** Players that entered or left a segment, as the log has it, and how many of them it has twice. */
  changes: number;
  repeated_changes: number;
  exclusions: number;
  /** Rows of messages by status or error code. */
  outcomes: Map<string, number>;
  messages: number;
  differences: string[];
  longest_restart_ms: number;
  duration_ms: number;
  /** Where the logs of both processes were kept; only when there are differences. */
  logs: string | undefined;
}

const PLAYERS = 60;
/** Some 250 events per second: the end of the run does not have to wait for the processors. */
const PAUSE_MS = 300;
const EVENTS_PER_KILL = 1_500;
const KILLS_PER_BROADCAST = 4;
/** Of the players that are to be excluded in the course of a run. */
const EXCLUDED_SHARE = 0.5;
/** The events' times must be over when they are sent, and less than 24 hours ago: older ones fire no campaign. */
const FIRST_EVENT_AGO_MS = 12 * 3_600_000;
/** So slow that messages are under way when the messenger is killed. */
const ANSWER_AFTER_MS = 150;
const SETTLE_MS = 180_000;

/** What a run consists of, besides its strikes. */
interface Ground {
  service: DistributedService;
  provider: CountingProvider;
  tenant: ProvisionedTenant;
  segments: FollowedSegment[];
  mailing: Mailing;
  model: Model;
  load: Load;
}

/**
 * Runs the real service as two processes on servers of its own, loads it over HTTP, and kills servers and processes with
 * SIGKILL. Then it compares totals, events, members of segments and messages with the model and with what the provider
 * was given. Rejects when something does not start again.
 */
export async function tortureServers(options: ServersTortureOptions): Promise<ServersTortureResult> {
  const started_ms = performance.now();
  const provider = await startCountingProvider(ANSWER_AFTER_MS);
  let service: DistributedService | undefined;
  try {
    service = await startDistributedService({
      processor_roles: ALL_PROCESSORS,
      environment: { EGRESS_ALLOW: '127.0.0.0/8' },
    });
    const ground = await prepare(service, provider, options);
    const struck = await strikeAll(ground, options);
    const verified = await verify(ground);
    const differences = [...struck.differences, ...verified.differences];
    const { model, load } = ground;
    return {
      ...verified,
      kills: struck.kills,
      events: model.events.length,
      requests: load.requests,
      repeated: load.repeated,
      ambiguous: model.events.filter(({ ambiguous }) => ambiguous > 0).length,
      faults: load.faults,
      exclusions: model.events.filter(({ body }) => body.event === 'self_exclusion_set').length,
      messages: provider.total(),
      differences,
      longest_restart_ms: struck.longest_restart_ms,
      duration_ms: performance.now() - started_ms,
      logs: differences.length === 0 ? undefined : await keepLogs(service),
    };
  } catch (error) {
    if (service === undefined) throw error;
    const kept = await keepLogs(service);
    throw new Error(`${error instanceof Error ? error.message : String(error)}\nsee ${kept}`, {
      cause: error,
    });
  } finally {
    await service?.close();
    await provider.close();
  }
}

async function prepare(
  service: DistributedService,
  provider: CountingProvider,
  { kills, seed }: ServersTortureOptions,
): Promise<Ground> {
  const { api, front } = service;
  const name = 'Torture';
  const tenant = await service.newTenant({ name, base_currency: 'EUR', admin_user_id: 'torture' });
  await identifyPlayers(api, tenant, PLAYERS);
  const events = kills * EVENTS_PER_KILL;
  const segments = await createSegments(api, tenant, events / PLAYERS);
  const mailing = await prepareMailing(api, tenant, {
    provider_url: provider.url,
    postgres_url: service.servers.postgres_url,
    players: PLAYERS,
    broadcasts: Math.ceil(kills / KILLS_PER_BROADCAST),
  });
  const random = new Random(seed + 1);
  const model = new Model(random, PLAYERS, {
    first_event_ms: Date.now() - FIRST_EVENT_AGO_MS,
    exclusion_share: (EXCLUDED_SHARE * PLAYERS) / events,
  });
  const { api_key } = tenant;
  const load = new Load({ model, random, ingest_url: front.ingest_url, api_key, pause_ms: PAUSE_MS });
  load.up = true;
  return { service, provider, tenant, segments, mailing, model, load };
}

/** Strikes, and sends a broadcast before every so many kills; ends when all of them are accepted. */
async function strikeAll(
  { service, tenant, mailing, load }: Ground,
  { kills: wanted, seed, onStrike }: ServersTortureOptions,
) {
  const kills = new Map<VictimName, number>();
  const differences: string[] = [];
  const sent: Promise<void>[] = [];
  let [done, longest_restart_ms] = [0, 0];
  const servers = new ServerKills(service, (is_up) => (load.up = is_up));
  // Apart from the load, whose use of its random source depends on the answers.
  for (const strike of planStrikes(new Random(seed), wanted)) {
    const next = mailing.broadcasts[sent.length];
    if (next !== undefined && done >= sent.length * KILLS_PER_BROADCAST) {
      const sending = sendCampaign(service.api, tenant.session_token, next);
      sent.push(
        sending.catch((error: unknown) => {
          differences.push(`broadcast ${next} could not be sent: ${String(error)}`);
        }),
      );
    }
    const { restart_ms, ended } = await servers.strike(strike);
    differences.push(...ended);
    for (const victim of strike.victims) kills.set(victim, (kills.get(victim) ?? 0) + 1);
    done += strike.victims.length;
    longest_restart_ms = Math.max(longest_restart_ms, restart_ms);
    onStrike?.(strike, done, restart_ms);
  }
  await Promise.all(sent);
  await load.finish();
  if (load.faults > 0) differences.push(`${load.faults} answers were 500`);
  return { kills, differences, longest_restart_ms };
}

async function verify({ service, provider, tenant, segments, mailing, model }: Ground) {
  const { api, servers } = service;
  const { postgres_url } = servers;
  const mails = await verifyMailing({ api, tenant, postgres_url, provider, model }, mailing, SETTLE_MS);
  const totals = await verifyService(api, tenant, model);
  const clickhouse = connectClickHouse(servers.clickhouse_url);
  const events = await verifyEvents(clickhouse, tenant, model);
  await clickhouse.close();
  const members = await verifyMembers({ api, servers, tenant }, segments, model, SETTLE_MS);
  return {
    outcomes: mails.outcomes,
    repeated_rows: events.repeated_rows,
    changes: members.changes,
    repeated_changes: members.repeated_changes,
    differences: [...mails.differences, ...totals, ...events.differences, ...members.differences],
  };
}

/** Copies the logs of both processes to a folder that stays; returns it. */
async function keepLogs({ front, processors }: DistributedService): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-torture-'));
  await cp(front.log_file, join(dir, 'front.log')).catch(() => undefined);
  await cp(processors.log_file, join(dir, 'processors.log')).catch(() => undefined);
  return dir;
}
