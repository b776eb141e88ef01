import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { provisionTenant, type InternalApi } from '../../scripts/service-api.ts';
import { ServiceProcess } from '../../scripts/service-process.ts';
import { freePort } from '../engines/free-port.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { Load } from './load.ts';
import { Model } from './model.ts';
import { Random } from './random.ts';
import { verifyEngines, verifyService } from './verify.ts';

export interface TortureOptions {
  kills: number;
  seed: number;
  /** Called after each kill, to report progress. */
  onKill?: (kill: Kill) => void;
}

/** One SIGKILL, and the time of the restart after it. */
export interface Kill {
  number: number;
  /** The target and the moment: under load, Postgres first, or while the service is starting. */
  moment: 'load' | 'postgres' | 'start';
  after_ms: number;
  restart_ms: number;
}

/** The result of a run. `differences` is empty when no event was lost and none was counted twice. */
export interface TortureResult {
  kills: number;
  events: number;
  requests: number;
  /** Number of sends of events that may have been accepted before. */
  repeated: number;
  /** Number of events of which at least one request got no answer. */
  ambiguous: number;
  /** Number of 500 answers while an engine was down. */
  faults: number;
  /** Rows in ClickHouse beyond one per event, before its engine merged them away. */
  repeated_rows: number;
  /** Every mismatch, including each event with more than one row in ClickHouse after the merge. */
  differences: string[];
  longest_restart_ms: number;
  duration_ms: number;
  /** The folder is kept when there are differences. */
  data_dir: string;
}

const PLAYERS = 40;
const UNDER_LOAD_MS = { min: 50, max: 800 };
const WHILE_STARTING_MS = { min: 10, max: 2_500 };
const FIRST_KILLS_AT_START = 2;
/** After those, one kill of each kind, so that short runs have every kind. */
const FIRST_UNDER_LOAD: readonly Kill['moment'][] = ['load', 'postgres', 'start'];
const POSTGRES_SHARE = 0.2;
const START_SHARE = 0.1;
const STOP_POSTGRES_TIMEOUT_MS = 20_000;

/**
 * Runs the real service on an empty folder, loads it over HTTP, and kills it repeatedly with SIGKILL. Then it compares
 * the stored data with the accepted events. Rejects when the service does not start again.
 */
export async function torture(options: TortureOptions): Promise<TortureResult> {
  const started_ms = performance.now();
  const random = new Random(options.seed);
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-torture-'));
  const internal_secret = randomUUID() + randomUUID();
  const service = new ServiceProcess({
    data_dir,
    port: await freePort(),
    ingest_port: await freePort(),
    environment: {
      INTERNAL_SECRET: internal_secret,
      LOG_LEVEL: 'warn',
      RATE_INGEST_PER_SECOND: '1000000',
      RATE_INGEST_BURST: '1000000',
      ...NO_PROVIDERS,
    },
  });
  const api: InternalApi = { base_url: service.base_url, internal_secret };
  let done = false;
  try {
    const kills: Kill[] = [];
    const strike = async (moment: Kill['moment'], load?: Load) => {
      const kill = await killAndRestart(service, random, moment, load);
      kills.push({ ...kill, number: kills.length + 1 });
      options.onKill?.({ ...kill, number: kills.length });
    };
    // The first kills happen while the service creates its folder.
    for (let i = 0; i < Math.min(FIRST_KILLS_AT_START, options.kills); i++) await strike('start');
    if (!service.running) await service.start();
    const tenant = await provisionTenant(api, {
      name: 'Torture',
      base_currency: 'EUR',
      project_name: 'Torture',
      admin_user_id: 'torture',
    });
    const model = new Model(random, PLAYERS);
    const load = new Load({ model, random, ingest_url: service.ingest_url, api_key: tenant.api_key });
    load.up = true;
    for (const moment of FIRST_UNDER_LOAD) if (kills.length < options.kills) await strike(moment, load);
    while (kills.length < options.kills) await strike(pickMoment(random), load);
    await load.finish();
    const differences = await verifyService(api, tenant, model);
    await service.stop();
    const engines = await verifyEngines(join(data_dir, 'clickhouse'), tenant, model);
    differences.push(...engines.differences);
    done = differences.length === 0;
    return {
      kills: kills.length,
      events: model.events.length,
      requests: load.requests,
      repeated: load.repeated,
      ambiguous: model.events.filter(({ ambiguous }) => ambiguous > 0).length,
      faults: load.faults,
      repeated_rows: engines.repeated_rows,
      differences,
      longest_restart_ms: Math.max(0, ...kills.map(({ restart_ms }) => restart_ms)),
      duration_ms: performance.now() - started_ms,
      data_dir,
    };
  } finally {
    await service.signal('SIGKILL');
    await stopPostgres(data_dir);
    if (done) await rm(data_dir, { recursive: true, force: true });
  }
}

function pickMoment(random: Random): Kill['moment'] {
  if (random.chance(POSTGRES_SHARE)) return 'postgres';
  return random.chance(START_SHARE) ? 'start' : 'load';
}

async function killAndRestart(
  service: ServiceProcess,
  random: Random,
  moment: Kill['moment'],
  load: Load | undefined,
): Promise<Omit<Kill, 'number'>> {
  let after_ms: number;
  if (moment === 'start') {
    if (load !== undefined) load.up = false;
    await service.signal('SIGKILL');
    after_ms = random.integer(WHILE_STARTING_MS.min, WHILE_STARTING_MS.max);
    const starting = service.start().then(
      () => undefined,
      () => undefined,
    );
    await Promise.race([starting, sleep(after_ms)]);
    await service.signal('SIGKILL');
    await starting;
  } else {
    after_ms = random.integer(UNDER_LOAD_MS.min, UNDER_LOAD_MS.max);
    await sleep(after_ms);
    if (moment === 'postgres') {
      await killPostgres(service.data_dir);
      await sleep(random.integer(0, 100));
    }
    await service.signal('SIGKILL');
    if (load !== undefined) load.up = false;
  }
  const started_ms = performance.now();
  await service.start();
  if (load !== undefined) load.up = true;
  return { moment, after_ms, restart_ms: performance.now() - started_ms };
}

/** The process id of the service's Postgres; undefined when none is running. */
async function postmasterOf(data_dir: string): Promise<number | undefined> {
  const file = join(data_dir, 'postgres', 'cluster', 'postmaster.pid');
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
  return pid > 1 && signalIfThere(pid, 0) ? pid : undefined;
}

async function killPostgres(data_dir: string): Promise<void> {
  const pid = await postmasterOf(data_dir);
  if (pid !== undefined) signalIfThere(pid, 'SIGKILL');
}

/** Stops a Postgres that outlived its service, by a fast shutdown. */
async function stopPostgres(data_dir: string): Promise<void> {
  const pid = await postmasterOf(data_dir);
  if (pid === undefined) return;
  const deadline_ms = Date.now() + STOP_POSTGRES_TIMEOUT_MS;
  for (
    let there = signalIfThere(pid, 'SIGINT');
    there && Date.now() < deadline_ms;
    there = signalIfThere(pid, 0)
  ) {
    await sleep(50);
  }
}

function signalIfThere(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
