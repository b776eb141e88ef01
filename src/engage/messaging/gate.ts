import type { Tx } from '../../platform/postgres/port.ts';
import { licenceRulesOf, readTenantConfig } from '../../tenants/config/read.ts';
import type { TenantConfig } from '../../tenants/config/schema.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { messageRulesOf } from '../../tenants/licence/message-gate.ts';
import type { Gate, GateRules } from './gate-queries.ts';
import { quietUntilMs, quietZones } from './quiet-hours.ts';

/** The rules of a tenant for a channel that hold now. */
export function gateRulesOf(
  settings: Pick<TenantConfig, 'config' | 'license_jurisdiction'>,
  channel: Channel,
  now: Date,
): GateRules {
  const { config } = settings;
  const { frequency_caps, consent_required = false, quiet_hours } = config.messaging ?? {};
  const { per_day, per_week } = frequency_caps?.[channel] ?? {};
  const is_quiet_sometime = quiet_hours !== undefined && quiet_hours.start !== quiet_hours.end;
  return {
    channel,
    per_day: per_day ?? null,
    per_week: per_week ?? null,
    consent_required,
    quiet_hours: is_quiet_sometime ? quiet_hours : null,
    licence: messageRulesOf(licenceRulesOf(settings, now), channel),
  };
}

/** The rules for a test, which a user asked for: without caps and quiet hours. */
export function withoutTiming(rules: GateRules): GateRules {
  return { ...rules, per_day: null, per_week: null, quiet_hours: null };
}

/**
 * The gate at a moment. `zonesInUse` is called only when the tenant has quiet hours; null stands for players without a
 * time zone.
 */
export async function gateAt(
  rules: GateRules,
  now: Date,
  zonesInUse: () => Promise<readonly (string | null)[]> | readonly (string | null)[],
): Promise<Gate> {
  const { quiet_hours } = rules;
  if (quiet_hours === null) return { ...rules, now, quiet_zones: [], quiet_until: [], known_zones: [] };
  const asked = new Set((await zonesInUse()).map((zone) => zone ?? quiet_hours.default_timezone));
  const known_zones = [...asked];
  const quiet_zones = quietZones(quiet_hours, now.getTime(), known_zones);
  const quiet_until = quiet_zones.map((zone) => new Date(quietUntilMs(quiet_hours, zone, now.getTime())));
  return { ...rules, now, quiet_zones, quiet_until, known_zones };
}

/** The gate of a tenant for a channel, with the rules of the tenant's present configuration. */
export async function tenantGateAt(
  tx: Tx,
  { tenant_id, channel }: { tenant_id: string; channel: Channel },
  now: Date,
  zonesInUse: () => Promise<readonly (string | null)[]> | readonly (string | null)[],
): Promise<Gate> {
  return gateAt(gateRulesOf(await readTenantConfig(tx, tenant_id), channel, now), now, zonesInUse);
}
