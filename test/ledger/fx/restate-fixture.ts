import type { RateChange } from '../../../src/ledger/fx/restate-queries.ts';
import { foldBatch } from '../../../src/ledger/fold/fold-batch.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import type { Db, Tx } from '../../../src/platform/postgres/port.ts';
import { batchOf, type FoldFixture, type Given } from '../fold/fold-fixture.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';

/** The time of the events, unless a test sets another. */
export const AT = Date.UTC(2026, 2, 1, 12);
export const HOUR_MS = 3_600_000;

/** The dependencies of the restater of one process. */
export function restaterOn(sql: Db) {
  const logger = createLogger('silent');
  return { sql, postgres: { service: sql }, clock: systemClock, logger, metrics: createMetrics() };
}

const open = new Set<() => void>();

/** Commits the transactions that a failed test left open, so that the next test does not wait for them. */
export function endTransactions(): void {
  for (const end of open) end();
}

/** Opens a transaction of the service role that stays open until `commit` is called. */
export async function openTransaction(
  sql: Db,
  work: (tx: Tx) => Promise<unknown>,
): Promise<{ commit(): Promise<void> }> {
  let end = () => undefined as void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  open.add(end);
  let done: Promise<unknown> = Promise.resolve();
  await new Promise<void>((opened, failed) => {
    done = sql.begin(async (tx) => {
      await work(tx);
      opened();
      await ended;
    });
    done.catch(failed);
  });
  return {
    async commit() {
      end();
      open.delete(end);
      await done;
    },
  };
}

/**
 * Blocks all writes and row locks on a table. The transaction has no transaction id, so the restater does not wait for
 * it.
 */
export async function stopWriters(sql: Db, table: string): Promise<{ commit(): Promise<void> }> {
  return openTransaction(sql, (tx) => tx`lock table ${tx(table)} in exclusive mode`);
}

/** `pair` has the form base/quote. */
export async function insertRate(
  sql: Tx,
  { tenant_id }: { tenant_id: string },
  pair: string,
  rate: string,
  ts_ms = AT,
): Promise<void> {
  const [base = '', quote = ''] = pair.split('/');
  await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate)
    values (${tenant_id}, ${base}, ${quote}, ${new Date(ts_ms)}, ${rate})`;
}

export async function changesOf(sql: Tx, { tenant_id }: { tenant_id: string }): Promise<RateChange[]> {
  return sql<RateChange[]>`
    select tenant_id, change_id, base, quote, ts::text from fx_rate_changes where tenant_id = ${tenant_id}
    order by change_id`;
}

export function deposit(
  anonymous_id: string,
  transaction_id: string,
  amount: number | string,
  currency: string,
  at_ms = AT,
): Given {
  const properties = { amount, currency, transaction_id, payment_method: 'card' };
  return { event: 'deposit_confirmed', anonymous_id, timestamp: new Date(at_ms).toISOString(), properties };
}

/** Takes back a part of a deposit. */
export function reversed(
  anonymous_id: string,
  transaction_id: string,
  amount: number,
  currency: string,
  at_ms = AT,
): Given {
  const properties = { amount, currency, transaction_id, reversal_id: 'r' };
  return { event: 'deposit_reversed', anonymous_id, timestamp: new Date(at_ms).toISOString(), properties };
}

function game(bet_id: string, amount: number, currency: string) {
  return { bet_id, amount, currency, game_id: 'g', game_category: 'slots' };
}

export function placed(anonymous_id: string, bet_id: string, amount: number, currency: string): Given {
  const timestamp = new Date(AT).toISOString();
  return { event: 'bet_placed', anonymous_id, timestamp, properties: game(bet_id, amount, currency) };
}

export function settled(
  anonymous_id: string,
  bet_id: string,
  amount: number,
  payout: number,
  currency: string,
): Given {
  const timestamp = new Date(AT).toISOString();
  const properties = { ...game(bet_id, amount, currency), payout, outcome: 'won' };
  return { event: 'bet_settled', anonymous_id, timestamp, properties };
}

/** Folds the events as one batch of a topic of its own. */
export async function foldAll(
  fixture: FoldFixture,
  project: ProjectRef,
  events: readonly Given[],
  topic = crypto.randomUUID() as string,
): Promise<void> {
  await foldBatch(fixture.newFold(), batchOf(project, events, { topic }));
}

interface MoneyTotals {
  deposited: bigint;
  wagered: bigint;
  won: bigint;
  bonus_wagered: bigint;
  bonus_won: bigint;
  bets: bigint;
  pending: bigint;
}

/** The totals of the player that the anonymous_id names; after a merge, of the survivor. */
export async function totalsOf(
  sql: Tx,
  project: ProjectRef,
  anonymous_id: string,
): Promise<MoneyTotals | undefined> {
  const [row] = await sql<MoneyTotals[]>`
    select t.total_deposited as deposited, t.total_wagered as wagered, t.total_won as won,
      t.total_bonus_wagered as bonus_wagered, t.total_bonus_won as bonus_won, t.bet_count as bets,
      t.pending_conversions as pending
    from player_identities i join player_totals t using (tenant_id, project_id, player_id)
    where i.tenant_id = ${project.tenant_id} and i.project_id = ${project.project_id} and i.anonymous_id = ${anonymous_id}`;
  return row;
}

export interface LedgerEntry {
  reference: string;
  event: string;
  base_amount: bigint | null;
  base_payout: bigint | null;
  rate: string | null;
}

export async function ledgerOf(sql: Tx, { tenant_id }: { tenant_id: string }): Promise<LedgerEntry[]> {
  return sql<LedgerEntry[]>`
    select reference, event::text, base_amount, base_payout, rate::text
    from ledger join projects using (project_no) where tenant_id = ${tenant_id}
    order by reference collate "C", event`;
}

/** The former values of restated rows, oldest first. */
export async function adjustmentsOf(sql: Tx, { tenant_id }: { tenant_id: string }): Promise<LedgerEntry[]> {
  return sql<LedgerEntry[]>`
    select a.reference, l.event::text, a.base_amount, a.base_payout, a.rate::text
    from ledger_adjustments a
    join projects p using (tenant_id, project_id)
    join ledger l on l.project_no = p.project_no and l.reference = a.reference and l.ordinal = a.ordinal
    where a.tenant_id = ${tenant_id} order by a.adjustment_id`;
}

/** The rows whose events are queued to be written anew. */
export async function correctedOf(sql: Tx, { tenant_id }: { tenant_id: string }) {
  const rows = await sql<{ reference: string; event: string }[]>`
    select distinct c.reference collate "C" as reference, l.event::text
    from event_corrections c
    join projects p using (tenant_id, project_id)
    join ledger l on l.project_no = p.project_no and l.reference = c.reference and l.ordinal = c.ordinal
    where c.tenant_id = ${tenant_id} order by 1, 2`;
  return [...rows];
}

/** Sums over all players of a tenant, which a merge does not change. */
export async function depositedBy(sql: Tx, { tenant_id }: { tenant_id: string }) {
  const [row] = await sql<{ deposited: string; pending: string }[]>`
    select sum(total_deposited)::text as deposited, sum(pending_conversions)::text as pending
    from player_totals where tenant_id = ${tenant_id}`;
  return row;
}
