import type { Role } from './auth/roles.ts';
import type { Tx } from '../platform/postgres/port.ts';
import type { RecordKind, Scope } from './record.ts';
import { hash } from 'node:crypto';
import { ApiError } from '../errors.ts';
import { exactJson } from '../platform/exact-json.ts';

/** The kinds of resources whose changes are recorded in the audit log. */
export const AUDITED_RESOURCES = [
  'tenant',
  'project',
  'membership',
  'tenant_config',
  'api_key',
  'player',
  'player_kyc',
  'vip_tier',
  'segment',
  'template',
  'messaging_provider',
  'campaign',
  'campaign_variant',
  'journey',
  'journey_run',
  'webhook_secret',
  'webhook_delivery',
  'event_subscription',
  'bonus_grant',
  'bonus_campaign',
  'adapter',
  'dead_letters',
  'fx_rates',
  'currency',
  'suppression',
  'console_session',
  'bonus_template',
  'insight_export',
  'insight',
  'dashboard',
  'alert',
  'report',
  'global_holdout',
] as const;
export type AuditedResource = (typeof AUDITED_RESOURCES)[number];

/**
 * The recorded actions. `revoke` ends an API key or what KYC has approved; `request` and `approve` are decisions about KYC. `send_test` sends a message; `retry_failed` queues messages or a webhook again; `replay` sends dead letters through the
 * fold again; `refresh` computes members or fetches rates; `migrate` moves runs of a journey to another version: `after`
 * of their rows describes the call, with counts only. `exclude` excludes a player or begins a break, `lift` ends an
 * exclusion; `resolve` ends a player's conflict of identities; `reveal` shows
 * somebody the personal data of a player: `after` names what was shown, never its content. `erase` asks for, or confirms, the
 * erasure of a player; `export` asks for, or takes, a copy of its data, or
 * a file of figures or players.
 */
export const AUDITED_ACTIONS = [
  'create',
  'update',
  'delete',
  'revoke',
  'send',
  'cancel',
  'retry_failed',
  'send_test',
  'replay',
  'refresh',
  'activate',
  'pause',
  'publish',
  'migrate',
  'request',
  'approve',
  'rotate_secret',
  'issue',
  'exclude',
  'lift',
  'resolve',
  'reveal',
  'erase',
  'export',
] as const;
export type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/**
 * How the calls of an endpoint are recorded in the audit log: the resource and the action, or in `none` the reason why
 * they are not recorded. Every endpoint with which a session or the internal secret may change something declares one.
 */
export type AuditDeclaration = { resource: AuditedResource; action: AuditedAction } | { none: string };

/**
 * One change. `before` and `after` are the resource as the API returns it, without secrets; `before` is null when the
 * resource did not exist, `after` is null when it exists no more.
 */
export interface AuditedChange {
  tenant_id: string;
  /** Null: the resource belongs to the tenant, not to a project. */
  project_id: string | null;
  resource_id: string;
  before: object | null;
  after: object | null;
  /** What the version of the resource before was made from, when events change more of `before` meanwhile than people do. */
  version?: RecordImage;
  /** What happened, when it is not what the endpoint declares: the change of a resource that follows from the call. */
  as?: { resource: AuditedResource; action: AuditedAction };
}

/**
 * Writes a change to the audit log, in the transaction that makes the change. Writes nothing when `before` and `after`
 * are equal.
 */
export type AuditChange = (tx: Tx, change: AuditedChange) => Promise<void>;

/** What a change function needs to record its change. */
export interface Auditing {
  audit: AuditChange;
}

/**
 * Creates the function that writes the change of a resource of one kind; it resolves with `after`. `toJson` returns a
 * row as the audit log shows it, `versionOf` what its version is made from if that is less; `before` is null for a new record, `after` for one that exists no more.
 */
export function auditOf<
  Id extends string,
  Ref extends { tenant_id: string; project_id?: string },
  Row extends Readonly<Record<Id, string>>,
>(
  { id }: Pick<RecordKind<Scope, Id>, 'id'>,
  toJson: (row: Row, ref: Ref) => object,
  versionOf?: (row: Row) => RecordImage,
): <After extends Row | null>(
  audit: AuditChange,
  tx: Tx,
  ref: Ref,
  before: Row | null,
  after: After,
  as?: AuditedChange['as'],
) => Promise<After> {
  return async (audit, tx, ref, before, after, as) => {
    const row = after ?? before;
    if (row === null) return after;
    await audit(tx, {
      tenant_id: ref.tenant_id,
      project_id: ref.project_id ?? null,
      resource_id: row[id],
      before: before && toJson(before, ref),
      after: after && toJson(after, ref),
      ...(before === null || versionOf === undefined ? {} : { version: versionOf(before) }),
      ...(as === undefined ? {} : { as }),
    });
    return after;
  };
}

/** For changes that no session and no internal secret requested: the service's own changes, tests and benchmarks. */
export const auditNothing: AuditChange = () => Promise.resolve();

/** The caller and the declaration of one call: the part of an audit row that does not depend on the change. */
export interface AuditedCall {
  resource: AuditedResource;
  action: AuditedAction;
  /** Null: the caller used the internal secret. */
  session: { user_id: string; role: Role } | null;
  request_id: string;
}

/** Writes the changes of calls in which something differs to the audit log, with one statement. */
export type WriteAuditRows = (
  tx: Tx,
  changes: readonly { call: AuditedCall; change: AuditedChange }[],
) => Promise<void>;

/** What a call records, by the declaration of its endpoint. Throws TypeError if it declares no resource. */
export function auditedCall(
  audit: AuditDeclaration | undefined,
  caller: Omit<AuditedCall, 'resource' | 'action'>,
): AuditedCall {
  if (audit === undefined || 'none' in audit) {
    throw new TypeError('an endpoint that writes audit rows must declare their resource');
  }
  return { ...audit, ...caller };
}

/** Creates the {@link AuditChange} of one request. It rejects with what `call` throws. */
export function createAuditChange(write: WriteAuditRows, call: () => AuditedCall): AuditChange {
  return async (tx, change) => {
    await write(tx, [{ call: { ...call(), ...change.as }, change }]);
  };
}

/** A record as the audit log shows it: what people change, without what events and jobs change meanwhile. */
export type RecordImage = object;

/** Fields that jobs set, or that are derived from others when the record is shown. */
const NOT_OF_PEOPLE = new Set(['updated_at', 'last_error', 'warnings', 'draft_version']);

/** The entity tag of a record, for the headers ETag and If-Match: a hash of what people can change in it. */
export function entityTagOf(image: RecordImage): string {
  const fields = Object.entries(image).filter(([name]) => !NOT_OF_PEOPLE.has(name));
  const text = exactJson(fields);
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
}

/**
 * Throws PRECONDITION_FAILED unless an If-Match header names the record as it is: somebody has changed it since the caller
 * read it. `details.current` is the record as it is now. `*` matches every record, and a weak tag none.
 */
export function requireVersion(if_match: string, image: RecordImage): void {
  const current = entityTagOf(image);
  const tags = if_match.split(',').map((tag) => tag.trim());
  if (tags.includes('*') || tags.includes(current)) return;
  const message = `the record was changed since ${if_match.slice(0, 100)} was read: see details.current, and send If-Match: ${current}`;
  throw new ApiError('PRECONDITION_FAILED', message, { details: { current: image, etag: current } });
}
