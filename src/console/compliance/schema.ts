import { z } from 'zod';
import { EVIDENCE, RULE_POINTS, RULE_SEVERITIES } from '../../tenants/licence/rule.ts';
import { PROTECTION_CODES } from '../../engage/messaging/send-row.ts';
import { nameSchemas, timestampWithOffset, trimmedText } from '../../http/field-schemas.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { CHANNELS } from '../../tenants/config/channels.ts';

const range = {
  from: timestampWithOffset.describe('At this time or later').optional(),
  to: timestampWithOffset.describe('Before this time').optional(),
};
const time = z.iso.datetime();

/** What protects a player, as the records know it. */
export const EXCLUSION_KINDS = ['self_exclusion', 'cooldown'] as const;
export const EXCLUSION_STATES = ['active', 'ended'] as const;

/** `GET /v1/compliance/exclusions`. */
export const listExclusionsQuery = z.strictObject({
  ...PAGE_QUERY,
  state: z.enum(EXCLUSION_STATES).optional(),
  kind: z.enum(EXCLUSION_KINDS).optional(),
  player_id: z.guid().optional(),
  ...range,
});
export type ListExclusionsQuery = z.infer<typeof listExclusionsQuery>;

const cause = z.object({
  source: z
    .enum(['event', 'operator', 'merge', 'before_records', 'erasure'])
    .describe(
      'merge: of a merged player, or by a merge; before_records: older than the records; erasure: of a person who was erased and has an address of this player',
    ),
  ingestion_id: z.uuid().nullable().describe('The event; null when it was none'),
  event_index: z.int().nullable(),
});

/** A time in which a player gets no message and no bonus. */
export const exclusion = z.object({
  id: z.uuid(),
  player_id: z.uuid(),
  external_id: z.string().nullable(),
  merged_into: z.uuid().nullable().describe('The player that this one was merged into'),
  kind: z.enum(EXCLUSION_KINDS),
  state: z.enum(EXCLUSION_STATES),
  since: time.describe('What the event says'),
  accepted_at: time.describe('When the service received it. Nothing new is decided from then on'),
  recorded_at: time.describe('When it was written to the player'),
  until: time.nullable().describe('The end, also a coming one; null: open'),
  cause,
  end: cause
    .extend({ lifted_at: time.nullable() })
    .nullable()
    .describe('Null: it has not ended, or it ended by itself'),
});

const reason = trimmedText(3, 500).describe('Who asked for it, and how it was proved; kept in the audit log');

/** `POST /v1/compliance/exclusions`. */
export const excludeBody = z.discriminatedUnion('kind', [
  z.strictObject({ player_id: z.guid(), kind: z.literal('self_exclusion'), reason }),
  z.strictObject({
    player_id: z.guid(),
    kind: z.literal('cooldown'),
    until: timestampWithOffset.describe('The end of the break'),
    reason,
  }),
]);
export type ExcludeBody = z.infer<typeof excludeBody>;

/** `POST /v1/compliance/exclusions/:player_id/lift`. */
export const liftExclusionBody = z.strictObject({ reason });

/** `GET /v1/compliance/blocked-sends`. */
export const listBlockedSendsQuery = z.strictObject({
  ...PAGE_QUERY,
  player_id: z.guid().optional(),
  code: z.enum(PROTECTION_CODES).optional(),
  ...range,
});
export type ListBlockedSendsQuery = z.infer<typeof listBlockedSendsQuery>;

const origin = {
  campaign_id: z.uuid().nullable(),
  campaign_name: z.string().nullable(),
  journey_id: z.uuid().nullable(),
  journey_name: z.string().nullable(),
};

/** A message that was not sent in order to protect its player. */
export const blockedSend = z.object({
  id: z.uuid(),
  player_id: z.uuid(),
  external_id: z.string().nullable(),
  channel: z.enum(CHANNELS),
  code: z.enum(PROTECTION_CODES),
  at: time.describe('When the message was made'),
  ...origin,
});

const handedOver = z.object({
  kind: z.enum(['message', 'bonus']),
  id: z.uuid().describe('Of the send or the grant'),
  player_id: z
    .uuid()
    .describe('Whose it is; another player of the tenant when the message went to an address of the person'),
  channel: z.enum(CHANNELS).nullable(),
  ...origin,
  status: z.string(),
  error_code: z.string().nullable(),
  made_at: time,
  decided_at: time.describe('The last moment at which the rules let it pass'),
  handed_over_at: time.nullable().describe('Null: it is not known that it arrived'),
});

const blocked = z.object({
  kind: z.enum(['message', 'bonus']),
  code: z.string(),
  count: z.int(),
});

const provenExclusion = exclusion.extend({
  messages: z.int().describe('How many were decided in this time and handed over, or may have been'),
  bonuses: z.int(),
  handed_over: z.array(handedOver).describe('Each of these, the earliest first'),
  under_way: z
    .array(handedOver)
    .describe('Decided before the exclusion was in force in every process, and handed over after it came'),
  blocked: z.array(blocked).describe('What was not handed over, by reason'),
});

/** `GET /v1/compliance/exclusions/:player_id/proof`. */
export const exclusionProof = z.object({
  player_id: z.uuid(),
  external_id: z.string().nullable(),
  merged_player_ids: z.array(z.uuid()),
  as_of: time,
  messages: z.int().describe('Of all exclusions together'),
  bonuses: z.int(),
  is_complete: z
    .boolean()
    .describe(
      'False: the player has more rows than are read, 10,000 of a kind, or shares an address with over 1,000 others',
    ),
  exclusions: z.array(provenExclusion).describe('The latest first'),
});
export type ExclusionProof = z.infer<typeof exclusionProof>;

/** The longest period of one proof. */
const MAX_PERIOD_DAYS = 366;
const DAY_MS = 86_400_000;

/** `GET /v1/compliance/period-proof`; each row costs the proof of a player, so pages are short. */
export const periodProofQuery = z
  .strictObject({
    cursor: z.string().optional(),
    limit: z.coerce.number().int().min(1).max(50).default(50),
    from: timestampWithOffset.describe('Begin of the period'),
    to: timestampWithOffset.describe(
      `End of the period, not included; at most ${MAX_PERIOD_DAYS} days after the begin`,
    ),
  })
  .refine(({ from, to }) => from < to && Date.parse(to) - Date.parse(from) <= MAX_PERIOD_DAYS * DAY_MS, {
    path: ['to'],
    error: `must be after from, and at most ${MAX_PERIOD_DAYS} days later`,
  });
export type PeriodProofQuery = z.infer<typeof periodProofQuery>;

/** An exclusion that was in force in a period, and what was handed over in the period. */
export const periodProof = exclusion.extend({
  messages: z.int().describe('How many were decided in the period, while it was in force, and handed over'),
  bonuses: z.int(),
  under_way: z.int().describe('Decided in the period before it was in force in every process'),
  blocked: z.int().describe('Messages and bonuses that were held back in the period'),
  is_complete: exclusionProof.shape.is_complete,
});
export type PeriodProof = z.infer<typeof periodProof>;

/** `GET /v1/compliance/conflicts` and `…/kyc-queue`. */
export const pageQuery = z.strictObject(PAGE_QUERY);

/** A player whose ids name two people. */
export const identityConflict = z.object({
  player_id: z.uuid(),
  external_id: z.string().nullable(),
  anonymous_ids: z.array(z.string()),
  created_at: time,
  updated_at: time,
});

/** A player whose verification waits for a decision. */
export const kycWaiting = z.object({
  player_id: z.uuid(),
  external_id: z.string().nullable(),
  status: z.string(),
  kyc_level: z.int(),
  requested_level: z.int().nullable(),
  since: time.nullable().describe('When documents came'),
});

/** `GET /v1/compliance/licence`. */
export const licenceInForce = z.object({
  license_jurisdiction: z.string().nullable().describe('Null: the tenant has configured none'),
  kyc_model: z.string(),
  rg_features: z.array(z.string()),
  rules: z
    .array(
      z.object({
        id: z.string(),
        kind: z.string(),
        severity: z.enum(RULE_SEVERITIES).describe('As the tenant has set it, where it has'),
        applies_to: z.array(z.enum(RULE_POINTS)),
        summary: z.string(),
        effective_from: z.string().nullable(),
        effective_to: z.string().nullable(),
        source: z.string(),
        source_url: z.string().nullable(),
        evidence: z.enum(EVIDENCE).describe('How well the rule is known'),
        checked_on: z.string().describe('When its source was read'),
      }),
    )
    .describe('Those of the licence and the service’s own; no legal advice'),
});

/** `POST /v1/compliance/conflicts/:id/resolve`. */
export const resolveConflictBody = z.strictObject({
  note: trimmedText(3, 2_000).describe('What was found; kept in the audit log'),
});

export const resolvedConflict = z.object({
  player_id: z.uuid(),
  status: z.string(),
  note: z.string(),
});

nameSchemas({
  Exclusion: exclusion,
  ExcludeBody: excludeBody,
  LiftExclusionBody: liftExclusionBody,
  ExclusionProof: exclusionProof,
  PeriodProof: periodProof,
  HandedOver: handedOver,
  BlockedSend: blockedSend,
  IdentityConflict: identityConflict,
  KycWaiting: kycWaiting,
  LicenceInForce: licenceInForce,
  ResolvedConflict: resolvedConflict,
  ResolveConflictBody: resolveConflictBody,
});
