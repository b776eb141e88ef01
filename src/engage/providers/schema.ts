import { z } from 'zod';
import { nameSchemas, trimmedText } from '../../http/field-schemas.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { CHANNELS } from '../../tenants/config/channels.ts';
import { PROVIDER_KINDS } from './kinds.ts';

export const PROVIDER_STATUSES = ['active', 'paused'] as const;
const MAX_PER_SECOND = 100_000;

/** Any object here; the schema of the provider's kind (`CONFIG_OF`) checks it. */
const config = z.record(z.string(), z.unknown()).meta({
  description:
    'smtp: host, port, secure?, require_tls? (default true, except for a server on loopback), username?, password?, from; sendgrid: api_key, from, webhook_public_key?, base_url?; ' +
    'twilio: account_sid, auth_token, from, base_url?; fcm: service_account, base_url?; sandbox: nothing',
});
const fields = {
  name: trimmedText(1, 200),
  rate_per_second: z.int().min(1).max(MAX_PER_SECOND).nullable(),
  status: z.enum(PROVIDER_STATUSES),
};

/** `POST /v1/messaging-providers`. */
export const createProviderBody = z.strictObject({
  ...fields,
  kind: z.enum(PROVIDER_KINDS).default('sandbox'),
  channel: z.enum(CHANNELS),
  config: config.default({}),
  rate_per_second: fields.rate_per_second.default(null),
  status: fields.status.default('active'),
});
export type CreateProviderBody = z.infer<typeof createProviderBody>;

/** `PATCH /v1/messaging-providers/:id`; `config` has only the fields to change, and null removes a field. */
export const patchProviderBody = z.strictObject({
  name: fields.name.optional(),
  config: config.optional(),
  rate_per_second: fields.rate_per_second.optional(),
  status: fields.status.optional(),
});
export type PatchProviderBody = z.infer<typeof patchProviderBody>;

/** The filters of `GET /v1/messaging-providers`. */
export const PROVIDER_FILTERS = {
  channel: z.enum(CHANNELS).optional(),
  kind: z.enum(PROVIDER_KINDS).optional(),
  status: z.enum(PROVIDER_STATUSES).optional(),
};
export type ProviderFilters = z.infer<z.ZodObject<typeof PROVIDER_FILTERS>>;

export const listMessagesQuery = z.strictObject({
  ...PAGE_QUERY,
  recipient: z.string().max(4_096).optional(),
  send_id: z.uuid().optional(),
});
export type ListMessagesQuery = z.infer<typeof listMessagesQuery>;

/** Fields that only the service sets: a caller that sends one gets FIELD_NOT_WRITABLE. */
export const COMPUTED_FIELDS = new Set([
  'id',
  'tenant_id',
  'credentials_refused',
  'created_at',
  'updated_at',
  'deleted_at',
]);
/** Fields that cannot change after creation: kind and channel too, because messages may be on their way. */
export const FIXED_FIELDS = new Set([...COMPUTED_FIELDS, 'kind', 'channel']);

const timestamp = z.iso.datetime();

/** The provider resource; `config` without the secrets. */
export const providerResource = z.object({
  id: z.uuid(),
  tenant_id: z.uuid(),
  name: z.string(),
  kind: z.enum(PROVIDER_KINDS),
  channel: z.enum(CHANNELS),
  status: z.enum(PROVIDER_STATUSES),
  config: z.record(z.string(), z.unknown()),
  rate_per_second: z.int().nullable(),
  credentials_refused: z
    .object({
      code: z.string().nullable().describe("The provider's own code"),
      message: z.string().nullable().describe("The provider's own text"),
      at: timestamp.describe('Since when'),
    })
    .nullable()
    .describe(
      'The provider refuses its credentials: messages stay queued until they are mended, for 24 hours; null: it does not',
    ),
  created_at: timestamp,
  updated_at: timestamp,
  deleted_at: timestamp.nullable(),
});

/** A message that the sandbox was given. */
export const sandboxMessageResource = z.object({
  id: z.uuid(),
  provider_id: z.uuid(),
  send_id: z.uuid().nullable(),
  channel: z.enum(CHANNELS),
  recipient: z.string(),
  subject: z.string().nullable(),
  preheader: z.string().nullable(),
  body: z.string(),
  data: z.record(z.string(), z.string()),
  headers: z.record(z.string(), z.string()),
  sent_at: timestamp,
});

nameSchemas({
  CreateProviderBody: createProviderBody,
  PatchProviderBody: patchProviderBody,
  Provider: providerResource,
  SandboxMessage: sandboxMessageResource,
});
