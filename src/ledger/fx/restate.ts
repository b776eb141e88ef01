import { readThresholds } from '../tier-thresholds/queries.ts';
import { readLedger } from '../fold/read-queries.ts';
import { referenceKey } from '../fold/fold-event.ts';
import { queueCorrections } from '../../analytics/correction-queries.ts';
import { effectOf, eventMoneyOf, isSameMoney } from '../money/counting.ts';
import { TotalsAccumulator } from '../money/totals.ts';
import { inBase, scalesOf } from '../money/conversion.ts';
import { moneyKindOf, type LedgerRow, type MoneyKind } from '../money/ledger.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';
import { isOverflow, WriteConflict, retryConflicts } from '../../platform/postgres/retry.ts';
import { takeTransactionId } from '../../platform/postgres/horizon.ts';
import {
  addToLockedTotals,
  deleteRateChange,
  lockRows,
  lockTotals,
  readRanges,
  readStaleRows,
  readWindowEnd,
  writeRestatements,
  type RateChange,
  type RestateRange,
  type Restatement,
  type StalePosition,
  type StaleRow,
  type StaleWindow,
} from './restate-queries.ts';

interface Deps {
  sql: Db;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
}

/** Rows per transaction: few, so that their players and bets are locked only for milliseconds. */
const PAGE = 500;
/** Rows that one statement examines, most of which may be right already: about a second's work. */
const EXAMINED = 20_000;

/**
 * Converts every ledger row that the change affects by the rates valid now: pending amounts are converted, amounts
 * converted by another rate are restated, and the totals are adjusted. Works page by page, one transaction each. A
 * crash in between leaves the change in its queue; the next run skips rows that are right already. Every transaction
 * that may have read rates without the change must have ended before. `stop` ends the work between two pages and also
 * leaves the change in its queue. No statement examines more than `examined` rows, however many the change affects.
 * Rejects when Postgres is unreachable or refuses a statement.
 */
export async function applyRateChange(
  deps: Deps,
  change: RateChange,
  stop?: AbortSignal,
  examined = EXAMINED,
): Promise<void> {
  for (const range of await readRanges(deps.sql, change)) {
    for (let after: StalePosition | undefined, more = true; more;) {
      const last: StalePosition | undefined = await readWindowEnd(deps.sql, range, after, examined);
      await restateWindow(deps, range, { after, last }, stop);
      if (stop?.aborted === true) return;
      after = last;
      more = last !== undefined;
    }
  }
  await deleteRateChange(deps.sql, change);
}

async function restateWindow(
  deps: Deps,
  range: RestateRange,
  { after, last }: StaleWindow,
  stop: AbortSignal | undefined,
): Promise<void> {
  for (let done = after, more = true; more;) {
    if (stop?.aborted === true) return;
    const page: { last: StalePosition | undefined } = await retryConflicts(() =>
      restatePage(deps, range, { after: done, last }, PAGE),
    );
    done = page.last;
    more = done !== undefined;
  }
}

/** Restates the next rows of the window; `last` is the last row done, undefined when there is none. */
async function restatePage(
  deps: Deps,
  range: RestateRange,
  window: StaleWindow,
  limit: number,
): Promise<{ last: StalePosition | undefined }> {
  let stale: StaleRow[] = [];
  try {
    const restated = await deps.sql.begin(async (tx) => {
      // The id comes first, as in the fold: a rate change that is committed later waits for this transaction.
      [, stale] = await Promise.all([takeTransactionId(tx), readStaleRows(tx, range, window, limit)]);
      return stale.length > 0 ? restate(tx, stale, deps) : 0;
    });
    // After the commit: the transaction may be repeated.
    deps.metrics.rowsRestated.inc(restated);
  } catch (error) {
    if (!isOverflow(error)) throw error;
    // A total would exceed 64 bits. Halving isolates the row, which stays as it is.
    if (stale.length > 1) return restatePage(deps, range, window, Math.ceil(stale.length / 2));
    deps.logger.error(
      { err: error, tenant_id: range.tenant_id },
      'a total would exceed 64 bits; the row keeps its rate',
    );
    deps.metrics.restatementsRefused.inc();
  }
  return { last: stale.at(-1)?.row };
}

/** Returns how many rows changed. */
async function restate(tx: Tx, stale: readonly StaleRow[], { clock }: Pick<Deps, 'clock'>): Promise<number> {
  await lockTotals(tx, distinctPlayers(stale));
  await lockRows(
    tx,
    stale.map(({ row }) => row),
  );
  // All writers of these rows are locked out now: the rows are read again, with the other rows of their bets.
  const ledger = await readLedger(tx, distinctReferences(stale));
  const restatements = stale.map((found): Restatement => {
    const row = ledger
      .get(referenceKey(found.row.project_id, found.row.reference))
      ?.find(({ ordinal }) => ordinal === found.row.ordinal);
    if (row?.player_id !== found.row.player_id) throw new WriteConflict('a player was merged into another');
    const { conversion } = found;
    return { row, money: { ...inBase(row, conversion), scales: scalesOf(conversion) } };
  });
  const changed = restatements.filter(({ row, money }) => !isEqual(row, money));
  if (changed.length === 0) return 0;
  const now_ms = clock.now_ms();
  const { totals, to_correct } = effectsOf(changed, ledger);
  // Read in the transaction: restating is rare, and needs no cache.
  const thresholds = await readThresholds(tx, [...new Set(totals.map(({ tenant_id }) => tenant_id))]);
  await addToLockedTotals(tx, totals, now_ms, thresholds);
  await writeRestatements(tx, changed, now_ms);
  await queueCorrections(tx, to_correct);
  return changed.length;
}

/** What the restatements add to their players' totals, and the rows whose events are to be written anew. */
function effectsOf(changed: readonly Restatement[], ledger: ReadonlyMap<string, LedgerRow[]>) {
  const totals = new TotalsAccumulator();
  const restated = new Map(changed.map(({ row, money }) => [row, { ...row, ...money }]));
  const touched = new Map<string, { kind: MoneyKind; rows: LedgerRow[] }>();
  for (const { row } of changed) {
    const kind = moneyKindOf(row.event);
    const key = referenceKey(row.project_id, row.reference);
    const rows = (ledger.get(key) ?? []).filter((other) => moneyKindOf(other.event) === kind);
    touched.set(`${kind} ${key}`, { kind, rows });
  }
  const to_correct: LedgerRow[] = [];
  for (const { kind, rows } of touched.values()) {
    const rows_after = rows.map((row) => restated.get(row) ?? row);
    const [before, after] = [effectOf(kind, rows), effectOf(kind, rows_after)];
    for (const delta of before.deltas) totals.add(delta, -1n);
    for (const delta of after.deltas) totals.add(delta);
    // A restated deposit changes what its reversals count, which keep their own base amounts.
    for (const [i, row] of rows.entries()) {
      const now = rows_after[i] ?? row;
      const was = eventMoneyOf(row, before.counts.get(row));
      if (!isSameMoney(was, eventMoneyOf(now, after.counts.get(now)))) to_correct.push(row);
    }
  }
  const row_of_player = new Map(changed.map(({ row }) => [row.player_id, row]));
  const of_players = [...totals.byPlayer].flatMap(([player_id, sums]) => {
    const row = row_of_player.get(player_id);
    // Another player of the bet, none of whose rows changed: the bet contributes the same as before.
    if (row === undefined) return [];
    return [{ tenant_id: row.tenant_id, project_id: row.project_id, player_id, sums }];
  });
  return { totals: of_players, to_correct };
}

function isEqual(row: LedgerRow, money: Restatement['money']): boolean {
  return (
    isSameMoney(row, money) &&
    row.rate?.rate === money.rate?.rate &&
    row.rate?.ts_ms === money.rate?.ts_ms &&
    row.rate?.is_inverse === money.rate?.is_inverse
  );
}

function distinctPlayers(stale: readonly StaleRow[]) {
  return [...new Map(stale.map(({ row }) => [row.player_id, row])).values()];
}

function distinctReferences(stale: readonly StaleRow[]) {
  return [...new Map(stale.map(({ row }) => [referenceKey(row.project_id, row.reference), row])).values()];
}
