import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { readConfig } from '../../src/config.ts';
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded-server.ts';
import { openEmbeddedPlatform } from '../../src/wiring/embedded.ts';
import { NO_PROVIDERS } from './no-providers.ts';

/** Names the folder of a Postgres that is initialised and migrated, and does not run. */
const PREPARED_FOLDER = 'TEST_PREPARED_POSTGRES';
/** URL of the server that the files of a run share; its database is migrated, and the template of theirs. */
const SHARED_URL = 'TEST_SHARED_POSTGRES';

/** Nobody kills the shared server, so nothing has to survive a crash; each service holds up to 60 connections. */
const SHARED_SETTINGS = `
fsync = off
full_page_writes = off
max_connections = 400
`;

/** A database for one test, on a server that may have others. */
export interface TestPostgres {
  url: string;
  /** Removes the database; connections that are left are closed. */
  close(): Promise<void>;
}

/**
 * Prepares one Postgres for the whole run, and starts the server that most files share: initialising and migrating one
 * takes longer than most tests.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-prepared-'));
  const platform = await openEmbeddedPlatform(
    readConfig({ DATA_DIR: dir, LOG_LEVEL: 'error', ...NO_PROVIDERS }),
  );
  await platform.close();
  process.env[PREPARED_FOLDER] = join(dir, 'postgres');
  const shared = join(dir, 'shared');
  await copyPreparedPostgres(shared);
  await appendFile(join(shared, 'cluster', 'postgresql.auto.conf'), SHARED_SETTINGS);
  const server = await startEmbeddedPostgres({ dir: shared });
  process.env[SHARED_URL] = server.url;
  return async () => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
}

/** Makes `dir` a copy of the prepared Postgres, if there is one: with the schema, and without rows. */
export async function copyPreparedPostgres(dir: string): Promise<void> {
  const prepared = process.env[PREPARED_FOLDER];
  if (prepared === undefined) return;
  await mkdir(dir, { recursive: true });
  // By `cp`, which keeps the owner: the server runs as another user than root.
  await promisify(execFile)('cp', ['-a', `${prepared}/.`, dir]);
}

/** A new database on the shared server, `prepared` with the schema or empty; undefined when no server is shared. */
export async function newDatabase({ prepared }: { prepared: boolean }): Promise<TestPostgres | undefined> {
  const shared = process.env[SHARED_URL];
  if (shared === undefined) return undefined;
  const template = databaseOf(shared);
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const admin = withDatabase(shared, 'postgres');
  // File by file, without going through the log, which costs a quarter of the time.
  await command(
    admin,
    `create database ${name} template ${prepared ? template : 'template1'} strategy file_copy`,
  );
  return {
    url: withDatabase(shared, name),
    close: () => command(admin, `drop database if exists ${name} with (force)`),
  };
}

async function command(url: string, statement: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = name;
  return changed.href;
}
