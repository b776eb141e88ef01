import type { Int } from '../../api/json.ts';
import { useList, useRead } from '../../api/queries.ts';

/** What an events search asks for; every part may be left out. */
export interface EventQuery {
  event: string | undefined;
  player_id: string | undefined;
  from: string | undefined;
  to: string | undefined;
}

/** An event that a search has found. */
export interface FoundEvent {
  ingestion_id: string;
  index: number;
  event: string;
  player_id: string;
  timestamp: string;
  received_at: string;
  base_amount: Int | null;
  properties: Readonly<Record<string, unknown>>;
}

export function useEventSearch(query: EventQuery) {
  return useList<FoundEvent>('/v1/event-search', { ...query }, { keep_previous: true });
}

type StepStatus = 'done' | 'pending' | 'none' | 'unknown';

/** The way of one event through the service. */
export interface EventTrace {
  ingestion_id: string;
  index: number;
  event: string;
  player_id: string | null;
  accepted: { status: StepStatus; at: string };
  folded: {
    status: StepStatus;
    verdict: 'applied' | 'duplicate' | 'conflicting' | 'rejected' | null;
    reason: string | null;
    message: string | null;
    duplicate_of: { ingestion_id: string; index: number } | null;
    money: {
      reference: string;
      currency: string | null;
      amount: Int | null;
      payout: Int | null;
      base_amount: Int | null;
      base_payout: Int | null;
      rate: string | null;
      rate_at: string | null;
    } | null;
  };
  landed: { status: StepStatus };
  segments_entered_since: readonly { segment_id: string; name: string; entered_at: string }[];
}

const WAIT_MS = 1_000;

/** The trace of an event; asked again each second, because the event goes on. */
export function useEventTrace(ingestion_id: string, index: string) {
  return useRead<EventTrace>(`/v1/event-trace/${ingestion_id}/${index}`, {}, { refresh_ms: WAIT_MS });
}

/** An event that could not be applied; `partition` and `offset` name it. */
export interface DeadLetter {
  partition: number;
  offset: string;
  reason: string;
  message: string;
  /** The record as it was accepted. */
  value: string;
  at: string;
  replay: 'none' | 'replayed' | 'unknown';
}

export function useDeadLetters(enabled: boolean) {
  return useList<DeadLetter>('/v1/dead-letters', {}, { enabled });
}

/** What a replay has done. */
export interface ReplayReport {
  replayed: number;
  replayed_before: number;
  unknown_outcomes: number;
  next_cursor: string | null;
}
