import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, startTestService, type TestService } from '../../engines/service.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
beforeAll(async () => {
  service = await startTestService();
  on = grantsFixture(service);
});
afterAll(async () => service?.close());

const CASHBACK = {
  type: 'cashback',
  config: { percent: 10, window_days: 7, min_loss: 100, currency: 'EUR', cap_amount: 500_000 },
};

/** The player loses this, and the service shows that. */
async function lost(player_id: string, amount: number, in_all: number): Promise<void> {
  const bet = { bet_id: randomUUID(), currency: 'EUR', game_id: 'book', game_category: 'slots' };
  await on.client.event(player_id, 'bet_settled', { ...bet, amount, payout: 0, outcome: 'lost' });
  await eventually('the loss is in the totals', async () => {
    const { data } = await on.client.api('GET', `/v1/players/${player_id}`);
    return data['total_wagered'] === in_all ? true : undefined;
  });
}

it('is of every bet that the totals of the player show', async () => {
  const template_id = await on.template({ ...CASHBACK, max_grants_per_player: null });
  await on.config({ grants_per_day: 100 });
  const player_id = await on.player();
  for (let round = 1; round <= 6; round++) {
    await lost(player_id, 5_000, round * 5_000);
    const { data, error } = await on.grant(template_id, player_id);
    expect(data?.bonus_amount, JSON.stringify(error)).toBe(round * 500);
  }
});

it('waits a second for ClickHouse, and holds up no other grant', async () => {
  const cashback = await on.template(CASHBACK);
  const gift = await on.template();
  const player_id = await on.player();
  await on.sql.begin(async (tx) => {
    await tx`lock table sink_positions in share row exclusive mode`;
    await lost(player_id, 7_000, 7_000);
    const [refused, other] = await Promise.all([on.grant(cashback, player_id), on.grant(gift, player_id)]);
    expect([refused.status, refused.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(other.status).toBe(201);
  });
  await eventually('the cashback is granted', async () => {
    const { status, data } = await on.grant(cashback, player_id);
    if (status === 503) return undefined;
    expect([status, data.bonus_amount]).toEqual([201, 700]);
    return true;
  });
});
