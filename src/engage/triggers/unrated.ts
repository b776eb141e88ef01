import { claimOf } from '../../ledger/money/ledger.ts';
import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { holdPlayers } from './trigger-queries.ts';
import { insertUnrated, rateFromLedger, type UnratedEvent } from './unrated-queries.ts';

/** Events of one insert. */
const MAX_ROWS = 500;

/** An event that a filter cannot decide about yet, with its record. */
export interface UndecidedEvent {
  record: Pick<LogRecord, 'offset' | 'value'>;
  event: PlayerEvent;
}

/**
 * Keeps events whose amounts have no rate yet until they have one. Those that are not in the ledger, whose amounts nobody
 * restates, are not kept, and neither are those of a person who was forgotten. Idempotent.
 */
export async function keepUnrated(
  sql: Db,
  { log_id, partition }: { log_id: string | null; partition: number },
  undecided: Iterable<UndecidedEvent>,
  now: Date,
): Promise<void> {
  const found = new Map<string, UnratedEvent>();
  for (const { record, event } of undecided) {
    const { tenant_id, project_id, ingestion_id, event_index, player_id, properties, occurred_at } = event;
    const reference = claimOf(event.event, properties, occurred_at)?.reference;
    if (reference === undefined) continue;
    const place = { partition, log_offset: record.offset, log_id, value: record.value };
    const kept = { tenant_id, project_id, ingestion_id, event_index, player_id, reference, ...place };
    found.set(`${tenant_id} ${project_id} ${ingestion_id} ${String(event_index).padStart(6)}`, kept);
  }
  // In the order of their keys: several processes may keep the same events.
  const kept = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, event]) => event);
  for (let from = 0; from < kept.length; from += MAX_ROWS) {
    const part = kept.slice(from, from + MAX_ROWS);
    await retryConflicts(() =>
      sql.begin(async (tx) => {
        // An erasure waits for these events, and removes them; what it has begun before is seen afterwards.
        await holdPlayers(tx, part);
        await insertUnrated(tx, part, now);
      }),
    );
    await retryConflicts(() => rateFromLedger(sql, part));
  }
}
