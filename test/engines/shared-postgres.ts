import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { readConfig } from '../../src/config.ts';
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded-server.ts';
import { openEmbeddedPlatform } from '../../src/app/wiring/embedded.ts';
import { NO_PROVIDERS } from './no-providers.ts';
import { makeRunFolder } from './run-folder.ts';

/** The variable with the folder of an initialised and migrated Postgres, which is not running. */
const PREPARED_FOLDER = 'TEST_PREPARED_POSTGRES';
/**
 * The variable with the URL of the server that the files of a run share. Its database is migrated and serves as
 * template.
 */
const SHARED_URL = 'TEST_SHARED_POSTGRES';

/** No test kills the shared server, so durability is off; each service opens up to 30 connections. */
const SHARED_SETTINGS = `
fsync = off
full_page_writes = off
max_connections = 450
file_copy_method = clone
`;
/** Without passwords: to check one takes longer than most statements, and a service opens dozens of connections. */
const SHARED_ACCESS = 'host all all 127.0.0.1/32 trust\n';

/** A database for one test, on a server that may have others. */
export interface TestPostgres {
  url: string;
  /** Drops the database and closes its remaining connections. */
  close(): Promise<void>;
}

/**
 * Prepares one Postgres for the whole run, and starts the server that most files share: to initialise and migrate a
 * Postgres takes longer than most tests.
 */
export default async function setup(): Promise<() => Promise<void>> {
  // Vitest calls this for each project that names it; the first server serves all.
  if (process.env[SHARED_URL] !== undefined) return () => Promise.resolve();
  const dir = await makeRunFolder();
  const platform = await openEmbeddedPlatform(
    readConfig({ DATA_DIR: dir, LOG_LEVEL: 'error', ...NO_PROVIDERS }),
  );
  await platform.close();
  process.env[PREPARED_FOLDER] = join(dir, 'postgres');
  const shared = join(dir, 'shared');
  await copyPreparedPostgres(shared);
  await appendFile(join(shared, 'cluster', 'postgresql.auto.conf'), SHARED_SETTINGS);
  await writeFile(join(shared, 'cluster', 'pg_hba.conf'), SHARED_ACCESS);
  const server = await startEmbeddedPostgres({ dir: shared });
  process.env[SHARED_URL] = server.url;
  // The first connection writes what the next ones read of the catalogue, into every copy, too.
  await command(server.url, 'select 1');
  return async () => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
}

/** Copies the prepared Postgres, with the schema and without rows, to `dir`; does nothing when none is prepared. */
export async function copyPreparedPostgres(dir: string): Promise<void> {
  const prepared = process.env[PREPARED_FOLDER];
  if (prepared === undefined) return;
  await mkdir(dir, { recursive: true });
  // `cp -a` keeps the owner: when root runs the tests, the server runs as another user.
  await promisify(execFile)('cp', ['-a', `${prepared}/.`, dir]);
}

/** Creates a database on the shared server, `prepared` with the schema or empty; undefined when no server is shared. */
export async function newDatabase({ prepared }: { prepared: boolean }): Promise<TestPostgres | undefined> {
  const shared = process.env[SHARED_URL];
  if (shared === undefined) return undefined;
  const template = databaseOf(shared);
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const admin = withDatabase(shared, 'postgres');
  // `file_copy` copies files without writing to the WAL; that saves a quarter of the time.
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
