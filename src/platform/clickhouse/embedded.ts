import { mkdir } from 'node:fs/promises';
import { createClient, type ClickHouseClientConfigOptions } from '@clickhouse/client';
import { createChdbConnection } from 'chdb/connection';
import { wrapClient } from './client.ts';
import type { ClickHouse } from './port.ts';

type Connection = NonNullable<ClickHouseClientConfigOptions['connection']>;

/** The ClickHouse engine inside this process, on the data folder `dir`, which no other process may use. */
export async function openEmbeddedClickHouse(dir: string): Promise<ClickHouse> {
  await mkdir(dir, { recursive: true });
  // The client bundles its own copy of the connection's types, which differ in name only.
  const connection = createChdbConnection({ path: dir }) as unknown as Connection;
  return wrapClient(createClient({ connection }));
}
