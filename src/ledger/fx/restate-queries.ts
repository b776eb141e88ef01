import { JOIN_SURVIVOR } from '../../analytics/correction-queries.ts';
import { requestTiers, crossed, type TenantThresholds } from '../tier-thresholds/queries.ts';
import type { BaseMoney, Conversion } from '../money/conversion.ts';
import { LEDGER_COLUMNS, LEDGER_WIDTH, toLedgerRow, type LedgerValues } from '../money/ledger-queries.ts';
import { byLedgerKey, type LedgerRow } from '../money/ledger.ts';
import type { Sum } from '../money/totals.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import { takeTransactionId } from '../../platform/postgres/horizon.ts';
import { placesOf, projectsInPlaces } from '../../tenants/project-numbers-queries.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';

/** A rate that was inserted, updated or deleted: its pair and its time. */
export interface RateChange {
  tenant_id: string;
  change_id: bigint;
  base: string;
  quote: string;
  /** As Postgres writes it: a rate may be as old as a `timestamptz` allows, which no `Date` can hold. */
  ts: string;
}

/** The oldest changes after that with the id `after`, and a transaction id above that of every transaction that may have read rates without them. */
export async function readRateChanges(
  sql: Tx,
  after: bigint,
  limit: number,
): Promise<{ changes: RateChange[]; until_xid: string }> {
  const changes = await sql<RateChange[]>`
    select tenant_id, change_id, base, quote, ts::text from fx_rate_changes where change_id > ${after}
    order by change_id limit ${limit}`;
  if (changes.length === 0) return { changes, until_xid: '0' };
  // Taken after the changes were read, and as a new id. The xmax of a snapshot would not do: it follows the last
  // transaction that ended, so it may be below the id of a running one.
  return { changes, until_xid: await takeTransactionId(sql) };
}

/** Removes a change that was applied. */
export async function deleteRateChange(sql: Tx, { tenant_id, change_id }: RateChange): Promise<void> {
  await sql`delete from fx_rate_changes where tenant_id = ${tenant_id} and change_id = ${change_id}`;
}

/** Ledger rows of a project in one currency with times in `[from_ts, until_ts)`; null: no end. */
export interface RestateRange extends ProjectRef {
  project_no: number;
  currency: string;
  base_currency: string;
  from_ts: string;
  until_ts: string | null;
}

/**
 * The rows that a change can affect, one range per project: those in the other currency of its pair, from its time until
 * the pair's next rate. None for a pair without the base currency, which converts no amount.
 */
export async function readRanges(tx: Tx, change: RateChange): Promise<RestateRange[]> {
  const { tenant_id, base, quote, ts } = change;
  return tx<RestateRange[]>`
    select t.tenant_id, p.project_id, p.project_no, t.base_currency,
      case t.base_currency when ${base} then ${quote} else ${base} end as currency, ${ts} as from_ts, (
        select f.ts::text from fx_rates f
        where f.tenant_id = t.tenant_id and f.base = ${base} and f.quote = ${quote} and f.ts > ${ts}::text::timestamptz
        order by f.ts limit 1) as until_ts
    from tenants t join projects p using (tenant_id)
    where t.tenant_id = ${tenant_id} and t.base_currency in (${base}, ${quote})
    order by p.project_no`;
}

/** The position of a row in the order of the index `ledger_by_rate`, in which {@link readStaleRows} reads. */
export type StalePosition = Pick<LedgerRow, 'reference' | 'ordinal' | 'occurred_at_ms'>;

/** A row with the conversion that it should have; undefined when no rate is known, or none any more. */
export interface StaleRow {
  row: LedgerRow;
  conversion: Conversion | undefined;
}

/** Rows of a range that are examined together: those behind `after`, up to and with `last`; undefined: no bound. */
export interface StaleWindow {
  after: StalePosition | undefined;
  last: StalePosition | undefined;
}

/** The rows of the range and the window that have or need a rate, as a condition on the ledger `l`. */
function inWindow(tx: Tx, range: RestateRange, { after, last }: StaleWindow) {
  const { project_no, currency, from_ts, until_ts } = range;
  const before = until_ts === null ? tx`` : tx`and l.occurred_at < ${until_ts}::text::timestamptz`;
  const key = tx`(l.occurred_at, l.reference, l.ordinal)`;
  const position = (of: StalePosition) => tx`(
    'epoch'::timestamptz + ${of.occurred_at_ms}::bigint * interval '1 millisecond', ${of.reference},
    ${of.ordinal}::integer)`;
  return tx`l.project_no = ${project_no} and l.currency = ${currency}
    and l.occurred_at >= ${from_ts}::text::timestamptz ${before}
    and (l.rate is not null or (l.amount is not null and l.base_amount is null)
      or (l.payout is not null and l.base_payout is null))
    ${after === undefined ? tx`` : tx`and ${key} > ${position(after)}`}
    ${last === undefined ? tx`` : tx`and ${key} <= ${position(last)}`}`;
}

/**
 * The position of the range's row that is `count` rows behind `after`, with any rate; undefined when there are
 * fewer. It bounds what {@link readStaleRows} examines: rows that are right already cost time, too.
 */
export async function readWindowEnd(
  tx: Tx,
  range: RestateRange,
  after: StalePosition | undefined,
  count: number,
): Promise<StalePosition | undefined> {
  const [row] = await tx<(Omit<StalePosition, 'occurred_at_ms'> & { occurred_ms: bigint })[]>`
    select l.reference, l.ordinal, epoch_ms(l.occurred_at) as occurred_ms
    from ledger l
    where ${inWindow(tx, range, { after, last: undefined })}
    order by l.occurred_at, l.reference, l.ordinal
    limit 1 offset ${count - 1}`;
  if (row === undefined) return undefined;
  const { occurred_ms, ...position } = row;
  return { ...position, occurred_at_ms: Number(occurred_ms) };
}

/** Rows of the range that were not converted by the rate valid now, in order, within the window. */
export async function readStaleRows(
  tx: Tx,
  range: RestateRange,
  window: StaleWindow,
  limit: number,
): Promise<StaleRow[]> {
  const { tenant_id, project_id, base_currency } = range;
  const rows = (await tx`
    select ${tx.unsafe(LEDGER_COLUMNS)}, x.rate::text, epoch_ms(x.rate_ts), x.rate_is_inverse, c.scale, b.scale
    from (select ${tenant_id}::uuid as tenant_id, ${project_id}::uuid as project_id) p
    cross join ledger l
    join currencies c on c.tenant_id = p.tenant_id and c.code = l.currency
    join currencies b on b.tenant_id = p.tenant_id and b.code = ${base_currency}
    left join lateral rate_at(p.tenant_id, l.currency, ${base_currency}, l.occurred_at) x on true
    ${tx.unsafe(JOIN_SURVIVOR)}
    where ${inWindow(tx, range, window)}
      and (l.rate, l.rate_ts, l.rate_is_inverse) is distinct from (x.rate, x.rate_ts, x.rate_is_inverse)
    order by l.occurred_at, l.reference, l.ordinal
    limit ${limit}`.values()) as unknown as [
    ...LedgerValues,
    string | null,
    bigint | null,
    boolean | null,
    number,
    number,
  ][];
  return rows.map((values) => {
    const [rate, ts_ms, is_inverse, from_scale, to_scale] = values.slice(LEDGER_WIDTH) as StaleValues;
    const known = rate !== null && ts_ms !== null && is_inverse !== null;
    return {
      row: toLedgerRow(range, values.slice(0, LEDGER_WIDTH) as LedgerValues),
      conversion: known ? { rate, ts_ms: Number(ts_ms), is_inverse, from_scale, to_scale } : undefined,
    };
  });
}

type StaleValues = [string | null, bigint | null, boolean | null, number, number];

interface PlayerRef {
  tenant_id: string;
  project_id: string;
  player_id: string;
}

/** Locks the players' totals, in the same order as all writers. Rejects with WriteConflict when one was merged. */
export async function lockTotals(tx: Tx, players: readonly PlayerRef[]): Promise<void> {
  const sorted = players.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  const locked = await tx`
    select t.player_id
    from ${rowsOf(tx, 'r', sorted, { ...PROJECT_KEY, player_id: 'uuid' })}
    cross join lateral (
      select t.player_id from player_totals t where t.tenant_id = r.tenant_id and t.project_id = r.project_id
        and t.player_id = r.player_id for no key update offset 0) t`;
  if (locked.length !== sorted.length) throw new WriteConflict('a player was merged into another');
}

/**
 * Locks rows that are to be restated, which bets of other writers rely on: a writer that has locked them is waited for, and
 * one that locks them later sees that they were restated. They must be read again afterwards.
 */
export async function lockRows(tx: Tx, rows: readonly LedgerRow[]): Promise<void> {
  const sorted = rows.toSorted(byLedgerKey);
  const { projects, place } = placesOf(sorted);
  await tx`
    select l.ordinal
    from ${projectsInPlaces(tx, projects)} p
    join ${rowsOf(tx, 'r', sorted, { place, reference: 'text', ordinal: 'integer' })} using (place)
    cross join lateral (
      select l.ordinal from ledger l where l.project_no = p.project_no and l.reference = r.reference
        and l.ordinal = r.ordinal for no key update offset 0) l`;
}

/** A row as it was, its new base amounts and rate, and the scales of that rate. */
export interface Restatement {
  row: LedgerRow;
  money: BaseMoney & Pick<LedgerRow, 'scales'>;
}

/** Rewrites the rows' base amounts and keeps the former ones as adjustments. */
export async function writeRestatements(
  tx: Tx,
  restatements: readonly Restatement[],
  now_ms: number,
): Promise<void> {
  const now = new Date(now_ms);
  const { projects, place } = placesOf(restatements.map(({ row }) => row));
  await tx`
    with r as (
      select p.project_no, p.tenant_id, p.project_id, u.*
      from ${projectsInPlaces(tx, projects)} p
      join ${rowsOf(tx, 'u', restatements, {
        place,
        reference: ['text', ({ row }) => row.reference],
        ordinal: ['integer', ({ row }) => row.ordinal],
        base_amount: ['bigint', ({ money }) => money.base_amount],
        base_payout: ['bigint', ({ money }) => money.base_payout],
        base_bonus_stake: ['bigint', ({ money }) => money.base_bonus_stake],
        base_bonus_payout: ['bigint', ({ money }) => money.base_bonus_payout],
        rate: ['numeric', ({ money }) => money.rate?.rate ?? null],
        rate_ts_ms: ['bigint', ({ money }) => money.rate?.ts_ms ?? null],
        rate_is_inverse: ['boolean', ({ money }) => money.rate?.is_inverse ?? null],
      })} using (place)
    ), changed as (
      select r.*, l.base_amount as old_amount, l.base_payout as old_payout, l.rate as old_rate,
        l.base_bonus_stake as old_bonus_stake, l.base_bonus_payout as old_bonus_payout, l.rate_ts as old_rate_ts, l.rate_is_inverse as old_is_inverse
      from r cross join lateral (
        select * from ledger l where l.project_no = r.project_no and l.reference = r.reference
          and l.ordinal = r.ordinal offset 0) l
    ), adjusted as (
      insert into ledger_adjustments (tenant_id, project_id, reference, ordinal, base_amount, base_payout,
        base_bonus_stake, base_bonus_payout, rate, rate_ts, rate_is_inverse, adjusted_at)
      select tenant_id, project_id, reference, ordinal, old_amount, old_payout, old_bonus_stake, old_bonus_payout,
        old_rate, old_rate_ts, old_is_inverse, ${now}
      from changed
      where old_rate is not null and (old_amount, old_payout, old_bonus_stake, old_bonus_payout)
        is distinct from (base_amount, base_payout, base_bonus_stake, base_bonus_payout)
    )
    update ledger l set base_amount = c.base_amount, base_payout = c.base_payout,
      base_bonus_stake = c.base_bonus_stake, base_bonus_payout = c.base_bonus_payout, rate = c.rate,
      rate_ts = 'epoch'::timestamptz + c.rate_ts_ms * interval '1 millisecond', rate_is_inverse = c.rate_is_inverse
    from changed c
    where l.project_no = c.project_no and l.reference = c.reference and l.ordinal = c.ordinal`;
}

/**
 * Adds to the totals of players whose totals rows are locked. Players who newly fit a tier are queued in the same
 * transaction.
 */
export async function addToLockedTotals(
  tx: Tx,
  players: readonly (PlayerRef & { sums: Record<Sum, bigint> })[],
  now_ms: number,
  thresholds: ReadonlyMap<string, TenantThresholds>,
): Promise<void> {
  if (players.length === 0) return;
  const updated = (await tx`
    update player_totals t set
      total_deposited = t.total_deposited + r.deposited, total_withdrawn = t.total_withdrawn + r.withdrawn,
      total_wagered = t.total_wagered + r.wagered, total_won = t.total_won + r.won,
      total_bonus_wagered = t.total_bonus_wagered + r.bonus_wagered, total_bonus_won = t.total_bonus_won + r.bonus_won,
      total_credited = t.total_credited + r.credited, total_debited = t.total_debited + r.debited,
      pending_conversions = t.pending_conversions + r.pending,
      updated_at = ${new Date(now_ms)}, changed_xid = pg_current_xact_id()
    from ${rowsOf(tx, 'r', players, {
      ...PROJECT_KEY,
      player_id: 'uuid',
      deposited: ['bigint', (p) => p.sums.total_deposited],
      withdrawn: ['bigint', (p) => p.sums.total_withdrawn],
      wagered: ['bigint', (p) => p.sums.total_wagered],
      won: ['bigint', (p) => p.sums.total_won],
      bonus_wagered: ['bigint', (p) => p.sums.total_bonus_wagered],
      bonus_won: ['bigint', (p) => p.sums.total_bonus_won],
      credited: ['bigint', (p) => p.sums.total_credited],
      debited: ['bigint', (p) => p.sums.total_debited],
      pending: ['bigint', (p) => p.sums.pending_conversions],
    })}
    where t.tenant_id = r.tenant_id and t.project_id = r.project_id and t.player_id = r.player_id
    returning t.player_id, t.total_deposited, t.total_wagered`.values()) as unknown as [
    string,
    bigint,
    bigint,
  ][];
  if (thresholds.size === 0) return;
  const after = new Map(
    updated.map(([player_id, total_deposited, total_wagered]) => [
      player_id,
      { total_deposited, total_wagered },
    ]),
  );
  const requests = players.filter(({ tenant_id, player_id, sums: added }) => {
    const [of_tenant, now] = [thresholds.get(tenant_id), after.get(player_id)];
    if (of_tenant === undefined || now === undefined) return false;
    const before = {
      total_deposited: now.total_deposited - added.total_deposited,
      total_wagered: now.total_wagered - added.total_wagered,
    };
    return crossed(of_tenant, before, now);
  });
  await requestTiers(tx, requests);
}
