import { z } from 'zod';
import { nameSchemas, timestampWithOffset, trimmedText } from '../../http/field-schemas.ts';
import { eventNameSchema } from '../../ingest/event-name.ts';
import { holdoutPercent } from '../experiments/schema.ts';
import { CHANNELS } from '../../tenants/config/channels.ts';

export const CAMPAIGN_TYPES = ['broadcast', 'triggered', 'journey'] as const;
export type CampaignType = (typeof CAMPAIGN_TYPES)[number];

export const CAMPAIGN_STATUSES = ['draft', 'scheduled', 'sending', 'sent', 'cancelled'] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

const MAX_PROPERTY = 200;
const MAX_ATTRIBUTION_DAYS = 365;
/** The largest weight of a variant. */
export const MAX_WEIGHT = 1_000_000;
const MAX_SORT_ORDER = 1_000_000;

/** `player`: each member at the member's own hour. */
const sendTime = z.enum(['player']);
export type SendTime = z.infer<typeof sendTime>;

const uuid = z.uuid().toLowerCase();

const fields = {
  name: trimmedText(1, 200),
  type: z.enum(CAMPAIGN_TYPES),
  segment_id: uuid.nullable().optional(),
  template_id: uuid.nullable().optional(),
  provider_id: uuid.nullable().optional(),
  channel: z.enum(CHANNELS),
  schedule_at: timestampWithOffset.nullable().optional(),
  trigger_event: eventNameSchema
    .refine(
      (name) => !/^(email|sms|push)_sent$/.test(name),
      'must not be the sending of a message: it would fire itself',
    )
    .nullable()
    .optional(),
  goal_event: eventNameSchema.nullable().optional(),
  goal_attribution_days: z.int().min(1).max(MAX_ATTRIBUTION_DAYS).nullable().optional(),
  goal_value_property: z.string().min(1).max(MAX_PROPERTY).nullable().optional(),
  holdout_percent: holdoutPercent.optional(),
  send_time: sendTime.nullable().optional().describe('`player`: each at the own best hour of 24'),
};

/** `POST /v1/campaigns`. */
export const createCampaignBody = z.strictObject({ ...fields, type: fields.type.default('broadcast') });
export type CreateCampaignBody = z.infer<typeof createCampaignBody>;

/** `PATCH /v1/campaigns/:id`; null removes an optional field. */
export const patchCampaignBody = z.strictObject(fields).partial();
export type PatchCampaignBody = z.infer<typeof patchCampaignBody>;

/** `POST /v1/campaigns/:id/duplicate`. */
export const duplicateCampaignBody = z
  .strictObject({ name: fields.name.optional().describe('Absent: Copy of, and the name') })
  .optional();

/** The filters of `GET /v1/campaigns`. */
export const CAMPAIGN_FILTERS = { status: z.enum(CAMPAIGN_STATUSES).optional() };
export type CampaignFilters = z.infer<z.ZodObject<typeof CAMPAIGN_FILTERS>>;

/** Fields that only the service sets: a caller that sends one gets FIELD_NOT_WRITABLE. */
export const COMPUTED_FIELDS = new Set([
  'id',
  'tenant_id',
  'project_id',
  'status',
  'started_at',
  'finished_at',
  'last_error',
  'created_at',
  'updated_at',
  'deleted_at',
]);

const timestamp = z.iso.datetime();

/** The campaign resource (spec part 2). */
export const campaignResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  name: z.string(),
  type: z.enum(CAMPAIGN_TYPES),
  segment_id: z
    .uuid()
    .nullable()
    .describe('Null: a triggered campaign is for every player, any other for none'),
  template_id: z.uuid().nullable(),
  provider_id: z.uuid().nullable(),
  channel: z.enum(CHANNELS),
  schedule_at: timestamp.nullable(),
  trigger_event: z.string().nullable(),
  goal_event: z.string().nullable(),
  goal_attribution_days: z.int().nullable(),
  goal_value_property: z.string().nullable(),
  holdout_percent: holdoutPercent,
  send_time: sendTime.nullable(),
  status: z.enum(CAMPAIGN_STATUSES),
  started_at: timestamp.nullable(),
  finished_at: timestamp.nullable(),
  last_error: z
    .string()
    .nullable()
    .describe('Why it could not be sent when it was due, or why events that may fire it wait'),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.nullable(),
});

const variantFields = {
  name: trimmedText(1, 200),
  label: trimmedText(1, 200).optional(),
  template_id: uuid,
  weight: z.int().min(1).max(MAX_WEIGHT),
  sort_order: z.int().min(0).max(MAX_SORT_ORDER).optional(),
};

/** `POST /v1/campaigns/:id/variants`. Defaults: `label` is the name; `sort_order` puts the variant after all others. */
export const createVariantBody = z.strictObject(variantFields);
export type CreateVariantBody = z.infer<typeof createVariantBody>;

/** `PATCH /v1/campaigns/:id/variants/:variantId`. */
export const patchVariantBody = z.strictObject(variantFields).partial();
export type PatchVariantBody = z.infer<typeof patchVariantBody>;

/** Fields of a variant that only the service sets. */
export const COMPUTED_VARIANT_FIELDS = new Set([
  'id',
  'campaign_id',
  'is_default',
  'created_at',
  'updated_at',
]);

/** The variant resource (spec part 2). */
export const variantResource = z.object({
  id: z.uuid(),
  campaign_id: z.uuid(),
  name: z.string(),
  label: z.string(),
  template_id: z.uuid().nullable(),
  weight: z.int(),
  sort_order: z.int(),
  is_default: z.boolean(),
  created_at: timestamp,
  updated_at: timestamp,
});

nameSchemas({
  CreateCampaignBody: createCampaignBody,
  PatchCampaignBody: patchCampaignBody,
  DuplicateCampaignBody: duplicateCampaignBody,
  Campaign: campaignResource,
  CreateVariantBody: createVariantBody,
  PatchVariantBody: patchVariantBody,
  Variant: variantResource,
});
