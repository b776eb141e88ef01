import { grantsFile } from '../bonuses/grants/export-queries.ts';
import { runsFile } from '../engage/journeys/runs/export-queries.ts';
import { messagesFile } from '../engage/messaging/player-queries.ts';
import { deliveriesFile } from '../engage/webhooks/export-queries.ts';
import type { PlayerFile } from '../players/dependents.ts';
import { segmentsFile } from '../segments/export-queries.ts';

/** The files that rooms above `players` add to a person's export. */
export const PLAYER_FILES: readonly PlayerFile[] = [
  messagesFile,
  runsFile,
  deliveriesFile,
  grantsFile,
  segmentsFile,
];
