import { describe, expect, it } from 'vitest';
import { betEffect } from '../../src/money/bets.ts';
import { claimOf, judgeClaim, type Claim, type LedgerRow } from '../../src/money/ledger.ts';

const PLAYER = 'p1';

function rowOf(claim: Claim, player_id = PLAYER): LedgerRow {
  return {
    ...claim,
    tenant_id: 't',
    project_id: 'x',
    player_id,
    occurred_at_ms: claim.occurrence,
    base_amount: claim.amount,
    base_payout: claim.payout,
    ingestion_id: 'i',
    event_index: 0,
    log_partition: 0,
    log_offset: 0n,
  };
}

function claim(
  event: string,
  properties: Record<string, unknown>,
  at_ms: number,
  is_stamped: boolean,
): Claim {
  const made = claimOf(event, { bet_id: 'b', currency: 'EUR', ...properties }, at_ms, is_stamped);
  if (made === undefined) throw new Error(`${event} makes no claim`);
  return made;
}

describe('an outcome of a sport bet that came without a time', () => {
  const settled = claim('sport_bet_settled', { payout: 250 }, 1_000, false);
  const voided = claim('sport_bet_voided', {}, 2_000, false);

  it('is the same request again when an equal one is there, whatever came between', () => {
    const again = claim('sport_bet_settled', { payout: 250 }, 3_000, false);
    expect(judgeClaim(again, PLAYER, [rowOf(settled), rowOf(voided)])).toBe('duplicate');
    expect(betEffect('sport', [rowOf(settled), rowOf(voided)]).status).toBe('voided');
  });

  it('is new when it says something else, or names somebody else', () => {
    const other = claim('sport_bet_settled', { payout: 300 }, 3_000, false);
    expect(judgeClaim(other, PLAYER, [rowOf(settled)])).toBe('new');
    const same = claim('sport_bet_settled', { payout: 250 }, 3_000, false);
    expect(judgeClaim(same, 'p2', [rowOf(settled)])).toBe('new');
  });

  it('with a time of its own is a correction, also back to what was said before', () => {
    const again = claim('sport_bet_settled', { payout: 250 }, 3_000, true);
    expect(judgeClaim(again, PLAYER, [rowOf(settled), rowOf(voided)])).toBe('new');
  });
});

describe('a casino bet', () => {
  const settled = claim('bet_settled', { payout: 250, amount: 100 }, 1_000, true);

  it('takes a second settlement under another name when it pays the same', () => {
    expect(judgeClaim(claim('bet_won', { payout: 250 }, 2_000, true), PLAYER, [rowOf(settled)])).toBe('new');
  });

  it('refuses a second settlement that pays otherwise', () => {
    expect(judgeClaim(claim('bet_lost', {}, 2_000, true), PLAYER, [rowOf(settled)])).toBe('conflict');
  });
});
