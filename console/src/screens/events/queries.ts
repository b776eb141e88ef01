import { useList, useRead } from '../../api/queries.ts';

export type { DeadLetter, EventTrace, FoundEvent, RejectedEvent } from '@player-engagement/client/admin';

/** What an events search asks for; every part may be omitted. */
export interface EventQuery {
  event: string | undefined;
  player_id: string | undefined;
  from: string | undefined;
  to: string | undefined;
}

export function useEventSearch({ event, player_id, from, to }: EventQuery) {
  return useList('eventSearch.list', [{ event, player_id, from, to }], { keep_previous: true });
}

const WAIT_MS = 1_000;

/** The trace of an event; asked again each second, because the event goes on. */
export function useEventTrace(ingestion_id: string, index: string) {
  return useRead('eventTrace.get', [ingestion_id, index], { refresh_ms: WAIT_MS });
}

export function useDeadLetters(enabled: boolean) {
  return useList('deadLetters.list', [], { enabled });
}

/** What intake refused. */
export function useRefusals() {
  return useList('rejectedEvents.list', []);
}
