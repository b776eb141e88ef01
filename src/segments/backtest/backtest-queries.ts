import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { OVER_ALL, runBounded } from '../evaluation-queries.ts';
import { MONEY_EVENTS } from '../../ledger/money/ledger.ts';
import { NGR_OF_EVENTS } from '../sql/as-of.ts';
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
  /** Of all members together, in the smallest unit of the base currency. */
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
): Promise<Outcome> {
  const [row] = await runBounded<{ members: string; depositors: string; ngr: string }>(
    clickhouse,
    `select toString(count()) as members, toString(countIf(o.deposits > 0)) as depositors,
      toString(sum(toInt256(o.revenue))) as ngr
    from (${sql}) as m
    any left join (
      select ${OWNER}, countIf(event = 'deposit_confirmed' and base_amount > 0) as deposits, ${NGR_OF_EVENTS} as revenue
      from events final
      where ${SCOPE} and event in {money_events:Array(String)}
        and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
        and occurred_at <= fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
      group by owner
    ) as o on o.owner = m.player_id`,
    OVER_ALL,
    { ...params, ...question, money_events: MONEY_EVENTS },
  );
  return {
    members: Number(row?.members ?? 0),
    depositors: Number(row?.depositors ?? 0),
    ngr: BigInt(row?.ngr ?? 0),
  };
}
