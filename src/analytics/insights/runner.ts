import { ApiError } from '../../errors.ts';
import { Bulkhead } from '../../platform/bulkhead.ts';
import { isOverLimits, type ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import type { Platform } from '../../platform/platform.ts';
import type { RatePolicy } from '../../platform/rate-limit/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { askInsight, estimateRows, type Question } from './insight-queries.ts';
import type { Statement } from './kind.ts';
import { BUDGET_PERIOD_S, BUDGET_S, MAX_ROWS_READ } from './limits.ts';

/** A permit of the budget is a tenth of a second. */
const PERMIT_MS = 100;
const BUDGET: RatePolicy = {
  name: 'insights',
  per_second: ((BUDGET_S / BUDGET_PERIOD_S) * 1_000) / PERMIT_MS,
  burst: (BUDGET_S * 1_000) / PERMIT_MS,
};
/** A query waits this long for those before it; then it is 503. A group is a tenant. */
const WAITING = { max_waiting: 200, max_waiting_of_group: 40, max_wait_ms: 20_000 };
const HINT = 'ask about a shorter range, fewer events, or fewer players';

type Deps = Pick<Platform, 'clock' | 'rateLimiter'> & {
  clickhouse: Pick<Platform['clickhouse'], 'max_questions'>;
};

/**
 * Runs the statements of insights so that they leave room for everybody else: half of the questions that ClickHouse takes
 * at once, one query of a project at a time, and of a tenant as many seconds as its budget allows. Tenants take turns, and the
 * projects of a tenant do.
 */
export class InsightRunner {
  readonly #deps: Deps;
  readonly #bulkhead: Bulkhead;
  /** By tenant, until when what it has used beyond its budget comes back, in milliseconds since the epoch. */
  readonly #owing_until_ms = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
    const max_running = Math.max(1, Math.floor(deps.clickhouse.max_questions / 2));
    this.#bulkhead = new Bulkhead('other insights', max_running, WAITING, max_running, 1);
  }

  /**
   * The rows of each statement, which run one after the other. Rejects with INSIGHT_TOO_EXPENSIVE before or while they
   * run, with RATE_LIMITED when the tenant has used its seconds, and with TooBusy when too many wait.
   */
  async run(
    clickhouse: ClickHouseQueries,
    project: ProjectRef,
    statements: readonly Statement[],
  ): Promise<Record<string, unknown>[][]> {
    const { tenant_id, project_id } = project;
    await this.#bulkhead.enter(tenant_id, project_id);
    try {
      await this.#requireBudget(tenant_id);
      return await this.#runInTurn(clickhouse, project, statements);
    } finally {
      this.#bulkhead.leave(tenant_id, project_id);
    }
  }

  async #runInTurn(
    clickhouse: ClickHouseQueries,
    project: ProjectRef,
    statements: readonly Statement[],
  ): Promise<Record<string, unknown>[][]> {
    const question = { ...project, now_ms: this.#deps.clock.now_ms() };
    const begun_ms = performance.now();
    try {
      const rows = await estimateAll(clickhouse, question, statements);
      if (rows > MAX_ROWS_READ) throw tooExpensive(rows);
      const answers: Record<string, unknown>[][] = [];
      for (const statement of statements) answers.push(await askInsight(clickhouse, question, statement));
      return answers;
    } catch (cause) {
      if (isOverLimits(cause)) throw tooExpensive(undefined, cause);
      throw cause;
    } finally {
      await this.#charge(project.tenant_id, performance.now() - begun_ms);
    }
  }

  async #requireBudget(tenant_id: string): Promise<void> {
    const owing_ms = (this.#owing_until_ms.get(tenant_id) ?? 0) - this.#deps.clock.now_ms();
    if (owing_ms <= 0) this.#owing_until_ms.delete(tenant_id);
    const taken = owing_ms > 0 ? undefined : await this.#deps.rateLimiter.take(BUDGET, tenant_id);
    if (taken?.allowed) return;
    const retry_after_ms = taken?.retry_after_ms ?? owing_ms;
    const message = `the insights of this tenant have used ${BUDGET_S} seconds of the engine in ${BUDGET_PERIOD_S / 60} minutes`;
    throw new ApiError('RATE_LIMITED', message, {
      retry_after_s: Math.max(1, Math.ceil(retry_after_ms / 1_000)),
    });
  }

  /** Takes what the query has used; the first permit was taken before. What is not there is owed by this process. */
  async #charge(tenant_id: string, used_ms: number): Promise<void> {
    const permits = Math.ceil(used_ms / PERMIT_MS) - 1;
    if (permits <= 0) return;
    const { allowed, remaining } = await this.#deps.rateLimiter.take(BUDGET, tenant_id, permits);
    if (allowed) return;
    if (remaining > 0) await this.#deps.rateLimiter.take(BUDGET, tenant_id, remaining);
    const now_ms = this.#deps.clock.now_ms();
    const begins_ms = Math.max(now_ms, this.#owing_until_ms.get(tenant_id) ?? 0);
    this.#owing_until_ms.set(tenant_id, begins_ms + ((permits - remaining) / BUDGET.per_second) * 1_000);
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
