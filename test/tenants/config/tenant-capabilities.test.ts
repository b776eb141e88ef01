import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditNothing } from '../../../src/http/audit.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { newId } from '../../../src/platform/ids.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import { openNotifications, type Notifications } from '../../../src/platform/postgres/notifications.ts';
import { connectPool, openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Db, Postgres } from '../../../src/platform/postgres/port.ts';
import { changeTenantConfig } from '../../../src/tenants/config/change.ts';
import type { PatchTenantConfigBody } from '../../../src/tenants/config/schema.ts';
import {
  openTenantCapabilities,
  type TenantCapabilityCache,
} from '../../../src/tenants/config/capability-cache.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

/**
 * What each of two processes on one Postgres has of its own. Their clock does not advance, so no cache entry expires.
 */
interface Process {
  postgres: Postgres;
  notifications: Notifications;
  capabilities: TenantCapabilityCache;
}

let server: Awaited<ReturnType<typeof openTestPostgres>>;
let owner: Db;
let here: Process;
let there: Process;

beforeAll(async () => {
  server = await openTestPostgres({ prepared: true });
  owner = connectPool(server.url);
  await migratePostgres(owner);
  [here, there] = [await openProcess(), await openProcess()];
});
afterAll(async () => {
  for (const { postgres } of [here, there]) await postgres.close();
  await owner.end({ timeout: 5 });
  await server.close();
});

async function openProcess(): Promise<Process> {
  const postgres = openPostgres(server.url);
  const sql = postgres.service;
  const logger = createLogger('silent');
  const notifications = openNotifications(sql, logger);
  const clock = { now_ms: () => 0 };
  const shared = { clock, logger, metrics: createMetrics(), sql, notifications };
  const capabilities = await openTenantCapabilities(shared);
  return { postgres, notifications, capabilities };
}

async function newTenant(): Promise<string> {
  const tenant_id = newId();
  await owner`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
  await owner`
    insert into currencies (tenant_id, code, kind, scale, symbol, display_name)
    values (${tenant_id}, 'EUR', 'fiat', 2, '€', 'Euro')`;
  return tenant_id;
}

const onLicenseChange = () => Promise.resolve();
const change = (tenant_id: string, body: PatchTenantConfigBody) =>
  changeTenantConfig(
    { ...here, onLicenseChange, isEventName: () => true, audit: auditNothing },
    tenant_id,
    body,
  );

const QUIET_HOURS = { start: '22:00', end: '08:00', default_timezone: 'UTC' };

test('the capability contains the currencies and the configuration of the tenant, or its defaults', async () => {
  const tenant_id = await newTenant();
  const money = { base_currency: 'EUR', currencies: new Set(['EUR']) };
  const defaults = { license_jurisdiction: null, verticals: [], kyc_model: 'none', config: {} };
  expect(await here.capabilities.get(tenant_id)).toEqual({ ...money, ...defaults });
  const settings = {
    license_jurisdiction: 'mga',
    verticals: ['casino'],
    kyc_model: 'dual',
    config: { messaging: { quiet_hours: QUIET_HOURS } },
  } satisfies PatchTenantConfigBody;
  await change(tenant_id, settings);
  expect(await here.capabilities.get(tenant_id)).toEqual({ ...money, ...settings });
});

test('an unknown tenant has no capability', async () => {
  await expect(here.capabilities.get(newId())).rejects.toThrow(/does not exist/);
});

test('a change applies at once in the process that makes it, and soon in every other process', async () => {
  const [tenant_id, bystander] = [await newTenant(), await newTenant()];
  const processes = [here, there];
  for (const { capabilities } of processes) {
    for (const id of [tenant_id, bystander]) await capabilities.get(id);
    expect(capabilities.get(tenant_id)).not.toBeInstanceOf(Promise);
  }
  await change(tenant_id, { kyc_model: 'crm_owns' });
  expect(await here.capabilities.get(tenant_id)).toMatchObject({ kyc_model: 'crm_owns' });
  const elsewhere = async () => (await there.capabilities.get(tenant_id)).kyc_model;
  await expect.poll(elsewhere, { timeout: 10_000 }).toBe('crm_owns');
  // Other tenants stay cached.
  for (const { capabilities } of processes) expect(capabilities.get(bystander)).not.toBeInstanceOf(Promise);
});

test('a refused change invalidates no cache entry', async () => {
  const tenant_id = await newTenant();
  await here.capabilities.get(tenant_id);
  const half = { config: { messaging: { quiet_hours: { start: '22:00' } } } };
  await expect(change(tenant_id, half)).rejects.toThrow();
  expect(here.capabilities.get(tenant_id)).not.toBeInstanceOf(Promise);
  expect(await owner`select from tenant_configs where tenant_id = ${tenant_id}`).toHaveLength(0);
});

test('a process that lost its notifications for a while empties its cache', async () => {
  const tenant_id = await newTenant();
  const elsewhere = async () => (await there.capabilities.get(tenant_id)).kyc_model;
  expect(await elsewhere()).toBe('none');
  // A change without a notification.
  await owner`
    insert into tenant_configs (tenant_id, verticals, kyc_model, config)
    values (${tenant_id}, '{}', 'crm_owns', '{}')`;
  expect(await elsewhere()).toBe('none');
  const ended = await owner`
    select pg_terminate_backend(pid) from pg_stat_activity
    where pid <> pg_backend_pid() and datname = current_database() and query ilike 'listen%'`;
  expect(ended.length).toBeGreaterThan(0);
  await expect.poll(elsewhere, { timeout: 10_000 }).toBe('crm_owns');
});
