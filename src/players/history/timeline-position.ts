import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { Clock } from '../../platform/clock.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';

/** What the history of a player is read from. */
export interface HistoryDeps {
  postgres: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

/** The position of an event in a player's timeline. `occurred_ms` is milliseconds since the epoch. */
export type TimelinePosition = readonly [occurred_ms: string, ingestion_id: string, event_index: string];

/** Checks the parts of a {@link TimelinePosition} in a cursor. */
export const POSITION_SHAPE = [
  (part: string) => /^-?\d{1,13}$/.test(part),
  isUuid,
  (part: string) => /^\d{1,4}$/.test(part),
] as const;
