import { ApiError } from '../../errors.ts';
import { EngineTurns, type EngineTurnsDeps } from '../engine-turns.ts';
import { isOverLimits, type ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { askInsight, estimateRows, type Question } from './insight-queries.ts';
import type { Statement } from './kind.ts';
import { MAX_ROWS_READ } from './limits.ts';

const HINT = 'ask about a shorter range, fewer events, or fewer players';

/**
 * Runs the statements of insights within limits, each query in a turn of its project ({@link EngineTurns}).
 */
export class InsightRunner {
  readonly #clock: EngineTurnsDeps['clock'];
  readonly #turns: EngineTurns;

  /** `turns`: shared with others who ask about many events. */
  constructor(deps: EngineTurnsDeps, turns = new EngineTurns(deps)) {
    this.#clock = deps.clock;
    this.#turns = turns;
  }

  /**
   * The rows of each statement, which run one after the other. Rejects with INSIGHT_TOO_EXPENSIVE before or while they
   * run, and as {@link EngineTurns.run}.
   */
  async run(
    clickhouse: ClickHouseQueries,
    project: ProjectRef,
    statements: readonly Statement[],
  ): Promise<Record<string, unknown>[][]> {
    return this.#turns.run(project, async () => {
      const question = { ...project, now_ms: this.#clock.now_ms() };
      try {
        const rows = await estimateAll(clickhouse, question, statements);
        if (rows > MAX_ROWS_READ) throw tooExpensive(rows);
        const answers: Record<string, unknown>[][] = [];
        for (const statement of statements) answers.push(await askInsight(clickhouse, question, statement));
        return answers;
      } catch (cause) {
        if (isOverLimits(cause)) throw tooExpensive(undefined, cause);
        throw cause;
      }
    });
  }
}

async function estimateAll(
  clickhouse: ClickHouseQueries,
  question: Question,
  statements: readonly Statement[],
): Promise<number> {
  let rows = 0;
  for (const statement of statements) rows += await estimateRows(clickhouse, question, statement);
  return rows;
}

/** `rows`: how many it would read; undefined: it was stopped while it ran. */
function tooExpensive(rows: number | undefined, cause?: unknown): ApiError {
  const message =
    rows === undefined
      ? 'the query needs more time or memory than one may take'
      : `the query would read ${rows} rows, and one may read ${MAX_ROWS_READ}`;
  const details = { rows: rows ?? null, limit: MAX_ROWS_READ, hint: HINT };
  return new ApiError('INSIGHT_TOO_EXPENSIVE', `${message}: ${HINT}`, { details, cause });
}
