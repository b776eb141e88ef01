import type { RuleProduct } from '../../../tenants/licence/rule.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import { playerNotFound, requirePlayer } from '../../../players/profile/read.ts';
import type { PlayerRef } from '../../../players/player-ref.ts';
import { CHANNELS, type Channel } from '../../../tenants/config/channels.ts';
import { readOwnConfig } from '../../../tenants/config/read.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { PERSON_CODES, type Gate } from '../gate-queries.ts';
import { gateAt, gateRulesOf } from '../gate.ts';
import type { SkipCode } from '../send-row.ts';
import {
  countVerdicts,
  selectReachability,
  selectZones,
  type ReachabilityRow,
  type VerdictCount,
} from './queries.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

/** How many messages a player has had on a channel, and how many a cap allows; null: there is no cap. */
interface CapUse {
  used: number;
  limit: number | null;
}

/** What would happen to a message to a player on one channel that was sent now. */
export interface Reachability {
  channel: Channel;
  /** `reachable`, or the code with which the message would be skipped. */
  verdict: 'reachable' | SkipCode;
  /** Every code that applies, the verdict first. */
  codes: SkipCode[];
  caps: { day: CapUse; week: CapUse };
  /** The end of the quiet hours; null: it is not quiet. */
  quiet_until: Date | null;
  /** Null: the player has said nothing. */
  consent: boolean | null;
  /** Whether a player who has said nothing gets no messages. */
  consent_required: boolean;
  suppressed: boolean;
}

/**
 * What the gate says about a player on each channel now, about messages on a bonus of the product (null: on none).
 * Nothing is sent, and the fold is not waited for. Rejects with PLAYER_NOT_FOUND.
 */
export async function readReachability(
  { postgres, clock }: Deps,
  ref: PlayerRef,
  product: RuleProduct | null,
): Promise<Reachability[]> {
  const { player_id } = await requirePlayer(postgres, ref);
  const one = { ...ref, player_id };
  const gates = await gatesAt(postgres, ref, new Date(clock.now_ms()), () =>
    postgres.readAsTenant(ref.tenant_id, (tx) => selectZones(tx, ref, [player_id])),
  );
  const rows = await postgres.readAsTenant(ref.tenant_id, (tx) =>
    selectReachability(tx, one, gates, product),
  );
  // No rows: the player was merged away a moment ago.
  if (rows.length === 0) throw playerNotFound(ref.player_id);
  const by_channel = new Map(rows.map((row) => [row.channel, row]));
  return gates.flatMap((gate) => {
    const row = by_channel.get(gate.channel);
    return row === undefined ? [] : [reachabilityOf(row, gate)];
  });
}

function reachabilityOf(row: ReachabilityRow, { per_day, per_week, consent_required }: Gate): Reachability {
  return {
    channel: row.channel,
    verdict: row.verdict ?? 'reachable',
    codes: [...new Set(row.codes)],
    caps: {
      day: { used: Number(row.used_day), limit: per_day },
      week: { used: Number(row.used_week), limit: per_week },
    },
    quiet_until: row.quiet_until,
    consent: row.consent,
    consent_required,
    suppressed: row.suppressed,
  };
}

/** How many of some players a message on a channel would reach now, and why not the others. */
export interface ChannelReach {
  channel: Channel;
  sampled: number;
  reachable: number;
  by_code: Partial<Record<SkipCode, number>>;
}

/** What the gate says about these players on each channel now, about messages on no bonus. */
export async function readReach(
  deps: Deps,
  project: ProjectRef,
  player_ids: readonly string[],
): Promise<ChannelReach[]> {
  const { gates, rows } = await readVerdicts(deps, project, player_ids);
  return gates.map(({ channel }, i) => {
    const by_code: ChannelReach['by_code'] = {};
    let reachable = 0;
    for (const { verdicts, players } of rows) {
      const verdict = verdicts[i] ?? null;
      if (verdict === null) reachable += players;
      else by_code[verdict] = (by_code[verdict] ?? 0) + players;
    }
    return { channel, sampled: player_ids.length, reachable, by_code };
  });
}

/** How many of some players must be left alone. Nobody is counted twice. */
export interface ProtectedPlayers {
  /** Excluded, banned or on a break, or with the address of somebody who is, on any channel. */
  protected: number;
  /** Of the others: those who are known to be at risk. */
  at_risk: number;
}

const PROTECTED: ReadonlySet<SkipCode | null> = new Set(Object.values(PERSON_CODES));

/** Counts whom of these players the gate protects now, and who of the others is at risk. Deleted players are neither. */
export async function readProtected(
  deps: Deps,
  project: ProjectRef,
  player_ids: readonly string[],
): Promise<ProtectedPlayers> {
  const counts = { protected: 0, at_risk: 0 };
  for (const { verdicts, is_at_risk, players } of (await readVerdicts(deps, project, player_ids)).rows) {
    if (verdicts.some((verdict) => PROTECTED.has(verdict))) counts.protected += players;
    else if (is_at_risk) counts.at_risk += players;
  }
  return counts;
}

/** The gates of all channels now, and how many of these players get the same verdicts of them. */
async function readVerdicts(
  { postgres, clock }: Deps,
  project: ProjectRef,
  player_ids: readonly string[],
): Promise<{ gates: Gate[]; rows: readonly VerdictCount[] }> {
  const gates = await gatesAt(postgres, project, new Date(clock.now_ms()), () =>
    postgres.countAsTenant(project.tenant_id, (tx) => selectZones(tx, project, player_ids)),
  );
  const rows = await postgres.countAsTenant(project.tenant_id, (tx) =>
    countVerdicts(tx, project, player_ids, gates),
  );
  return { gates, rows };
}

/** The gates of all channels at a moment; `readZones`: the time zones of the players that they are asked about. */
async function gatesAt(
  postgres: Postgres,
  { tenant_id }: ProjectRef,
  now: Date,
  readZones: () => Promise<{ timezone: string | null }[]>,
): Promise<Gate[]> {
  const config = await readOwnConfig(postgres, tenant_id);
  let zones: Promise<(string | null)[]> | undefined;
  const zonesInUse = () => (zones ??= readZones().then((rows) => rows.map(({ timezone }) => timezone)));
  return Promise.all(CHANNELS.map((channel) => gateAt(gateRulesOf(config, channel, now), now, zonesInUse)));
}
