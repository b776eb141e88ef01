import type {
  Advertising,
  ConsentChannel,
  ProtectedStatus,
  RiskLevel,
  RuleProduct,
  VipCheck,
} from './rule.ts';

/** A value in the smallest unit of a currency; a whole unit has 10^scale of them. */
export interface ValueIn {
  amount: bigint;
  scale: number;
}

/** What rules ask of the terms of a bonus. */
export interface TermsFacts {
  type: 'deposit_match' | 'reload' | 'free_spins' | 'no_deposit' | 'cashback' | 'free_bet';
  product: RuleProduct;
  wagering: {
    multiplier_hundredths: number;
    basis: 'bonus' | 'bonus_plus_deposit' | 'deposit' | 'winnings';
  };
  /** Of a bonus on a deposit; else null. */
  match_percent: number | null;
  /** Percent of a stake that counts, of every kind of game. */
  contributions: readonly number[];
  time_limit_hours: number | null;
  /**
   * What the bonus is worth (a template: at most) in each currency that the rules name, rounded up: then it is above a
   * whole limit exactly when its exact value is. Absent: no rate is known.
   */
  value_in: Readonly<Record<string, ValueIn | undefined>>;
}

/** What rules ask of a grant: terms as above, with its amounts in the smallest unit of its currency. */
export interface GrantFacts {
  terms: TermsFacts;
  bonus_amount: bigint;
  deposit_amount: bigint | null;
  wagering_required: bigint;
  /** What the player did to get the bonus; null: not known, or nothing that is a bet. */
  qualifying_product: RuleProduct | null;
  /** The grant gives this player another amount than the terms do. */
  is_amount_changed: boolean;
  player: PlayerFacts;
}

/** What rules ask of a player. Null: not known. */
export interface PlayerFacts {
  /** What protects the player now. */
  statuses: readonly ProtectedStatus[];
  /** `YYYY-MM-DD`. */
  birth_date: string | null;
  rg_risk: RiskLevel | null;
  kyc_status: string | null;
  first_seen_at: Date | null;
  /** A withdrawal is requested and neither confirmed nor failed. */
  has_pending_withdrawal: boolean | null;
  /** When a deposit limit was raised last; `never` where none was. */
  limit_raised_at: Date | 'never' | null;
  /** Grants of the tenant before this one, of any template, but for cancelled and failed ones. */
  bonuses_before: number | null;
  /** By channel (`email`) and by channel and product (`email.casino`): the traits `consent.…`. */
  consent: Readonly<Record<string, boolean | undefined>>;
}

/** What rules ask of a campaign. */
export interface CampaignFacts {
  terms: TermsFacts;
  /** What members did to get the bonus; null: nothing that is a bet. */
  qualifying_product: RuleProduct | null;
  advertising: Advertising;
}

/** What rules ask of a message about a bonus. */
export interface MessageFacts {
  channel: ConsentChannel;
  product: RuleProduct;
  player: PlayerFacts;
}

/** What rules ask of a promotion into a tier with a host. */
export interface TierFacts {
  approval: Readonly<Partial<Record<VipCheck, string | null>>> | null;
}

/** One question: where a rule is evaluated, and what is known there. */
export type Question =
  | { at: 'template'; facts: TermsFacts; now: Date }
  | { at: 'campaign'; facts: CampaignFacts; now: Date }
  | { at: 'grant'; facts: GrantFacts; now: Date }
  | { at: 'message'; facts: MessageFacts; now: Date }
  | { at: 'tier'; facts: TierFacts; now: Date };

/** What breaks a rule: a sentence, or the name of what is not known. Undefined: nothing. */
export type Fault = string | { missing: string; message?: string } | undefined;
