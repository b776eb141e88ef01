import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isSigned, SIGNATURE_HEADER, TIMESTAMP_HEADER } from '../../auth/webhook-signature.ts';
import { ApiError, signatureRefused, validationError, type ErrorCode } from '../../errors.ts';
import { endpoint, type AnyEndpoint, type SignedRequest } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { issuesOf } from '../../http/error-handler.ts';
import { refuseUnstorable } from '../../http/json-body.ts';
import { RouteLane, type LaneLimits } from '../../http/route-lane.ts';
import type { Clock } from '../../platform/clock.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { shareOf } from '../../platform/postgres/bounded-statements.ts';
import type { Db, Postgres, Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { insertWebhook, selectBodyHash, storeResult } from './ledger-queries.ts';
import type { AdapterRef } from './queries.ts';
import { selectSigners, type SecretRow, type SignerRow } from './secret-queries.ts';
import { SLUG } from './schema.ts';
import { readableSecrets, readSecret } from './secrets.ts';

/** The dependencies of webhooks that platforms send. */
export interface InboundDeps {
  postgres: Postgres;
  clock: Clock;
  metrics: Pick<Metrics, 'webhookConflictingReplay' | 'webhookUnknownEvents'>;
  credentials_keys: EncryptionKeys;
  /** How many webhooks of one name are applied at once, and how many wait; by default as many as of any endpoint. */
  lane?: LaneLimits;
}

/** A webhook whose signature, body and novelty have been checked. */
export interface Inbound<Event> {
  adapter: { adapter_id: string; slug: string };
  tenant_id: string;
  project_id: string;
  event: Event;
  received_at: Date;
}

/** The declaration of a kind of webhook. */
export interface InboundDeclaration<
  Event extends { event_id: string },
  Result extends object,
  Prepared = undefined,
> {
  /** The last part of the path: `POST /v1/adapters/:slug/webhooks/<name>`. */
  name: string;
  summary: string;
  schema: z.ZodType<Event>;
  /** The shape of what `apply` resolves with, which is the answer; it must be JSON. */
  response: z.ZodType<Result>;
  /** What `apply` throws beside NOT_FOUND, VALIDATION_ERROR and FORBIDDEN. */
  errors: readonly ErrorCode[];
  /**
   * Reads and locks what `apply` needs. Its first statement is sent together with the one that writes the ledger's row,
   * and runs after it, also for a replay: it must not fail for what an event says.
   */
  prepare?(tx: Tx, call: Inbound<Event>): Promise<Prepared>;
  /**
   * Has the effect of the event, in the transaction that writes its row of the ledger; resolves with the answer, which is
   * stored. An ApiError that it throws rolls both back, so that the platform's retry is no replay.
   */
  apply(tx: Tx, call: Inbound<Event>, prepared: Prepared | undefined): Promise<Result>;
  /** Counts the event, once that transaction is committed, which may have been repeated; never throws. */
  committed?: (call: Inbound<Event>) => void;
}

/** The longest body. */
const MAX_BODY_BYTES = 64 * 1024;
/** Look-ups of adapters that run at once. */
const LOOKUPS = 2;

/** The answer to a webhook that had its effect before. */
const replay = z.object({ applied: z.literal(false), replay: z.literal(true) });
const REPLAYED: z.infer<typeof replay> = { applied: false, replay: true };

/**
 * `POST /v1/adapters/:slug/webhooks/<name>` (bonuses part 10). In this order: the slug (404), a signature of a valid
 * secret over the bytes as received (401), JSON and its shape (422), the ledger; then the ledger's row, the effect and
 * its result in one transaction. A webhook that is refused leaves no row.
 */
export function adapterWebhook<
  Event extends { event_id: string },
  Result extends object,
  Prepared = undefined,
>(deps: InboundDeps, declared: InboundDeclaration<Event, Result, Prepared>): AnyEndpoint {
  const { name, summary, schema, response, errors } = declared;
  const lookups = shareOf(deps.postgres.lookups, LOOKUPS);
  // Its own, because the tenant is known only after the look-up of the slug.
  const lane = new RouteLane(deps.lane);
  return endpoint({
    method: 'POST',
    path: `/v1/adapters/:slug/webhooks/${name}`,
    summary,
    access: { mode: 'webhook' },
    load: 'elsewhere',
    raw_types: ['application/json'],
    max_body_bytes: MAX_BODY_BYTES,
    status: 200,
    response: z.union([response, replay]),
    errors: [...new Set<ErrorCode>(['NOT_FOUND', 'VALIDATION_ERROR', ...errors])],
    handle: async ({ caller, params }) => {
      const received_at = new Date(deps.clock.now_ms());
      const { adapter, secrets } = await requireAdapter(lookups, params['slug'] ?? '', received_at);
      requireSigned(deps.credentials_keys, secrets, caller, received_at);
      const event = readEvent(schema, caller.body);
      const received = { adapter, event, received_at, body: caller.body };
      return envelope(await lane.run(adapter.tenant_id, () => applyOnce(deps, declared, received)));
    },
  });
}

/** An adapter that sends webhooks. */
interface Sender extends AdapterRef {
  slug: string;
}

/** The adapter and its valid secrets, in one look-up. Rejects with NOT_FOUND. */
async function requireAdapter(
  lookups: Db,
  slug: string,
  now: Date,
): Promise<{ adapter: Sender; secrets: SecretRow[] }> {
  // Nothing else is looked for: Postgres would reject some texts.
  const rows = SLUG.test(slug) ? await selectSigners(lookups, slug, now) : [];
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
  if (!event.success) throw validationError(issuesOf(event.error));
  return event.data;
}

/** What one webhook is applied with. */
interface Received<Event> {
  adapter: Sender;
  event: Event;
  received_at: Date;
  body: Buffer;
}

async function applyOnce<Event extends { event_id: string }, Result extends object, Prepared>(
  { postgres, metrics }: InboundDeps,
  declared: InboundDeclaration<Event, Result, Prepared>,
  { adapter, event, received_at, body }: Received<Event>,
): Promise<Result | typeof REPLAYED> {
  const { tenant_id, project_id, adapter_id, slug } = adapter;
  const key = { tenant_id, adapter_slug: slug, event_id: event.event_id };
  const body_hash = createHash('sha256').update(body).digest();
  const call = { adapter: { adapter_id, slug }, tenant_id, project_id, event, received_at };
  const result = await retryConflicts(() =>
    postgres.asTenant(tenant_id, async (tx) => {
      const row = { ...key, project_id, name: declared.name, body_hash, received_at };
      const [is_new, prepared] = await Promise.all([insertWebhook(tx, row), declared.prepare?.(tx, call)]);
      if (!is_new) return undefined;
      const applied = await declared.apply(tx, call, prepared);
      await storeResult(tx, key, applied);
      return applied;
    }),
  );
  if (result !== undefined) {
    declared.committed?.(call);
    return result;
  }
  const [before] = await postgres.readAsTenant(tenant_id, (tx) => selectBodyHash(tx, key));
  if (before?.body_hash.equals(body_hash) === false) metrics.webhookConflictingReplay.inc({ adapter: slug });
  return REPLAYED;
}
