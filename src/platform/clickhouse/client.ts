import { constants } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ClickHouseClient } from '@clickhouse/client';
import { chunksOf } from './chunks.ts';
import { StatementTimedOut, StillRunning, type ClickHouse } from './port.ts';

/** ClickHouse's code for QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING. */
const SAME_ID_RUNS = '216';

/**
 * The size limit of one INSERT: the embedded engine takes the statement and its rows as one string. Never lower it: a
 * block that was inserted whole must not be repeated in parts, because the parts have other deduplication tokens.
 */
const MAX_INSERT_CHARS = constants.MAX_STRING_LENGTH - 64 * 1024;
/** How much text is joined at once while an INSERT is streamed. */
const CHUNK_CHARS = 4 * 1024 * 1024;

/**
 * Limits for statements on a server. The embedded engine needs none of them: its statements cannot outlive the process
 * that issued them.
 */
export interface ServerLimits {
  /** How many questions it takes at once. */
  max_questions: number;
  /** Prefix of the query ids of rewrites, so that installations on one server do not block each other. */
  database: string;
  /** How long the caller waits for a statement: longer than the server lets a statement run. */
  statement_deadline_ms: number;
  /** How long a rewrite may run on the server. */
  rewrite_limit_s: number;
  /** How long the caller waits for a rewrite. */
  rewrite_deadline_ms: number;
}

/** ClickHouse through the official client; without `limits` for the embedded engine. */
export function wrapClient(client: ClickHouseClient, limits?: ServerLimits): ClickHouse {
  const clickhouse: ClickHouse = {
    async query<Row>(sql: string, params: Record<string, unknown> = {}): Promise<Row[]> {
      return within(limits?.statement_deadline_ms, (options) => queryRows<Row>(client, sql, params, options));
    },
    async file(format, sql, params = {}) {
      return within(limits?.statement_deadline_ms, async (options) => {
        const { stream } = await client.exec({
          query: `${sql} format ${format}`,
          query_params: params,
          // Otherwise a server that fails after the first bytes would write its error behind them.
          ...(limits === undefined ? {} : { clickhouse_settings: { wait_end_of_query: 1 } }),
          ...options,
        });
        return stream;
      });
    },
    async command(sql, params = {}) {
      await within(limits?.statement_deadline_ms, (options) =>
        client.command({ query: sql, query_params: params, ...options }),
      );
    },
    async rewrite(name, sql, params = {}) {
      if (limits === undefined) return clickhouse.command(sql, params);
      await rewriteOnce(client, limits, name, sql, params);
    },
    async deleteRows(table, condition, params) {
      const name = `delete-${table}`;
      // A mutation deletes the rows. It continues after the statement that waits for it has ended.
      const [unfinished] = await clickhouse.query<{ latest_fail_reason: string }>(
        `select latest_fail_reason from system.mutations
        where database = currentDatabase() and table = {table:String} and not is_done
        order by latest_fail_reason = '' limit 1`,
        { table },
      );
      if (unfinished !== undefined) throw new StillRunning(name, { failure: unfinished.latest_fail_reason });
      await clickhouse.rewrite(name, `delete from ${table} where ${condition}`, params);
    },
    async insertLines(table, lines, deduplication_token) {
      let part = 0;
      for (const chunk of chunksOf(lines, MAX_INSERT_CHARS)) {
        const token = part === 0 ? deduplication_token : `${deduplication_token}.part-${part}`;
        await within(limits?.statement_deadline_ms, (options) =>
          insertPart(client, table, chunk, token, options),
        );
        part++;
      }
    },
    max_questions: limits?.max_questions ?? 1,
    async ping() {
      await within(limits?.statement_deadline_ms, async (options) => {
        const result = await client.ping({ select: true, ...options });
        if (!result.success) throw result.error;
      });
    },
    async close() {
      await client.close();
    },
  };
  return clickhouse;
}

async function queryRows<Row>(
  client: ClickHouseClient,
  sql: string,
  params: Record<string, unknown>,
  options: Abortable,
): Promise<Row[]> {
  const result = await client.query({
    query: sql,
    query_params: params,
    format: 'JSONEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
    ...options,
  });
  // The client stops listening to the signal when the response begins.
  const close = () => result.close();
  options.abort_signal?.addEventListener('abort', close, { once: true });
  try {
    return await result.json<Row>();
  } finally {
    options.abort_signal?.removeEventListener('abort', close);
  }
}

async function rewriteOnce(
  client: ClickHouseClient,
  { database, rewrite_limit_s, rewrite_deadline_ms }: ServerLimits,
  name: string,
  sql: string,
  params: Record<string, unknown>,
): Promise<void> {
  try {
    await within(rewrite_deadline_ms, (options) =>
      client.command({
        query: sql,
        query_params: params,
        // A server refuses a statement with the query id of a running one.
        query_id: `${database}.${name}`,
        clickhouse_settings: { max_execution_time: rewrite_limit_s },
        ...options,
      }),
    );
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    throw code === SAME_ID_RUNS ? new StillRunning(name, { cause }) : cause;
  }
}

interface Abortable {
  abort_signal?: AbortSignal;
}

/** Runs `work` with a signal that aborts it at the deadline; rejects with {@link StatementTimedOut} then. */
async function within<T>(
  deadline_ms: number | undefined,
  work: (options: Abortable) => Promise<T>,
): Promise<T> {
  if (deadline_ms === undefined) return work({});
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), deadline_ms);
  try {
    return await work({ abort_signal: deadline.signal });
  } catch (cause) {
    throw deadline.signal.aborted ? new StatementTimedOut(deadline_ms, { cause }) : cause;
  } finally {
    clearTimeout(timer);
  }
}

async function insertPart(
  client: ClickHouseClient,
  table: string,
  lines: readonly string[],
  token: string,
  options: Abortable,
): Promise<void> {
  // The settings are part of the statement: otherwise the embedded engine would keep them for the whole session.
  const query =
    `INSERT INTO ${table} SETTINGS insert_deduplication_token = '${tokenText(token)}', ` +
    'deduplicate_blocks_in_dependent_materialized_views = 1, input_format_skip_unknown_fields = 1, ' +
    'async_insert = 0 FORMAT JSONEachRow';
  const values = Readable.from(textOf(lines), { objectMode: false });
  const result = await client.exec({ query, values, ...options });
  result.stream.resume();
}

function* textOf(lines: readonly string[]): Generator<string> {
  for (const chunk of chunksOf(lines, CHUNK_CHARS)) yield `${chunk.join('\n')}\n`;
}

/** The token as text that is safe inside a statement: other characters than plain ones make it a hash. */
function tokenText(token: string): string {
  return /^[\w:.-]{1,200}$/.test(token) ? token : createHash('sha256').update(token).digest('hex');
}
