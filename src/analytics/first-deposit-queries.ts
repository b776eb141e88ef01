import { rowsOf } from '../platform/postgres/rows.ts';
import type { Postgres, Tx } from '../platform/postgres/port.ts';
import { WriteConflict } from '../platform/postgres/retry.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

/**
 * Whether every player of the project has `first_deposit_at`, also in ClickHouse; until then it follows from the events. Only a
 * project from before the column has something to count.
 */
export async function readFirstDepositsKnown(
  postgres: Pick<Postgres, 'readAsTenant'>,
  { tenant_id, project_id }: ProjectRef,
): Promise<boolean> {
  const rows = await postgres.readAsTenant(
    tenant_id,
    (tx) => tx<object[]>`
      select from first_deposit_pages where tenant_id = ${tenant_id} and project_id = ${project_id}`,
  );
  return rows.length === 0;
}

interface NextPage extends ProjectRef {
  project_no: number;
  reference: string;
  ordinal: number;
}

interface FirstDeposit extends ProjectRef {
  player_id: string;
  at_ms: bigint;
}

/**
 * Counts the deposits of the next page of the ledger of a project from before, in the caller's transaction; false: there is none.
 * The fold and merges take the earlier time, too, so they may run meanwhile. Rejects with WriteConflict when a player was
 * merged since the page was read.
 */
export async function countFirstDeposits(tx: Tx, limit: number): Promise<boolean> {
  const [next] = await tx<NextPage[]>`
    select f.tenant_id, f.project_id, f.reference, f.ordinal, p.project_no
    from first_deposit_pages f join projects p using (tenant_id, project_id)
    where f.done_xid is null order by f.tenant_id, f.project_id limit 1
    for no key update of f skip locked`;
  if (next === undefined) return false;
  const { tenant_id, project_id } = next;
  const [page] = await tx<{ rows: number; last_reference: string | null; last_ordinal: number | null }[]>`
    select count(*)::integer as rows, (array_agg(l.reference))[count(*)] as last_reference,
      (array_agg(l.ordinal))[count(*)] as last_ordinal
    from (${pageOf(tx, next, limit)}) l`;
  // Up to the same row: rows that were added between the two statements must not push out others.
  const found = await tx<FirstDeposit[]>`
    select ${tenant_id}::uuid as tenant_id, ${project_id}::uuid as project_id,
      coalesce(m.into_player_id, l.player_id) as player_id, epoch_ms(min(l.occurred_at))::bigint as at_ms
    from (
      select l.player_id, l.event, l.occurred_at from ledger l
      where l.project_no = ${next.project_no} and (l.reference, l.ordinal) > (${next.reference}, ${next.ordinal}::integer)
        and (l.reference, l.ordinal) <= (${page?.last_reference ?? ''}, ${page?.last_ordinal ?? 0}::integer)) l
    left join lateral (
      select m.into_player_id from player_merges m
      where m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.player_id = l.player_id offset 0) m on true
    where l.event = 'deposit_confirmed'
    group by 3`;
  await writeFirst(tx, found);
  const is_last = page === undefined || page.rows < limit;
  await tx`
    update first_deposit_pages set
      reference = coalesce(${page?.last_reference ?? null}, reference),
      ordinal = coalesce(${page?.last_ordinal ?? null}, ordinal),
      done_xid = ${is_last ? tx`pg_current_xact_id()` : tx`null`}
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return true;
}

/** The rows of the ledger behind a place, in the order of its key. */
function pageOf(tx: Tx, { project_no, reference, ordinal }: NextPage, limit: number) {
  return tx`
    select l.reference, l.ordinal, l.event, l.player_id, l.occurred_at from ledger l
    where l.project_no = ${project_no} and (l.reference, l.ordinal) > (${reference}, ${ordinal}::integer)
    order by l.reference, l.ordinal limit ${limit}`;
}

async function writeFirst(tx: Tx, found: readonly FirstDeposit[]): Promise<void> {
  if (found.length === 0) return;
  const sorted = found.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  const asked = rowsOf(tx, 'r', sorted, {
    tenant_id: 'uuid',
    project_id: 'uuid',
    player_id: 'uuid',
    at_ms: 'bigint',
  });
  const isAsked = tx`t.player_id = r.player_id and t.tenant_id = r.tenant_id and t.project_id = r.project_id`;
  const at = tx`'epoch'::timestamptz + r.at_ms * interval '1 millisecond'`;
  // A statement of its own, so that the next ones see the rows as other transactions have left them.
  const locked = await tx<{ player_id: string }[]>`
    select t.player_id from ${asked}
    cross join lateral (select t.player_id from player_totals t where ${isAsked} for no key update) t`;
  const known = new Set(locked.map(({ player_id }) => player_id));
  const gone = sorted.filter(({ player_id }) => !known.has(player_id)).map(({ player_id }) => player_id);
  if (gone.length > 0) {
    const merged = await tx`select from player_merges where player_id in ${tx(gone)} limit 1`;
    if (merged.length > 0) throw new WriteConflict('a player was merged into another');
  }
  await tx`
    update player_totals t set first_deposit_at = least(t.first_deposit_at, ${at}), changed_xid = pg_current_xact_id()
    from ${asked} where ${isAsked} and (t.first_deposit_at is null or t.first_deposit_at > ${at})`;
}

/** Removes the projects of which all deposits are counted and all changed players are in ClickHouse. */
export async function endFirstDeposits(tx: Tx): Promise<void> {
  await tx`
    delete from first_deposit_pages f
    where f.done_xid < pg_snapshot_xmin(pg_current_snapshot())
      and not exists (select from player_changes c where c.changed_xid <= f.done_xid)`;
}
