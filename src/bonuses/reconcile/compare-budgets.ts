import type { Platform } from '../../platform/platform.ts';
import {
  selectCampaignBudgets,
  selectCampaignCheck,
  selectTemplateBudgets,
  selectTemplateCheck,
  type BudgetCheck,
  type BudgetKey,
} from './budget-queries.ts';

const PAGE = 100;
/** Campaigns that were finished longer ago are not compared any more. */
const FINISHED_MS = 30 * 86_400_000;

/** What comparing budgets has found. `failed`: those that could not be compared. */
export interface ComparedBudgets {
  mismatched: number;
  failed: number;
}

/**
 * Compares what the budgets of templates and the limits of campaigns hold with what the grants cost, of one tenant or of
 * all: each in a statement of its own, which reads the rows of one template or campaign. One that fails is counted, and
 * the others are compared. Rejects when Postgres cannot list them.
 */
export async function compareBudgets(
  { postgres, clock, logger }: Pick<Platform, 'postgres' | 'clock' | 'logger'>,
  tenant_id: string | undefined,
  stop?: AbortSignal,
): Promise<ComparedBudgets> {
  const sql = postgres.service;
  const compared = { mismatched: 0, failed: 0 };
  const finished_from = new Date(clock.now_ms() - FINISHED_MS);
  await eachBudget(
    'bonus template',
    (after) => selectTemplateBudgets(sql, tenant_id, after, PAGE),
    (key) => selectTemplateCheck(sql, key),
  );
  await eachBudget(
    'bonus campaign',
    (after) => selectCampaignBudgets(sql, tenant_id, after, finished_from, PAGE),
    (key) => selectCampaignCheck(sql, key),
  );
  return compared;

  async function eachBudget(
    owner: string,
    list: (after: BudgetKey | undefined) => Promise<BudgetKey[]>,
    check: (key: BudgetKey) => Promise<BudgetCheck | undefined>,
  ): Promise<void> {
    let after: BudgetKey | undefined;
    do {
      const page = await list(after);
      for (const key of page) {
        if (stop?.aborted === true) return;
        try {
          const found = await check(key);
          if (found === undefined || found.used_base === found.cost_base) continue;
          compared.mismatched += 1;
          logger.error({ ...key, ...found }, `the budget of a ${owner} differs from what its grants cost`);
        } catch (error) {
          compared.failed += 1;
          logger.error({ ...key, err: error }, `the budget of a ${owner} could not be compared`);
        }
      }
      after = page.length === PAGE ? page.at(-1) : undefined;
    } while (after !== undefined);
  }
}
