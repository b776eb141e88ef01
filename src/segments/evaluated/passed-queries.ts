import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { OVER_SOME, compiled, runBounded } from '../evaluation-queries.ts';
import { compilePassage } from '../sql/passed-totals.ts';
import type { Passed } from './changes.ts';
import type { Plan } from './plan.ts';

/**
 * What has crossed the edges of the plan's windows after `since_ms` and up to `now_ms`, by player; undefined: of more than
 * `max` players. Rejects as {@link runBounded} does.
 */
export async function findPassedTotals(
  clickhouse: ClickHouse,
  project: ProjectRef,
  plan: Plan,
  { since_ms, now_ms }: { since_ms: number; now_ms: number },
  max: number,
): Promise<ReadonlyMap<string, Passed> | undefined> {
  const { sql, params, amountOf, namesOf } = compiled(() =>
    compilePassage(
      plan.totals.map(({ total }) => total),
      since_ms,
      now_ms,
      max + 1,
    ),
  );
  const rows = await runBounded<Record<string, unknown> & { player_id: string; is_unclear: number }>(
    clickhouse,
    sql,
    OVER_SOME,
    { ...params, ...project },
  );
  if (rows.length > max) return undefined;
  return new Map(
    rows.map((row) => [
      row.player_id,
      {
        is_unclear: row.is_unclear === 1,
        amountOf: ({ index }) => amountOf(row, index),
        names: namesOf(row),
      },
    ]),
  );
}
