import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { REWRITER_LOCK } from '../../../src/analytics/correction-queries.ts';
import { identityKeyOf, playerKey } from '../../../src/ingest/events/envelope.ts';
import type { EventLog, NewRecord } from '../../../src/platform/event-log/port.ts';
import { TOPICS } from '../../../src/platform/event-log/topics.ts';
import { call } from '../../engines/http-client.ts';
import { counted, startTestService, sunk, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { openTestPlatform } from '../../engines/wiring.ts';
import { campaignsFixture } from '../campaigns/campaigns-fixture.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

const PARTITIONS = 2;

let service: TestService;
let on: GrantsFixture;
/** The key of records that the fold cannot emit, and what that waits for. */
let held: { key: string; until: Promise<void> } | undefined;
/** While it stands still, whoever waits for ClickHouse waits as long as it takes. */
let stopped_ms: number | undefined;
const clock = { now_ms: () => stopped_ms ?? Date.now() };
beforeAll(async () => {
  service = await startTestService({}, async (config) => {
    const platform = await openTestPlatform(config, { partitions: PARTITIONS });
    return { ...platform, clock, eventLog: holdingEmissions(platform.eventLog) };
  });
  on = grantsFixture(service);
});
afterAll(async () => service?.close());

function holdingEmissions(eventLog: EventLog): EventLog {
  const append = async (topic: string, records: readonly NewRecord[]) => {
    if (topic === TOPICS.playerEvents && records.some(({ key }) => key === held?.key)) await held?.until;
    return eventLog.append(topic, records);
  };
  return Object.create(eventLog, { append: { value: append } }) as EventLog;
}

/** The partition of the events that name this id. */
const partitionOf = (id: string) =>
  service.platform.eventLog.partitionOf(identityKeyOf(service.project_id, id), PARTITIONS);

/** A player whose events are in this partition. */
async function playerIn(partition: number): Promise<string> {
  for (;;) {
    const player_id = await on.player();
    if (partitionOf(player_id) === partition) return player_id;
  }
}

async function post<T>(url: string, body: object): Promise<T> {
  const response = await call<T>(url, service.api_key, { body });
  expect(response.status).toBeLessThan(300);
  return response.data;
}

/** A player who was a guest of this device before; the events of the device are in another partition than theirs. */
async function returning(): Promise<{ player_id: string; guest_id: string; anonymous_id: string }> {
  for (;;) {
    const [anonymous_id, external_id] = [randomUUID(), randomUUID()];
    const identify = async (who: object) =>
      (await post<{ player_id: string }>(`${service.base_url}/v1/players/identify`, who)).player_id;
    const guest_id = await identify({ anonymous_id });
    const player_id = await identify({ external_id });
    if ([guest_id, player_id].some((id) => partitionOf(id) === partitionOf(anonymous_id))) continue;
    expect(await identify({ anonymous_id, external_id })).toBe(player_id);
    return { player_id, guest_id, anonymous_id };
  }
}

const CASHBACK = {
  type: 'cashback',
  config: { percent: 10, window_days: 7, min_loss: 100, currency: 'EUR', cap_amount: 500_000 },
};

/** The player loses this; the event is accepted. */
async function loses(player_id: string, amount: number): Promise<void> {
  await on.client.event(player_id, 'bet_settled', betOf(amount));
}

/** A bet that was lost. */
const betOf = (amount: number) => ({
  bet_id: randomUUID(),
  currency: 'EUR',
  game_id: 'book',
  game_category: 'slots',
  amount,
  payout: 0,
  outcome: 'lost',
});

/** The player loses this, and the service shows that. */
async function lost(player_id: string, amount: number, in_all: number): Promise<void> {
  await loses(player_id, amount);
  await until('the loss is in the totals', async (saw) => {
    const { data } = saw(await on.client.api('GET', `/v1/players/${player_id}`));
    return data['total_wagered'] === in_all;
  });
}

it('is of every bet that the totals of the player show', async () => {
  const template_id = await on.template({ ...CASHBACK, max_grants_per_player: null });
  await on.config({ grants_per_day: 100 });
  const player_id = await on.player();
  for (let round = 1; round <= 6; round++) {
    await lost(player_id, 5_000, round * 5_000);
    // ClickHouse has the bets a moment after the totals: the grant waits for them, and is not refused.
    await granted(template_id, player_id, round * 500);
  }
});

it('waits a second for ClickHouse, and holds up no other grant', async () => {
  const cashback = await on.template(CASHBACK);
  const gift = await on.template();
  const player_id = await on.player();
  await on.sql.begin(async (tx) => {
    await tx`lock table sink_positions in share row exclusive mode`;
    await lost(player_id, 7_000, 7_000);
    stopped_ms = Date.now();
    try {
      let is_answered = false;
      const waiting = on.grant(cashback, player_id).finally(() => (is_answered = true));
      expect((await on.grant(gift, player_id)).status).toBe(201);
      stopped_ms += 999;
      expect((await on.grant(gift, player_id)).status).toBe(201);
      expect(is_answered).toBe(false);
      stopped_ms += 1_000;
      const refused = await waiting;
      expect([refused.status, refused.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
      expect(refused.headers.get('retry-after')).toBe('1');
    } finally {
      stopped_ms = undefined;
    }
  });
  await granted(cashback, player_id, 700);
});

/** The cashback is granted once ClickHouse has what it is of, and of nothing else. ClickHouse has as long as it takes. */
async function granted(template_id: string, player_id: string, amount: number): Promise<void> {
  stopped_ms = Date.now();
  try {
    const { status, data } = await on.grant(template_id, player_id);
    expect([status, data?.bonus_amount]).toEqual([201, amount]);
  } finally {
    stopped_ms = undefined;
  }
}

it('is of a bet that was accepted before, though nobody has seen it yet', async () => {
  const cashback = await on.template(CASHBACK);
  const player_id = await on.player();
  await on.sql.begin(async (tx) => {
    await tx`lock table fold_positions in share row exclusive mode`;
    await loses(player_id, 3_000);
    expect((await on.grant(cashback, player_id)).status).toBe(503);
  });
  await granted(cashback, player_id, 300);
});

it('is of the bets of a device, too, and of the guest who the player was', async () => {
  const cashback = await on.template(CASHBACK);
  const { player_id, guest_id, anonymous_id } = await returning();
  await lost(player_id, 1_000, 1_000);
  await on.sql.begin(async (tx) => {
    await tx`lock table fold_positions in share row exclusive mode`;
    await post(`${service.ingest_url}/v1/events`, {
      event: 'bet_settled',
      anonymous_id,
      properties: betOf(3_000),
    });
    expect((await on.grant(cashback, guest_id)).status).toBe(503);
  });
  await granted(cashback, guest_id, 400);
});

it('waits only for the partitions of its player', async () => {
  const cashback = await on.template(CASHBACK);
  const [here, there] = [await playerIn(0), await playerIn(1)];
  const released = new AbortController();
  const until = once(released.signal, 'abort').then(() => undefined);
  held = { key: playerKey(service.project_id, there), until };
  try {
    await lost(there, 9_000, 9_000);
    await lost(here, 4_000, 4_000);
    await granted(cashback, here, 400);
    expect((await on.grant(cashback, there)).status).toBe(503);
  } finally {
    held = undefined;
    released.abort();
  }
  await granted(cashback, there, 900);
});

it('is refused for what is known before the loss is', async () => {
  const paused = await on.template({ ...CASHBACK, status: 'paused' });
  const cashback = await on.template(CASHBACK);
  const one = await on.template({ ...CASHBACK, max_grants_per_player: 1 });
  const [player_id = '', excluded = ''] = await on.client.players(2);
  await on.sql`update players set self_excluded = true where player_id = ${excluded}`;
  await lost(player_id, 2_000, 2_000);
  await granted(one, player_id, 200);
  const answer = async (template_id: string, asking: string) => {
    const { status, code, error } = await on.grant(template_id, asking);
    return [status, code, (error as { details?: { reason?: string } }).details?.reason];
  };
  await on.sql.begin(async (tx) => {
    await tx`lock table sink_positions in share row exclusive mode`;
    await lost(player_id, 1_000, 3_000);
    await lost(excluded, 1_000, 1_000);
    expect(await answer(cashback, player_id)).toEqual([503, 'SERVICE_UNAVAILABLE', undefined]);
    expect(await answer(paused, player_id)).toEqual([422, 'BONUS_TEMPLATE_NOT_ACTIVE', undefined]);
    expect(await answer(cashback, excluded)).toEqual([422, 'BONUS_PLAYER_NOT_ELIGIBLE', 'SELF_EXCLUDED']);
    expect(await answer(one, player_id)).toEqual([409, 'BONUS_GRANT_LIMIT_REACHED', 'max_grants_per_player']);
  });
});

it('is refused to a protected player for the protection, whatever there is to get', async () => {
  const cashback = await on.template(CASHBACK);
  const players = await on.client.players(4);
  const [, excluded = '', banned = '', resting = ''] = players;
  await on.sql`update players set self_excluded = true where player_id = ${excluded}`;
  await on.sql`update players set status = 'banned' where player_id = ${banned}`;
  await on.sql`update players set cooldown_until = now() + interval '1 day' where player_id = ${resting}`;
  const answers = await Promise.all(
    players.map((player_id) =>
      // Until ClickHouse has all events, the loss of who is not protected is not known.
      until('the grant is decided about', async (saw) => {
        const { status, error } = saw(await on.grant(cashback, player_id));
        const { reason } = (error as { details?: { reason?: string } }).details ?? {};
        return status === 503 ? undefined : [status, reason];
      }),
    ),
  );
  expect(answers).toEqual([
    [422, 'NOT_ELIGIBLE'],
    [422, 'SELF_EXCLUDED'],
    [422, 'BANNED'],
    [422, 'COOLDOWN'],
  ]);
});

it('is of own money alone, of what counts of finished bets', async () => {
  const [net, turnover] = await Promise.all(
    ['net_loss', 'turnover'].map((basis) =>
      on.template({ ...CASHBACK, config: { ...CASHBACK.config, basis, min_loss: 0 } }),
    ),
  );
  const player_id = await on.player();
  const money = { currency: 'EUR' };
  const game = { ...money, game_id: 'book', game_category: 'slots' };
  const sport = { ...money, sport: 'tennis', bet_type: 'single', odds: '2', event_ref: 'm' };
  const sent: [string, object][] = [
    // 6,000 of own money, of which 1,000 came back.
    ['bet_placed', { ...game, bet_id: 'a', amount: 10_000, bonus_stake: 4_000 }],
    [
      'bet_settled',
      { ...game, bet_id: 'a', amount: 10_000, payout: 1_500, bonus_payout: 500, outcome: 'won' },
    ],
    // Two movements less a win that was taken back.
    ['bet_placed', { ...game, bet_id: 'b', amount: 1_000, movement_id: '1' }],
    ['bet_placed', { ...game, bet_id: 'b', amount: 500, movement_id: '2' }],
    ['bet_won', { ...money, bet_id: 'b', payout: 300, movement_id: '3' }],
    ['bet_won', { ...money, bet_id: 'b', payout: 900, movement_id: '4' }],
    ['bet_voided', { bet_id: 'b', movement_id: '4' }],
    // A round that was cancelled, and one that is not over.
    ['bet_placed', { ...game, bet_id: 'c', amount: 7_000 }],
    ['bet_lost', { bet_id: 'c' }],
    ['bet_voided', { bet_id: 'c' }],
    ['bet_placed', { ...game, bet_id: 'd', amount: 7_000 }],
    // A bet that is open again, also after a part of it was cashed out, and one that was settled after that.
    ['sport_bet_placed', { ...sport, bet_id: 's', amount: 8_000 }],
    ['sport_bet_settled', { ...money, bet_id: 's', payout: 0 }],
    ['sport_bet_reopened', { bet_id: 's' }],
    ['sport_bet_placed', { ...sport, bet_id: 't', amount: 8_000 }],
    ['sport_cashout', { ...money, bet_id: 't', payout: 100, movement_id: '1' }],
    ['sport_bet_placed', { ...sport, bet_id: 'u', amount: 2_000 }],
    ['sport_cashout', { ...money, bet_id: 'u', payout: 300, movement_id: '1' }],
    ['sport_bet_settled', { ...money, bet_id: 'u', payout: 200 }],
    // The whole bet was cashed out.
    ['sport_bet_placed', { ...sport, bet_id: 'v', amount: 1_000 }],
    ['sport_cashout', { ...money, bet_id: 'v', payout: 400, note: 7 }],
  ];
  // One after the other, so that what comes later changes what ClickHouse has already.
  const begun_ms = Date.now() - sent.length * 1_000;
  for (const [i, [event, properties]] of sent.entries()) {
    const timestamp = new Date(begun_ms + i * 1_000).toISOString();
    await post(`${service.ingest_url}/v1/events`, { event, player_id, timestamp, properties });
  }
  await counted(service.platform);
  // A movement_id that is no text is none: of before intake checked it.
  await service.platform.clickhouse.command(
    `insert into events select * replace (
      revision + 1 as revision, replace(e.properties, '"note":', '"movement_id":') as properties)
    from events as e final where player_id = {player_id:UUID} and JSONHas(e.properties, 'note')`,
    { player_id },
  );
  await granted(net ?? '', player_id, (5_000 + 1_200 + 1_500 + 600) / 10);
  await granted(turnover ?? '', player_id, (6_000 + 1_500 + 2_000 + 1_000) / 10);
});

it('waits for what later events change of earlier ones', async () => {
  const cashback = await on.template(CASHBACK);
  const player_id = await on.player();
  await on.client.event(player_id, 'bet_settled', { ...betOf(3_000), bet_id: 'kept' });
  await on.client.event(player_id, 'bet_settled', { ...betOf(6_000), bet_id: 'undone' });
  await counted(service.platform);
  await on.sql.begin(async (tx) => {
    // Nobody writes anew what the void changes.
    await tx`select pg_advisory_xact_lock(hashtext(${REWRITER_LOCK}))`;
    await on.client.event(player_id, 'bet_voided', { bet_id: 'undone' });
    await sunk(service.platform);
    expect((await on.grant(cashback, player_id)).status).toBe(503);
  });
  await granted(cashback, player_id, 300);
});

it('of a campaign waits for them, too, each for its own player', async () => {
  const campaigns = await campaignsFixture(service);
  const platform = await campaigns.adapter();
  const template_id = await campaigns.template(CASHBACK);
  const members = (await campaigns.client.players(4)).toSorted();
  const [late = ''] = members;
  for (const player_id of members) {
    await campaigns.client.event(player_id, 'bet_settled', { ...betOf(3_000), bet_id: `kept ${player_id}` });
  }
  await campaigns.client.event(late, 'bet_settled', { ...betOf(6_000), bet_id: 'undone' });
  await counted(service.platform);
  const segment_id = await campaigns.client.segment(members);
  const { id } = (await campaigns.create({ template_id, segment_id, max_liability: 1_000_000 })).data;
  await campaigns.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext(${REWRITER_LOCK}))`;
    await campaigns.client.event(late, 'bet_voided', { bet_id: 'undone' });
    await sunk(service.platform);
    expect((await campaigns.issue(id)).status).toBeLessThan(300);
    const { stats } = await campaigns.reaches(id, (shown) => shown.stats.granted === members.length - 1);
    expect(stats.pending).toBe(1);
  });
  await campaigns.reaches(id, ({ status }) => status === 'issued');
  expect(
    await campaigns.sql`select bonus_amount::text as amount from bonus_grants where player_id = ${late}`,
  ).toEqual([{ amount: '300' }]);
  await platform.close();
});
