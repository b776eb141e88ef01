import { ApiError } from '../../errors.ts';
import type { TenantConfig } from '../../tenants/config/schema.ts';
import { requireEligible, refuseByLicence } from '../grants/eligibility.ts';
import { requirePlace } from '../grants/issue.ts';
import type { GrantCounts, GrantPlayer } from '../grants/issue-queries.ts';
import type { Worth } from '../grants/worth.ts';
import type { TermsFacts } from '../../tenants/licence/facts.ts';
import type { LicenceRule } from '../../tenants/licence/rule.ts';
import type { BonusTemplateRow, LicenceWarning } from '../templates/queries.ts';
import type { BonusCampaignRow } from './queries.ts';

/** What the checks of members have in common. `template`: the limits are those that hold for the members. */
export interface CampaignGate {
  campaign: Pick<BonusCampaignRow, 'issued_product'>;
  template: BonusTemplateRow;
  config: TenantConfig;
  rules: readonly LicenceRule[];
  /** What a bonus in the currency of the grants is worth in the currencies that the rules name. */
  valueIn: (amount: bigint) => TermsFacts['value_in'];
  now: Date;
}

/** What is known of a member. */
export interface Candidate {
  player: GrantPlayer;
  counts: GrantCounts;
  is_member: (segment_id: string) => boolean;
}

/** A member who is to get a bonus, or the code of one who is skipped. */
export type Admitted = { code: null; worth: Worth; warnings: readonly LicenceWarning[] } | { code: string };

/**
 * The checks of a member, in the order of POST /v1/bonus-grants: who passes the gate and has a place. `worthOf` throws the
 * errors of a bonus that is worth nothing. Budgets come after it. Errors that are about the campaign, not the member, are
 * thrown.
 */
export async function admit(
  { campaign, template, config, rules, valueIn, now }: CampaignGate,
  { player, counts, is_member }: Candidate,
  worthOf: () => Worth,
): Promise<Admitted> {
  if (player.deleted_at !== null) return { code: 'CANCELLED' };
  let warnings: readonly LicenceWarning[] = [];
  try {
    // A player who is protected is skipped for that, even if the bonus would be worth nothing.
    await requireEligible({ player, template, counts, config, is_member, now }, () => {
      const { terms, amounts } = worthOf();
      warnings = refuseByLicence(rules, valueIn(amounts.bonus_amount), {
        terms,
        amounts,
        qualifying_product: campaign.issued_product,
        is_amount_changed: false,
        player,
        bonuses_before: counts.ever,
        now,
      });
    });
    if (counts.has_live) return { code: 'ALREADY_GRANTED' };
    requirePlace(template, counts);
    return { code: null, worth: worthOf(), warnings };
  } catch (error) {
    return { code: codeOf(error) };
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  const { code, details } = error;
  if (code === 'BONUS_PLAYER_NOT_ELIGIBLE') return String(details?.['reason']);
  if (code === 'BONUS_GRANT_LIMIT_REACHED') return 'ALREADY_GRANTED';
  // The deposit is absent, or too small for a bonus.
  if (code === 'BONUS_DEPOSIT_AMOUNT_REQUIRED' || code === 'VALIDATION_ERROR') return 'NO_DEPOSIT';
  throw error;
}
