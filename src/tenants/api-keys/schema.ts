import { z } from 'zod';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas, timestampWithOffset, trimmedText } from '../../http/field-schemas.ts';
import { apiKeyPrefix } from '../../http/auth/api-key.ts';
import { KEY_CLIENTS } from '../../http/auth/key-clients.ts';
import { API_KEY_KINDS } from '../../http/auth/queries.ts';
import type { ApiKeyRow } from './queries.ts';

const ingestRate = z.strictObject({
  per_minute: z.int().min(1).max(60_000_000),
  burst: z.int().min(1).max(10_000_000),
});

export const ONLY_OF_CLIENTS = 'must be empty: pages use client keys only';
/** Origins of a key: a page of each may use it. */
const MAX_ORIGINS = 50;
const MAX_ORIGIN_LENGTH = 300;

/** Scheme, host and port, exactly as a browser sends them in its Origin header. */
const allowedOrigins = z
  .array(
    z
      .string()
      .max(MAX_ORIGIN_LENGTH)
      .refine((text) => originFault(text) === undefined, {
        error: ({ input }) => originFault(String(input)) ?? '',
      })
      .describe('Scheme, host and port as in the Origin header, such as https://casino.example'),
  )
  .max(MAX_ORIGINS)
  .transform((origins) => [...new Set(origins)])
  .describe(
    `Of a client key only: the pages that may use it, at most ${MAX_ORIGINS}. Without any, only apps may, which send no Origin`,
  );

/** The schemes of app webviews have no rules of their own for hosts, so they are taken as they are written. */
const OWN_SCHEME = /^(?!https?:|file:)[a-z][a-z0-9+.-]{0,30}:\/\/[a-z0-9.-]{1,253}(:[0-9]{1,5})?$/;

/** What is wrong with the text of an origin; undefined when a browser can send it. */
export function originFault(text: string): string | undefined {
  if (OWN_SCHEME.test(text)) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || /[*%]/.test(url.host))
    return 'must be one origin with scheme and host, such as https://casino.example; wildcards are not known';
  return url.origin === text ? undefined : `must be scheme, host and port alone: ${url.origin}`;
}

const kind = z
  .enum(API_KEY_KINDS)
  .describe(
    'server: may send everything, so it is kept on your servers only. client: may be public in a page or an app',
  );

/**
 * `POST /v1/projects/:projectId/api-keys`; `ingest_rate` replaces the default rate for this key (spec part 8), `kind` is
 * that of docs/clients.md.
 */
export const createApiKeyBody = z
  .strictObject({
    name: trimmedText(1, 200),
    kind: kind.default('server'),
    allowed_origins: allowedOrigins.optional(),
    expires_at: timestampWithOffset.optional().describe('From then on the key is refused; absent: no end'),
    ingest_rate: ingestRate.optional(),
  })
  .refine(({ kind: of, allowed_origins = [] }) => of === 'client' || allowed_origins.length === 0, {
    path: ['allowed_origins'],
    error: ONLY_OF_CLIENTS,
  });
export type CreateApiKeyBody = z.infer<typeof createApiKeyBody>;

/** `PATCH /v1/projects/:projectId/api-keys/:id`: absent fields stay. */
export const patchApiKeyBody = z.strictObject({
  name: trimmedText(1, 200).optional(),
  allowed_origins: allowedOrigins.optional(),
  expires_at: timestampWithOffset.nullable().optional().describe('null: no end'),
});
export type PatchApiKeyBody = z.infer<typeof patchApiKeyBody>;

/** `GET /v1/projects/:projectId/api-keys`: active keys, or the revoked ones. */
export const listApiKeysQuery = z.strictObject({
  ...PAGE_QUERY,
  status: z.enum(['active', 'revoked']).default('active'),
});

const publicFields = {
  id: z.uuid(),
  name: z.string(),
  prefix: z.string(),
  created_at: z.iso.datetime(),
};

/**
 * The only response that carries `key` and `client_secret`. That of a server key has the fields of the specification
 * alone; that of a client key has the others, too.
 */
export const createdApiKey = z.object({
  ...publicFields,
  key: z.string(),
  kind: kind.optional(),
  allowed_origins: z.array(z.string()).optional(),
  client_secret: z
    .string()
    .optional()
    .describe(
      'Of a client key: user_hash is HMAC-SHA256(client_secret, external_id). Keep it on your servers',
    ),
});

/** An entry of the list. `ingest_rate` is null when the default applies, `deleted_at` until the key is revoked. */
export const listedApiKey = z.object({
  ...publicFields,
  kind,
  allowed_origins: z.array(z.string()),
  expires_at: z.iso.datetime().nullable().describe('From then on the key is refused; null: no end'),
  ingest_rate: ingestRate.nullable(),
  last_used_at: z.iso
    .datetime()
    .nullable()
    .describe('The last accepted request, to about a minute; null: none yet'),
  last_used_by: z
    .array(z.object({ client: z.enum(KEY_CLIENTS), last_used_at: z.iso.datetime() }))
    .describe('The same for each kind of client that has used the key, the latest first'),
  deleted_at: z.iso.datetime().nullable(),
});

export const deletedApiKey = z.object({ ...publicFields, deleted_at: z.iso.datetime() });

nameSchemas({
  CreateApiKeyBody: createApiKeyBody,
  PatchApiKeyBody: patchApiKeyBody,
  ApiKeyKind: kind,
  CreatedApiKey: createdApiKey,
  ApiKey: listedApiKey,
  DeletedApiKey: deletedApiKey,
  IngestRate: ingestRate,
});

/** An API key as in lists and in the audit log, without its secret. */
export function listedApiKeyOf(row: ApiKeyRow): z.infer<typeof listedApiKey> {
  const { kind: of, allowed_origins, expires_at, ingest_per_minute, ingest_burst } = row;
  const { last_used_at, client_uses, deleted_at } = row;
  const ingest_rate =
    ingest_per_minute === null
      ? null
      : { per_minute: ingest_per_minute, burst: ingest_burst ?? ingest_per_minute };
  return {
    ...publicFieldsOf(row),
    kind: of,
    allowed_origins,
    expires_at: expires_at?.toISOString() ?? null,
    ingest_rate,
    last_used_at: last_used_at?.toISOString() ?? null,
    last_used_by: KEY_CLIENTS.flatMap((client) => {
      const at_ms = client_uses[client];
      return at_ms === undefined ? [] : [{ client, last_used_at: new Date(at_ms).toISOString() }];
    }).sort((a, b) => b.last_used_at.localeCompare(a.last_used_at)),
    deleted_at: deleted_at?.toISOString() ?? null,
  };
}

/** The fields that every answer about a key has. */
export function publicFieldsOf({ key_id, name, environment, public_id, created_at }: ApiKeyRow) {
  return {
    id: key_id,
    name,
    prefix: apiKeyPrefix(environment, public_id),
    created_at: created_at.toISOString(),
  };
}
