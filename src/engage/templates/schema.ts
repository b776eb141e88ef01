import { z } from 'zod';
import { nameSchemas, placeInQuery, trimmedText } from '../../http/field-schemas.ts';
import { RULE_PRODUCTS } from '../../tenants/licence/rule.ts';
import { CHANNELS } from '../../tenants/config/channels.ts';

/** What messages of a template are for: a player must know what a service message says. */
export const TEMPLATE_PURPOSES = ['marketing', 'service'] as const;
export type TemplatePurpose = (typeof TEMPLATE_PURPOSES)[number];

export const TEMPLATE_STATUSES = ['draft', 'active', 'archived'] as const;
export type TemplateStatus = (typeof TEMPLATE_STATUSES)[number];

const MAX_LINE = 1_000;
const MAX_BODY = 256 * 1024;
const MAX_DATA_KEYS = 50;
const MAX_DATA_VALUE = 4_096;

const fields = {
  name: trimmedText(1, 200),
  status: z.enum(TEMPLATE_STATUSES),
  subject: z.string().max(MAX_LINE).nullable(),
  preheader: z.string().max(MAX_LINE).nullable(),
  body: z.string().min(1).max(MAX_BODY),
  data: z
    .record(z.string().min(1).max(100), z.string().max(MAX_DATA_VALUE))
    .refine((value) => Object.keys(value).length <= MAX_DATA_KEYS, `must have at most ${MAX_DATA_KEYS} keys`)
    .meta({ maxProperties: MAX_DATA_KEYS }),
  bonus_product: z
    .enum(RULE_PRODUCTS)
    .nullable()
    .describe(
      'The product of the bonus that messages are about: licences ask for consent to it. Null: about none, or, where ' +
        'the template reads `bonus`, about any',
    ),
  purpose: z
    .enum(TEMPLATE_PURPOSES)
    .describe(
      "Messages of the purpose service must be known, so the project's holdout never keeps them back",
    ),
};

/** `POST /v1/templates`. `requireChannelFields` checks which fields the channel has. */
export const createTemplateBody = z.strictObject({
  ...fields,
  channel: z.enum(CHANNELS),
  status: fields.status.default('draft'),
  subject: fields.subject.default(null),
  preheader: fields.preheader.default(null),
  data: fields.data.default({}),
  bonus_product: fields.bonus_product.default(null),
  purpose: fields.purpose.default('marketing'),
});
export type CreateTemplateBody = z.infer<typeof createTemplateBody>;

/** `PATCH /v1/templates/:id`; `data` is replaced as a whole. */
export const patchTemplateBody = z.strictObject({
  name: fields.name.optional(),
  status: fields.status.optional(),
  subject: fields.subject.optional(),
  preheader: fields.preheader.optional(),
  body: fields.body.optional(),
  data: fields.data.optional(),
  bonus_product: fields.bonus_product.optional(),
  purpose: fields.purpose.optional(),
});
export type PatchTemplateBody = z.infer<typeof patchTemplateBody>;

/** `POST /v1/templates/:id/preview`; without a player_id it is rendered for a synthetic player. */
export const previewBody = z.strictObject({ player_id: z.uuid().nullable().optional() });

/** The filters of `GET /v1/templates`. */
export const TEMPLATE_FILTERS = {
  channel: z.enum(CHANNELS).optional(),
  status: z.enum(TEMPLATE_STATUSES).optional(),
};
export type TemplateFilters = z.infer<z.ZodObject<typeof TEMPLATE_FILTERS>>;

/** Fields that only the service sets: a caller that sends one gets FIELD_NOT_WRITABLE. */
export const COMPUTED_FIELDS = new Set([
  'id',
  'tenant_id',
  'project_id',
  'created_at',
  'updated_at',
  'deleted_at',
]);
/**
 * Fields that cannot change after creation: the channel too, because campaigns of the channel refer to the template.
 */
export const FIXED_FIELDS = new Set([...COMPUTED_FIELDS, 'channel']);

const timestamp = z.iso.datetime();

/** The template resource (spec part 2). */
export const templateResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  name: z.string(),
  channel: z.enum(CHANNELS),
  status: z.enum(TEMPLATE_STATUSES),
  subject: z.string().nullable(),
  preheader: z.string().nullable(),
  body: z.string(),
  data: z.record(z.string(), z.string()),
  bonus_product: fields.bonus_product,
  purpose: fields.purpose,
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.nullable(),
});

export const previewResult = z.object({
  subject: z.string().nullable(),
  preheader: z.string().nullable(),
  body: z.string(),
  data: z.record(z.string(), z.string()),
  missing_variables: z.array(z.string()),
});

/** `GET /v1/templates/:id/preview-frame`. */
export const previewFrameQuery = z.strictObject({
  player_id: z.uuid().optional().describe('Absent: a synthetic player'),
  ...placeInQuery,
});

const user = z.object({ id: z.uuid(), name: z.string(), status: z.string() });

/** `GET /v1/templates/:id/references`. */
export const templateReferences = z.object({
  campaigns: z.array(user).describe('The newest first, also those whose variant uses it'),
  journeys: z.array(user).describe('The newest first: as saved last, or as live'),
});

nameSchemas({
  CreateTemplateBody: createTemplateBody,
  PatchTemplateBody: patchTemplateBody,
  PreviewTemplateBody: previewBody,
  Template: templateResource,
  TemplatePreview: previewResult,
  TemplateReferences: templateReferences,
});
