import { mkdir } from 'node:fs/promises';
import { createClient, type ClickHouseClientConfigOptions } from '@clickhouse/client';
import { EngineMissing } from '../startup-error.ts';
import { wrapClient } from './client.ts';
import { Sessions } from './embedded-sessions.ts';
import type { ClickHouse } from './port.ts';

type Connection = NonNullable<ClickHouseClientConfigOptions['connection']>;

/**
 * Sessions for questions, in addition to the one that writes. A session answers one statement at a time and keeps a thread of
 * Node's pool meanwhile. The pool has four threads, and files, host names and compression need one of them.
 */
const READING_SESSIONS = 2;
/** How long a question waits for a session. */
const READ_WAIT_MS = 90_000;
/** Rewrites of many rows have no limit here and may take minutes; what is inserted waits for them. */
const WRITE_WAIT_MS = 3_600_000;

/**
 * Opens the ClickHouse engine inside this process, on the data folder `dir`, which no other process may use. A slow
 * question stops neither others nor what is written. Statements wait for a session, those of each tenant in turn:
 * questions reject with TooBusy after 90 s, others after an hour. Rejects with {@link EngineMissing} when the engine is
 * not installed.
 */
export async function openEmbeddedClickHouse(dir: string): Promise<ClickHouse> {
  const { createChdbConnection } = await import('chdb/connection').catch((cause: unknown) => {
    throw new EngineMissing('chdb', cause);
  });
  await mkdir(dir, { recursive: true });
  const open = () => {
    // The client bundles its own copy of the connection's types, which differ in name only.
    const connection = createChdbConnection({ path: dir }) as unknown as Connection;
    return wrapClient(createClient({ connection }));
  };
  const writing = new Sessions([open()], WRITE_WAIT_MS);
  const reading = new Sessions(Array.from({ length: READING_SESSIONS }, open), READ_WAIT_MS);
  return {
    query: <Row>(sql: string, params?: Record<string, unknown>) =>
      reading.run(params, (session) => session.query<Row>(sql, params)),
    file: (format, sql, params) => reading.run(params, (session) => session.file(format, sql, params)),
    command: (sql, params) => writing.run(params, (session) => session.command(sql, params)),
    rewrite: (name, sql, params) => writing.run(params, (session) => session.rewrite(name, sql, params)),
    deleteRows: (table, condition, params) =>
      writing.run(params, (session) => session.deleteRows(table, condition, params)),
    insertLines: (table, lines, deduplication_token) =>
      writing.run(undefined, (session) => session.insertLines(table, lines, deduplication_token)),
    max_questions: READING_SESSIONS,
    ping: () => reading.run(undefined, (session) => session.ping()),
    close: async () => {
      // All are closed at once, so that nothing begins on one while the other waits.
      await Promise.all([reading.close(), writing.close()]);
    },
  };
}
