import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { PassingWindow } from '../dependencies.ts';
import type { Counts } from './count.ts';

/** The realtime segments of a project, as far as marks and plans need to know them. */
export interface RealtimeProject extends ProjectRef {
  /** What any of them reads. */
  reads: string[];
  /**
   * Another text after each change of the segments, of their quarantine, and of the windows that are swept alone, and in
   * another life of the database.
   */
  stamp: string;
}

/** The projects with realtime segments; `of`: those of these `project_id`s only. */
export async function selectRealtimeProjects(sql: Tx, of?: readonly string[]): Promise<RealtimeProject[]> {
  const one = of === undefined ? sql`` : sql`and s.project_id = any(${plainArray(of)}::text::uuid[])`;
  return sql<RealtimeProject[]>`
    select s.tenant_id, s.project_id, array_agg(distinct r.reads) as reads,
      md5(concat(
        string_agg(distinct concat(s.segment_id, s.defined_at, s.evaluation_failures > 0), ','),
        (select string_agg(a.passing_window::text, ',' order by a.passing_window::text) from segment_window_sweeps a
          where a.tenant_id = s.tenant_id and a.project_id = s.project_id),
        (select max(epoch) from database_epochs))) as stamp
    from segments s, unnest(s.reads) as r (reads)
    where s.refresh_strategy = 'realtime' and s.deleted_at is null ${one}
    group by s.tenant_id, s.project_id`;
}

/** A realtime segment as it is stored. */
export interface RealtimeSegment {
  segment_id: string;
  definition: unknown;
  reads: string[];
  is_quarantined: boolean;
}

/** The realtime segments of a project, and the windows that are swept alone. */
export async function selectPlanned(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
): Promise<{ segments: RealtimeSegment[]; late: PassingWindow[] }> {
  const segments = await sql<RealtimeSegment[]>`
    select segment_id, definition, reads, evaluation_failures > 0 as is_quarantined from segments
    where tenant_id = ${tenant_id} and project_id = ${project_id} and deleted_at is null
      and refresh_strategy = 'realtime'
    order by segment_id`;
  const late = await sql<{ window: PassingWindow }[]>`
    select passing_window as window from segment_window_sweeps
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return { segments, late: late.map(({ window }) => window) };
}

/** A row of `evaluated_players`; `totals` undefined: the player is being evaluated. */
export interface EvaluatedPlayer extends Omit<Counts, 'totals'> {
  player_id: string;
  version: bigint;
  stamp: string;
  totals: readonly number[] | undefined;
  traits: string;
  edge_ms: number;
}

type Row = Record<'player_id' | 'stamp' | 'traits' | 'recent', string> &
  Record<'version' | 'edge_ms' | 'since_ms', bigint> & { totals: string | null };

/** The rows of these players, by `player_id`. */
export async function selectEvaluated(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<Map<string, EvaluatedPlayer>> {
  const rows = await sql<Row[]>`
    select e.player_id, e.version, e.stamp, e.totals, e.traits, e.edge_ms, e.since_ms, e.recent
    from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
    cross join lateral (
      select * from evaluated_players e
      where e.player_id = r.player_id and e.tenant_id = ${tenant_id} and e.project_id = ${project_id} offset 0) e`;
  return new Map(
    rows.map(({ totals, recent, edge_ms, since_ms, ...row }) => [
      row.player_id,
      {
        ...row,
        totals: totals === null ? undefined : numbersOf(totals),
        edge_ms: Number(edge_ms),
        since_ms: Number(since_ms),
        recent: recent === '' ? [] : recent.split(' '),
      },
    ]),
  );
}

function numbersOf(text: string): number[] {
  return text === '' ? [] : text.split(',').map(Number);
}

/** The next content of a row; `version`: that of the row when it was read. */
export interface NextContent extends Counts {
  player_id: string;
  version: bigint;
  /** Absent: they stay. */
  traits?: string | undefined;
  edge_ms?: number | undefined;
}

/** Writes the rows that nobody else has written since they were read; returns the players of these. */
export async function updateEvaluated(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  next: readonly NextContent[],
): Promise<Set<string>> {
  if (next.length === 0) return new Set();
  const rows = await tx<{ player_id: string }[]>`
    update evaluated_players e set version = e.version + 1, totals = r.totals, since_ms = r.since_ms,
      recent = r.recent, traits = coalesce(r.traits, e.traits), edge_ms = coalesce(r.edge_ms, e.edge_ms)
    from ${rowsOf(tx, 'r', next, {
      player_id: 'uuid',
      version: 'bigint',
      totals: ['text', (r) => r.totals.join(',')],
      since_ms: 'bigint',
      recent: ['text', (r) => r.recent.join(' ')],
      traits: ['text', (r) => r.traits ?? null],
      edge_ms: ['bigint', (r) => r.edge_ms ?? null],
    })}
    where e.player_id = r.player_id and e.tenant_id = ${tenant_id} and e.project_id = ${project_id}
      and e.version = r.version
    returning e.player_id`;
  return new Set(rows.map(({ player_id }) => player_id));
}

/**
 * Begins an evaluation of players: one that has no row of this plan gets an empty one. Returns the versions of the rows, by
 * player.
 */
export async function beginEvaluation(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  stamp: string,
  player_ids: readonly string[],
): Promise<Map<string, bigint>> {
  await tx`
    insert into evaluated_players as e (tenant_id, project_id, player_id, version, stamp)
    select ${tenant_id}, ${project_id}, r.player_id, 0, ${stamp}
    from unnest(${plainArray(player_ids.toSorted())}::text::uuid[]) as r (player_id)
    on conflict (player_id, tenant_id, project_id) do update set version = e.version + 1, stamp = excluded.stamp,
      totals = null
    where e.stamp <> excluded.stamp`;
  const rows = await tx<{ player_id: string; version: bigint }[]>`
    select e.player_id, e.version
    from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
    cross join lateral (
      select * from evaluated_players e
      where e.player_id = r.player_id and e.tenant_id = ${tenant_id} and e.project_id = ${project_id} offset 0) e`;
  return new Map(rows.map(({ player_id, version }) => [player_id, version]));
}

/** Forgets what is known of these players, which is always right: their next change is evaluated. */
export async function forgetEvaluated(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<void> {
  if (player_ids.length === 0) return;
  await tx`
    delete from evaluated_players
    where player_id = any(${plainArray(player_ids)}::text::uuid[]) and tenant_id = ${tenant_id}
      and project_id = ${project_id}`;
}

/** Players forgotten per statement. */
const MAX_FORGOTTEN = 20_000;

/** Forgets what is known of all players of a project, whose rows in ClickHouse were made anew. */
export async function forgetAllEvaluated(sql: Tx, { tenant_id, project_id }: ProjectRef): Promise<void> {
  for (let forgotten = MAX_FORGOTTEN; forgotten === MAX_FORGOTTEN;) {
    const { count } = await sql`
      delete from evaluated_players where ctid = any(array(
        select ctid from evaluated_players where tenant_id = ${tenant_id} and project_id = ${project_id}
        limit ${MAX_FORGOTTEN}))`;
    forgotten = count;
  }
}
