import { z } from 'zod';
import { nameSchemas } from '../http/field-schemas.ts';
import { ADAPTER_KINDS, AUTH_TYPES } from './queries.ts';
import { capabilities, grantBody, PLATFORM_STATUSES } from './protocol.ts';
import { trimEnd } from '../platform/trim-end.ts';

/** What the slugs of adapters look like. */
export const SLUG = /^[a-z0-9-]{3,40}$/;
const slug = z.string().regex(SLUG, 'must be 3 to 40 characters of a to z, 0 to 9 and -');
const base_url = z
  .url({ protocol: /^https?$/ })
  .max(500)
  .refine((url) => !/[?#@]/.test(url), 'must have no query and no credentials')
  .transform((url) => trimEnd(url, '/'))
  .meta({ description: 'https; the paths of the protocol follow it' });
const token = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces');
const auth = z
  .strictObject({ type: z.enum(AUTH_TYPES), token: token.optional() })
  .refine(({ type, token: given }) => type === 'bearer' || given === undefined, {
    path: ['token'],
    message: 'is for the type bearer only',
  })
  .meta({ description: 'What is sent in addition to the signature; the token is never returned' });
export type AuthBody = z.infer<typeof auth>;

const limits = {
  timeout_ms: z.int().min(500).max(30_000),
  max_rps: z.int().min(1).max(10_000),
  max_in_flight: z.int().min(1).max(256),
};

/** `POST /v1/adapters`. */
export const createAdapterBody = z.strictObject({
  slug,
  kind: z.enum(ADAPTER_KINDS).default('http'),
  base_url: base_url.nullish(),
  auth: auth.default({ type: 'none' }),
  timeout_ms: limits.timeout_ms.default(5_000),
  max_rps: limits.max_rps.default(50),
  max_in_flight: limits.max_in_flight.default(16),
  capabilities: capabilities
    .extend({ kyc: capabilities.shape.kyc.optional().describe('Default: true for http, false for sandbox') })
    .prefault({}),
  is_active: z.boolean().default(true),
});
export type CreateAdapterBody = z.infer<typeof createAdapterBody>;

const { completion, ...flags } = capabilities.shape;

/** `PATCH /v1/adapters/:id`; of `capabilities` only those to change. */
export const patchAdapterBody = z.strictObject({
  base_url: base_url.optional(),
  auth: auth.optional(),
  timeout_ms: limits.timeout_ms.optional(),
  max_rps: limits.max_rps.optional(),
  max_in_flight: limits.max_in_flight.optional(),
  capabilities: z
    .strictObject({
      grant: flags.grant.unwrap().optional(),
      cancel: flags.cancel.unwrap().optional(),
      status: flags.status.unwrap().optional(),
      kyc: flags.kyc.optional(),
      completion: completion.unwrap().optional(),
    })
    .optional(),
  is_active: z.boolean().optional(),
});
export type PatchAdapterBody = z.infer<typeof patchAdapterBody>;

/** Fields that only the service sets: a caller that sends one gets FIELD_NOT_WRITABLE. */
export const COMPUTED_FIELDS = new Set([
  'id',
  'tenant_id',
  'project_id',
  'secret',
  'created_at',
  'updated_at',
]);
/** Fields that cannot change after creation, because grants and webhooks name the slug. */
export const FIXED_FIELDS = new Set([...COMPUTED_FIELDS, 'slug', 'kind']);

const timestamp = z.iso.datetime();

/** The adapter resource: without the token and the secrets. */
export const adapterResource = z.object({
  id: z.uuid(),
  project_id: z.uuid(),
  slug: z.string(),
  kind: z.enum(ADAPTER_KINDS),
  base_url: z.string().nullable(),
  auth: z.object({ type: z.enum(AUTH_TYPES) }),
  timeout_ms: z.int(),
  max_rps: z.int(),
  max_in_flight: z.int(),
  capabilities: z.object({
    grant: z.boolean(),
    cancel: z.boolean(),
    status: z.boolean(),
    kyc: z.boolean(),
    completion: z.enum(['platform', 'service']),
  }),
  is_active: z.boolean(),
  created_at: timestamp,
  updated_at: timestamp,
});

/** The answer that shows a new secret, once. */
export const adapterWithSecret = adapterResource.extend({
  secret: z.string().describe('Shown here only; the key of the HMAC is its UTF-8'),
});

/** A bonus that a sandbox was given. */
export const sandboxBonusResource = z.object({
  grant_id: z.uuid(),
  platform_bonus_id: z.uuid(),
  status: z.enum(PLATFORM_STATUSES),
  sent: grantBody.or(z.record(z.string(), z.unknown())).describe('The body of the grant'),
  created_at: timestamp,
  updated_at: timestamp,
});

nameSchemas({
  CreateAdapterBody: createAdapterBody,
  PatchAdapterBody: patchAdapterBody,
  Adapter: adapterResource,
  AdapterWithSecret: adapterWithSecret,
  SandboxBonus: sandboxBonusResource,
});
