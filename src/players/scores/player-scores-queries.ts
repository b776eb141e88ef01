import type { PendingQuery, Row } from 'postgres';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { StoredScores } from './decide.ts';

/** A player as a caller names it; one of the two. */
export interface NamedPlayer {
  player_id?: string | undefined;
  external_id?: string | undefined;
}

/** Whom a name means. All null: nobody. */
export interface FoundPlayer {
  player_id: string | null;
  /** The survivor, when the player was merged into another one. */
  into_player_id: string | null;
  deleted_at: Date | null;
  erased_at: Date | null;
}

/** Whom each name means, in their order. */
export async function findPlayers(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  named: readonly NamedPlayer[],
): Promise<FoundPlayer[]> {
  const given = rowsOf(tx, 'g', named, {
    player_id: ['uuid', (one) => one.player_id ?? null],
    external_id: ['text', (one) => one.external_id ?? null],
    place: 'ordinality',
  });
  return tx<FoundPlayer[]>`
    select coalesce(p.player_id, m.player_id) as player_id, m.into_player_id, p.deleted_at, p.erased_at
    from ${given}
    left join lateral (
      (select o.player_id, o.deleted_at, o.erased_at from players o
        where o.player_id = g.player_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id})
      union all
      (select o.player_id, o.deleted_at, o.erased_at from players o
        where o.external_id = g.external_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id})
      offset 0) p on true
    left join lateral (
      select o.player_id, o.into_player_id from player_merges o
      where o.player_id = g.player_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} offset 0) m on true
    order by g.place`;
}

/** The scores of a player that is not deleted. */
export interface ScoredPlayer extends StoredScores {
  player_id: string;
  /** Excluded, banned or in a break at the time of the question. */
  is_barred: boolean;
}

/** The scores of those of the players that are not deleted, in the order of their ids. */
export function readScores(
  tx: Tx,
  project: ProjectRef,
  player_ids: readonly string[],
  now: Date,
): Promise<ScoredPlayer[]> {
  return selectScores(tx, project, player_ids, { now, lock: tx`` });
}

/** As {@link readScores}; the rows stay locked until the transaction ends. */
export function lockScores(
  tx: Tx,
  project: ProjectRef,
  player_ids: readonly string[],
  now: Date,
): Promise<ScoredPlayer[]> {
  return selectScores(tx, project, player_ids, { now, lock: tx`for no key update` });
}

async function selectScores(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
  { now, lock }: { now: Date; lock: PendingQuery<Row[]> },
): Promise<ScoredPlayer[]> {
  const ordered = [...new Set(player_ids)].toSorted();
  return tx<ScoredPlayer[]>`
    select p.*
    from unnest(${plainArray(ordered)}::text::uuid[]) with ordinality as g (player_id, place)
    cross join lateral (
      select o.player_id, o.churn_score, o.churn_model, o.churn_as_of, o.ltv_predicted, o.ltv_model, o.ltv_as_of,
        coalesce(o.barred_until > ${now}, false) as is_barred
      from players o
      where o.player_id = g.player_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
        and o.deleted_at is null
      ${lock}) p
    order by g.place`;
}

/** Writes scores of players whose rows are locked, and marks the players as changed for player-mirror. */
export async function writeScores(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  changed: readonly ({ player_id: string } & StoredScores)[],
  now: Date,
): Promise<void> {
  if (changed.length === 0) return;
  const given = rowsOf(tx, 'g', changed, {
    player_id: 'uuid',
    churn_score: ['text', (one) => String(one.churn_score)],
    churn_model: 'text',
    churn_as_of: 'timestamptz',
    ltv_predicted: ['text', (one) => (one.ltv_predicted === null ? null : String(one.ltv_predicted))],
    ltv_model: 'text',
    ltv_as_of: 'timestamptz',
  });
  await tx`
    with scored as (
      update players p set
        churn_score = w.churn_score::double precision, churn_model = w.churn_model, churn_as_of = w.churn_as_of,
        ltv_predicted = w.ltv_predicted::double precision, ltv_model = w.ltv_model, ltv_as_of = w.ltv_as_of,
        updated_at = ${now}
      from (
        select f.ctid, g.* from ${given}
        cross join lateral (
          select o.ctid from players o
          where o.player_id = g.player_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} offset 0) f
      ) w
      where p.ctid = w.ctid
      returning p.player_id
    )
    update player_totals t set updated_at = ${now}, changed_xid = pg_current_xact_id()
    from (
      select f.ctid from scored s
      cross join lateral (
        select o.ctid from player_totals o
        where o.player_id = s.player_id and o.tenant_id = ${tenant_id} and o.project_id = ${project_id} offset 0) f
    ) w
    where t.ctid = w.ctid`;
}
