import { Readable } from 'node:stream';
import type { ClickHouseClient } from '@clickhouse/client';
import { createHash } from 'node:crypto';
import type { ClickHouse } from './port.ts';

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
      if (lines.length === 0) return;
      // Settings stand in the statement: the embedded engine would keep them for the whole session otherwise.
      const query =
        `INSERT INTO ${table} SETTINGS insert_deduplication_token = '${tokenText(deduplication_token)}', ` +
        'deduplicate_blocks_in_dependent_materialized_views = 1, input_format_skip_unknown_fields = 1, ' +
        'async_insert = 0 FORMAT JSONEachRow';
      const result = await client.exec({
        query,
        values: Readable.from([lines.join('\n')], { objectMode: false }),
      });
      result.stream.resume();
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

/** A token as it may stand in a statement: anything but plain text is hashed. */
function tokenText(token: string): string {
  return /^[\w:.-]{1,200}$/.test(token) ? token : createHash('sha256').update(token).digest('hex');
}
