import { randomUUID } from 'node:crypto';
import type { GrantOrder } from '../../src/adapters/platform.ts';
import type { GrantBody } from '../../src/adapters/protocol.ts';

/** A new grant of 500 in the smallest unit. */
export function orderOf(): GrantOrder {
  const grant_id = randomUUID();
  const body: GrantBody = {
    action: 'grant',
    grant_id,
    tenant_id: randomUUID(),
    player_id: randomUUID(),
    player_external_id: 'player-1',
    template: {
      id: randomUUID(),
      name: 'Welcome',
      type: 'no_deposit',
      amount_subunit: 500,
      currency: 'EUR',
      wagering: {
        multiplier: 0,
        basis: 'bonus',
        required_subunit: 0,
        max_bet_subunit: null,
        game_contribution: null,
      },
      max_win_cap_subunit: null,
      wallet_model: null,
      expires_at: null,
      config: { amount: 500, currency: 'EUR' },
    },
    granted_by: { kind: 'manual', ref: null },
  };
  const mayDepart = () => Promise.resolve({ by_ms: Infinity });
  return { grant_id, body: JSON.stringify(body), mayDepart };
}
