import { z } from 'zod';
import { nameSchemas, timestampWithOffset } from '../../http/field-schemas.ts';
import { MAX_ID_LENGTH, MAX_TEXT_LENGTH } from '../../ingest/events/catalogue.ts';
import { amountOrZero } from '../templates/config.ts';
import { MAX_BETS } from './count.ts';

const bet = z.strictObject({
  player_id: z.uuid(),
  kind: z.enum(['casino', 'sport']),
  bet_id: z.string().min(1).max(MAX_ID_LENGTH),
  state: z.enum(['placed', 'settled', 'voided', 'cashed_out']),
  stake: amountOrZero.describe('In the smallest unit of `currency`'),
  currency: z.string().min(1).max(16),
  game_category: z.string().min(1).max(100).optional(),
  game_id: z.string().max(MAX_TEXT_LENGTH).optional(),
  occurred_at: timestampWithOffset.describe(
    'When the bet counts: a casino bet when it was placed, a sport bet when it was settled',
  ),
  revision: z
    .int()
    .min(0)
    .describe(
      'Rises with every change of the bet; a state with a lower one than is known changes nothing, nor does any once the service has events of the bet',
    ),
});

/** `POST /v1/internal/bonus-progress`: the states of bets, absolute. */
export const progressBody = z.strictObject({
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  bets: z.array(bet).min(1).max(MAX_BETS),
});
export type ProgressBody = z.infer<typeof progressBody>;

/** What became of the bets. */
export const progressResult = z.object({
  applied: z.int(),
  duplicates: z.int(),
  ignored: z.int().describe('Bets of players without a bonus that they could count for'),
  breaches: z.int().describe('Stakes above what the terms allow'),
  met: z.array(z.uuid()).describe('The grants whose requirement was met by these bets'),
});

nameSchemas({ BonusProgressBody: progressBody, BonusProgressResult: progressResult });
