import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isReady } from '../../scripts/service-process.ts';
import type { DevCredentials } from '../../src/app/greeting.ts';
import { packageRoot } from '../../src/package-root.ts';
import { CookieJar, OWN_PAGE } from '../console/cookie-jar.ts';
import { call } from '../engines/http-client.ts';
import { freePort } from '../engines/free-port.ts';
import { until } from '../engines/until.ts';
import { copyPreparedPostgres } from '../engines/shared-postgres.ts';

// These tests run the commands that a person runs after cloning the repository, each in a process of its own.

const STOP_MS = 20_000;
const run = promisify(execFile);

let data_dir: string;
let environment: NodeJS.ProcessEnv;
const children = new Set<ChildProcess>();

beforeEach(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'engagement-start-'));
  environment = {
    ...process.env,
    DATA_DIR: data_dir,
    PORT: String(await freePort()),
    INGEST_PORT: String(await freePort()),
  };
});
afterEach(async () => {
  for (const child of children) if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  children.clear();
  for (const pid of await processesOf(data_dir)) process.kill(pid, 'SIGKILL');
  await rm(data_dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
});

interface Started {
  child: ChildProcess;
  output: () => string;
  /** Resolves with the exit code, or the signal that ended the process. */
  ended: Promise<number | NodeJS.Signals>;
}

/** Runs a command in a process group of its own, as a terminal does. */
function start(command: string, ...args: string[]): Started {
  const child = spawn(command, args, { cwd: packageRoot, env: environment, detached: true });
  children.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (part: Buffer) => (text += part.toString()));
  }
  const ended = once(child, 'exit').then(([code, signal]) => {
    children.delete(child);
    return (code ?? signal) as number | NodeJS.Signals;
  });
  return { child, ended, output: () => text };
}

/** Starts only the service, as the script `start` does, without npm's build step. */
const startMain = () => start('node', '--max-semi-space-size=64', join('dist', 'src', 'main.js'));

async function ready({ child, output }: Started): Promise<DevCredentials> {
  const base_url = `http://127.0.0.1:${environment['PORT']}`;
  await until(
    'the service is ready',
    async (saw) => {
      if (child.exitCode !== null) throw new Error(output());
      return saw(await isReady(base_url));
    },
    90_000,
  );
  // The file exists as soon as the service is ready: no further wait.
  return JSON.parse(await readFile(join(data_dir, 'dev-credentials.json'), 'utf8')) as DevCredentials;
}

/** Sends the signal and expects the process to end in time by itself. */
async function stop({ child, ended }: Started, signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
  child.kill(signal);
  const late = sleep(STOP_MS, 'still running' as const, { ref: false });
  const end = await Promise.race([ended, late]);
  if (end === 'still running') throw new Error(`still running ${STOP_MS} ms after ${signal}`);
  return end;
}

/** Process ids with this text in their command line, for example a Postgres on that folder. */
async function processesOf(text: string): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,args=']);
  const lines = stdout.split('\n').filter((line) => line.includes(text));
  return lines.map((line) => Number.parseInt(line, 10));
}

async function playersOf({ base_url, session_token }: DevCredentials): Promise<{ totals: unknown }[]> {
  const response = await call(`${base_url}/v1/players`, session_token);
  const text = response.text;
  expect([response.status, text]).toEqual([200, expect.anything()]);
  return (JSON.parse(text) as { data: { totals: unknown }[] }).data;
}

/** Runs the first printed command as a person does who copies it; returns what it prints. */
async function deposited(printed: string): Promise<string> {
  const [, command = ''] = /^ {2}(curl -s \S+\/v1\/events[\s\S]+?)\n\n/m.exec(printed) ?? [];
  return (await run('sh', ['-c', command])).stdout;
}

/** The status of a sign-in with a token, as the console sends it. */
async function signIn({ base_url }: DevCredentials, token: string | undefined): Promise<number> {
  const headers = { ...OWN_PAGE, 'content-type': 'application/json' };
  const url = `${base_url}/console/auth/dev`;
  return (await new CookieJar().send('POST', url, headers, JSON.stringify({ token }))).status;
}

const DEPOSIT = {
  event: 'deposit_confirmed',
  anonymous_id: 'device-1',
  properties: { amount: 2500, currency: 'EUR', transaction_id: 'tx-1', payment_method: 'card' },
};

describe('npm start', () => {
  it('starts all engines, stops them on a signal, and continues with the same data after a restart', async () => {
    const npm = start('npm', 'start');
    const kept = await ready(npm);
    const fields = ['api_key', 'base_url', 'ingest_url', 'internal_secret', 'project_id', 'session_token'];
    expect(Object.keys(kept).sort()).toEqual([...fields, 'tenant_id', 'user_id', 'webhook_secret']);
    expect((await stat(join(data_dir, 'dev-credentials.json'))).mode & 0o777).toBe(0o600);
    // What is printed says where the keys are; the only secret in it is the token of one sign-in.
    const printed = npm.output();
    expect(printed).toContain(join(data_dir, 'dev-credentials.json'));
    for (const field of ['api_key', 'session_token', 'internal_secret', 'webhook_secret'] as const) {
      expect(kept[field]).toMatch(/./);
      expect(printed).not.toContain(kept[field]);
    }
    expect(await deposited(printed)).toMatch(/"accepted":true/);
    const token = /\/console\/#sign-in=([\w-]{43})\n/.exec(printed)?.[1];
    expect(await signIn(kept, token)).toBe(200);
    expect(await signIn(kept, token)).toBe(403);

    const sent = await call(`${kept.ingest_url}/v1/events`, kept.api_key, { body: DEPOSIT });
    expect(sent.status).toBe(202);
    const seen = await until('the player is there', async (saw) => {
      const players = saw(await playersOf(kept));
      return players.length > 0 ? players : undefined;
    });
    expect(await processesOf(data_dir)).not.toEqual([]);
    expect(await stop(npm, 'SIGTERM')).toBe(0);
    expect(await isReady(kept.base_url)).toBe(false);
    expect(await processesOf(data_dir)).toEqual([]);

    const again = startMain();
    const { session_token, ...rest } = await ready(again);
    expect(rest).toEqual({
      ...rest,
      tenant_id: kept.tenant_id,
      api_key: kept.api_key,
      user_id: kept.user_id,
      webhook_secret: kept.webhook_secret,
    });
    expect(await playersOf({ ...rest, session_token })).toEqual(seen);
    expect(await stop(again, 'SIGINT')).toBe(0);

    // The credentials are lost: the service makes another demo tenant. Its session needs no X-Tenant-Id either.
    await rm(join(data_dir, 'dev-credentials.json'));
    const anew = startMain();
    const other = await ready(anew);
    expect(other.tenant_id).not.toBe(kept.tenant_id);
    expect(await playersOf(other)).toEqual([]);
    expect(await stop(anew, 'SIGTERM')).toBe(0);
  }, 240_000);
});

describe('a signal during the start', () => {
  /** Waits for the file, which the service creates while it starts. */
  /** Resolves when something in the data folder has a name that begins with this path. */
  const appears = (path: string) =>
    until(`${path} appears`, async (saw) => {
      const names = saw(await readdir(join(data_dir, dirname(path))).catch((): string[] => []));
      return names.some((name) => name.startsWith(basename(path)));
    });

  it.each([
    ['SIGTERM', 'postgres/cluster.new'],
    ['SIGTERM', 'postgres/cluster/postmaster.pid'],
    ['SIGTERM', 'clickhouse/store'],
  ] as const)('%s once %s is there leaves nothing running', async (signal, path) => {
    // The ClickHouse step does not depend on a new Postgres, so a prepared copy saves time.
    if (path.startsWith('clickhouse')) await copyPreparedPostgres(join(data_dir, 'postgres'));
    const main = startMain();
    await appears(path);
    expect(await stop(main, signal)).toBe(0);
    expect(await processesOf(data_dir)).toEqual([]);
  });

  it.each(['postgres/cluster.new', 'postgres/cluster/postmaster.pid'])(
    'a Ctrl-C, which the terminal sends to every process, leaves nothing running once %s is there',
    async (path) => {
      const main = startMain();
      await appears(path);
      process.kill(-(main.child.pid ?? Number.NaN), 'SIGINT');
      expect(await stop(main, 'SIGINT')).toBe(0);
      expect(await processesOf(data_dir)).toEqual([]);
    },
  );
});

describe('npm start as root', () => {
  it('names in one sentence the folder that its Postgres cannot enter, and works in a folder that it can enter', async () => {
    const closed = data_dir;
    environment['DATA_DIR'] = join(closed, 'data');
    await mkdir(join(closed, 'data'));
    await chmod(closed, 0o700);
    await writeFile(join(closed, 'data', 'kept'), '');
    const main = startMain();
    if (process.getuid?.() === 0) {
      expect(await main.ended).toBe(1);
      expect(main.output()).toMatch(/cannot enter .*engagement-start-\w+: allow it \(chmod o\+x .*\n$/);
      expect(main.output().trim().split('\n')).toHaveLength(1);
      expect((await stat(closed)).mode & 0o777).toBe(0o700);
    } else {
      data_dir = join(closed, 'data');
      await ready(main);
      expect(await stop(main, 'SIGTERM')).toBe(0);
    }
  });
});
