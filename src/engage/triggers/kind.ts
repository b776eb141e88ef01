import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The kinds of what an event may fire; a stored name. */
export type ListenerKind = 'campaign' | 'journey';

/** Something that events fire: its id is unique over all kinds. */
export interface ListenerRef extends ProjectRef {
  listener_id: string;
}

/** A listener, and the event that it waits for. */
export interface Listener extends ListenerRef {
  event: string;
  /** It is fired by events that were received from then on. */
  since: Date;
  /**
   * Whether an event of the name may fire it; absent: every one. Events that may not are not recorded. Undefined: no rate is
   * known for an amount that decides it; the event is kept until one is, and then asked about again.
   */
  accepts?: (event: PlayerEvent) => boolean | undefined;
}

/** An event for whose player the listener is fired; `player_id` is the survivor of a merged player. */
export interface FiringEvent {
  event_key: string;
  player_id: string;
  event: PlayerEvent;
  /** Its position on `player-events`. */
  partition: number;
  log_offset: bigint;
  /** The id of that log; null: it is not known. */
  log_id: string | null;
}

/** Counts what a transaction did, once it is committed. Never throws. */
export type Committed = () => void;

/** How a listener decides about its events at this moment. */
export interface Decision {
  /**
   * Whether it must wait until ClickHouse has the event and what the event changed of the player. Postgres has both
   * before the event is on `player-events`.
   */
  reads_clickhouse: boolean;
  /**
   * Whether the event may fire it as it is now, as {@link Listener.accepts} for one that was recorded before; absent: every
   * one. Undefined: the event waits for its rate.
   */
  accepts?: (event: PlayerEvent) => boolean | undefined;
  /**
   * Which of these players it is fired for. Called outside any transaction, so that it may take its time. What it
   * rejects with is stored and tried again later.
   */
  judge(player_ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Does what the events fire, in the transaction in which they count as decided: of the transactions that an event
   * comes to, one is committed. As the others are rolled back, metrics are left to what it returns, which is called
   * after the commit.
   */
  fire(tx: Tx, events: readonly FiringEvent[]): Promise<Committed | undefined>;
}

/** A kind of listener: what campaigns (or journeys) contribute to the deciding of events. */
export interface TriggerKind {
  kind: ListenerKind;
  /** The listeners of these projects that are in force. */
  listeners(sql: Tx, projects: readonly ProjectRef[]): Promise<Listener[]>;
  /** Undefined: the listener has ended, and its events fire nothing. */
  open(ref: ListenerRef): Promise<Decision | undefined>;
  /** Shows the editor of the listener why its events wait; null: they no longer do. Without personal data. */
  noteFailure(ref: ListenerRef, message: string | null): Promise<void>;
}
