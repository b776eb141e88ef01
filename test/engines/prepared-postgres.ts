import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readConfig } from '../../src/config.ts';
import { openEmbeddedPlatform } from '../../src/wiring/embedded.ts';
import { NO_PROVIDERS } from './no-providers.ts';

/** Names the folder of a Postgres that is initialised and migrated, and stands still. */
const VARIABLE = 'TEST_PREPARED_POSTGRES';

/** Prepares one Postgres for the whole run, which each file copies: making one takes longer than most tests. */
export default async function setup(): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-prepared-'));
  const platform = await openEmbeddedPlatform(
    readConfig({ DATA_DIR: dir, LOG_LEVEL: 'error', ...NO_PROVIDERS }),
  );
  await platform.close();
  process.env[VARIABLE] = join(dir, 'postgres');
  return () => rm(dir, { recursive: true, force: true });
}

/** Makes `dir` a copy of the prepared Postgres, if there is one: with the schema, and without rows. */
export async function copyPreparedPostgres(dir: string): Promise<void> {
  const prepared = process.env[VARIABLE];
  if (prepared === undefined) return;
  await mkdir(dir, { recursive: true });
  // By `cp`, which keeps the owner: the server runs as another user than root.
  await promisify(execFile)('cp', ['-a', `${prepared}/.`, dir]);
}
