import { membersWithin } from '../../engage/experiments/draw.ts';
import type { HeldOutBy } from '../../engage/experiments/global.ts';
import type { DayLimit } from './pacing.ts';
import type { BonusCampaignRow } from './queries.ts';
import type { BonusTemplateRow } from '../templates/queries.ts';

/** The code of a member whom the campaign or the project holds out. */
const HOLDOUT_CODE = { project: 'GLOBAL_HOLDOUT', experiment: 'HOLDOUT' } as const satisfies Record<
  HeldOutBy,
  string
>;
export const HOLDOUT_CODES = Object.values(HOLDOUT_CODE);

/** A member who passed the gate; `by`: whose holdout the member is in, null: none. */
export interface DrawnMember {
  player_id: string;
  by: HeldOutBy | null;
}

/** What becomes of members who passed the gate. */
export interface Placed {
  granted: readonly string[];
  held_out: readonly { player_ids: readonly string[]; code: (typeof HOLDOUT_CODES)[number] }[];
  /** Those behind the end of the limits, or each of whom costs more than a day's budget. */
  short: readonly string[];
  /** Those who find room in the limits, but not in the day's budget: they are to be decided about later. */
  waiting: readonly string[];
}

/** What grants of a campaign's template, and of the campaign, hold of their limits. */
export interface Used {
  template_base: bigint;
  campaign_base: bigint;
  campaign_grants: number;
}

/**
 * What is left of the limits of a campaign while grants are taken from them one after the other. One that does not fit is
 * omitted, and smaller ones after it may fit; so less than one grant is left when there are more members than money. `day`:
 * what may be taken of the day's budget now; null: it is not asked.
 */
export class Room {
  readonly #limits: readonly (bigint | null)[];
  readonly #max_grants: number | null;
  readonly #daily_budget_base: bigint | null;
  readonly #day: DayLimit | null;
  #day_base: bigint;
  #template_base: bigint;
  #campaign_base: bigint;
  #grants: number;

  constructor(
    { budget_base }: Pick<BonusTemplateRow, 'budget_base'>,
    {
      max_liability,
      max_grants,
      daily_budget_base,
    }: Pick<BonusCampaignRow, 'max_liability' | 'max_grants' | 'daily_budget_base'>,
    { template_base, campaign_base, campaign_grants }: Used,
    day: DayLimit | null = null,
  ) {
    this.#limits = [budget_base, max_liability];
    this.#max_grants = max_grants;
    this.#template_base = template_base;
    this.#campaign_base = campaign_base;
    this.#grants = campaign_grants;
    this.#daily_budget_base = daily_budget_base;
    this.#day = day;
    this.#day_base = day?.day.used_base ?? 0n;
  }

  /** What the day's budget holds now. */
  get day_used_base(): bigint {
    return this.#day_base;
  }

  /** Whether a grant of this cost fits into no day's budget. */
  exceedsDay(cost_base: bigint): boolean {
    return this.#daily_budget_base !== null && cost_base > this.#daily_budget_base;
  }

  /**
   * Takes the cost of a grant for each of these members who is not held out, in their order, as far as it fits. A held-out
   * member takes nothing, and comes into a holdout only while a grant still fits: both arms end where the limits end, and
   * wait together for the day's budget.
   */
  takeDrawn(cost_base: bigint, members: readonly DrawnMember[]): Placed {
    const most = BigInt(members.length);
    const fitting = this.exceedsDay(cost_base) ? 0n : this.#fitting(cost_base, most);
    const now = this.#fittingNow(cost_base, fitting);
    const end = membersWithin(
      members.map(({ by }) => by !== null),
      Number(now),
    );
    const of = (whose: HeldOutBy | null) =>
      members.slice(0, end).flatMap(({ player_id, by }) => (by === whose ? [player_id] : []));
    const held_out = (['project', 'experiment'] as const)
      .map((by) => ({ player_ids: of(by), code: HOLDOUT_CODE[by] }))
      .filter(({ player_ids }) => player_ids.length > 0);
    const granted = of(null);
    this.take(cost_base, granted.length);
    const rest = members.slice(end).map(({ player_id }) => player_id);
    return now < fitting
      ? { granted, held_out, short: [], waiting: rest }
      : { granted, held_out, short: rest, waiting: [] };
  }

  /** Takes the cost of a grant for each of so many members, as far as it fits; returns for how many it did. */
  take(cost_base: bigint, members: number): number {
    const fitting = this.#fittingNow(cost_base, this.#fitting(cost_base, BigInt(members)));
    this.#template_base += cost_base * fitting;
    this.#campaign_base += cost_base * fitting;
    this.#day_base += cost_base * fitting;
    this.#grants += Number(fitting);
    return Number(fitting);
  }

  /** As many of `most` as find room in the day's budget. */
  #fittingNow(cost_base: bigint, most: bigint): bigint {
    if (this.#day === null || cost_base === 0n) return most;
    const left = this.#day.allowed_base - this.#day_base;
    const fitting = left > 0n ? left / cost_base : 0n;
    return fitting < most ? fitting : most;
  }

  /** As many of `most` as find room in the limits of all days. */
  #fitting(cost_base: bigint, members: bigint): bigint {
    let fitting = members;
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
