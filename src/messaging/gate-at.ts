import type { GateRules } from './gate.ts';
import type { Gate } from './gate-queries.ts';
import { quietZones } from './quiet-hours.ts';

/** The gate at a moment. `zonesInUse` is asked only where hours are quiet; null stands for players without a zone. */
export async function gateAt(
  rules: GateRules,
  now: Date,
  zonesInUse: () => Promise<readonly (string | null)[]>,
): Promise<Gate> {
  const { quiet_hours } = rules;
  if (quiet_hours === null) return { ...rules, now, quiet_zones: [], known_zones: [] };
  const asked = new Set((await zonesInUse()).map((zone) => zone ?? quiet_hours.default_timezone));
  const known_zones = [...asked];
  return { ...rules, now, quiet_zones: quietZones(quiet_hours, now.getTime(), known_zones), known_zones };
}
