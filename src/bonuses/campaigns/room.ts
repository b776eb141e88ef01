import { membersWithin } from '../../engage/experiments/draw.ts';
import type { HeldOutBy } from '../../engage/experiments/global.ts';
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
  /** Those behind the end of the limits. */
  short: readonly string[];
}

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

  /** How many grants of this cost fit, counted up to `most`. */
  fits(cost_base: bigint, most = 1): number {
    return Number(this.#fitting(cost_base, most));
  }

  /**
   * Takes the cost of a grant for each of these members who is not held out, in their order, as far as it fits. A held-out
   * member takes nothing, and comes into a holdout only while a grant still fits: both arms end where the limits end.
   */
  takeDrawn(cost_base: bigint, members: readonly DrawnMember[]): Placed {
    const end = membersWithin(
      members.map(({ by }) => by !== null),
      this.fits(cost_base, members.length),
    );
    const of = (whose: HeldOutBy | null) =>
      members.slice(0, end).flatMap(({ player_id, by }) => (by === whose ? [player_id] : []));
    const held_out = (['project', 'experiment'] as const)
      .map((by) => ({ player_ids: of(by), code: HOLDOUT_CODE[by] }))
      .filter(({ player_ids }) => player_ids.length > 0);
    const granted = of(null);
    this.take(cost_base, granted.length);
    return { granted, held_out, short: members.slice(end).map(({ player_id }) => player_id) };
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
