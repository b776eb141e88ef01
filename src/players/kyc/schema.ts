import { z } from 'zod';
import { nameSchemas, timestampWithOffset, trimmedText } from '../../http/field-schemas.ts';
import { MAX_ID_LENGTH, MAX_KYC_LEVEL } from '../../ingest/events/catalogue.ts';
import { parseDateOrTime, parseStoredTime } from '../../platform/timestamp.ts';
import { KYC_KINDS, KYC_STATUSES } from '../../protection/kyc/decide.ts';

const level = z.int().min(1).max(MAX_KYC_LEVEL);
/** The longest reason; what platforms say beyond it is cut off. */
export const MAX_REASON = 500;
const reason = trimmedText(1, MAX_REASON);
const instant = timestampWithOffset.refine(
  (text) => parseStoredTime(text) !== undefined,
  'must be a time of the years 1900 to 2299',
);

/** `POST /v1/players/:id/kyc/request`: the level defaults to the one above the player's. */
export const requestKycBody = z
  .strictObject({
    level: level.optional(),
    requirements: z.array(trimmedText(1, 200)).max(50).optional(),
    reason: reason.optional(),
  })
  .optional();
export type RequestKycBody = z.infer<typeof requestKycBody>;

/** `POST /v1/players/:id/kyc/approve`. */
export const approveKycBody = z.strictObject({
  level,
  expires_at: instant.optional(),
  note: reason.optional(),
});
export type ApproveKycBody = z.infer<typeof approveKycBody>;

/** `POST /v1/players/:id/kyc/revoke`. */
export const revokeKycBody = z.strictObject({ reason });
export type RevokeKycBody = z.infer<typeof revokeKycBody>;

const timestamp = z.iso.datetime().nullable();

/** A player's KYC, as the three decisions answer it (bonuses part 8). */
export const kycResource = z.object({
  player_id: z.uuid(),
  kyc_status: z.enum(KYC_STATUSES),
  kyc_level: z.int(),
  requested_level: z.int().nullable(),
  expires_at: timestamp,
  decided_at: timestamp,
  decided_by: z.string().nullable(),
  provider_ref: z.string().nullable(),
  sync: z
    .enum(['done', 'queued'])
    .describe('queued: the platform does not have it yet; the call is tried again'),
});
export type KycResource = z.infer<typeof kycResource>;

/** A call of the platform that has not been answered yet. */
const openCall = z.object({
  action: z.enum(['initiate', 'update']),
  attempts: z.int(),
  next_attempt_at: timestamp.describe('null: given up'),
  last_error: z.string().nullable(),
  created_at: z.iso.datetime(),
});

/** What was said about a player's KYC, by whom, and whether it counted. */
const historyEntry = z.object({
  id: z.uuid(),
  decision: z.enum(KYC_KINDS),
  source: z.enum(['api', 'webhook', 'event', 'clock']),
  applied: z.boolean(),
  kyc_status: z.enum(KYC_STATUSES),
  level: z.int().nullable(),
  expires_at: timestamp,
  occurred_at: z.iso.datetime(),
  received_at: z.iso.datetime(),
  decided_by: z.string().nullable(),
  adapter_slug: z.string().nullable(),
  reason: z.string().nullable(),
  requirements: z.array(z.string()).nullable(),
});

/** `GET /v1/players/:id/kyc`: with the last 100 statements, the newest first, and the calls that are open. */
export const kycWithHistory = kycResource.extend({
  calls: z.array(openCall),
  history: z.array(historyEntry),
});

/** What every webhook says. */
const said = {
  event_id: z.guid().toLowerCase(),
  ts: instant.transform((text) => Date.parse(text)),
  player_external_id: z.string().min(1).max(MAX_ID_LENGTH),
};
const said_reason = z.string().nullish();

/** The end of an approval: platforms give a date, too, which is over when it begins. */
const end = z
  .string()
  .refine((text) => parseDateOrTime(text) !== undefined, 'must be a date, or a time with an offset')
  .transform((text) => parseDateOrTime(text) ?? 0);

const approving = z.object({
  event: z.enum(['kyc.approved', 'kyc.level_upgraded']),
  ...said,
  level,
  data: z.object({ reason: said_reason, expires_at: end.nullish() }).nullish(),
});
/** What does not matter here refuses nothing: a refusal must not be lost because of a level that no player has. */
const other = z.object({
  event: z.enum(['kyc.submitted', 'kyc.rejected', 'kyc.expired']),
  ...said,
  level: z
    .int()
    .min(0)
    .transform((value) => Math.min(value, MAX_KYC_LEVEL))
    .nullish(),
  data: z.object({ reason: said_reason }).nullish(),
});

/**
 * The body of `POST /v1/adapters/:slug/webhooks/kyc-events` (spec part 4); further fields are ignored. Times come as
 * milliseconds since the epoch.
 */
export const kycEvent = z.discriminatedUnion('event', [approving, other], {
  error: ({ code }) =>
    code === 'invalid_union'
      ? `must be one of ${[...approving.shape.event.options, ...other.shape.event.options].join(', ')}`
      : undefined,
});
export type KycEvent = z.infer<typeof kycEvent>;

/** The answer to a webhook. */
export const kycEventAnswer = z.object({
  received: z.literal(true),
  applied: z.boolean(),
  new_status: z.enum(KYC_STATUSES),
});

nameSchemas({
  RequestKycBody: requestKycBody,
  ApproveKycBody: approveKycBody,
  RevokeKycBody: revokeKycBody,
  Kyc: kycResource,
  KycWithHistory: kycWithHistory,
  KycHistoryEntry: historyEntry,
  KycEventAnswer: kycEventAnswer,
});
