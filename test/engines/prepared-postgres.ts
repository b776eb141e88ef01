import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
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

/** Puts a copy of the prepared Postgres into an empty data folder, if there is one. */
export async function copyPreparedPostgres(data_dir: string): Promise<void> {
  const prepared = process.env[VARIABLE];
  // By `cp`, which keeps the owner: the server runs as another user than root.
  if (prepared !== undefined) await promisify(execFile)('cp', ['-a', prepared, join(data_dir, 'postgres')]);
}
