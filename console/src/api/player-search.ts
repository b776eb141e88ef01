import { useRead } from './queries.ts';

const SHORTEST = 3;

/** Searches players by any of their ids; nothing is asked for fewer than three characters. */
export function usePlayerSearch(q: string) {
  return useRead('players.search', [{ q }], { enabled: q.trim().length >= SHORTEST, keep_previous: true });
}
