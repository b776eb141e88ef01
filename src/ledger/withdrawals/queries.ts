import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { placesOf, projectsInPlaces } from '../../tenants/project-numbers-queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { LedgerRow, MoneyEvent } from '../money/ledger.ts';

/** After one of these a withdrawal is open no more, whatever the order in which they arrive. */
const ENDS: readonly MoneyEvent[] = ['withdrawal_confirmed', 'withdrawal_failed'];

/** The condition that the ledger has an end of the withdrawal `w`, which has a `project_no` and a `reference`. */
export function isEnded(tx: Tx): PendingQuery<Row[]> {
  return tx`exists (
    select from ledger e where e.project_no = w.project_no and e.reference = w.reference
      and e.event = any(${plainArray(ENDS)}::text::money_event[]) offset 0)`;
}

/**
 * Whether a withdrawal of the player `p` is requested, and neither confirmed nor failed; null: none is known, and what was
 * there before this was kept is still being read (`licence_history`).
 */
export function hasPendingWithdrawal(tx: Tx): PendingQuery<Row[]> {
  return tx`case
    when exists (
      select from (
        select o.reference, (select j.project_no from projects j
          where j.tenant_id = o.tenant_id and j.project_id = o.project_id) as project_no
        from open_withdrawals o
        where o.player_id = p.player_id and o.tenant_id = p.tenant_id and o.project_id = p.project_id offset 0) w
      where not ${isEnded(tx)}) then true
    when exists (
      select from licence_history h where h.tenant_id = p.tenant_id and h.project_id = p.project_id offset 0)
      then null
    else false end`;
}

/**
 * Notes withdrawals that the new rows of the ledger request, and removes those that they end. Returns a function that sends
 * the statements; they come after the rows, in their transaction.
 */
export function noteWithdrawals(tx: Tx, added: readonly LedgerRow[]): () => Promise<void> {
  const requested = added.filter(({ event }) => event === 'withdrawal_requested');
  const ended = added.filter(({ event }) => ENDS.includes(event));
  const statements = [
    ...(requested.length === 0 ? [] : [insertRequested(tx, requested)]),
    ...(ended.length === 0 ? [] : [deleteEnded(tx, ended)]),
  ];
  return async () => void (await Promise.all(statements));
}

function byReference(a: LedgerRow, b: LedgerRow): number {
  if (a.reference !== b.reference) return a.reference < b.reference ? -1 : 1;
  return a.project_id < b.project_id ? -1 : 1;
}

function insertRequested(tx: Tx, requested: readonly LedgerRow[]) {
  const rows = requested.toSorted(byReference);
  const { projects, place } = placesOf(rows);
  return tx`
    insert into open_withdrawals (player_id, tenant_id, project_id, reference)
    select w.player_id, w.tenant_id, w.project_id, w.reference
    from (
      select r.player_id, p.tenant_id, p.project_id, p.project_no, r.reference
      from ${projectsInPlaces(tx, projects)} p
      join ${rowsOf(tx, 'r', rows, { place, reference: 'text', player_id: 'uuid' })} using (place)
      offset 0) w
    where not ${isEnded(tx)}
    order by w.reference, w.project_id
    on conflict do nothing`;
}

function deleteEnded(tx: Tx, ended: readonly LedgerRow[]) {
  const rows = ended.toSorted(byReference);
  const { projects, place } = placesOf(rows);
  return tx`
    delete from open_withdrawals w
    using ${projectsInPlaces(tx, projects)} p
    join ${rowsOf(tx, 'r', rows, { place, reference: 'text' })} using (place)
    where w.reference = r.reference and w.tenant_id = p.tenant_id and w.project_id = p.project_id`;
}

/** The open withdrawals of a player that is merged are those of the survivor. */
export const withdrawalsOfPlayers = {
  async onMerge(
    tx: Tx,
    {
      tenant_id,
      project_id,
      player_id,
      into_player_id,
    }: ProjectRef & { player_id: string; into_player_id: string },
  ): Promise<void> {
    await tx`
      update open_withdrawals set player_id = ${into_player_id}
      where player_id = ${player_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
  },
};
