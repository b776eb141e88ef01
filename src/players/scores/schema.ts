import { z } from 'zod';
import { int64, nameSchemas, timestampWithOffset, trimmedText } from '../../http/field-schemas.ts';
import { MAX_ID_LENGTH } from '../../ingest/events/catalogue.ts';
import { DEFAULT_MODEL } from '../profile/score-models.ts';

const MAX_ROWS = 1_000;

/** A predicted value beyond this is a mistake: no amount of a currency is as large. */
const MAX_LTV = 2 ** 63;

const score = z
  .strictObject({
    player_id: z.uuid().toLowerCase().optional(),
    external_id: z.string().min(1).max(MAX_ID_LENGTH).optional(),
    churn_score: z
      .number()
      .min(0)
      .max(1)
      .describe('0: surely comes back, 1: surely does not. Absent: as it is')
      .optional(),
    ltv_predicted: z
      .number()
      .min(-MAX_LTV)
      .max(MAX_LTV)
      .nullable()
      .describe('In the smallest unit of the base currency. Null: not known. Absent: as it is')
      .optional(),
  })
  .refine(({ player_id, external_id }) => (player_id === undefined) !== (external_id === undefined), {
    path: ['player_id'],
    error: 'give either player_id or external_id',
  })
  .refine(({ churn_score, ltv_predicted }) => churn_score !== undefined || ltv_predicted !== undefined, {
    path: ['churn_score'],
    error: 'give churn_score, ltv_predicted or both',
  });

/** `POST /v1/scores`. */
export const scoresBody = z.strictObject({
  model: trimmedText(1, 100)
    .refine(
      (name) => name !== DEFAULT_MODEL,
      `must not be ${DEFAULT_MODEL}: the service has a model of this name`,
    )
    .describe('The name and version of your model'),
  as_of: timestampWithOffset.describe(
    'When what the model knew was known: older scores never replace newer ones',
  ),
  scores: z.array(score).min(1).max(MAX_ROWS),
});
export type ScoresBody = z.infer<typeof scoresBody>;

const VERDICTS = [
  'written',
  'unchanged',
  'stale',
  'duplicate',
  'merged',
  'deleted',
  'erased',
  'unknown',
] as const;

/** What became of a row of `POST /v1/scores`. */
export const scoreResult = z.object({
  player_id: z.uuid().nullable().describe('Null: no player of the project has the id'),
  verdict: z.enum(VERDICTS),
  into_player_id: z.uuid().describe('With `merged`: the player into whom this one was merged').optional(),
});
export type ScoreResult = z.infer<typeof scoreResult>;

const timestamp = z.iso.datetime();

/** How well a model did in a window of the backtest. */
const accuracy = {
  players: z.int().describe('Who had a deposit before the window'),
  returned: z.int().describe('How many of them had one in it'),
  brier: z.number().describe('The mean squared error of the predicted chances; less is better'),
  brier_recency: z.number().describe('The same for plain recency'),
  auc: z
    .number()
    .nullable()
    .describe('The chance that who returned had the higher prediction; null: all returned, or none'),
  auc_recency: z.number().nullable(),
};

const window = z.object({ from: timestamp, to: timestamp, ...accuracy });
const bin = z.object({
  from: z.number(),
  to: z.number(),
  players: z.int(),
  predicted: z.number().describe('The mean of the predicted chances'),
  returned: z.number().describe('The share that returned'),
});

/** What a nightly fit has found. */
export const modelFit = z.object({
  players: z.int().describe('Players with a deposit'),
  sampled: z.int().describe('How many of them, drawn by their ids, the parameters and the backtest are from'),
  parameters: z
    .object({
      r: z.number(),
      alpha: z.number().describe('In weeks'),
      a: z.number(),
      b: z.number(),
      p: z.number(),
      q: z.number(),
      v: z.number().describe('In the smallest unit of the base currency'),
    })
    .nullable(),
  backtest: z
    .object({ ...accuracy, windows: z.array(window) })
    .nullable()
    .describe('The last windows of 30 days, each predicted from what was known before it'),
  calibration: z.array(bin).describe('Of all windows of the backtest, by predicted chance'),
});
export type ModelFit = z.infer<typeof modelFit>;

/** A model of `GET /v1/models`. */
export const model = z.object({
  model: z.literal(DEFAULT_MODEL),
  status: z
    .enum(['on', 'off', 'waiting'])
    .describe('off: worse than plain recency, so no scores are written. waiting: too few players or days'),
  as_of: timestamp.describe('The end of the last day whose deposits were read'),
  fitted_at: timestamp,
  ngr: int64.describe('Of all players, in the smallest unit of the base currency'),
  total_deposited: int64,
  ...modelFit.shape,
});

/** What a nightly fit of send times has found. */
export const sendTimeFit = z.object({
  /** With a session in the last 90 days; those of them with five; those that the fit is from. */
  players: z.int(),
  timed_players: z.int().describe('Those with five sessions'),
  sampled: z.int(),
  parameters: z
    .object({
      weight: z.number().describe('Sessions that count as much as the profile'),
      profile: z.array(z.number()).describe('Shares of sessions by hour of the week'),
    })
    .nullable(),
  held_out: z
    .object({
      from: timestamp,
      to: timestamp,
      players: z.int(),
      sessions: z.int(),
      log_loss: z.number().describe('Less is better'),
      log_loss_profile: z.number(),
    })
    .nullable(),
});
export type SendTimeFit = z.infer<typeof sendTimeFit>;

/** The name of the model of send times in `GET /v1/models`. */
export const SEND_TIME_MODEL = 'send_time';

/** The model of send times of `GET /v1/models`. */
export const sendTimeModel = z.object({
  model: z.literal(SEND_TIME_MODEL),
  status: z.enum(['on', 'off', 'waiting']),
  as_of: timestamp,
  fitted_at: timestamp,
  ...sendTimeFit.shape,
});

nameSchemas({
  ScoresBody: scoresBody,
  ScoreResult: scoreResult,
  Model: model,
  SendTimeModel: sendTimeModel,
});
