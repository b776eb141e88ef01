import { describe, expect, it } from 'vitest';
import { betEffect } from '../../../src/ledger/money/bets.ts';
import { claimOf, judgeClaim, type Claim, type LedgerRow } from '../../../src/ledger/money/ledger.ts';

const PLAYER = 'p1';

function rowOf(claim: Claim, player_id = PLAYER): LedgerRow {
  return {
    ...claim,
    tenant_id: 't',
    project_id: 'x',
    ordinal: 0,
    player_id,
    occurred_at_ms: claim.occurrence,
    base_amount: claim.amount,
    base_payout: claim.payout,
    base_bonus_stake: claim.bonus_stake,
    base_bonus_payout: claim.bonus_payout,
    scales: null,
    detail_hash: null,
    item: null,
    rate: null,
    ingestion_id: 'i',
    event_index: 0,
    log_partition: 0,
    log_offset: 0n,
  };
}

function claim(event: string, properties: Record<string, unknown>, at_ms: number): Claim {
  const made = claimOf(event, { bet_id: 'b', currency: 'EUR', ...properties }, at_ms);
  if (made === undefined) throw new Error(`${event} makes no claim`);
  return made;
}

describe('an outcome of a sport bet', () => {
  const settled = claim('sport_bet_settled', { payout: 250 }, 1_000);

  it('repeated at the same time is a duplicate, at another time a new outcome, with another content a conflict', () => {
    expect(judgeClaim(settled, PLAYER, [rowOf(settled)])).toBe('duplicate');
    const later = claim('sport_bet_settled', { payout: 250 }, 3_000);
    expect(judgeClaim(later, PLAYER, [rowOf(settled)])).toBe('new');
    const otherwise = claim('sport_bet_settled', { payout: 300 }, 1_000);
    expect(judgeClaim(otherwise, PLAYER, [rowOf(settled)])).toBe('conflict');
  });

  it('counts when it is the latest, even after a void', () => {
    const voided = claim('sport_bet_voided', {}, 2_000);
    const again = claim('sport_bet_settled', { payout: 250 }, 3_000);
    expect(betEffect('sport', [rowOf(settled), rowOf(voided)]).deltas).toEqual([]);
    const { status, deltas } = betEffect('sport', [rowOf(again), rowOf(voided), rowOf(settled)]);
    expect(status).toBe('settled');
    expect(deltas).toContainEqual(expect.objectContaining({ player_id: PLAYER, total_won: 250n }));
  });
});

describe('a casino bet', () => {
  const settled = claim('bet_settled', { payout: 250, amount: 100 }, 1_000);

  it('accepts a second settlement under another name when it pays the same', () => {
    expect(judgeClaim(claim('bet_won', { payout: 250 }, 2_000), PLAYER, [rowOf(settled)])).toBe('new');
  });

  it('refuses a second settlement that pays another amount', () => {
    expect(judgeClaim(claim('bet_lost', {}, 2_000), PLAYER, [rowOf(settled)])).toBe('conflict');
  });

  it('counts for one player in every order, also when a win of 0 and a loss have one time', () => {
    const won = rowOf(claim('bet_won', { payout: 0 }, 1_000), 'p1');
    const lost = rowOf(claim('bet_lost', {}, 1_000), 'p2');
    const moved = rowOf(claim('bet_won', { payout: 70, movement_id: 'b' }, 2_000), 'p1');
    const counted = (rows: LedgerRow[]) =>
      betEffect('casino', rows).deltas.filter(({ bet_count }) => bet_count !== undefined);
    expect(counted([lost, won, moved])).toEqual(counted([won, lost, moved]));
  });
});

it('bonus parts of before these were known, which may be anything, are none', () => {
  for (const bonus_stake of [null, 12.5, '10.50', 'abc', -1, {}, true]) {
    expect(claim('bet_placed', { amount: 100, bonus_stake }, 1_000).bonus_stake).toBeNull();
    expect(claim('bet_won', { payout: 100, bonus_payout: bonus_stake }, 1_000).bonus_payout).toBeNull();
  }
});
