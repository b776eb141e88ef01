import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../src/package-root.ts';
import { freePort } from '../src/platform/postgres/embedded-server.ts';
import { NO_PROVIDERS } from '../test/engines/no-providers.ts';
import { call, provisionTenant, type InternalApi, type ProvisionedTenant } from './service-api.ts';
import { ServiceProcess } from './service-process.ts';

const DEFAULT_SEED = 1;
const DEFAULT_SECONDS = 300;
const MIN_SECONDS = 10;
const ISOLATION_SHARE = 0.15;
const PLAYERS = 5;
const MANY = '1000000';
/** Configuration and hooks of schemathesis. */
const FOLDER = join(packageRoot, 'scripts', 'fuzz-api');

const USAGE = `usage: npm run fuzz-api -- [--seed <n>] [--seconds <n>] [--schemathesis <path>] [-- <flags of "schemathesis run">]

Starts the service on an empty folder and lets schemathesis test both hosts against /openapi.json with all checks,
then whether one tenant gets what is another's. Exit 0 means that nothing was found.

  --seed          draws the same requests again (default ${DEFAULT_SEED})
  --seconds       how long to send requests (default ${DEFAULT_SECONDS})
  --schemathesis  where the program is (default: on the PATH; pip install schemathesis)`;

/** The command line cannot be used; `message` says how to use it. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** One call of schemathesis. */
interface Run {
  config: string;
  seconds: number;
  environment: Record<string, string>;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string' },
      seconds: { type: 'string' },
      schemathesis: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return say(USAGE);
  const seed = Number(values.seed ?? DEFAULT_SEED);
  const seconds = Number(values.seconds ?? DEFAULT_SECONDS);
  if (!Number.isSafeInteger(seed) || seed < 0 || !Number.isSafeInteger(seconds) || seconds < MIN_SECONDS) {
    throw new UsageError(USAGE);
  }
  const program = values.schemathesis ?? 'schemathesis';
  await requireProgram(program);
  const data_dir = await mkdtemp(join(tmpdir(), 'engagement-fuzz-'));
  const api = { internal_secret: randomUUID() + randomUUID() };
  const service = await newService(data_dir, api.internal_secret);
  // A Ctrl-C at the terminal ends schemathesis itself; this script then only has to stop the service.
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  try {
    await service.start();
    const runs = await prepareRuns(service, { ...api, base_url: service.base_url }, seconds);
    for (const { config, seconds, environment } of runs) {
      const flags = [`--seed=${seed}`, `--max-time=${seconds}`, ...positionals];
      const args = [
        '--config-file',
        join(FOLDER, config),
        'run',
        `${service.base_url}/openapi.json`,
        ...flags,
      ];
      if ((await exitOf(program, args, data_dir, environment, stopping.signal)) !== 0) process.exitCode = 1;
      if (stopping.signal.aborted) {
        process.exitCode = 130;
        break;
      }
    }
  } finally {
    await service.stop();
    await rm(data_dir, { recursive: true, force: true });
  }
}

async function requireProgram(program: string): Promise<void> {
  const code = await exitOf(program, ['--version'], tmpdir(), {}).catch(() => undefined);
  if (code === 0) return;
  throw new UsageError(
    `"${program}" does not run; install it, or say where it is:\n\n  pip install schemathesis\n  npm run fuzz-api -- --schemathesis <path>`,
  );
}

/** The real service, with rate limits that no run reaches. */
async function newService(data_dir: string, internal_secret: string): Promise<ServiceProcess> {
  return new ServiceProcess({
    data_dir,
    port: await freePort(),
    ingest_port: await freePort(),
    environment: {
      INTERNAL_SECRET: internal_secret,
      LOG_LEVEL: 'warn',
      RATE_INGEST_PER_SECOND: MANY,
      RATE_INGEST_BURST: MANY,
      RATE_IDENTIFY_PER_SECOND: MANY,
      RATE_ADMIN_PER_SECOND: MANY,
      ...NO_PROVIDERS,
    },
  });
}

/** Creates two tenants, and players of the first; returns the two runs. */
async function prepareRuns(service: ServiceProcess, api: InternalApi, seconds: number): Promise<Run[]> {
  const tenant = await makeTenant(api, 'Fuzz');
  const stranger = await makeTenant(api, 'Stranger');
  const players = await makePlayers(api, tenant);
  const users = join(service.data_dir, 'users.json');
  await writeFile(users, JSON.stringify({ auth: [userOf('owner', tenant), userOf('stranger', stranger)] }));
  const environment = {
    FUZZ_FOLDER: FOLDER,
    FUZZ_TENANT_ID: tenant.tenant_id,
    FUZZ_PROJECT_ID: tenant.project_id,
    FUZZ_PLAYER_IDS: players.join(','),
  };
  const isolation_s = Math.ceil(seconds * ISOLATION_SHARE);
  const credentials = {
    FUZZ_SESSION_TOKEN: tenant.session_token,
    FUZZ_API_KEY: tenant.api_key,
    FUZZ_INTERNAL_SECRET: api.internal_secret,
    FUZZ_INGEST_URL: service.ingest_url,
  };
  return [
    {
      config: 'schemathesis.toml',
      seconds: seconds - isolation_s,
      environment: { ...environment, ...credentials },
    },
    { config: 'isolation.toml', seconds: isolation_s, environment: { ...environment, FUZZ_USERS: users } },
  ];
}

/** No answer contains the ids of its owner and of its key, so no generated request can remove them. */
function makeTenant(api: InternalApi, name: string): Promise<ProvisionedTenant> {
  const admin_user_id = randomUUID();
  return provisionTenant(api, { name, base_currency: 'EUR', project_name: name, admin_user_id });
}

async function makePlayers({ base_url }: InternalApi, { api_key }: ProvisionedTenant): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < PLAYERS) {
    const { data } = await call<{ data: { player_id: string } }>(`${base_url}/v1/players/identify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api_key}` },
      body: { anonymous_id: `player-${ids.length}` },
    });
    ids.push(data.player_id);
  }
  return ids;
}

/** A user in the format of Web Fuzzing Commons. */
function userOf(name: string, { session_token }: ProvisionedTenant) {
  return { name, fixedHeaders: [{ name: 'Authorization', value: `Bearer ${session_token}` }] };
}

/**
 * Runs the program on this terminal until it ends or `stopping` is aborted; resolves with its exit code, 1 after a
 * signal. Rejects when the program does not exist.
 */
async function exitOf(
  program: string,
  args: string[],
  cwd: string,
  environment: Record<string, string>,
  stopping?: AbortSignal,
): Promise<number> {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...environment }, stdio: 'inherit' });
  const end = () => child.kill('SIGINT');
  stopping?.addEventListener('abort', end, { once: true });
  const [code] = (await once(child, 'exit')) as [number | null];
  stopping?.removeEventListener('abort', end);
  return code ?? 1;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
