import type { PendingQuery, Row } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import type { CallChange } from './call-queries.ts';
import type { EventSource, GrantRef, GrantRow } from './grant-row.ts';
import type { GrantStatus } from './transition.ts';

/**
 * Statements to be sent together, in this order: bare queries, because what an async function sends would overtake those
 * that stand before it in a list, and with it the order of locks.
 */
export type Statements = readonly PendingQuery<Row[]>[];

/** The columns that events and attempts change. */
export type GrantChange = CallChange &
  Pick<
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
    | 'activated_at'
    | 'expires_at'
    | 'completed_at'
    | 'ended_at'
    | 'seq'
  >;

/** Writes the columns of {@link GrantChange} of grants that the transaction has locked. */
export function updateGrants(tx: Tx, grants: readonly GrantRow[]): Statements {
  if (grants.length === 0) return [];
  return [
    tx`
      update bonus_grants g set
        status = r.status, outcome = r.outcome, needs_review = r.needs_review, exclusion_group = r.exclusion_group,
        slot = r.slot, bonus_amount = r.bonus_amount, bonus_amount_base = r.bonus_amount_base,
        wagering_required = r.wagering_required, wagering_progress = r.wagering_progress,
        progress_source = r.progress_source, released_amount = r.released_amount,
        released_amount_base = r.released_amount_base, facts = r.facts, status_reason = r.status_reason,
        next_attempt_at = r.next_attempt_at, retry_early_at = r.retry_early_at, activated_at = r.activated_at, expires_at = r.expires_at,
        completed_at = r.completed_at, ended_at = r.ended_at, seq = r.seq, may_be_sent = r.may_be_sent,
        last_error = r.last_error, attempts = r.attempts, cancel_requested_at = r.cancel_requested_at,
        cancel_reason = r.cancel_reason, is_protection_seen = r.is_protection_seen, updated_at = r.updated_at
      from jsonb_to_recordset(${JSON.stringify(grants.map(writtenOf))}::text::jsonb) as r (tenant_id uuid,
        project_id uuid, grant_id uuid, status text, outcome text, needs_review boolean, exclusion_group text,
        slot integer, bonus_amount numeric, bonus_amount_base bigint, wagering_required numeric,
        wagering_progress numeric, progress_source text, released_amount numeric, released_amount_base bigint,
        facts jsonb, status_reason text, next_attempt_at timestamptz, retry_early_at timestamptz,
        activated_at timestamptz, expires_at timestamptz,
        completed_at timestamptz, ended_at timestamptz, seq integer, may_be_sent boolean, last_error jsonb,
        attempts integer, cancel_requested_at timestamptz, cancel_reason text, is_protection_seen boolean,
        updated_at timestamptz)
      -- One by one: joined, Postgres might read all grants there are.
      cross join lateral (
        select o.ctid from bonus_grants o
        where o.grant_id = r.grant_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id offset 0) found
      where g.ctid = found.ctid`,
  ];
}

type Written = Omit<GrantChange, 'bonus_amount_base' | 'released_amount_base'> &
  GrantRef &
  Pick<GrantRow, 'updated_at'> & { bonus_amount_base: string; released_amount_base: string | null };

/** What of a grant is written, as JSON has it. */
function writtenOf(row: GrantRow): Written {
  const { released_amount_base } = row;
  return {
    tenant_id: row.tenant_id,
    project_id: row.project_id,
    grant_id: row.grant_id,
    status: row.status,
    outcome: row.outcome,
    needs_review: row.needs_review,
    exclusion_group: row.exclusion_group,
    slot: row.slot,
    bonus_amount: row.bonus_amount,
    bonus_amount_base: String(row.bonus_amount_base),
    wagering_required: row.wagering_required,
    wagering_progress: row.wagering_progress,
    progress_source: row.progress_source,
    released_amount: row.released_amount,
    released_amount_base: released_amount_base === null ? null : String(released_amount_base),
    facts: row.facts,
    status_reason: row.status_reason,
    next_attempt_at: row.next_attempt_at,
    retry_early_at: row.retry_early_at,
    activated_at: row.activated_at,
    expires_at: row.expires_at,
    completed_at: row.completed_at,
    ended_at: row.ended_at,
    seq: row.seq,
    may_be_sent: row.may_be_sent,
    last_error: row.last_error,
    attempts: row.attempts,
    cancel_requested_at: row.cancel_requested_at,
    cancel_reason: row.cancel_reason,
    is_protection_seen: row.is_protection_seen,
    updated_at: row.updated_at,
  };
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
  await Promise.all(addHistory(tx, rows));
}

/** As {@link insertHistory}, to be sent with others. */
export function addHistory(tx: Tx, rows: readonly NewHistory[]): Statements {
  if (rows.length === 0) return [];
  return [
    tx`
      insert into bonus_grant_events (tenant_id, project_id, grant_id, seq, event, source, event_id, from_status,
        to_status, occurred_at, received_at, data, log_event, ingestion_id, is_to_publish)
      select r.tenant_id, r.project_id, r.grant_id, r.seq, r.event, r.source, r.event_id, r.from_status, r.to_status,
        r.occurred_at, r.received_at, r.data, r.log ->> 'event', (r.log ->> 'ingestion_id')::uuid, r.log is not null
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (tenant_id uuid, project_id uuid,
        grant_id uuid, seq integer, event text, source text, event_id uuid, from_status text, to_status text,
        occurred_at timestamptz, received_at timestamptz, data jsonb, log jsonb)`,
  ];
}

/** For each of these grants a place beyond all that its template's grants to its player have, and those before it here. */
export async function nextSlots(tx: Tx, grants: readonly GrantRow[]): Promise<number[]> {
  if (grants.length === 0) return [];
  const rows = await tx<{ slot: number }[]>`
    select last.slot + (row_number() over (partition by r.tenant_id, r.project_id, r.player_id, r.template_id
      order by r.nr))::integer as slot
    from ${rowsOf(tx, 'r', grants, { ...PROJECT_KEY, player_id: 'uuid', template_id: 'uuid', nr: 'ordinality' })}
    cross join lateral (
      select coalesce(max(own.slot), 0)::integer as slot
      -- Found by the player alone: by the template, Postgres might read all that was ever granted from it.
      from (
        select g.slot, g.template_id from bonus_grants g
        where g.player_id = r.player_id and g.tenant_id = r.tenant_id and g.project_id = r.project_id offset 0) own
      where own.template_id = r.template_id) last
    order by r.nr`;
  return rows.map(({ slot }) => slot);
}

/** The key of a template's budget. */
export interface BudgetRef {
  tenant_id: string;
  project_id: string;
  template_id: string;
}

/** The change of the cost of a template's grants, in the smallest unit of the base currency. */
export interface BudgetCorrection extends BudgetRef {
  difference: bigint;
}

/** Changes what the template's grants cost by `difference`, even beyond the budget: the money is out, or will not be. */
export async function correctBudget(tx: Tx, ref: BudgetRef, difference: bigint): Promise<void> {
  await Promise.all(correctBudgets(tx, [{ ...ref, difference }]));
}

/** As {@link correctBudget} for any number of templates, each named any number of times, to be sent with others. */
export function correctBudgets(tx: Tx, corrections: readonly BudgetCorrection[]): Statements {
  const sums = new Map<string, BudgetCorrection>();
  for (const { tenant_id, project_id, template_id, difference } of corrections) {
    const key = `${template_id} ${tenant_id} ${project_id}`;
    const sum = (sums.get(key)?.difference ?? 0n) + difference;
    sums.set(key, { tenant_id, project_id, template_id, difference: sum });
  }
  // In the order in which everyone locks budgets.
  const sorted = [...sums.values()]
    .filter(({ difference }) => difference !== 0n)
    .sort((a, b) => (a.template_id < b.template_id ? -1 : 1));
  if (sorted.length === 0) return [];
  const asked = rowsOf(tx, 'r', sorted, { ...PROJECT_KEY, template_id: 'uuid', difference: 'numeric' });
  const isAsked = tx`o.template_id = r.template_id and o.tenant_id = r.tenant_id and o.project_id = r.project_id`;
  return [
    // A statement of its own, so that the next one sees what other transactions have changed until then.
    tx`
      select from ${asked} cross join lateral (select from bonus_budgets o where ${isAsked} for no key update) o`,
    tx`
      update bonus_budgets b set used_base = b.used_base + r.difference from ${asked}
      cross join lateral (select o.ctid from bonus_budgets o where ${isAsked} offset 0) found
      where b.ctid = found.ctid`,
  ];
}
