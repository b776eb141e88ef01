import { constants } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ClickHouseClient } from '@clickhouse/client';
import { chunksOf } from './chunks.ts';
import type { ClickHouse } from './port.ts';

/**
 * What one INSERT carries: the embedded engine takes it as one text, of which the statement is a part. Never lower it:
 * a block that was inserted whole must not come again in parts, under other tokens.
 */
const MAX_INSERT_CHARS = constants.MAX_STRING_LENGTH - 64 * 1024;
/** What is put together at once on the way. */
const CHUNK_CHARS = 4 * 1024 * 1024;

/** ClickHouse over the official client, whatever connection it was given. */
export function wrapClient(client: ClickHouseClient): ClickHouse {
  return {
    async query<Row>(sql: string, params: Record<string, unknown> = {}): Promise<Row[]> {
      const result = await client.query({
        query: sql,
        query_params: params,
        format: 'JSONEachRow',
        clickhouse_settings: { output_format_json_quote_64bit_integers: 1 },
      });
      return result.json<Row>();
    },
    async command(sql, params = {}) {
      await client.command({ query: sql, query_params: params });
    },
    async insertLines(table, lines, deduplication_token) {
      let part = 0;
      for (const chunk of chunksOf(lines, MAX_INSERT_CHARS)) {
        const token = part === 0 ? deduplication_token : `${deduplication_token}.part-${part}`;
        await insertPart(client, table, chunk, token);
        part++;
      }
    },
    async ping() {
      const result = await client.ping({ select: true });
      if (!result.success) throw result.error;
    },
    async close() {
      await client.close();
    },
  };
}

async function insertPart(
  client: ClickHouseClient,
  table: string,
  lines: readonly string[],
  token: string,
): Promise<void> {
  // Settings stand in the statement: the embedded engine would keep them for the whole session otherwise.
  const query =
    `INSERT INTO ${table} SETTINGS insert_deduplication_token = '${tokenText(token)}', ` +
    'deduplicate_blocks_in_dependent_materialized_views = 1, input_format_skip_unknown_fields = 1, ' +
    'async_insert = 0 FORMAT JSONEachRow';
  const result = await client.exec({ query, values: Readable.from(textOf(lines), { objectMode: false }) });
  result.stream.resume();
}

function* textOf(lines: readonly string[]): Generator<string> {
  for (const chunk of chunksOf(lines, CHUNK_CHARS)) yield `${chunk.join('\n')}\n`;
}

/** A token as it may stand in a statement: anything but plain text is hashed. */
function tokenText(token: string): string {
  return /^[\w:.-]{1,200}$/.test(token) ? token : createHash('sha256').update(token).digest('hex');
}
