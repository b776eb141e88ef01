import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantsFixture, type GrantsFixture } from '../../../bonuses/grants/grants-fixture.ts';
import { call } from '../../../engines/http-client.ts';
import { folded, type TestService, type TestTenant } from '../../../engines/service.ts';
import { sharedService } from '../../../engines/shared-service.ts';
import { until } from '../../../engines/until.ts';
import type { Body } from '../../messaging/messaging-client.ts';
import { end, runFixture, update, type RunFixture, type ShownRun } from './run-fixture.ts';

// Amounts of journeys are money: of the currency that stands beside them, at the rate of their event.

let service: TestService;
let tenant: TestTenant;
let on: RunFixture;
let bonuses: GrantsFixture;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant('EUR');
  on = runFixture(service, tenant);
  bonuses = grantsFixture(service, tenant);
  // Rates of pairs for good; SEK has none until a test gives one.
  await rate(tenant, 'EUR', 'JPY', '150', '2026-01-01');
  await rate(tenant, 'BTC', 'EUR', '90000', '2026-01-01');
  await rate(tenant, 'EUR', 'USD', '1.25', '2026-01-01');
});
afterAll(async () => service?.close());

const rate = ({ tenant_id }: TestTenant, base: string, quote: string, value: string, ts: string) =>
  service.platform.postgres.service`
    insert into fx_rates (tenant_id, base, quote, ts, rate, source)
    values (${tenant_id}, ${base}, ${quote}, ${ts}, ${value}, 'manual')`;

const MATCH = { match_percent: 100, cap_amount: 10_000_000, currency: 'EUR' };
const grant = (template_id: string, rest: Body = {}) => ({
  id: 'g',
  type: 'grant_bonus',
  template_id,
  deposit_amount: 'context.trigger_payload.amount',
  next: 'end',
  ...rest,
});
const deposit = (currency: string, amount: unknown): Body => ({
  amount,
  currency,
  transaction_id: randomUUID(),
  payment_method: 'card',
});

async function post(of: TestTenant, events: readonly Body[]): Promise<void> {
  const response = await call(`${service.ingest_url}/v1/events/batch`, of.api_key, { body: { events } });
  expect(response.status, response.text).toBeLessThan(300);
  expect(response.text).toContain('"rejected":[]');
}

/** The one run of a journey, once `is` holds of it. */
const runOf = (from: RunFixture, journey_id: string, what: string, is: (run: ShownRun) => boolean) =>
  until(`the run ${what}`, async (saw) => {
    const [first] = saw(await from.runs(journey_id)).data;
    if (first === undefined) return undefined;
    const run = saw(await from.run(journey_id, first.run_id));
    return is(run) ? run : undefined;
  });
const ended = (from: RunFixture, journey_id: string) =>
  runOf(from, journey_id, 'ends', ({ status }) => status !== 'running');
const stepsOf = (run: ShownRun) =>
  run.history.map(({ node_id, status, outcome, error_code }) => [node_id, status, outcome, error_code]);

/** What a journey that a deposit starts has granted for it. */
async function grantedFor(properties: Body, template: Body = {}): Promise<Body> {
  const template_id = await bonuses.template({ type: 'deposit_match', config: MATCH, ...template });
  const trigger = {
    kind: 'event',
    event: 'deposit_confirmed',
    where: { transaction_id: properties['transaction_id'] },
  };
  const journey_id = await on.journey([grant(template_id), end()], trigger);
  const player_id = await bonuses.player();
  await post(tenant, [{ event: 'deposit_confirmed', player_id, properties }]);
  const run = await ended(on, journey_id);
  expect(stepsOf(run)[0]).toEqual(['g', 'completed', 'granted', null]);
  const { grant_id } = run.history[0] as unknown as { grant_id: string };
  const { currency, deposit_amount, bonus_amount, deposit_transaction_id } = await bonuses.get(grant_id);
  expect(deposit_transaction_id).toBe(properties['transaction_id']);
  return { currency, deposit_amount, bonus_amount };
}

describe('a bonus on a deposit takes the amount at the rate of the event', () => {
  it.each([
    ['in the currency of the template', deposit('EUR', 4_000), 4_000],
    ['as digits', deposit('EUR', '2500'), 2_500],
    ['of a currency without decimals', deposit('JPY', 6_000), 4_000],
    ['of a crypto currency', deposit('BTC', 100_000), 9_000],
    ['as digits of another currency', deposit('JPY', '6000'), 4_000],
  ])('%s', async (_what, properties, worth) => {
    expect(await grantedFor(properties)).toEqual({
      currency: 'EUR',
      deposit_amount: worth,
      bonus_amount: worth,
    });
  });

  it('in a currency of the template that is not the base currency', async () => {
    const template = { config: { ...MATCH, currency: 'USD' } };
    // ¥6,000 are €40, and those are $50.
    expect(await grantedFor(deposit('JPY', 6_000), template)).toMatchObject({
      currency: 'USD',
      deposit_amount: 5_000,
    });
    expect(await grantedFor(deposit('USD', 6_000), template)).toMatchObject({ deposit_amount: 6_000 });
  });
});

it('a simulation converts by the rates of now, and ends where there is none', async () => {
  const template_id = await bonuses.template({ type: 'deposit_match', config: MATCH });
  const awaited = {
    id: 'w',
    type: 'wait_for_event',
    event: 'deposit_confirmed',
    where: { amount: { between: [3_900, 4_100] } },
    timeout_ms: 3_600_000,
    next: 'g',
    timeout_next: 'end',
  };
  const journey_id = await on.journey([
    awaited,
    grant(template_id, { deposit_amount: 'context.events.w.amount' }),
    end(),
  ]);
  const simulated = async (body: Body) => {
    const answer = await on.client.api<{ steps: Body[] }>(
      'POST',
      `/v1/journeys/${journey_id}/simulate`,
      body,
    );
    return answer.data.steps.map(({ node_id, outcome, error_code }) => [node_id, outcome, error_code]);
  };
  const player_id = await bonuses.player();
  const event = (properties: Body) => ({ at_ms: 60_000, event: 'deposit_confirmed', properties });
  for (const who of [{ player_id }, { traits: {} }]) {
    expect(await simulated({ ...who, events: [event(deposit('JPY', 6_000))] })).toEqual([
      ['w', 'event', null],
      ['g', 'granted', null],
      ['end', 'ended', null],
    ]);
    expect((await simulated({ ...who, events: [event(deposit('SEK', 4_000))] }))[0]).toEqual([
      'w',
      'timeout',
      null,
    ]);
  }
  // The same for real.
  const run_id = await on.start(journey_id, player_id);
  await on.reached(journey_id, run_id, 'w');
  await post(tenant, [
    { event: 'deposit_confirmed', player_id, properties: deposit('JPY', 60_000) },
    { event: 'deposit_confirmed', player_id, properties: deposit('JPY', '6000') },
  ]);
  const run = await on.reached(journey_id, run_id, 'completed');
  const { grant_id } = run.history[1] as unknown as { grant_id: string };
  expect(await bonuses.get(grant_id)).toMatchObject({ deposit_amount: 4_000 });
});

it('an amount of points, which are no currency of the tenant, is compared as a mere number at once', async () => {
  const condition = { where: { 'trigger_payload.amount': { gte: 5_000 } } };
  const branch = { id: 'b', type: 'branch', branches: [{ name: 'large', condition, next: 'end' }] };
  const nodes = [{ ...branch, else_next: 'end' }, end()];
  const journey_id = await on.journey(nodes, { kind: 'event', event: 'custom_points' });
  const player_id = await bonuses.player();
  const properties = { amount: 5_000, currency: 'POINTS' };
  await post(tenant, [{ event: 'custom_points', player_id, properties }]);
  expect(stepsOf(await ended(on, journey_id))[0]).toEqual(['b', 'completed', 'branch:large', null]);
});

it('a bonus on an amount that is too great in its currency fails at once', async () => {
  const template_id = await bonuses.template({
    type: 'deposit_match',
    config: { ...MATCH, currency: 'JPY' },
  });
  const journey_id = await on.journey([grant(template_id), end()], { kind: 'event', event: 'custom_great' });
  const properties = { amount: '9'.repeat(38), currency: 'EUR' };
  await post(tenant, [{ event: 'custom_great', player_id: await bonuses.player(), properties }]);
  expect(stepsOf(await ended(on, journey_id))[0]).toEqual(['g', 'failed', 'failed', 'VALIDATION_ERROR']);
});

describe('while no rate is known', () => {
  it('a bonus waits at its node, and is granted when the rate comes', async () => {
    const own = await service.newTenant('EUR');
    const [runs, grants] = [runFixture(service, own), grantsFixture(service, own)];
    const template_id = await grants.template({ type: 'deposit_match', config: MATCH });
    const journey_id = await runs.journey([grant(template_id), end()], {
      kind: 'event',
      event: 'deposit_confirmed',
    });
    const player_id = await grants.player();
    await post(own, [{ event: 'deposit_confirmed', player_id, properties: deposit('SEK', 11_000) }]);
    const waiting = await runOf(runs, journey_id, 'stands at the bonus', ({ history }) =>
      history.some(({ node_id, entered_at }) => node_id === 'g' && entered_at !== null),
    );
    expect(waiting.history.at(-1)).toMatchObject({ node_id: 'g', status: 'waiting' });
    await rate(own, 'EUR', 'SEK', '11', '2026-01-01');
    const run = await ended(runs, journey_id);
    expect(stepsOf(run)[0]).toEqual(['g', 'completed', 'granted', null]);
    const [granted] = (await grants.client.api<Body[]>('GET', `/v1/bonus-grants?player_id=${player_id}`))
      .data;
    expect(granted).toMatchObject({ deposit_amount: 1_000, bonus_amount: 1_000 });
  });

  it('a branch on the amount of the trigger waits, too, and takes the branch that the rate decides', async () => {
    const own = await service.newTenant('EUR');
    const runs = runFixture(service, own);
    const branch = {
      id: 'b',
      type: 'branch',
      branches: [
        { name: 'large', condition: { where: { 'trigger_payload.amount': { gte: 5_000 } } }, next: 'large' },
      ],
      else_next: 'small',
    };
    const nodes = [
      branch,
      update('large', { size: 'large' }, 'end'),
      update('small', { size: 'small' }, 'end'),
      end(),
    ];
    const journey_id = await runs.journey(nodes, { kind: 'event', event: 'deposit_confirmed' });
    const [player_id = ''] = await runs.client.players(1);
    await post(own, [{ event: 'deposit_confirmed', player_id, properties: deposit('SEK', 11_000) }]);
    await runOf(runs, journey_id, 'stands at the branch', ({ history }) =>
      history.some(({ node_id, entered_at }) => node_id === 'b' && entered_at !== null),
    );
    await rate(own, 'EUR', 'SEK', '11', '2026-01-01');
    // 110 kr are €10: not €50.
    expect(stepsOf(await ended(runs, journey_id))[0]).toEqual(['b', 'completed', 'else', null]);
  });

  it.each(['started', 'woke'])(
    'what follows the event that %s the run is not lost while it waits',
    async (how) => {
      const own = await service.newTenant('EUR');
      const runs = runFixture(service, own);
      const waitFor = (id: string, event: string, next: string) => ({
        id,
        type: 'wait_for_event',
        event,
        timeout_ms: 3_600_000,
        next,
        timeout_next: 'late',
      });
      const path = how === 'started' ? 'trigger_payload.amount' : 'events.e.amount';
      const condition = { where: { [path]: { gte: 5_000 } } };
      const branch = { id: 'b', type: 'branch', branches: [{ condition, next: 'late' }], else_next: 'then' };
      const nodes = [branch, waitFor('then', 'custom_then', 'end'), end(), end('late')];
      const journey_id =
        how === 'started'
          ? await runs.journey(nodes, { kind: 'event', event: 'deposit_confirmed' })
          : await runs.journey([waitFor('e', 'deposit_confirmed', 'b'), ...nodes]);
      const [player_id = ''] = await runs.client.players(1);
      if (how === 'woke') await runs.reached(journey_id, await runs.start(journey_id, player_id), 'e');
      await post(own, [
        { event: 'deposit_confirmed', player_id, properties: deposit('SEK', 11_000) },
        { event: 'custom_then', player_id, properties: {} },
      ]);
      const { run_id } = await runOf(runs, journey_id, 'stands at the branch', ({ history }) =>
        history.some(({ node_id, entered_at }) => node_id === 'b' && entered_at !== null),
      );
      // It has looked again, without a rate.
      const [first] = await runs.sql<
        { due_at: Date }[]
      >`select due_at from journey_runs where run_id = ${run_id}`;
      await until('the run has looked again', async (saw) => {
        const [now] = await runs.sql<
          { due_at: Date }[]
        >`select due_at from journey_runs where run_id = ${run_id}`;
        return saw(now?.due_at.getTime() ?? 0) > (first?.due_at.getTime() ?? 0);
      });
      await rate(own, 'EUR', 'SEK', '11', '2026-01-01');
      await runs.reached(journey_id, run_id, 'completed');
      const run = await runs.run(journey_id, run_id);
      expect(stepsOf(run).slice(-3)).toEqual([
        ['b', 'completed', 'else', null],
        ['then', 'completed', 'event', null],
        ['end', 'completed', 'ended', null],
      ]);
    },
  );

  it('a lost bet, whose amount the ledger does not have, is decided at once; its bonus fails after a day', async () => {
    const own = await service.newTenant('EUR');
    const [runs, grants] = [runFixture(service, own), grantsFixture(service, own)];
    const template_id = await grants.template({ type: 'deposit_match', config: MATCH });
    const trigger = { kind: 'event', event: 'bet_lost' };
    const filtered = await Promise.all(
      [{ gte: 11_000 }, { lt: 11_000 }].map((amount) =>
        runs.journey([end()], { ...trigger, where: { amount } }),
      ),
    );
    const journey_id = await runs.journey([grant(template_id), end()], trigger);
    const player_id = await grants.player();
    const properties = { bet_id: randomUUID(), amount: 11_000, currency: 'SEK' };
    await post(own, [{ event: 'bet_lost', player_id, properties }]);
    const { run_id } = await runOf(runs, journey_id, 'stands at the bonus', ({ history }) =>
      history.some(({ node_id, entered_at }) => node_id === 'g' && entered_at !== null),
    );
    // No rate would ever come for it: the filters do not hold, and do not wait.
    expect(await runs.sql`select from unrated_events where tenant_id = ${own.tenant_id}`).toEqual([]);
    for (const id of filtered) expect((await runs.runs(id)).data).toEqual([]);
    await runs.sql`update journey_runs set entered_at = entered_at - interval '1 day' where run_id = ${run_id}`;
    const run = await runs.reached(journey_id, run_id, 'failed');
    expect(stepsOf(run)[0]).toEqual(['g', 'failed', 'failed', 'FX_RATE_NOT_FOUND']);
    expect(run.error_code).toBe('FX_RATE_NOT_FOUND');
  });

  it('a filter holds for no amount of it; the rate then decides, once', async () => {
    const own = await service.newTenant('EUR');
    const runs = runFixture(service, own);
    const trigger = (where: Body) => ({ kind: 'event', event: 'deposit_confirmed', where });
    const [large, small] = await Promise.all([
      runs.journey([end()], trigger({ amount: { gte: 5_000 } })),
      runs.journey([end()], trigger({ amount: { lt: 5_000 } })),
    ]);
    const awaited = {
      id: 'w',
      type: 'wait_for_event',
      event: 'deposit_confirmed',
      where: { amount: { lt: 5_000 } },
      timeout_ms: 3_600_000,
      next: 'end',
      timeout_next: 'end',
    };
    const waiting = await runs.journey([awaited, end()]);
    const left = await runs.journey(
      [{ ...awaited, event: 'custom_never' }, end()],
      { kind: 'api' },
      { exit_on: [{ event: 'deposit_confirmed', where: { amount: { lt: 5_000 } } }] },
    );
    const [player_id = ''] = await runs.client.players(1);
    const waiting_run = await runs.start(waiting, player_id);
    const left_run = await runs.start(left, player_id);
    await Promise.all([runs.reached(waiting, waiting_run, 'w'), runs.reached(left, left_run, 'w')]);
    // 60 kr: as if they were cents, €60.
    await post(own, [{ event: 'deposit_confirmed', player_id, properties: deposit('SEK', 6_000) }]);
    await folded(service.platform);
    const held = () => runs.sql<{ held: number }[]>`
      select count(*)::integer as held from unrated_events where tenant_id = ${own.tenant_id}`;
    await until('the event is held', async (saw) => saw(await held())[0]?.held === 1 || undefined);
    const statuses = async () => [
      (await runs.runs(large)).data.length,
      (await runs.runs(small)).data.length,
      (await runs.run(waiting, waiting_run)).status,
      (await runs.run(left, left_run)).status,
    ];
    expect(await statuses()).toEqual([0, 0, 'running', 'running']);
    await rate(own, 'EUR', 'SEK', '11', '2026-01-01');
    await until(
      'the rate has decided',
      async (saw) => JSON.stringify(saw(await statuses())) === '[0,1,"completed","completed"]' || undefined,
    );
    const run = await runs.run(waiting, waiting_run);
    expect(stepsOf(run)[0]).toEqual(['w', 'completed', 'event', null]);
    expect((await runs.run(left, left_run)).outcome).toBe('exited');
    await until('nothing is held', async (saw) => saw(await held())[0]?.held === 0 || undefined);
  });
});
