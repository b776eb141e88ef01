import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import type { LedgerRow } from '../money/ledger.ts';
import type { Sum } from '../money/totals.ts';
import type { KycChange } from '../../protection/kyc/decision-queries.ts';
import type { StatusChange } from './status-events.ts';
import type { Rejection } from './fold-event.ts';

/** What a batch adds to the totals row of one player. */
export interface PlayerEffect {
  tenant_id: string;
  project_id: string;
  player_id: string;
  /** Null when no event of the batch is the player's: a bet changed the totals, or a verdict depends on the player. */
  first_seen_at_ms: number | null;
  last_seen_at_ms: number | null;
  /** Null when none of these events is the player's own activity. */
  last_active_at_ms: number | null;
  sums: Record<Sum, bigint>;
}

export interface NewPlayer {
  tenant_id: string;
  project_id: string;
  player_id: string;
  anonymous_id: string;
  default_currency_code: string;
  first_seen_at_ms: number;
}

export interface PlayerStatusChange extends StatusChange {
  tenant_id: string;
  project_id: string;
  player_id: string;
}

/** What a batch does to Postgres, decided before anything is written. */
export interface Effects {
  newPlayers: NewPlayer[];
  ledgerRows: LedgerRow[];
  /**
   * Rows of the ledger that a change of rates may restate, and that the totals of this batch depend on: they must still
   * have these base amounts.
   */
  reliedOn: LedgerRow[];
  players: PlayerEffect[];
  /** Rounds, to be written one after the other; a player is in each at most once. */
  statuses: PlayerStatusChange[][];
  kyc: KycChange[];
}

/** What the fold appends to the log after the transaction of a batch. */
export interface Emission {
  events: PlayerEvent[];
  rejections: Rejection[];
}

export interface Decision {
  effects: Effects;
  emission: Emission;
  duplicates: number;
  stake_mismatches: number;
}
