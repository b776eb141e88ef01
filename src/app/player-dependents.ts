import { messagesOfPlayers } from '../engage/messaging/merge-queries.ts';
import type { PlayerDependent } from '../players/dependents.ts';
import { membershipsOfPlayers } from '../segments/membership-queries.ts';

/** The folders that have rows of players, in the order in which their rows are moved or removed. */
export const PLAYER_DEPENDENTS: readonly PlayerDependent[] = [membershipsOfPlayers, messagesOfPlayers];
