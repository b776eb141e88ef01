import type { Player, PlayerTier } from '@player-engagement/client/admin';
import { everyOf } from '../../api/choices.ts';
import { useList, useRead } from '../../api/queries.ts';

export type {
  Grant as GrantRecord,
  LedgerEntry as LedgerRow,
  MessageSend as MessageRecord,
  Player as PlayerRecord,
  PlayerJourneyRun as JourneyRun,
  PlayerSegment as Membership,
  Reachability,
  TimelineEntry,
} from '@player-engagement/client/admin';

/** A change of the player's tier. */
export type TierEntry = PlayerTier['history'][number];

export const STATUSES = everyOf<Player['status']>()([
  'active',
  'self_excluded',
  'banned',
  'conflict',
  'deleted',
]);

export function usePlayers(status: Player['status'] | undefined) {
  return useList('players.list', [{ status }]);
}

const PROFILE_REFRESH_MS = 10_000;

export function usePlayer(id: string) {
  return useRead('players.get', [id], { refresh_ms: PROFILE_REFRESH_MS });
}

/** What the player did, or the events of these names. */
export function useTimeline(id: string, events?: readonly string[]) {
  return useList('players.timeline', [id, events === undefined ? {} : { events: events.join(',') }]);
}

const NEWEST_MESSAGES = 100;

/** The newest messages: the list has no pages. */
export function useMessages(id: string) {
  const asked = useRead('players.messages', [id, { limit: NEWEST_MESSAGES }]);
  const no_more = { hasNextPage: false, isFetchingNextPage: false, fetchNextPage: () => undefined };
  return { ...asked, ...no_more, rows: asked.data?.data };
}

export function useMemberships(id: string) {
  return useList('players.segments', [id]);
}

export function useJourneyRuns(id: string) {
  return useList('players.journeys', [id]);
}

export function useAudit(id: string) {
  return useList('players.audit', [id]);
}

export function useLedger(id: string) {
  return useList('players.ledger', [id]);
}

export function useReachability(id: string) {
  return useRead('players.reachability', [id, {}]);
}

export function useGrants(player_id: string) {
  return useList('bonusGrants.list', [{ player_id }]);
}

/** The tier of the player, with its newest 200 changes, the newest first. */
export function useTierHistory(id: string) {
  return useRead('players.tier.get', [id]);
}
