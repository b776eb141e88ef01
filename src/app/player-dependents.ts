import { bonusCampaignsOfPlayers } from '../bonuses/campaigns/merge-queries.ts';
import { grantsOfPlayers } from '../bonuses/grants/merge-queries.ts';
import { contributionsOfPlayers } from '../bonuses/wagering/merge-queries.ts';
import { journeysOfPlayers } from '../engage/journeys/runs/merge-queries.ts';
import { messagesOfPlayers } from '../engage/messaging/player-queries.ts';
import { exclusionsOfPlayers } from '../protection/exclusions/merge-queries.ts';
import { withdrawalsOfPlayers } from '../ledger/withdrawals/queries.ts';
import { limitsOfPlayers } from '../protection/limits/limit-queries.ts';
import { kycOfPlayers } from '../players/kyc/merge-queries.ts';
import type { PlayerDependent } from '../players/dependents.ts';
import { tiersOfPlayers } from '../players/tiers/merge-queries.ts';
import { membershipsOfPlayers } from '../segments/membership-queries.ts';

/**
 * The folders that have rows of players, in the order in which their rows are moved or removed. Messages come after the
 * runs that write them: a run that is advanced meanwhile is locked first, and then has written all of its messages. Rows of
 * campaigns come after the grants: a transaction that settles a grant locks the grant first, and then its row.
 */
export const PLAYER_DEPENDENTS: readonly PlayerDependent[] = [
  exclusionsOfPlayers,
  limitsOfPlayers,
  withdrawalsOfPlayers,
  kycOfPlayers,
  tiersOfPlayers,
  membershipsOfPlayers,
  journeysOfPlayers,
  messagesOfPlayers,
  grantsOfPlayers,
  bonusCampaignsOfPlayers,
  contributionsOfPlayers,
];
