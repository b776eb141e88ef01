import { mkdir } from 'node:fs/promises';
import { createClient, type ClickHouseClientConfigOptions } from '@clickhouse/client';
import { EngineMissing } from '../engine-missing.ts';
import { wrapClient } from './client.ts';
import type { ClickHouse } from './port.ts';

type Connection = NonNullable<ClickHouseClientConfigOptions['connection']>;

/**
 * Opens the ClickHouse engine inside this process, on the data folder `dir`, which no other process may use. Rejects
 * with {@link EngineMissing} when the engine is not installed.
 */
export async function openEmbeddedClickHouse(dir: string): Promise<ClickHouse> {
  const { createChdbConnection } = await import('chdb/connection').catch((cause: unknown) => {
    throw new EngineMissing('chdb', cause);
  });
  await mkdir(dir, { recursive: true });
  // The client bundles its own copy of the connection's types, which differ in name only.
  const connection = createChdbConnection({ path: dir }) as unknown as Connection;
  return wrapClient(createClient({ connection }));
}
