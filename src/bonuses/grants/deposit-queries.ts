import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import { grantColumns, isGrant } from './queries.ts';
import type { GrantRef, GrantRow } from './grant-row.ts';

/** A deposit by its transaction_id. */
export interface DepositRef extends ProjectRef {
  reference: string;
}

/** Those of the deposits of which anything was ever reversed, whatever it counts. */
export async function selectReversed(sql: Tx, deposits: readonly DepositRef[]): Promise<DepositRef[]> {
  return sql<DepositRef[]>`
    select r.tenant_id, r.project_id, r.reference
    from ${rowsOf(sql, 'r', deposits, { ...PROJECT_KEY, reference: 'text' })}
    cross join lateral (
      select p.project_no from projects p where p.tenant_id = r.tenant_id and p.project_id = r.project_id offset 0) p
    cross join lateral (
      select from ledger l
      where l.project_no = p.project_no and l.reference = r.reference and l.event = 'deposit_reversed' limit 1) l`;
}

/** Marks a locked grant whose deposit is reversed to 0: somebody has to look at it. Returns it as it is then. */
export async function markDepositReversed(tx: Tx, ref: GrantRef, now: Date): Promise<GrantRow> {
  const [row] = await tx<GrantRow[]>`
    update bonus_grants g set needs_review = true, deposit_reversed_at = ${now}, updated_at = ${now}
    where ${isGrant(tx, ref)}
    returning ${grantColumns(tx)}`;
  if (row === undefined) throw new Error(`grant ${ref.grant_id} has vanished`);
  return row;
}
