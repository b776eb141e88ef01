import { z } from 'zod';
import { nameSchemas, int64, trimmedText } from '../../http/field-schemas.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { MAX_ID_LENGTH } from '../../ingest/events/catalogue.ts';
import { MATCHED_IDS } from './search.ts';
import { isTimeZone } from '../../platform/time-zone.ts';
import { addressText, emailFault, emptyFault, phoneFault, plainAddress } from '../address-text.ts';

/** The statuses a player can have (spec part 3). */
export const PLAYER_STATUSES = ['active', 'self_excluded', 'banned', 'deleted', 'conflict'] as const;

/** The statuses that PATCH may set; DELETE sets `deleted`. */
const SETTABLE_STATUSES = ['active', 'self_excluded', 'banned', 'conflict'] as const;

const email = addressText(320, emailFault);
const phone = addressText(40, phoneFault).meta({
  pattern: '\\S(?:[\\s\\S]*\\S){3}',
  description: 'At least 4 digits, not the same one throughout',
});
const telegram_id = addressText(
  64,
  (text) => emptyFault('telegram_id', text),
  (text) => text.trim(),
);
const timezone = z.string().refine(isTimeZone, 'must be an IANA time zone, such as Europe/Malta');

/** The profile fields that callers write, in the API and as identify's traits; null clears one. */
export const profileFields = {
  email: email.nullable().optional(),
  phone: phone.nullable().optional(),
  telegram_id: telegram_id.nullable().optional(),
  timezone: timezone.nullable().optional(),
};

const MAX_ATTRIBUTES = 500;

/** A push token is an address, though it is stored as a custom attribute. */
const tokenFault = (token: unknown) =>
  typeof token === 'string' ? emptyFault('push_token', token) : undefined;

/** Custom attributes to merge over the stored ones, key by key; null removes a key. */
export const customAttributes = z
  .record(z.string().min(1).max(200), z.unknown())
  .refine((value) => Object.keys(value).length <= MAX_ATTRIBUTES, `must have at most ${MAX_ATTRIBUTES} keys`)
  .refine(({ push_token }) => tokenFault(push_token) === undefined, {
    path: ['push_token'],
    error: ({ input }) => tokenFault((input as Record<string, unknown>)['push_token']),
  })
  .meta({ maxProperties: MAX_ATTRIBUTES });

/** `PATCH /v1/players/:id` (spec part 4). */
export const patchPlayerBody = z.strictObject({
  ...profileFields,
  status: z.enum(SETTABLE_STATUSES).optional(),
  custom_attributes: customAttributes.optional(),
});
export type PatchPlayerBody = z.infer<typeof patchPlayerBody>;

/** `GET /v1/players`: exact-match filters and paging. */
export const listPlayersQuery = z.strictObject({
  ...PAGE_QUERY,
  status: z.enum(PLAYER_STATUSES).optional(),
  email: z.string().overwrite(plainAddress).max(320).optional(),
  external_id: z.string().max(MAX_ID_LENGTH).optional(),
  phone: z.string().overwrite(plainAddress).max(40).optional(),
  telegram_id: z.string().max(64).optional(),
});
export type ListPlayersQuery = z.infer<typeof listPlayersQuery>;

/** `GET /v1/players/search`. */
export const searchPlayersQuery = z.strictObject({
  q: trimmedText(1, 320).describe('An id of any kind; from 3 characters on also the beginning of one'),
});

const timestamp = z.iso.datetime();
const text = z.string().nullable();

/** A player that was found by an id. */
export const foundPlayer = z.object({
  id: z.uuid(),
  external_id: text,
  email: text,
  phone: text,
  telegram_id: text,
  status: z.enum(PLAYER_STATUSES),
  current_tier_code: text,
  last_seen_at: timestamp,
  deleted_at: timestamp
    .nullable()
    .describe('Deleted players are found by their exact id or external id only'),
  matched_by: z.enum(MATCHED_IDS),
  is_exact: z.boolean().describe('False: the id only begins with the text'),
});

/** The player resource (spec part 2); money is in the smallest unit of the tenant's base currency. */
export const playerResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  external_id: text,
  email: text,
  phone: text,
  telegram_id: text,
  anonymous_ids: z.array(z.string()).describe('The newest 1,000, the oldest of them first'),
  status: z.enum(PLAYER_STATUSES),
  timezone: text,
  first_seen_at: timestamp,
  last_seen_at: timestamp,
  total_deposited: int64,
  total_withdrawn: int64,
  total_wagered: int64,
  total_won: int64,
  total_bonus_wagered: int64.describe('The part of total_wagered that was bonus money'),
  total_bonus_won: int64.describe('The part of total_won that was paid for bonus money'),
  total_credited: int64.describe('Cashback, prizes, released bonuses, goodwill and the like'),
  total_debited: int64.describe('Fees and the like'),
  ggr: int64,
  ngr: int64.describe(
    'ggr − (total_bonus_wagered − total_bonus_won) − total_credited + total_debited. It is no tax figure; a jackpot that was paid weighs in full',
  ),
  bet_count: int64,
  session_count: int64,
  pending_conversions: int64,
  default_currency_code: z.string(),
  current_tier_code: text,
  tier_promoted_at: timestamp.nullable(),
  kyc_status: z.string(),
  kyc_level: z.int(),
  churn_score: z.number(),
  ltv_predicted: z.number().nullable(),
  segment_ids: z.array(z.uuid()),
  custom_attributes: z.record(z.string(), z.unknown()),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.nullable(),
});

/** `POST /v1/players/:id/reveal`. */
export const revealPlayerBody = z.strictObject({
  reason: trimmedText(3, 500).describe('Why; kept in the audit log').optional(),
});

export const revealedPlayer = z.object({ id: z.uuid(), email: text, phone: text });

nameSchemas({ RevealPlayerBody: revealPlayerBody, RevealedPlayer: revealedPlayer });
nameSchemas({ PatchPlayerBody: patchPlayerBody, Player: playerResource, FoundPlayer: foundPlayer });
