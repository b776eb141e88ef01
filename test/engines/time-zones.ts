/**
 * Zones whose rules changed after release 2025b, which the oldest promised Node has. Postgres may have some of the changes.
 * For all other zones the tests take Node and Postgres as oracles of local time.
 */
export const CHANGED_ZONES: readonly string[] = [
  // They keep summer time for ever.
  'America/Vancouver',
  'America/Edmonton',
  'America/Inuvik',
  'America/Winnipeg',
  // They end it for ever.
  'Africa/Casablanca',
  'Africa/El_Aaiun',
  // Other days, other hours.
  'America/Havana',
  'Europe/Chisinau',
];

/** The zones of Node whose rules have not changed since. */
export const NODE_ZONES: readonly string[] = Intl.supportedValuesOf('timeZone').filter(
  (zone) => !CHANGED_ZONES.includes(zone),
);
