import type { Role } from '../auth/roles.ts';
import type { Tx } from '../platform/postgres/port.ts';

/** What changes are recorded of, one name per kind of resource. */
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

/** What is done to them. `revoke` ends an API key; `send_test` lets a message out and changes nothing. */
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
 * What a call of an endpoint is recorded as in the audit log; `none` says why it is not. Every endpoint that a session or
 * the internal secret may change something with declares one of the two.
 */
export type AuditDeclaration = { resource: AuditedResource; action: AuditedAction } | { none: string };

/**
 * One change. `before` and `after` are the resource as the API shows it, which holds no secrets; null where there was or
 * is none.
 */
export interface RecordedChange {
  tenant_id: string;
  /** Null: the resource is the tenant's. */
  project_id: string | null;
  resource_id: string;
  before: object | null;
  after: object | null;
}

/** Writes a change to the audit log, in the transaction that makes it; nothing where `before` and `after` are equal. */
export type RecordChange = (tx: Tx, change: RecordedChange) => Promise<void>;

/** What a change function needs to record its change. */
export interface Recording {
  record: RecordChange;
}

/** Where no session and no internal secret asks for a change: what the service makes by itself, tests and benchmarks. */
export const recordNothing: RecordChange = () => Promise.resolve();

/** Who called what: the part of an audit row that is the same whatever the call changes. */
export interface AuditedCall {
  resource: AuditedResource;
  action: AuditedAction;
  /** Null: the internal secret. */
  session: { user_id: string; role: Role } | null;
  request_id: string;
}

/** Writes a row of the audit log. */
export type WriteAuditRow = (tx: Tx, call: AuditedCall, change: RecordedChange) => Promise<void>;

/** The {@link RecordChange} of one request. */
export function createRecorder(
  write: WriteAuditRow,
  audit: AuditDeclaration | undefined,
  caller: Omit<AuditedCall, 'resource' | 'action'>,
): RecordChange {
  return async (tx, change) => {
    if (audit === undefined || 'none' in audit) {
      throw new TypeError('an endpoint that records changes has to declare of which resource');
    }
    await write(tx, { ...audit, ...caller }, change);
  };
}
