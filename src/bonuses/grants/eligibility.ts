import { ApiError } from '../../errors.ts';
import { bonusSettingsOf } from '../../tenants/config/bonus-settings.ts';
import type { TenantConfig } from '../../tenants/config/read.ts';
import type { BonusTemplateRow } from '../templates/queries.ts';
import type { GrantCounts, GrantPlayer } from './issue-queries.ts';

/** Why a player may not have a bonus. */
export type IneligibleReason =
  | 'SELF_EXCLUDED'
  | 'BANNED'
  | 'DELETED'
  | 'COOLDOWN'
  | 'AT_RISK'
  | 'KYC_LEVEL'
  | 'NOT_IN_SEGMENT'
  | 'LICENCE_RULE'
  | 'VELOCITY'
  | 'NOT_ELIGIBLE';

/** 422 BONUS_PLAYER_NOT_ELIGIBLE with the reason in its details. */
export function notEligible(
  reason: IneligibleReason,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): ApiError {
  return new ApiError('BONUS_PLAYER_NOT_ELIGIBLE', message, { details: { reason, ...more } });
}

const PROTECTED: Readonly<Record<string, string>> = {
  SELF_EXCLUDED: 'the player is self-excluded',
  BANNED: 'the player is banned',
  DELETED: 'the player is deleted',
  COOLDOWN: 'the player takes a break',
};

/** The error for a player who is protected, by the reason of `selectProtected`. */
export function protectedError(reason: string, details: Readonly<Record<string, unknown>> = {}): ApiError {
  return notEligible(
    reason as IneligibleReason,
    `${PROTECTED[reason] ?? 'the player is protected'}: no bonus may be granted`,
    details,
  );
}

/** What the gate decides by. */
export interface GateInput {
  player: GrantPlayer;
  template: Pick<BonusTemplateRow, 'min_kyc_level' | 'eligible_segment_id'>;
  counts: Pick<GrantCounts, 'of_day'>;
  config: TenantConfig;
  /** Whether the player is a member of a segment. */
  is_member: (segment_id: string) => boolean | Promise<boolean>;
  now: Date;
}

/**
 * The gate of a grant: rejects with BONUS_PLAYER_NOT_ELIGIBLE by the first reason that holds, the player's own protection
 * before the tenant's rules. `licence` rejects when a rule of the tenant's licence forbids the grant.
 */
export async function requireEligible(input: GateInput, licence: () => void | Promise<void>): Promise<void> {
  const { player, template, counts, config, is_member, now } = input;
  if (player.is_self_excluded) throw protectedError('SELF_EXCLUDED');
  if (player.is_banned) throw protectedError('BANNED');
  if (player.cooldown_until !== null && player.cooldown_until > now) throw protectedError('COOLDOWN');
  if (player.rg_risk === 'strong') {
    throw notEligible(
      'AT_RISK',
      'the player shows strong signs of harm (rg_risk): no new bonus may be granted',
    );
  }
  const { min_kyc_level, eligible_segment_id } = template;
  if (min_kyc_level !== null && (player.kyc_status !== 'approved' || player.kyc_level < min_kyc_level)) {
    const has = `${player.kyc_status}, level ${player.kyc_level}`;
    throw notEligible(
      'KYC_LEVEL',
      `the bonus needs an approved KYC level of ${min_kyc_level}; the player is ${has}`,
    );
  }
  if (eligible_segment_id !== null && !(await is_member(eligible_segment_id))) {
    throw notEligible(
      'NOT_IN_SEGMENT',
      `the player is not in segment ${eligible_segment_id}, which the bonus is for`,
    );
  }
  await licence();
  const { grants_per_day: per_day } = bonusSettingsOf(config);
  if (counts.of_day >= per_day) {
    const message = `the player was granted ${counts.of_day} bonuses in the last 24 hours; ${per_day} are allowed`;
    throw notEligible('VELOCITY', message);
  }
}
