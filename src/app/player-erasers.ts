import { grantEraser } from '../bonuses/grants/erase-queries.ts';
import { runEraser } from '../engage/journeys/runs/erase-queries.ts';
import { messageEraser } from '../engage/messaging/player-queries.ts';
import { sandboxMessageEraser } from '../engage/providers/erase-queries.ts';
import { triggerEventEraser } from '../engage/triggers/erase-queries.ts';
import { deliveryEraser } from '../engage/webhooks/erase-queries.ts';
import type { Eraser } from '../players/dependents.ts';
import { exportEraser } from '../players/export/queries.ts';
import { kycEraser } from '../players/kyc/queries.ts';
import { eraseLimits } from '../protection/limits/limit-queries.ts';
import { tierEraser } from '../players/tiers/erase-queries.ts';

/** What the folders hold of a person, in the order in which it is erased. What writes messages comes before them. */
export const PLAYER_ERASERS: readonly Eraser[] = [
  kycEraser,
  { step: 'limits', erase: eraseLimits },
  tierEraser,
  triggerEventEraser,
  runEraser,
  deliveryEraser,
  sandboxMessageEraser,
  messageEraser,
  grantEraser,
  exportEraser,
];
