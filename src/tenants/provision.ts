import { MEMBERSHIPS_CHANNEL } from '../auth/session.ts';
import { ApiError } from '../errors.ts';
import { newId } from '../platform/ids.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Db, Tx } from '../platform/postgres/port.ts';
import { DEFAULT_CATALOGUE } from './currency-catalogue.ts';
import {
  deleteMembership,
  insertCurrencies,
  insertProject,
  insertTenant,
  lockOwners,
  tenantExists,
  upsertMembership,
} from './queries.ts';
import type { CreateProjectBody, CreateTenantBody, MembershipBody, RemoveMembershipQuery } from './schema.ts';

/** What a room above adds for a new tenant, in the transaction that creates it: rows, or jobs that run after it. */
export type OnTenantCreated = (tx: Tx, tenant_id: string) => Promise<void>;

/** A tenant with its first project, its currencies and its owner, in one transaction. */
export async function createTenant(
  sql: Db,
  { notifications, onTenantCreated }: { notifications: Notifications; onTenantCreated: OnTenantCreated },
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
    ]),
  );
  return { tenant_id, project_id };
}

/** One more project of a tenant; TENANT_NOT_FOUND when there is no such tenant. */
export async function createProject(sql: Db, body: CreateProjectBody): Promise<{ project_id: string }> {
  const project_id = newId();
  if (!(await insertProject(sql, { ...body, project_id }))) throw unknownTenant(body.tenant_id);
  return { project_id };
}

/**
 * Adds a member or changes a member's role, also that of the last owner: whoever may do this can name another one.
 * TENANT_NOT_FOUND when there is no such tenant.
 */
export async function setMembership(
  sql: Db,
  notifications: Notifications,
  membership: MembershipBody,
): Promise<MembershipBody> {
  const [known] = await sql.begin((tx) =>
    Promise.all([
      upsertMembership(tx, membership),
      notifications.notify(tx, MEMBERSHIPS_CHANNEL, membership.user_id),
    ]),
  );
  if (!known) throw unknownTenant(membership.tenant_id);
  return membership;
}

/**
 * Ends a membership; `removed` is false where there was none, so that it can be repeated. Rejects with TENANT_NOT_FOUND,
 * or with CONFLICT for the last owner of the tenant.
 */
export async function removeMembership(
  sql: Db,
  notifications: Notifications,
  { tenant_id, user_id }: RemoveMembershipQuery,
): Promise<{ removed: boolean }> {
  return sql.begin(async (tx) => {
    const [known, owners] = await Promise.all([tenantExists(tx, tenant_id), lockOwners(tx, tenant_id)]);
    if (!known) throw unknownTenant(tenant_id);
    if (owners.length === 1 && owners[0] === user_id) {
      const message = 'this is the last owner of the tenant: make another member an owner first';
      throw new ApiError('CONFLICT', message);
    }
    const [removed] = await Promise.all([
      deleteMembership(tx, tenant_id, user_id),
      notifications.notify(tx, MEMBERSHIPS_CHANNEL, user_id),
    ]);
    return { removed };
  });
}

function unknownTenant(tenant_id: string): ApiError {
  return new ApiError('TENANT_NOT_FOUND', `tenant ${tenant_id} does not exist`);
}
