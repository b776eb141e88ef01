import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { PassingWindow } from '../dependencies.ts';
import type { Counts } from './count.ts';

/** Changes with the meaning of rows of `evaluated_players`: those of another version are not known. */
const ROWS_VERSION = 1;

/** The realtime segments of a project, as far as marks and plans need to know them. */
export interface RealtimeProject extends ProjectRef {
  /** What any of them reads. */
  reads: string[];
  /** Another text after each change of the segments or of their quarantine, and in another life of the database. */
  stamp: string;
}

/** The projects with realtime segments among these. */
export async function selectRealtimeProjects(
  sql: Tx,
  project_ids: readonly string[],
): Promise<RealtimeProject[]> {
  return sql<RealtimeProject[]>`
    select s.tenant_id, s.project_id, s.reads, concat_ws(' ', ${ROWS_VERSION}::integer,
      (select max(epoch) from database_epochs), s.project_id, p.changes) as stamp
    from (
      select tenant_id, project_id, array_agg(distinct r.reads) as reads
      from segments, unnest(reads) as r (reads)
      where refresh_strategy = 'realtime' and deleted_at is null
        and project_id = any(${plainArray(project_ids)}::text::uuid[])
      group by tenant_id, project_id) s
    left join segment_plans p on p.tenant_id = s.tenant_id and p.project_id = s.project_id`;
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

/** The rows of these players, by `player_id`; `locked`: nobody else writes them until the transaction ends. */
export async function selectEvaluated(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
  locked = false,
): Promise<Map<string, EvaluatedPlayer>> {
  // All lock rows in the order of the players.
  const rows = await sql<Row[]>`
    select e.player_id, e.version, e.stamp, e.totals, e.traits, e.edge_ms, e.since_ms, e.recent
    from unnest(${plainArray(player_ids.toSorted())}::text::uuid[]) as r (player_id)
    cross join lateral (
      select * from evaluated_players e
      where e.player_id = r.player_id and e.tenant_id = ${tenant_id} and e.project_id = ${project_id}
      offset 0 ${locked ? sql`for update` : sql``}) e`;
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

/**
 * Writes the rows that nobody else has written since they were read; returns the players of these. The transaction holds their
 * locks, so the rows stay where they are.
 */
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
    cross join lateral (
      select ctid as place from evaluated_players e
      where e.player_id = r.player_id and e.tenant_id = ${tenant_id} and e.project_id = ${project_id}
      offset 0) k
    where e.ctid = k.place and e.version = r.version
    returning e.player_id`;
  return new Set(rows.map(({ player_id }) => player_id));
}

/** Begins an evaluation: the players have empty rows of this plan now. Returns the versions of the rows, by player. */
export async function beginEvaluation(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  stamp: string,
  player_ids: readonly string[],
): Promise<Map<string, bigint>> {
  await tx`
    insert into segment_plans (tenant_id, project_id) values (${tenant_id}, ${project_id}) on conflict do nothing`;
  // A version that no row of the player had before, also none that was removed.
  const rows = await tx<{ player_id: string; version: bigint }[]>`
    insert into evaluated_players (tenant_id, project_id, player_id, version, stamp)
    select ${tenant_id}, ${project_id}, r.player_id, floor(random() * 1e15), ${stamp}
    from unnest(${plainArray(player_ids.toSorted())}::text::uuid[]) as r (player_id)
    on conflict (player_id, tenant_id, project_id) do update
      set version = excluded.version, stamp = excluded.stamp, totals = null
    returning player_id, version`;
  return new Map(rows.map(({ player_id, version }) => [player_id, version]));
}

/**
 * Notes that the windows of a project are being swept up to a time: from now on nothing is kept that was found before it.
 */
export async function noteSweep(sql: Tx, { tenant_id, project_id }: ProjectRef, until: Date): Promise<void> {
  await sql`
    insert into segment_plans as p (tenant_id, project_id, sweeping_at) values (${tenant_id}, ${project_id}, ${until})
    on conflict (tenant_id, project_id) do update set sweeping_at = greatest(p.sweeping_at, excluded.sweeping_at)`;
}

/** Whether no sweep has begun that goes beyond `edge_ms`; none begins until the transaction ends. */
export async function isNotSwept(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  edge_ms: number,
): Promise<boolean> {
  const [row] = await tx<{ is_earlier: boolean }[]>`
    select sweeping_at <= ${new Date(edge_ms)} as is_earlier from segment_plans
    where tenant_id = ${tenant_id} and project_id = ${project_id} for share`;
  return row?.is_earlier === true;
}

/** Forgets what is known of these players, which is always right: their next change is evaluated. In a transaction. */
export async function forgetEvaluated(
  tx: Tx,
  project: ProjectRef,
  player_ids: readonly string[],
): Promise<void> {
  if (player_ids.length === 0) return;
  // A statement of its own: after it has waited for another writer, the next one sees what that has written.
  const rows = await selectEvaluated(tx, project, [...new Set(player_ids)], true);
  if (rows.size === 0) return;
  const { tenant_id, project_id } = project;
  await tx`
    delete from evaluated_players where ctid = any(array(
      select k.place from unnest(${plainArray([...rows.keys()])}::text::uuid[]) as r (player_id)
      cross join lateral (
        select ctid as place from evaluated_players e
        where e.player_id = r.player_id and e.tenant_id = ${tenant_id} and e.project_id = ${project_id}
        offset 0) k))`;
}

/** Nothing is known any more of the players of a project: their rows in ClickHouse were made anew. */
export async function forgetProject(sql: Tx, { tenant_id, project_id }: ProjectRef): Promise<void> {
  await sql`
    insert into segment_plans as p (tenant_id, project_id, changes) values (${tenant_id}, ${project_id}, 1)
    on conflict (tenant_id, project_id) do update set changes = p.changes + 1`;
}
