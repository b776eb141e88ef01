import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { nameSchemas } from '../http/field-schemas.ts';
import { isSigned, SIGNATURE_HEADER, TIMESTAMP_HEADER } from '../http/auth/webhook-signature.ts';
import { ApiError, signatureRefused, validationError, type ErrorCode } from '../errors.ts';
import { endpoint, type AnyEndpoint, type SignedRequest } from '../http/endpoint.ts';
import { issuesOf } from '../http/error-handler.ts';
import { refuseUnstorable } from '../http/json-body.ts';
import type { BulkheadLimits } from '../http/endpoint-bulkhead.ts';
import type { Clock } from '../platform/clock.ts';
import type { EncryptionKeys } from '../platform/encryption.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Postgres } from '../platform/postgres/port.ts';
import { InboundApplier, type InboundEffect, type Sender } from './apply-inbound.ts';
import type { SecretRow, SignerRow } from './secret-queries.ts';
import { SLUG } from './schema.ts';
import { readableSecrets, readSecret } from './secrets.ts';
import { Signers } from './signers.ts';
import { v5 } from 'uuid';

/** The dependencies of webhooks that platforms send. */
export interface InboundDeps {
  postgres: Postgres;
  clock: Clock;
  metrics: Pick<Metrics, 'webhookConflictingReplay' | 'webhookUnknownEvents' | 'bonusLotsUndone'>;
  credentials_keys: EncryptionKeys;
  /** How many transactions of webhooks of one name run at once, and how many wait; by default as many as of any endpoint. */
  limits?: BulkheadLimits;
}

/** The declaration of a kind of webhook. */
export interface InboundDeclaration<
  Event extends { event_id: string },
  Result extends object,
  Prepared = undefined,
> extends InboundEffect<Event, Result, Prepared> {
  summary: string;
  schema: z.ZodType<Event>;
  /** The shape of what `apply` resolves with, which is the answer; it must be JSON. */
  response: z.ZodObject & z.ZodType<Result>;
  /** What `apply` throws in addition to NOT_FOUND, VALIDATION_ERROR and FORBIDDEN. */
  errors: readonly ErrorCode[];
}

/** The longest body. */
const MAX_BODY_BYTES = 64 * 1024;

/** The answer to a webhook that had its effect before. */
const replay = z.object({ applied: z.literal(false), replay: z.literal(true) });
nameSchemas({ RepeatedEvent: replay });

/**
 * `POST /v1/adapters/:slug/webhooks/<name>` (bonuses part 10). In this order: the slug (404), a signature of a valid
 * secret over the bytes as received (401), JSON and its shape (422), the ledger; then the ledger's row, the effect and
 * its result in one transaction, which other webhooks of the adapter may share. A webhook that is refused leaves no row.
 */
export function adapterWebhook<
  Event extends { event_id: string },
  Result extends object,
  Prepared = undefined,
>(deps: InboundDeps, declared: InboundDeclaration<Event, Result, Prepared>): AnyEndpoint {
  const { name, summary, schema, response, errors } = declared;
  const signers = new Signers(deps.postgres.lookups.share(1));
  // With bulkheads of its own, because the tenant is known only after the look-up of the slug.
  const applier = new InboundApplier(deps, declared);
  return endpoint({
    method: 'POST',
    path: `/v1/adapters/:slug/webhooks/${name}`,
    summary,
    access: { mode: 'webhook' },
    load: 'elsewhere',
    raw_types: ['application/json'],
    max_body_bytes: MAX_BODY_BYTES,
    response: z.union([withData(response), withData(replay)]),
    shape: 'raw',
    errors: [...new Set<ErrorCode>(['NOT_FOUND', 'VALIDATION_ERROR', ...errors])],
    handle: async ({ caller, params }) => {
      const received_at = new Date(deps.clock.now_ms());
      const { adapter, secrets } = await requireAdapter(signers, params['slug'] ?? '', received_at);
      requireSigned(deps.credentials_keys, secrets, caller, received_at);
      const event = readEvent(schema, caller.body);
      const result = await applier.apply({ adapter, event, received_at, body: caller.body });
      return JSON.stringify({ ...result, data: result });
    },
  });
}

/**
 * An answer as the specification writes it (part 4), and in `data` as in every other answer (part 1): platforms read the one,
 * clients of the API the other.
 */
function withData<Answer extends z.ZodObject>(answer: Answer) {
  return answer.extend({ data: answer });
}

/** The adapter and its valid secrets, in one look-up. Rejects with NOT_FOUND. */
async function requireAdapter(
  signers: Signers,
  slug: string,
  now: Date,
): Promise<{ adapter: Sender; secrets: SecretRow[] }> {
  // Nothing else is looked for: Postgres would reject some texts.
  const rows = SLUG.test(slug) ? await signers.find(slug, now) : [];
  const [first] = rows;
  if (first === undefined)
    throw new ApiError('NOT_FOUND', `there is no adapter with the slug "${slug.slice(0, 40)}"`);
  const { tenant_id, project_id, adapter_id } = first;
  return { adapter: { tenant_id, project_id, adapter_id, slug }, secrets: rows.flatMap(secretOf) };
}

const secretOf = (row: SignerRow): SecretRow[] => (row.secret_id === null ? [] : [row]);

/**
 * Throws 401 FORBIDDEN; DecryptionFailed when no key decrypts a secret that may have signed the body: the platform should
 * repeat it then, not give it up as refused.
 */
function requireSigned(
  credentials_keys: EncryptionKeys,
  rows: readonly SecretRow[],
  { headers, body }: SignedRequest,
  now: Date,
): void {
  const secrets = readableSecrets(credentials_keys, rows);
  const signed = {
    signature: one(headers, SIGNATURE_HEADER),
    timestamp: one(headers, TIMESTAMP_HEADER),
    body,
  };
  if (isSigned(secrets, signed, now.getTime())) return;
  if (secrets.length < rows.length) for (const row of rows) readSecret(credentials_keys, row, row.secret);
  throw signatureRefused();
}

function one(headers: SignedRequest['headers'], name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : undefined;
}

/** The event of a signed body. Throws VALIDATION_ERROR. */
function readEvent<Event>(schema: z.ZodType<Event>, body: Buffer): Event {
  let json: unknown;
  try {
    if (!isUtf8(body)) throw new SyntaxError('not UTF-8');
    json = JSON.parse(body.toString());
    refuseUnstorable(json);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'VALIDATION_ERROR') throw error;
    const message = error instanceof ApiError ? error.message : 'the body is not valid JSON in UTF-8';
    throw validationError([{ path: '', message }]);
  }
  const event = schema.safeParse(json);
  if (!event.success) throw validationError(issuesOf(event.error, json));
  return event.data;
}

/**
 * The id of the event that is published because of a platform's event: UUID v5 of the adapter's slug in the namespace
 * `event_id` (bonuses part 10), the same for each repeat. `event_id` is 32 hexadecimal digits in the form of a UUID, in
 * either case. Its bytes are the namespace, because ids of platforms need no version of RFC 9562, which `v5` demands of a
 * namespace that is a text.
 */
export function idOfPublished(slug: string, event_id: string): string {
  return v5(slug, Buffer.from(event_id.replaceAll('-', ''), 'hex'));
}
