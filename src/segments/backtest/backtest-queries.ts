import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { OVER_ALL, runBounded } from '../evaluation-queries.ts';
import { lessDeductions } from '../../ledger/money/deductions.ts';
import { netRevenueSql } from '../../ledger/money/ngr-sql.ts';
import type { ReportingSettings } from '../../tenants/config/read.ts';
import type { CompiledQuery } from '../sql/compile.ts';
import { OWNER, SCOPE } from '../sql/owner-sql.ts';

/** A project, a moment of the past, and the end of the days after it. */
export interface BacktestQuestion extends ProjectRef {
  now_ms: number;
  until_ms: number;
}

/** Who was a member, and what the members did in the days after it. */
export interface Outcome {
  members: number;
  /** Members with a deposit that counts. */
  depositors: number;
  /** Of all members together, in the smallest unit of the base currency: each deduction is rounded once. */
  ngr: bigint;
}

/**
 * How many members a definition had at `now_ms`, and what they did after it, up to `until_ms`, by what is known today. Rejects as
 * `runBounded` does.
 */
export async function readOutcome(
  clickhouse: ClickHouse,
  question: BacktestQuestion,
  { sql, params }: CompiledQuery,
  reporting: ReportingSettings,
): Promise<Outcome> {
  const { events, before, bases } = netRevenueSql(reporting);
  const sums = [before, ...bases].map((adds, i) => ({ adds, of_player: `revenue_${i}` }));
  const [row] = await runBounded<{ members: string; depositors: string; revenue: string[] }>(
    clickhouse,
    `select toString(count()) as members, toString(countIf(o.deposits > 0)) as depositors,
      [${sums.map(({ of_player }) => `toString(sum(toInt256(o.${of_player})))`).join(', ')}] as revenue
    from (${sql}) as m
    any left join (
      select ${OWNER}, countIf(event = 'deposit_confirmed' and base_amount > 0) as deposits,
        ${sums.map(({ adds, of_player }) => `sum(${adds}) as ${of_player}`).join(', ')}
      from events final
      where ${SCOPE} and event in {money_events:Array(String)}
        and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
        and occurred_at <= fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
      group by owner
    ) as o on o.owner = m.player_id`,
    OVER_ALL,
    { ...params, ...question, money_events: ['deposit_confirmed', ...events] },
  );
  const [of_all = 0n, ...of_bases] = (row?.revenue ?? []).map(BigInt);
  return {
    members: Number(row?.members ?? 0),
    depositors: Number(row?.depositors ?? 0),
    ngr: lessDeductions(of_all, of_bases, reporting.deductions),
  };
}
