import type { CancelBody, GrantBody } from '../../adapters/protocol.ts';
import { wireAmount } from '../templates/config.ts';
import { shownConfig, type BonusTerms } from '../templates/terms.ts';
import type { GrantAmounts } from '../templates/amounts.ts';
import { factsOf, type GrantedByKind, type GrantRow } from './grant-row.ts';

/** What the body of a call follows from. `terms` are in the currency of the grant. */
export interface OrderSource {
  grant_id: string;
  tenant_id: string;
  player_id: string;
  player_external_id: string;
  terms: BonusTerms;
  amounts: GrantAmounts;
  multiplier: number;
  expires_at: Date | null;
  granted_by_kind: GrantedByKind;
  granted_by_id: string | null;
}

const orNull = (amount: bigint | null) => (amount === null ? null : wireAmount(amount));

/** The body of the call that grants, made once: every attempt sends the same bytes. */
export function grantOrderBody(source: OrderSource): string {
  const { terms, amounts, expires_at } = source;
  const { deposit_amount } = amounts;
  const body: GrantBody = {
    action: 'grant',
    grant_id: source.grant_id,
    tenant_id: source.tenant_id,
    player_id: source.player_id,
    player_external_id: source.player_external_id,
    template: {
      id: terms.template_id,
      name: terms.name,
      type: terms.config.type,
      amount_subunit: wireAmount(amounts.bonus_amount),
      currency: amounts.currency,
      wagering: {
        multiplier: source.multiplier,
        basis: terms.wagering.basis,
        required_subunit: wireAmount(amounts.wagering_required),
        max_bet_subunit: orNull(amounts.max_bet),
        game_contribution: terms.game_contribution as Record<string, number> | null,
      },
      max_win_cap_subunit: orNull(amounts.max_win_cap),
      wallet_model: terms.wallet_model,
      expires_at: expires_at?.toISOString() ?? null,
      config: {
        ...shownConfig(terms),
        ...(deposit_amount === null ? {} : { deposit_amount: wireAmount(deposit_amount) }),
      },
    },
    granted_by: { kind: source.granted_by_kind, ref: source.granted_by_id },
  };
  return JSON.stringify(body);
}

/** The body of the call that cancels. */
export function cancelOrderBody(grant: GrantRow): string {
  const body: CancelBody = {
    action: 'cancel',
    grant_id: grant.grant_id,
    platform_bonus_id: factsOf(grant).platform_bonus_id,
    player_external_id: grant.player_external_id,
    reason: grant.cancel_reason,
  };
  return JSON.stringify(body);
}
