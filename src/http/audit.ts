import type { Role } from '../auth/roles.ts';
import type { Tx } from '../platform/postgres/port.ts';

/** The kinds of resources whose changes are recorded in the audit log. */
export const AUDITED_RESOURCES = [
  'tenant',
  'project',
  'membership',
  'tenant_config',
  'api_key',
  'player',
  'segment',
  'template',
  'messaging_provider',
  'campaign',
  'campaign_variant',
] as const;
export type AuditedResource = (typeof AUDITED_RESOURCES)[number];

/** The recorded actions. `revoke` ends an API key; `send_test` sends a message and changes no resource. */
export const AUDITED_ACTIONS = [
  'create',
  'update',
  'delete',
  'revoke',
  'send',
  'cancel',
  'send_test',
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
export interface RecordedChange {
  tenant_id: string;
  /** Null: the resource belongs to the tenant, not to a project. */
  project_id: string | null;
  resource_id: string;
  before: object | null;
  after: object | null;
}

/**
 * Writes a change to the audit log, in the transaction that makes the change. Writes nothing when `before` and `after`
 * are equal.
 */
export type RecordChange = (tx: Tx, change: RecordedChange) => Promise<void>;

/** What a change function needs to record its change. */
export interface Recording {
  record: RecordChange;
}

/** For changes that no session and no internal secret requested: the service's own changes, tests and benchmarks. */
export const recordNothing: RecordChange = () => Promise.resolve();

/** The caller and the declaration of one call: the part of an audit row that does not depend on the change. */
export interface AuditedCall {
  resource: AuditedResource;
  action: AuditedAction;
  /** Null: the caller used the internal secret. */
  session: { user_id: string; role: Role } | null;
  request_id: string;
}

/** Writes a row of the audit log. */
export type WriteAuditRow = (tx: Tx, call: AuditedCall, change: RecordedChange) => Promise<void>;

/** Creates the {@link RecordChange} of one request. It rejects with TypeError if the endpoint declares no resource. */
export function createRecorder(
  write: WriteAuditRow,
  audit: AuditDeclaration | undefined,
  caller: Omit<AuditedCall, 'resource' | 'action'>,
): RecordChange {
  return async (tx, change) => {
    if (audit === undefined || 'none' in audit) {
      throw new TypeError('an endpoint that records changes must declare their resource');
    }
    await write(tx, { ...audit, ...caller }, change);
  };
}
