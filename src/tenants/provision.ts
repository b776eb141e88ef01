import { MEMBERSHIPS_CHANNEL } from '../http/auth/session.ts';
import { ApiError } from '../errors.ts';
import type { AuditChange } from '../http/audit.ts';
import { newId } from '../platform/ids.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Db, Tx } from '../platform/postgres/port.ts';
import { DEFAULT_CATALOGUE } from './currency-catalogue.ts';
import {
  deleteMembership,
  insertCurrencies,
  insertProject,
  insertTenant,
  lockMembership,
  lockOwners,
  tenantExists,
  upsertMembership,
} from './queries.ts';
import type { CreateProjectBody, CreateTenantBody, MembershipBody, RemoveMembershipQuery } from './schema.ts';

/** Callback in the transaction that creates a tenant: a folder above adds rows, or jobs that run after the commit. */
export type OnTenantCreated = (tx: Tx, tenant_id: string) => Promise<void>;

interface CreateTenantDeps {
  notifications: Notifications;
  onTenantCreated: OnTenantCreated;
  /** Absent when the service creates its demo. */
  audit?: AuditChange;
}

/** Creates a tenant with its first project, its currencies and its owner, in one transaction. */
export async function createTenant(
  sql: Db,
  { notifications, onTenantCreated, audit }: CreateTenantDeps,
  body: CreateTenantBody,
): Promise<{ tenant_id: string; project_id: string }> {
  const { name, base_currency, project_name, admin_user_id: user_id } = body;
  const tenant_id = newId();
  const project_id = newId();
  await sql.begin((tx) =>
    Promise.all([
      insertTenant(tx, { tenant_id, name, base_currency }),
      insertProject(tx, { tenant_id, project_id, name: project_name }),
      insertCurrencies(tx, tenant_id, DEFAULT_CATALOGUE),
      upsertMembership(tx, { tenant_id, user_id, role: 'owner' }),
      notifications.notify(tx, MEMBERSHIPS_CHANNEL, user_id),
      onTenantCreated(tx, tenant_id),
      audit?.(tx, {
        tenant_id,
        project_id: null,
        resource_id: tenant_id,
        before: null,
        after: { id: tenant_id, name, base_currency, project_id, project_name, owner_user_id: user_id },
      }),
    ]),
  );
  return { tenant_id, project_id };
}

/** Creates another project of a tenant. Rejects with TENANT_NOT_FOUND. */
export async function createProject(
  sql: Db,
  audit: AuditChange,
  { tenant_id, name }: CreateProjectBody,
): Promise<{ project_id: string }> {
  const project_id = newId();
  await sql.begin(async (tx) => {
    if (!(await insertProject(tx, { tenant_id, name, project_id }))) throw unknownTenant(tenant_id);
    const after = { id: project_id, tenant_id, name };
    await audit(tx, { tenant_id, project_id, resource_id: project_id, before: null, after });
  });
  return { project_id };
}

interface MembershipDeps {
  notifications: Notifications;
  audit: AuditChange;
}

/**
 * Adds a member or changes a member's role. The last owner may lose the role too: the caller has the internal secret
 * and can name another owner. Rejects with TENANT_NOT_FOUND.
 */
export async function setMembership(
  sql: Db,
  { notifications, audit }: MembershipDeps,
  membership: MembershipBody,
): Promise<MembershipBody> {
  const { tenant_id, user_id, role } = membership;
  await sql.begin(async (tx) => {
    const [before, known] = await Promise.all([
      lockMembership(tx, tenant_id, user_id),
      upsertMembership(tx, membership),
      notifications.notify(tx, MEMBERSHIPS_CHANNEL, user_id),
    ]);
    if (!known) throw unknownTenant(tenant_id);
    const sides = {
      before: before === undefined ? null : { user_id, role: before },
      after: { user_id, role },
    };
    await audit(tx, { tenant_id, project_id: null, resource_id: user_id, ...sides });
  });
  return membership;
}

/**
 * Ends a membership. Idempotent: `removed` is false when there was none. Rejects with TENANT_NOT_FOUND, and with
 * CONFLICT for the last owner of the tenant.
 */
export async function removeMembership(
  sql: Db,
  { notifications, audit }: MembershipDeps,
  { tenant_id, user_id }: RemoveMembershipQuery,
): Promise<{ removed: boolean }> {
  return sql.begin(async (tx) => {
    const [known, owners] = await Promise.all([tenantExists(tx, tenant_id), lockOwners(tx, tenant_id)]);
    if (!known) throw unknownTenant(tenant_id);
    if (owners.length === 1 && owners[0] === user_id) {
      const message = 'this is the last owner of the tenant: make another member an owner first';
      throw new ApiError('CONFLICT', message);
    }
    const [role] = await Promise.all([
      deleteMembership(tx, tenant_id, user_id),
      notifications.notify(tx, MEMBERSHIPS_CHANNEL, user_id),
    ]);
    if (role === undefined) return { removed: false };
    const before = { user_id, role };
    await audit(tx, { tenant_id, project_id: null, resource_id: user_id, before, after: null });
    return { removed: true };
  });
}

function unknownTenant(tenant_id: string): ApiError {
  return new ApiError('TENANT_NOT_FOUND', `tenant ${tenant_id} does not exist`);
}
