import type { Tx } from '../../platform/postgres/port.ts';
import { isGrant } from './queries.ts';
import type { EventSource, GrantRef, GrantRow } from './grant-row.ts';
import type { GrantStatus } from './transition.ts';

/** The columns that events and attempts change. */
export type GrantChange = Pick<
  GrantRow,
  | 'status'
  | 'outcome'
  | 'needs_review'
  | 'exclusion_group'
  | 'slot'
  | 'bonus_amount'
  | 'bonus_amount_base'
  | 'wagering_required'
  | 'wagering_progress'
  | 'progress_source'
  | 'released_amount'
  | 'released_amount_base'
  | 'facts'
  | 'status_reason'
  | 'next_attempt_at'
  | 'last_error'
  | 'activated_at'
  | 'expires_at'
  | 'completed_at'
  | 'ended_at'
  | 'seq'
>;

/** Writes what an event has changed about a locked grant. */
export async function updateGrant(tx: Tx, ref: GrantRef, change: GrantChange, now: Date): Promise<void> {
  const last_error = change.last_error === null ? null : JSON.stringify(change.last_error);
  await tx`
    update bonus_grants g set
      status = ${change.status}, outcome = ${change.outcome}, needs_review = ${change.needs_review},
      exclusion_group = ${change.exclusion_group}, slot = ${change.slot},
      bonus_amount = ${change.bonus_amount}::text::numeric, bonus_amount_base = ${change.bonus_amount_base},
      wagering_required = ${change.wagering_required}::text::numeric,
      wagering_progress = ${change.wagering_progress}::text::numeric, progress_source = ${change.progress_source},
      released_amount = ${change.released_amount}::text::numeric, released_amount_base = ${change.released_amount_base},
      facts = ${JSON.stringify(change.facts)}::text::jsonb, status_reason = ${change.status_reason},
      next_attempt_at = ${change.next_attempt_at}, activated_at = ${change.activated_at},
      expires_at = ${change.expires_at}, completed_at = ${change.completed_at}, ended_at = ${change.ended_at},
      last_error = ${last_error}::text::jsonb, seq = ${change.seq}, updated_at = ${now}
    where ${isGrant(tx, ref)}`;
}

/** An event to add to the history of a grant. */
export interface NewHistory extends GrantRef {
  seq: number;
  event: string;
  source: EventSource;
  event_id: string | null;
  from_status: GrantStatus | null;
  to_status: GrantStatus;
  occurred_at: Date;
  received_at: Date;
  data: object;
  /** The event of the log that it also is; null: none. */
  log: { event: string; ingestion_id: string } | null;
}

/** Adds events to the histories of grants. */
export async function insertHistory(tx: Tx, rows: readonly NewHistory[]): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    insert into bonus_grant_events (tenant_id, project_id, grant_id, seq, event, source, event_id, from_status,
      to_status, occurred_at, received_at, data, log_event, ingestion_id, is_to_publish)
    select r.tenant_id, r.project_id, r.grant_id, r.seq, r.event, r.source, r.event_id, r.from_status, r.to_status,
      r.occurred_at, r.received_at, r.data, r.log ->> 'event', (r.log ->> 'ingestion_id')::uuid, r.log is not null
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (tenant_id uuid, project_id uuid,
      grant_id uuid, seq integer, event text, source text, event_id uuid, from_status text, to_status text,
      occurred_at timestamptz, received_at timestamptz, data jsonb, log jsonb)`;
}

/** A place beyond all that the template's grants to the player have. */
export async function nextSlot(
  tx: Tx,
  { tenant_id, project_id, player_id, template_id }: GrantRow,
): Promise<number> {
  const [row] = await tx<{ slot: number }[]>`
    select coalesce(max(slot), 0)::integer + 1 as slot
    -- Found by the player alone: by the template, Postgres might read all that was ever granted from it.
    from (
      select g.slot, g.template_id from bonus_grants g
      where g.player_id = ${player_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id} offset 0) own
    where template_id = ${template_id}`;
  return row?.slot ?? 1;
}

/** The key of a template's budget. */
export interface BudgetRef {
  tenant_id: string;
  project_id: string;
  template_id: string;
}

/**
 * Takes `amount` of the template's budget, in the smallest unit of the base currency; `budget` null: there is no limit.
 * False, and nothing is taken, when it is not left. The row is locked until the transaction ends: take it last.
 */
export async function takeBudget(
  tx: Tx,
  { tenant_id, project_id, template_id }: BudgetRef,
  amount: bigint,
  budget: bigint | null,
): Promise<boolean> {
  const limit = budget === null ? null : String(budget);
  const rows = await tx`
    insert into bonus_budgets as b (tenant_id, project_id, template_id, used_base)
    select ${tenant_id}, ${project_id}, ${template_id}, ${String(amount)}::text::numeric
    where ${limit}::text::numeric is null or ${String(amount)}::text::numeric <= ${limit}::text::numeric
    on conflict (tenant_id, project_id, template_id) do update set used_base = b.used_base + excluded.used_base
      where ${limit}::text::numeric is null or b.used_base + excluded.used_base <= ${limit}::text::numeric
    returning 1`;
  return rows.length === 1;
}

/** Changes what the template's grants cost by `difference`, whatever the budget: the money is out, or will not be. */
export async function correctBudget(
  tx: Tx,
  { tenant_id, project_id, template_id }: BudgetRef,
  difference: bigint,
): Promise<void> {
  if (difference === 0n) return;
  await tx`
    update bonus_budgets set used_base = used_base + ${String(difference)}::text::numeric
    where template_id = ${template_id} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
}
