import { isDeepStrictEqual } from 'node:util';
import { loosened } from '../licence/effective.ts';
import { validationError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import { TENANTS_CHANNEL, type TenantCapabilityCache } from './capability-cache.ts';
import { mergeDeep } from '../../platform/json-object.ts';
import { insertTenantConfig, lockTenantSettings, updateTenantConfig } from './queries.ts';
import { readTenantConfig, settingsImage } from './read.ts';
import {
  tenantSettings,
  type PatchTenantConfigBody,
  type TenantConfig,
  type TenantSettings,
} from './schema.ts';

/** Called in the transaction that changes the tenant's licence, or what it changes of its rules: others hold then. */
export type OnLicenseChange = (tx: Tx, tenant_id: string) => Promise<void>;

/** Whether events may have the name. */
export type IsEventName = (name: string) => boolean;

interface Deps {
  postgres: Postgres;
  notifications: Notifications;
  capabilities: Pick<TenantCapabilityCache, 'evict'>;
  onLicenseChange: OnLicenseChange;
  isEventName: IsEventName;
  audit: AuditChange;
}

/**
 * Merges a change into the tenant's configuration. A row lock puts concurrent changes one after the other, so none is
 * lost. When it resolves, the capability cache of this process has evicted the old values, and other processes are
 * notified. Rejects with a ZodError or VALIDATION_ERROR, and changes nothing, when the merged configuration would not be
 * valid, names an event that there is not, or loosens a licence rule without a reason.
 */
export async function changeTenantConfig(
  { postgres, notifications, capabilities, onLicenseChange, isEventName, audit }: Deps,
  tenant_id: string,
  { config: patch = {}, ...fields }: PatchTenantConfigBody,
): Promise<TenantConfig> {
  const changed = await postgres.asTenant(tenant_id, async (tx) => {
    const [, [stored]] = await Promise.all([
      // There has to be a row to lock: without it two concurrent first changes would not see each other.
      insertTenantConfig(tx, tenant_id),
      lockTenantSettings(tx, tenant_id),
    ]);
    const config = mergeDeep(stored?.config, patch);
    const settings = tenantSettings.parse({ ...stored, ...fields, config });
    requireEventNames(settings.config.segment_events ?? {}, isEventName);
    requireReasons(stored?.config.license_rules ?? {}, settings.config.license_rules ?? {}, patch);
    const has_other_rules =
      settings.license_jurisdiction !== (stored?.license_jurisdiction ?? null) ||
      !isDeepStrictEqual(settings.config.license_rules ?? {}, stored?.config.license_rules ?? {});
    const [, after] = await Promise.all([
      updateTenantConfig(tx, tenant_id, settings, fields.kyc_model !== undefined),
      readTenantConfig(tx, tenant_id),
      notifications.notify(tx, TENANTS_CHANNEL, tenant_id),
      has_other_rules ? onLicenseChange(tx, tenant_id) : undefined,
      audit(tx, {
        tenant_id,
        project_id: null,
        resource_id: tenant_id,
        before: stored === undefined ? null : settingsImage(stored),
        after: settings,
      }),
    ]);
    return after;
  });
  capabilities.evict(tenant_id);
  return changed;
}

function requireEventNames(
  names: NonNullable<TenantSettings['config']['segment_events']>,
  isEventName: IsEventName,
): void {
  const given = Object.entries(names).flatMap(([name, value]) =>
    typeof value === 'string'
      ? [[name, value] as const]
      : Object.entries(value).map(([inner, event]) => [`${name}.${inner}`, event] as const),
  );
  const unknown = given.filter(([, event]) => !isEventName(event));
  if (unknown.length === 0) return;
  const message = 'must be a canonical name of an event, or begin with custom_';
  throw validationError(unknown.map(([name]) => ({ path: `config.segment_events.${name}`, message })));
}

type Rules = NonNullable<TenantSettings['config']['license_rules']>;

/**
 * Refuses to loosen a licence rule without a reason in the same patch, because the stored one is of an earlier change. To
 * take back what made a rule stricter is to loosen it, too. A rule that is looser than its law keeps its reason.
 */
function requireReasons(
  before: Rules,
  after: Rules,
  { license_rules: patch }: NonNullable<PatchTenantConfigBody['config']>,
): void {
  const silent = [
    ...loosened(before, after).filter((id) => typeof patch?.[id]?.reason !== 'string'),
    ...loosened({}, after).filter((id) => after[id]?.reason === undefined),
  ];
  if (silent.length === 0) return;
  const message = 'must be given, because the rule would allow more than before';
  throw validationError(
    [...new Set(silent)].map((id) => ({ path: `config.license_rules.${id}.reason`, message })),
  );
}
