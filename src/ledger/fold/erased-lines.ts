import { playerOf, reduceLine } from '../../ingest/events/envelope.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { selectErased } from './erased-queries.ts';

/**
 * Lines of events as they may be written to ClickHouse: of erased players only with what is about money. The log has the
 * events from before an erasure as they were, and a rebuild must not bring them back.
 */
export async function withoutErased(sql: Tx, lines: readonly string[]): Promise<string[]> {
  const erased = await selectErased(sql, [...new Set(lines.map(playerOf))].filter(isUuid));
  if (erased.size === 0) return [...lines];
  return lines.map((line) => (erased.has(playerOf(line)) ? reduceLine(line) : line));
}
