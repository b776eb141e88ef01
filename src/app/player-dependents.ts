import { messagesOfPlayers } from '../engage/messaging/merge-queries.ts';
import type { PlayerDependent } from '../players/dependents.ts';
import { membershipsOfPlayers } from '../segments/membership-queries.ts';

/** Whose rows belong to players, in the order in which they are moved or removed. */
export const PLAYER_DEPENDENTS: readonly PlayerDependent[] = [membershipsOfPlayers, messagesOfPlayers];
