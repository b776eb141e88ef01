import type { Tx } from '../../platform/postgres/port.ts';
import { readTenantConfig } from '../../tenants/config/read.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { gateRulesOf, type GateRules } from './gate.ts';
import type { Gate } from './gate-queries.ts';
import { quietUntilMs, quietZones } from './quiet-hours.ts';

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
