import type { PlayerEvent } from '../../../ingest/events/envelope.ts';
import type { LogRecord } from '../../../platform/event-log/port.ts';
import { parseExact } from '../../../platform/exact-json.ts';
import type { UndecidedEvent } from '../../triggers/unrated.ts';
import type { EventName } from './match-queries.ts';

/** An event of the log that some run may wait for. Most are of no further interest, so only its beginning is read. */
export class WatchedEvent implements UndecidedEvent {
  readonly record: LogRecord;
  readonly name: EventName;
  readonly player_id: string;
  readonly received_at: number;
  #event: PlayerEvent | undefined;

  constructor(record: LogRecord, name: EventName, short: Pick<PlayerEvent, 'player_id' | 'received_at'>) {
    this.record = record;
    this.name = name;
    this.player_id = short.player_id;
    this.received_at = short.received_at;
  }

  get event(): PlayerEvent {
    this.#event ??= parseExact(this.record.value) as PlayerEvent;
    return this.#event;
  }
}
