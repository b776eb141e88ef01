import { useRead } from './queries.ts';

/** A player that a search has found. */
export interface FoundPlayer {
  id: string;
  /** The field that matched. */
  matched_by: string;
  external_id: string | null;
  email: string | null;
  phone: string | null;
  status: string;
  /** Not null: the player is deleted. */
  deleted_at: string | null;
}

const SHORTEST = 3;

/** Searches players by any of their ids; nothing is asked for fewer than three characters. */
export function usePlayerSearch(q: string) {
  return useRead<FoundPlayer[]>(
    '/v1/players/search',
    { q },
    { enabled: q.trim().length >= SHORTEST, keep_previous: true },
  );
}
