import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { PlayerRef } from '../../players/player-ref.ts';
import { grantPlayerColumns, isCountedEver, type GrantPlayer } from './issue-queries.ts';

/** Whether the player of a grant is protected now. */
export interface Protected {
  grant_id: string;
  /** The player into whom the grant's player was merged, else the grant's player. */
  player_id: string;
  /** Why nothing may be granted to the player: as in `details.reason` of BONUS_PLAYER_NOT_ELIGIBLE; null: it may. */
  reason: string | null;
  /** The tenant has paused its bonuses. */
  is_paused: boolean;
}

/** The players of these grants as they are now. */
export async function selectProtected(
  sql: Tx,
  grants: readonly (PlayerRef & { grant_id: string })[],
  now: Date,
): Promise<Protected[]> {
  return sql<Protected[]>`
    select r.grant_id, coalesce(m.into_player_id, r.player_id) as player_id, case
      when p.player_id is null or p.deleted_at is not null then 'DELETED'
      when p.self_excluded or p.status = 'self_excluded' then 'SELF_EXCLUDED'
      when p.status = 'banned' then 'BANNED'
      when p.cooldown_until > ${now} then 'COOLDOWN' end as reason,
      coalesce(c.is_paused, false) as is_paused
    from ${rowsOf(sql, 'r', grants, { ...PROJECT_KEY, player_id: 'uuid', grant_id: 'uuid' })}
    left join lateral (
      select m.into_player_id from player_merges m
      where m.player_id = r.player_id and m.tenant_id = r.tenant_id and m.project_id = r.project_id offset 0) m on true
    left join lateral (
      select p.player_id, p.deleted_at, p.self_excluded, p.status, p.cooldown_until from players p
      where p.player_id = coalesce(m.into_player_id, r.player_id) and p.tenant_id = r.tenant_id
        and p.project_id = r.project_id offset 0) p on true
    left join lateral (
      select c.config -> 'bonuses' -> 'paused' = 'true' as is_paused from tenant_configs c
      where c.tenant_id = r.tenant_id offset 0) c on true`;
}

/** What is asked again about a grant that has waited. */
export interface RecheckFacts extends GrantPlayer {
  grant_id: string;
  min_kyc_level: number | null;
  eligible_segment_id: string | null;
  /** Of the segment that the template is for, as it is now; true when it is for everybody. */
  is_member: boolean;
  /** Grants of any template to the player before this one, and those that were credited meanwhile. */
  bonuses_before: number;
}

/** A grant with the player who has it now. */
export interface RecheckRef extends PlayerRef {
  grant_id: string;
  template_id: string;
  created_at: Date;
}

/** The players and templates of these grants as they are now; players who do not exist are omitted. */
export async function selectRecheck(sql: Tx, grants: readonly RecheckRef[]): Promise<RecheckFacts[]> {
  const isOfPlayer = sql`o.player_id = r.player_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id`;
  return sql<RecheckFacts[]>`
    select r.grant_id, p.*, t.min_kyc_level, t.eligible_segment_id, b.bonuses_before,
      t.eligible_segment_id is null or exists (select from segment_members m
        where m.segment_id = t.eligible_segment_id and m.player_id = r.player_id and m.tenant_id = r.tenant_id
          and m.project_id = r.project_id offset 0) as is_member
    from ${rowsOf(sql, 'r', grants, {
      ...PROJECT_KEY,
      grant_id: 'uuid',
      player_id: 'uuid',
      template_id: 'uuid',
      created_at: 'timestamptz',
    })}
    cross join lateral (
      select ${grantPlayerColumns(sql)} from players p
      where p.player_id = r.player_id and p.tenant_id = r.tenant_id and p.project_id = r.project_id offset 0) p
    left join lateral (
      select t.min_kyc_level, t.eligible_segment_id from bonus_templates t
      where t.template_id = r.template_id and t.tenant_id = r.tenant_id and t.project_id = r.project_id offset 0) t
      on true
    cross join lateral (
      select count(*)::integer as bonuses_before from (
        select from bonus_grants o where ${isOfPlayer} and o.grant_id <> r.grant_id
          and ((o.created_at, o.grant_id) < (r.created_at, r.grant_id) or o.activated_at is not null)
          and ${isCountedEver(sql, 'o')}
        limit 1000) o offset 0) b`;
}
