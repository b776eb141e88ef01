import type { BonusCampaignRow } from './queries.ts';
import type { BonusTemplateRow } from '../templates/queries.ts';

/** What grants of a campaign's template, and of the campaign, hold of their limits. */
export interface Used {
  template_base: bigint;
  campaign_base: bigint;
  campaign_grants: number;
}

/**
 * What is left of the limits of a campaign while grants are taken from them one after the other. One that does not fit is
 * omitted, and smaller ones after it may fit; so less than one grant is left when there are more members than money.
 */
export class Room {
  readonly #limits: readonly (bigint | null)[];
  readonly #max_grants: number | null;
  #template_base: bigint;
  #campaign_base: bigint;
  #grants: number;

  constructor(
    { budget_base }: Pick<BonusTemplateRow, 'budget_base'>,
    { max_liability, max_grants }: Pick<BonusCampaignRow, 'max_liability' | 'max_grants'>,
    { template_base, campaign_base, campaign_grants }: Used,
  ) {
    this.#limits = [budget_base, max_liability];
    this.#max_grants = max_grants;
    this.#template_base = template_base;
    this.#campaign_base = campaign_base;
    this.#grants = campaign_grants;
  }

  /** Whether a grant of this cost fits. */
  fits(cost_base: bigint): boolean {
    return this.#fitting(cost_base, 1) === 1n;
  }

  /** Takes the cost of a grant for each of so many members, as far as it fits; returns for how many it did. */
  take(cost_base: bigint, members: number): number {
    const fitting = this.#fitting(cost_base, members);
    this.#template_base += cost_base * fitting;
    this.#campaign_base += cost_base * fitting;
    this.#grants += Number(fitting);
    return Number(fitting);
  }

  #fitting(cost_base: bigint, members: number): bigint {
    let fitting = BigInt(members);
    const atMost = (most: bigint) => {
      if (most < fitting) fitting = most > 0n ? most : 0n;
    };
    const [budget, liability] = this.#limits;
    if (this.#max_grants !== null) atMost(BigInt(this.#max_grants - this.#grants));
    if (cost_base > 0n) {
      if (typeof budget === 'bigint') atMost((budget - this.#template_base) / cost_base);
      if (typeof liability === 'bigint') atMost((liability - this.#campaign_base) / cost_base);
    }
    return fitting;
  }
}
