import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { MoneyEvent } from './ledger.ts';

/** What the ledger has of one money event. Amounts are whole numbers of the smallest unit, as digits. */
export interface TracedRow {
  player_id: string;
  currency: string | null;
  amount: string | null;
  payout: string | null;
  base_amount: string | null;
  base_payout: string | null;
  rate: string | null;
  rate_ts_ms: bigint | null;
  rate_is_inverse: boolean | null;
  ingestion_id: string;
  event_index: number;
}

/** The reference of a money event, and what tells it apart from others of this reference. */
export interface ClaimRef extends ProjectRef {
  reference: string;
  event: MoneyEvent;
  occurrence: number;
}

const COLUMNS = `coalesce((select m.into_player_id from player_merges m
    where m.tenant_id = p.tenant_id and m.project_id = p.project_id and m.player_id = l.player_id), l.player_id) as player_id,
  l.currency, l.amount::text, l.payout::text, l.base_amount::text, l.base_payout::text, l.rate::text,
  epoch_ms(l.rate_ts) as rate_ts_ms, l.rate_is_inverse, l.ingestion_id, l.event_index`;

/** The row that this event has made, if it has. For the service role. */
export function findRowOfEvent(
  tx: Tx,
  { tenant_id, project_id, reference }: Pick<ClaimRef, keyof ProjectRef | 'reference'>,
  { ingestion_id, event_index }: { ingestion_id: string; event_index: number },
): PendingQuery<TracedRow[]> {
  return tx<TracedRow[]>`
    select ${tx.unsafe(COLUMNS)} from projects p join ledger l using (project_no)
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and l.reference = ${reference}
      and l.ingestion_id = ${ingestion_id} and l.event_index = ${event_index}
    limit 1`;
}

/** The row that holds the claim, if any. Any event may have made the claim. `occurrence` is 0 for events that happen once. */
export function findClaimHolder(
  tx: Tx,
  { tenant_id, project_id, reference, event, occurrence }: ClaimRef,
): PendingQuery<TracedRow[]> {
  return tx<TracedRow[]>`
    select ${tx.unsafe(COLUMNS)} from projects p join ledger l using (project_no)
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and l.reference = ${reference}
      and l.event = ${event} and (${occurrence} = 0 or epoch_ms(l.occurred_at) = ${occurrence})
    order by l.ordinal
    limit 1`;
}
