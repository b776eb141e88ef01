import { ApiError } from '../../errors.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { insertHistory } from './apply-queries.ts';
import { Checks, type AskedGrant, type CheckedGrant } from './checks.ts';
import { budgetExceeded, requestedOf } from './issue.ts';
import { insertGrants } from './issue-queries.ts';
import { setBudgets } from './reserve-queries.ts';

/** A grant that passed its checks, or why it did not. */
export type Decided = { kind: 'passed'; checked: CheckedGrant } | { kind: 'refused'; error: ApiError };

/**
 * Makes grants, at most one of each player, in the caller's transaction, with a few statements for all of them. What else
 * is to be kept with the grants the caller adds, and calls their platforms after its commit.
 */
export class GrantStore {
  readonly #tx: Tx;
  readonly #checks: Checks;

  constructor(tx: Tx, now: Date) {
    this.#tx = tx;
    this.#checks = new Checks(tx, now);
  }

  /** First: locks the players, as `Checks.lock`. Returns those who are locked. */
  lock(asked: readonly AskedGrant[], waits: boolean): Promise<ReadonlySet<string>> {
    return this.#checks.lock(asked, waits);
  }

  /**
   * Second: the checks of grants whose players are locked. Those that pass have taken their cost of the budgets, in their
   * order, as far as it is left; `write` stores them.
   */
  async decide(asked: readonly AskedGrant[]): Promise<Decided[]> {
    const checks = this.#checks;
    await checks.count(asked, true);
    const decided: Decided[] = [];
    for (const one of asked) {
      try {
        const checked = await checks.check(one);
        this.#takeCost(checked);
        decided.push({ kind: 'passed', checked });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        decided.push({ kind: 'refused', error });
      }
    }
    return decided;
  }

  /** Throws BONUS_BUDGET_EXCEEDED, or after that why there is no platform. */
  #takeCost({ intent, template, no_platform }: CheckedGrant): void {
    const { used } = this.#checks;
    const used_base = (used.get(intent.template_id) ?? 0n) + intent.bonus_amount_base;
    if (template.budget_base !== null && used_base > template.budget_base) {
      throw budgetExceeded(template, intent);
    }
    if (no_platform !== undefined) throw no_platform;
    used.set(intent.template_id, used_base);
  }

  /** Third: writes the grants that have passed, their histories and the budgets. */
  async write(passed: readonly CheckedGrant[]): Promise<void> {
    await Promise.all([this.#insert(passed), this.#setBudgets(passed)]);
  }

  /**
   * Second and third for a single grant, in a transaction that is rolled back when it is refused: the row of the budget,
   * which is that of every grant of the template, is locked after all else that may wait. Rejects with the refusal.
   */
  async makeOne(asked: AskedGrant): Promise<CheckedGrant> {
    const checks = this.#checks;
    await checks.count([asked], false);
    const checked = await checks.check(asked);
    // Async functions, so that their statements are sent in this order.
    await Promise.all([
      ...(checked.no_platform === undefined ? [this.#insert([checked])] : []),
      checks.lockBudgets([asked]),
    ]);
    this.#takeCost(checked);
    await this.#setBudgets([checked]);
    return checked;
  }

  async #insert(passed: readonly CheckedGrant[]): Promise<void> {
    await Promise.all([
      insertGrants(
        this.#tx,
        passed.map(({ intent }) => intent),
      ),
      insertHistory(
        this.#tx,
        passed.map(({ intent, warnings }) => requestedOf(intent, warnings)),
      ),
    ]);
  }

  async #setBudgets(passed: readonly CheckedGrant[]): Promise<void> {
    if (passed.length === 0) return;
    const { used } = this.#checks;
    const refs = new Map(passed.map(({ intent }) => [intent.template_id, intent]));
    await setBudgets(
      this.#tx,
      [...refs.values()].map((ref) => ({ ...ref, used_base: used.get(ref.template_id) ?? 0n })),
    );
  }
}
