import type { ClickHouseQueries } from '../../../platform/clickhouse/port.ts';
import { OVER_ALL } from '../../../segments/evaluation-queries.ts';
import { lessDeductions } from '../../../ledger/money/deductions.ts';
import { hasSettingsOfNgr, named, netRevenueSql } from '../../../ledger/money/ngr-sql.ts';
import type { ReportingSettings } from '../../../tenants/config/read.ts';
import { IS_LEFT, OWNER, SCOPE } from '../../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';

/** The days (UTC) on which each player had a deposit that counts; days are numbered from 1970-01-01 as 0. */
const DEPOSIT_DAYS = `select ${OWNER}, toInt32(toDate(occurred_at, 'UTC')) as day, sum(toInt128(base_amount)) as amount
  from events final
  where ${SCOPE} and event = 'deposit_confirmed' and base_amount > 0
    and occurred_at < fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
  group by owner, day`;

/** Whose deposits are read, and until when. */
export interface DepositQuestion extends ProjectRef {
  until_ms: number;
}

/** A share of the players, drawn by their ids: the one of this number of so many. */
export interface Share {
  share: number;
  shares: number;
}

const IN_SHARE = 'cityHash64(owner) % {shares:UInt32} = {share:UInt32}';

/** How many players have a deposit, and on how many days together. */
export async function countDepositors(
  clickhouse: ClickHouseQueries,
  question: DepositQuestion,
): Promise<{ players: number; days: number }> {
  const [row] = await clickhouse.query<{ players: string; days: string }>(
    `select toString(uniqExact(owner)) as players, toString(count()) as days from (${DEPOSIT_DAYS}) ${OVER_ALL}`,
    { ...question },
  );
  return { players: Number(row?.players ?? 0), days: Number(row?.days ?? 0) };
}

/** A player with all days of its deposits, the first one first, and what was deposited on them together. */
export interface DepositDays {
  days: number[];
  /** In the smallest unit of the base currency. */
  amount: number;
}

/** The players of a share with all their days. */
export async function readDepositDays(
  clickhouse: ClickHouseQueries,
  question: DepositQuestion & Share,
): Promise<DepositDays[]> {
  const rows = await clickhouse.query<{ days: number[]; amount: string }>(
    `select arraySort(groupArray(day)) as days, toString(sum(amount)) as amount
    from (${DEPOSIT_DAYS}) where ${IN_SHARE} group by owner order by owner ${OVER_ALL}`,
    { ...question },
  );
  return rows.map(({ days, amount }) => ({ days, amount: Number(amount) }));
}

/** A player with what its scores are computed from. */
export interface Depositor {
  player_id: string;
  first_day: number;
  last_day: number;
  days: number;
  /** In the smallest unit of the base currency. */
  amount: number;
}

/** The players of a share, in the order of their ids. */
export async function readDepositors(
  clickhouse: ClickHouseQueries,
  question: DepositQuestion & Share,
): Promise<Depositor[]> {
  const rows = await clickhouse.query<
    Record<Exclude<keyof Depositor, 'player_id'>, string | number> & { owner: string }
  >(
    `select owner, min(day) as first_day, max(day) as last_day, toString(count()) as days, toString(sum(amount)) as amount
    from (${DEPOSIT_DAYS}) where ${IN_SHARE} group by owner order by owner ${OVER_ALL}`,
    { ...question },
  );
  return rows.map(({ owner, first_day, last_day, days, amount }) => ({
    player_id: owner,
    first_day: Number(first_day),
    last_day: Number(last_day),
    days: Number(days),
    amount: Number(amount),
  }));
}

/**
 * Net gaming revenue and deposits of all players together, as digits, in the smallest unit of the base currency. Only where the
 * project has settings of NGR are all events of money read: the totals of the players do not say it then.
 */
export async function readRevenue(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  reporting: ReportingSettings,
): Promise<Revenue> {
  const of_totals = await readTotals(clickhouse, project);
  if (!hasSettingsOfNgr(reporting)) return of_totals;
  return { ...of_totals, ngr: String(await readNgr(clickhouse, project, reporting)) };
}

interface Revenue {
  ngr: string;
  total_deposited: string;
}

/** NGR of all players and all time: one cell, in which each deduction is rounded once. */
async function readNgr(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  reporting: ReportingSettings,
): Promise<bigint> {
  const { events, before, bases } = netRevenueSql(reporting);
  const sums = [before, ...bases].map((adds) => `toString(sum(toInt256(${adds})))`);
  const [row] = await clickhouse.query<{ sums: string[] }>(
    `select [${sums.join(', ')}] as sums from (
      select *, ${OWNER} from events final where ${SCOPE} and ${named(events)} and ${IS_LEFT}) ${OVER_ALL}`,
    { ...project },
  );
  const [of_all = 0n, ...of_bases] = (row?.sums ?? []).map(BigInt);
  return lessDeductions(of_all, of_bases, reporting.deductions);
}

async function readTotals(clickhouse: ClickHouseQueries, project: ProjectRef): Promise<Revenue> {
  const [row] = await clickhouse.query<{ ngr: string; total_deposited: string }>(
    `select toString(sum(toInt256(ngr))) as ngr, toString(sum(toInt128(total_deposited))) as total_deposited
    from players final where ${SCOPE} and deleted_at is null ${OVER_ALL}`,
    { ...project },
  );
  return row ?? { ngr: '0', total_deposited: '0' };
}
