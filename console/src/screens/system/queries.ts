import { useRead } from '../../api/queries.ts';

export type { System } from '@player-engagement/client/admin';

const REFRESH_MS = 10_000;

export function useSystem() {
  return useRead('system', [], { refresh_ms: REFRESH_MS });
}
