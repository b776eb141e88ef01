import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import postgres from 'postgres';
import { openEmbeddedClickHouse } from '../../src/platform/clickhouse/embedded.ts';
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded-server.ts';
import { makeTraversable } from '../../src/platform/postgres/server-user.ts';

// The embedded engines on DATA_DIR, asked one question each: no schema, no service. Logs `ready` as the service does.
const data_dir = process.env['DATA_DIR'] ?? '';
await mkdir(data_dir, { recursive: true });
await makeTraversable(data_dir);
const server = await startEmbeddedPostgres({ dir: join(data_dir, 'postgres') });
const sql = postgres(server.url, { max: 1 });
await sql`select 1`;
const clickhouse = await openEmbeddedClickHouse(join(data_dir, 'clickhouse'));
await clickhouse.ping();
process.on('SIGTERM', () => {
  void Promise.all([sql.end(), clickhouse.close()])
    .then(() => server.stop())
    .then(() => process.exit(0));
});
process.stderr.write('{"msg":"ready"}\n');
