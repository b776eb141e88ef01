import type { PendingQuery } from 'postgres';
import type { RuleProduct } from '../../../tenants/licence/rule.ts';
import type { PlayerRef } from '../../../players/player-ref.ts';
import { plainArray } from '../../../platform/postgres/arrays.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { Channel } from '../../../tenants/config/channels.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import {
  capUseSql,
  codesSql,
  consentSaidSql,
  isAtRiskSql,
  isSuppressedSql,
  quietUntilSql,
  recipientOf,
  verdictSql,
  type Gate,
} from '../gate-queries.ts';
import type { SkipCode } from '../send-row.ts';

/** What the gate says about a player on one channel. */
export interface ReachabilityRow {
  channel: Channel;
  /** Null: a message may go out. */
  verdict: SkipCode | null;
  codes: SkipCode[];
  used_day: bigint;
  used_week: bigint;
  quiet_until: Date | null;
  /** Null: the player has said nothing. */
  consent: boolean | null;
  suppressed: boolean;
}

/** What each gate says about the player, about messages on a bonus of the product (null: on none). */
export function selectReachability(
  tx: Tx,
  { tenant_id, project_id, player_id }: PlayerRef,
  gates: readonly Gate[],
  product: RuleProduct | null,
): PendingQuery<ReachabilityRow[]> {
  const of_bonus = tx`${product}::text`;
  const parts = gates.map((gate, i) => {
    const recipient = recipientOf(tx, gate.channel);
    return tx`${i === 0 ? tx`` : tx`union all`}
      select ${gate.channel}::text as channel, ${verdictSql(tx, gate, recipient, of_bonus)} as verdict,
        ${codesSql(tx, gate, recipient, of_bonus)} as codes, u.used_day, u.used_week,
        ${quietUntilSql(tx, gate)} as quiet_until, ${consentSaidSql(tx, gate)} as consent,
        ${isSuppressedSql(tx, gate, recipient)} as suppressed
      from players p cross join lateral (${capUseSql(tx, gate)}) u
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = ${player_id}`;
  });
  return tx<ReachabilityRow[]>`${parts}`;
}

/** The players of these ids, of which some may not exist any more. */
function playersSql(tx: Tx, { tenant_id, project_id }: ProjectRef, player_ids: readonly string[]) {
  return tx`unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
    left join lateral (
      select * from players p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = r.player_id offset 0) p on true`;
}

/** The time zones of these players, each once; null stands for players without one. */
export function selectZones(
  tx: Tx,
  project: ProjectRef,
  player_ids: readonly string[],
): PendingQuery<{ timezone: string | null }[]> {
  return tx<{ timezone: string | null }[]>`
    select distinct p.timezone from ${playersSql(tx, project, player_ids)}`;
}

/** How many players get the same verdicts. */
export interface VerdictCount {
  /** Of all gates, in their order; null: a message may go out. */
  verdicts: (SkipCode | null)[];
  /** Whether they are known to be at risk. */
  is_at_risk: boolean;
  players: number;
}

/** Counts these players by what all gates say about messages on no bonus. One statement for all: the players are looked up once. */
export function countVerdicts(
  tx: Tx,
  project: ProjectRef,
  player_ids: readonly string[],
  gates: readonly Gate[],
): PendingQuery<VerdictCount[]> {
  const verdicts = gates.map((gate, i) => {
    const verdict = verdictSql(tx, gate, recipientOf(tx, gate.channel), tx`null::text`);
    return tx`${i === 0 ? tx`` : tx`,`} ${verdict}`;
  });
  return tx<VerdictCount[]>`
    select j.verdicts, j.is_at_risk, count(*)::integer as players
    from (
      select array[${verdicts}]::text[] as verdicts, ${isAtRiskSql(tx)} as is_at_risk
      from ${playersSql(tx, project, player_ids)} offset 0) j
    group by j.verdicts, j.is_at_risk`;
}
