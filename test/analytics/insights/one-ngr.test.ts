import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SeededNumbers } from '../../../src/engage/experiments/statistics/permutation.ts';
import { messagingClient, type MessagingClient } from '../../engage/messaging/messaging-client.ts';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { ask, column } from './insight-client.ts';

// NGR is one thing: insights, the overview, a backtest and an effect say the same of the same events, which is what a count in
// JavaScript says.

let service: TestService;
let tenant: TestTenant;
let client: MessagingClient;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.close());
beforeEach(async () => {
  tenant = await service.newTenant();
  client = messagingClient(service, tenant);
});

const DAY_MS = 86_400_000;
/** A day that is over: its midnight in UTC. */
const DAY = Math.floor(Date.now() / DAY_MS) * DAY_MS - 12 * DAY_MS;
const iso = (at_ms: number) => new Date(at_ms).toISOString();

interface Event {
  player_id: string;
  event: string;
  stake: bigint;
  payout: bigint;
  bonus: bigint;
}

const BETS = ['bet_settled', 'sport_bet_settled'];
const NAMES = [...BETS, 'balance_credited', 'balance_debited', 'deposit_confirmed', 'bonus_completed'];

function randomEvents(player_ids: readonly string[], seed: number): Event[] {
  const numbers = new SeededNumbers(seed);
  return Array.from({ length: 80 }, () => ({
    player_id: player_ids[numbers.below(player_ids.length)] ?? '',
    event: NAMES[numbers.below(NAMES.length)] ?? '',
    stake: BigInt(numbers.below(9_999) + 1),
    payout: BigInt(numbers.below(9_999)),
    bonus: BigInt(numbers.below(500)),
  }));
}

/** Players who were in a campaign from the midnight of the day on, with events at its noon. */
async function store(
  campaign_id: string,
  variant_id: string,
  player_ids: readonly string[],
  events: readonly Event[],
) {
  const { clickhouse } = service.platform;
  const { tenant_id, project_id } = tenant;
  const line = (row: object) => JSON.stringify({ tenant_id, project_id, revision: 1, ...row });
  const insert = (table: string, rows: object[]) =>
    clickhouse.insertLines(table, rows.map(line), randomUUID());
  await insert(
    'players',
    player_ids.map((player_id) => ({ player_id, created_at: DAY - DAY_MS, custom_attributes: '{}' })),
  );
  await insert(
    'message_sends',
    player_ids.map((player_id) => ({
      player_id,
      send_id: randomUUID(),
      campaign_id,
      variant_id,
      channel: 'email',
      status: 'sent',
      enqueued_at: DAY,
      assigned_at: DAY,
    })),
  );
  await insert(
    'events',
    events.map(({ player_id, event, stake, payout, bonus }) => ({
      player_id,
      event,
      occurred_at: DAY + DAY_MS / 2,
      received_at: DAY + DAY_MS / 2,
      ingestion_id: randomUUID(),
      event_index: 0,
      properties: {},
      ...(BETS.includes(event)
        ? {
            stake_counted: Number(stake),
            payout_counted: Number(payout),
            bonus_stake_counted: Number(bonus),
            bonus_payout_counted: 1,
          }
        : event.startsWith('balance')
          ? { stake_counted: Number(stake) }
          : event === 'bonus_completed'
            ? { base_payout: Number(bonus) }
            : { base_amount: Number(stake) }),
    })),
  );
}

/** Half to even, by the rest of a division, of an amount of any sign. */
function rounded(parts: bigint): bigint {
  const below = parts / 10_000n - (parts % 10_000n < 0n ? 1n : 0n);
  const rest = parts - below * 10_000n;
  const is_up = rest === 5_000n ? below % 2n !== 0n : rest > 5_000n;
  return is_up ? below + 1n : below;
}

const DEDUCTIONS = [
  { name: 'duty', product: 'casino', basis: 'ggr', bp: 2_115 },
  { name: 'levy', basis: 'stakes', bp: 37 },
  { name: 'payments', basis: 'deposits', bp: 250 },
];

function ngrOf(events: readonly Event[], bonus_cost: 'feed' | 'grants', are_deducted: boolean): bigint {
  let [before, casino, stakes, deposits] = [0n, 0n, 0n, 0n];
  for (const { event, stake, payout, bonus } of events) {
    if (BETS.includes(event)) {
      before += stake - payout - (bonus_cost === 'feed' ? bonus - 1n : 0n);
      stakes += stake;
      if (event === 'bet_settled') casino += stake - payout;
    } else if (event === 'balance_debited') before += stake;
    else if (event === 'deposit_confirmed') deposits += stake;
    else if (event === 'balance_credited' && bonus_cost === 'feed') before -= stake;
    else if (event === 'bonus_completed' && bonus_cost === 'grants') before -= bonus;
  }
  if (!are_deducted) return before;
  return before - rounded(casino * 2_115n) - rounded(stakes * 37n) - rounded(deposits * 250n);
}

async function campaign() {
  const { data, status, error } = await client.api('POST', '/v1/campaigns', {
    name: 'C',
    channel: 'email',
    segment_id: await client.segment(await client.players(1)),
    template_id: await client.template(),
    provider_id: await client.provider(),
    holdout_percent: 25,
  });
  expect(status, JSON.stringify(error)).toBe(201);
  const campaign_id = String(data['id']);
  const variants = await client.api<{ id: string }[]>('GET', `/v1/campaigns/${campaign_id}/variants`);
  return { campaign_id, variant_id: variants.data[0]?.id ?? '' };
}

async function answered(method: string, path: string, body?: object) {
  const { status, data, error } = await client.api(method, path, body);
  expect(status, JSON.stringify(error)).toBe(200);
  return data;
}

describe.each([
  ['feed', false],
  ['feed', true],
  ['grants', false],
  ['grants', true],
] as const)('bonus cost of %s, deductions: %s', (bonus_cost, are_deducted) => {
  it('is the same in insights, overview, backtest and effect', async () => {
    const reporting = { bonus_cost, ...(are_deducted ? { deductions: DEDUCTIONS } : {}) };
    await answered('PATCH', '/v1/tenant/config', { config: { reporting } });
    const { campaign_id, variant_id } = await campaign();
    const player_ids = Array.from({ length: 5 }, () => randomUUID());
    const events = randomEvents(player_ids, are_deducted ? 7 : 11);
    await store(campaign_id, variant_id, player_ids, events);
    const expected = Number(ngrOf(events, bonus_cost, are_deducted));

    const range = { from: iso(DAY), to: iso(DAY + DAY_MS) };
    const query = { kind: 'trend', range, interval: 'day', series: [{ metric: 'ngr' }] };
    const insight = await ask(service, tenant, query);
    expect(column(insight, insight.totals, 'ngr')).toEqual([expected]);

    const { now } = (await answered('GET', `/v1/overview?from=${range.from}&to=${range.to}`)) as {
      now: { ngr: number };
    };
    expect(now.ngr).toBe(expected);

    const definition = {
      operator: 'AND',
      conditions: [{ type: 'trait', field: 'created_at', op: 'exists' }],
    };
    const tested = await answered('POST', '/v1/segments/backtest', {
      definition,
      as_of: range.from,
      horizon_days: 1,
    });
    expect(tested).toMatchObject({ ngr_per_head: { numerator: expected, denominator: 5 } });

    expect(await answered('GET', `/v1/campaigns/${campaign_id}/uplift`)).toMatchObject({
      bonus_cost,
      deductions: are_deducted ? DEDUCTIONS.map(({ name }) => name) : [],
      arms: [{ arm: variant_id, players: 5, ngr: expected, ngr_per_player: expected / 5 }],
    });
  });
});

it('an effect is asked anew once the settings of NGR have changed', async () => {
  const { campaign_id, variant_id } = await campaign();
  const player_ids = [randomUUID(), randomUUID()];
  const events = randomEvents(player_ids, 3);
  await store(campaign_id, variant_id, player_ids, events);
  const path = `/v1/campaigns/${campaign_id}/uplift`;
  expect(await answered('GET', path)).toMatchObject({
    arms: [{ ngr: Number(ngrOf(events, 'feed', false)) }],
  });
  await answered('PATCH', '/v1/tenant/config', { config: { reporting: { deductions: DEDUCTIONS } } });
  expect(await answered('GET', path)).toMatchObject({ arms: [{ ngr: Number(ngrOf(events, 'feed', true)) }] });
});
