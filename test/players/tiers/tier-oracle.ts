// An independent statement of the rules of tiers, in days and plain numbers: nothing here is shared with the service.

export interface OracleTier {
  code: string;
  rank: number;
  on: boolean;
  deposits: number;
  stakes: number;
  days: number;
  inactivity: number | null;
  grace: number;
  checks: boolean;
}

export interface OraclePlayer {
  status: string;
  code: string | null;
  promoted: number | null;
  demoted: number | null;
  locked: boolean;
  deposits: number;
  stakes: number;
  first: number;
  active: number;
}

/** Times are in days, with fractions. Returns the code afterwards. */
export function tierAfter(player: OraclePlayer, tiers: readonly OracleTier[], now: number): string | null {
  if (['self_excluded', 'banned', 'deleted'].includes(player.status)) return player.code;
  const holds = (tier: OracleTier) =>
    player.deposits >= tier.deposits && player.stakes >= tier.stakes && now - player.first >= tier.days;
  let best_of_all: OracleTier | undefined;
  let below: OracleTier | undefined;
  let reset: OracleTier | undefined;
  let lowest: OracleTier | undefined;
  const own = tiers.find((tier) => tier.code === player.code);
  const rank = player.code === null ? -1 : own === undefined ? 1e9 : own.rank;
  for (const tier of tiers) {
    if (!tier.on) continue;
    if (tier.rank <= rank) {
      if (holds(tier) && (reset === undefined || tier.rank > reset.rank)) reset = tier;
      if (lowest === undefined || tier.rank < lowest.rank) lowest = tier;
    }
    if (tier.rank < rank && (below === undefined || tier.rank > below.rank)) below = tier;
    if (tier.rank > rank && holds(tier) && !tier.checks) {
      if (best_of_all === undefined || tier.rank > best_of_all.rank) best_of_all = tier;
    }
  }
  if (player.code !== null && own?.on !== true) return (reset ?? lowest)?.code ?? null;
  const sleeps = player.demoted !== null && player.active <= player.demoted;
  if (best_of_all !== undefined && !player.locked && !sleeps) return best_of_all.code;
  if (own === undefined || own.inactivity === null) return player.code;
  const since = [player.active, player.promoted, player.demoted].reduce<number>(
    (latest, time) => (time !== null && time > latest ? time : latest),
    -1e9,
  );
  return now - since >= own.inactivity + own.grace ? (below?.code ?? null) : player.code;
}
