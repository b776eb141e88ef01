import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestService } from '../../../engines/service.ts';
import { sharedService } from '../../../engines/shared-service.ts';
import type { Body } from '../../messaging/messaging-client.ts';
import { answering, startReceiver, type Receiver } from '../../webhooks/receiver.ts';
import { end, runFixture, update, wait, type RunFixture, type ShownStep } from '../runs/run-fixture.ts';

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];

/** What the API answers. */
interface Simulation {
  steps: (ShownStep & { at_ms: number; note?: string })[];
  messages: { node_id: string; channel: string; recipient: string; subject?: string; body: string }[];
  outcome: string;
  notes: string[];
}

let service: TestService;
let on: RunFixture;
let receiver: Receiver;
beforeAll(async () => {
  service = await sharedService();
  on = runFixture(service);
  receiver = await startReceiver(answering(200));
});
afterAll(async () => {
  await receiver?.close();
  await service?.close();
});

const one = async (columns?: { email?: null }) => (await on.client.players(1, columns))[0] ?? '';
const ask = (journey_id: string, body: Body) =>
  on.client.api<Simulation>('POST', `/v1/journeys/${journey_id}/simulate`, body);
async function simulate(journey_id: string, body: Body = {}): Promise<Simulation> {
  const { status, data, error } = await ask(journey_id, body);
  expect(status, JSON.stringify(error)).toBe(200);
  return data;
}
const short = ({ steps }: Simulation) =>
  steps.map(({ node_id, outcome, at_ms }) => [node_id, outcome, at_ms] as const);
const awaiting = (id: string, event: string, rest: Body = {}) => ({
  id,
  type: 'wait_for_event',
  event,
  timeout_ms: 3 * DAY_MS,
  next: 'end',
  timeout_next: 'end',
  ...rest,
});
const calling = (rest: Body = {}) => ({
  id: 'call',
  type: 'call_webhook',
  url: receiver.url,
  next: 'end',
  ...rest,
});
const branch = (id: string, condition: Body, next: string, else_next = 'end') => ({
  id,
  type: 'branch',
  branches: [{ name: 'yes', condition, next }],
  else_next,
});
const attribute = (name: string, value: unknown) => ({
  type: 'trait',
  field: `custom_attributes.${name}`,
  op: 'eq',
  value,
});

/** Every row of the tables that a run writes, as one text. */
async function everything(): Promise<string> {
  const tables = ['journey_runs', 'journey_steps', 'journey_timers', 'journey_waits', 'webhook_deliveries'];
  const also = ['message_sends', 'journey_queues', 'audit_log', 'players', 'journeys', 'trigger_events'];
  const rows = await Promise.all(
    [...tables, ...also].map(
      (table) => on.sql<{ text: string }[]>`select t::text as text from ${on.sql(table)} t order by 1`,
    ),
  );
  return JSON.stringify(rows);
}

describe('a simulation', () => {
  it('needs no body, and refuses events that no one can send', async () => {
    const journey_id = await on.journey([wait('wait', DAY_MS, 'end'), end()]);
    const path = `/v1/journeys/${journey_id}/simulate`;
    const without = await on.client.api<Simulation>('POST', path);
    expect([without.status, without.data?.outcome]).toEqual([200, 'ended']);
    const refused = await ask(journey_id, { events: [{ at_ms: 0, event: 'deposit_confirmd' }] });
    expect([refused.status, refused.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(JSON.stringify(refused.error)).toContain(
      'events.0.event: must be a name of the event catalogue, or begin with custom_',
    );
  });

  it('shows steps and messages of a run of weeks at once, and writes nothing', async () => {
    const player_id = await one();
    const [template_id, provider_id] = await Promise.all([
      on.client.template({
        subject: 'For {{first_name}}',
        body: '{{journey.context.trigger_payload.amount}} {{context.responses.crm.tier}} {{vip}} {{context.events.again.size}}',
      }),
      on.client.provider(),
    ]);
    const journey_id = await on.journey(
      [
        wait('w', 2 * DAY_MS, 'call'),
        calling({ save_as: 'crm', next: 'high' }),
        branch('high', { where: { 'responses.crm.tier': 'gold' } }, 'again'),
        awaiting('again', 'custom_again', { where: { size: { gte: 3 } }, next: 'set' }),
        update('set', { vip: 'yes' }, 'is_vip'),
        branch('is_vip', { operator: 'AND', conditions: [attribute('vip', 'yes')] }, 'mail'),
        { id: 'mail', type: 'send_message', template_id, provider_id, next: 'end' },
        end(),
      ],
      { kind: 'event', event: 'deposit_confirmed' },
    );
    const before = await everything();
    const given = {
      player_id,
      trigger_payload: { amount: 500 },
      webhooks: { call: { status: 201, body: { tier: 'gold' } } },
      events: [
        { at_ms: 3 * DAY_MS, event: 'custom_again', properties: { size: 4 } },
        { at_ms: 2 * DAY_MS + 1, event: 'custom_again', properties: { size: 2 } },
        // Before the run waits for it.
        { at_ms: DAY_MS, event: 'custom_again', properties: { size: 9 } },
      ],
    };
    const simulation = await simulate(journey_id, given);
    expect(short(simulation)).toEqual([
      ['w', 'elapsed', 2 * DAY_MS],
      ['call', 'delivered', 2 * DAY_MS],
      ['high', 'branch:yes', 2 * DAY_MS],
      ['again', 'event', 3 * DAY_MS],
      ['set', 'updated', 3 * DAY_MS],
      ['is_vip', 'branch:yes', 3 * DAY_MS],
      ['mail', 'queued', 3 * DAY_MS],
      ['end', 'ended', 3 * DAY_MS],
    ]);
    expect(simulation).toMatchObject({
      outcome: 'ended',
      notes: [],
      messages: [
        {
          node_id: 'mail',
          channel: 'email',
          recipient: `${player_id}@example.com`,
          subject: 'For Ada',
          body: '500 gold yes 4',
        },
      ],
    });
    const [first] = simulation.steps;
    expect(first).toMatchObject({ seq: 1, node_type: 'wait', status: 'completed', next_node_id: 'call' });
    expect(Date.parse(first?.completed_at ?? '') - Date.parse(first?.entered_at ?? '')).toBe(2 * DAY_MS);
    expect(await everything()).toBe(before);
    expect(receiver.received).toEqual([]);
  });

  it('renders what the messenger sends', async () => {
    const player_id = await one();
    const [template_id, provider_id] = await Promise.all([
      on.client.template({
        body: '<p>{{first_name}} {{email}} {{ context.coupon }} {{ player.id }} {{ total_deposited | money: default_currency_code, "de" }} {{ total_deposited }} {{ first_seen_at }}</p>',
      }),
      on.client.provider(),
    ]);
    const journey_id = await on.journey([
      { id: 'mail', type: 'send_message', template_id, provider_id, next: 'end' },
      end(),
    ]);
    const { messages } = await simulate(journey_id, { player_id, trigger_payload: { coupon: '<A>' } });
    const run_id = await on.start(journey_id, player_id, { coupon: '<A>' });
    await on.reached(journey_id, run_id, 'completed');
    await expect
      .poll(() => on.client.messages(provider_id))
      .toMatchObject(messages.map(({ recipient, subject, body }) => ({ recipient, subject, body })));
    expect(messages).toHaveLength(1);
    expect(messages[0]?.body).toContain('0,00\u00a0€');
    const traits = { total_deposited: 1_234, first_seen_at: 'never' };
    const of_sample = await simulate(journey_id, { traits });
    expect(of_sample.messages[0]?.body).toContain('12,34\u00a0€ 1234 2026-01-05T09:30:00.000Z</p>');
  });

  it('is about what was saved last, whatever is live', async () => {
    const made = await on.client.api<{ id: string }>('POST', '/v1/journeys', {
      name: 'a draft',
      trigger: { kind: 'api' },
      graph: { start_node_id: 'w', nodes: [wait('w', HOUR_MS, 'end'), end()] },
    });
    expect(short(await simulate(made.data.id))).toEqual([
      ['w', 'elapsed', HOUR_MS],
      ['end', 'ended', HOUR_MS],
    ]);
  });

  it('ends a run by its goal and by what it exits on, and times out what does not come', async () => {
    const nodes = [awaiting('e', 'custom_answer', { timeout_ms: 2 * HOUR_MS, timeout_next: 'w' })];
    const journey_id = await on.journey(
      [...nodes, wait('w', DAY_MS, 'end'), end()],
      { kind: 'api' },
      {
        exit_on: [{ event: 'custom_leave', where: { sure: true } }],
        goal: { event: 'custom_goal', window_days: 7, exit: true },
      },
    );
    const at = (at_ms: number, event: string, properties: Body = {}) => ({ at_ms, event, properties });
    const leaves = await simulate(journey_id, {
      events: [at(1, 'custom_leave'), at(HOUR_MS, 'custom_leave', { sure: true })],
    });
    expect(leaves).toMatchObject({ outcome: 'exited', steps: [{ status: 'skipped', outcome: 'exited' }] });
    const reaches = await simulate(journey_id, { events: [at(3 * HOUR_MS, 'custom_goal')] });
    expect(reaches.outcome).toBe('goal');
    expect(short(reaches)).toEqual([
      ['e', 'timeout', 2 * HOUR_MS],
      ['w', 'exited', 3 * HOUR_MS],
    ]);
    // What is due at a moment comes before the events of that moment, and those come in their order.
    const late = await simulate(journey_id, { events: [at(2 * HOUR_MS, 'custom_answer')] });
    expect(short(late)[0]).toEqual(['e', 'timeout', 2 * HOUR_MS]);
  });

  it('fails a webhook as its receiver answers: at once, or after the pauses between all attempts', async () => {
    const retry = { max_attempts: 3, backoff_ms: 1_000 };
    const journey_id = await on.journey([
      calling({ retry, on_error: 'continue', next: 'last' }),
      calling({ id: 'last', retry, on_error: 'fail' }),
      end(),
    ]);
    const failing = await simulate(journey_id, {
      webhooks: { call: { status: 503 }, last: { status: 302 } },
    });
    expect(short(failing)).toEqual([
      ['call', 'exhausted', 5_000],
      ['last', 'exhausted', 5_000],
    ]);
    expect(failing).toMatchObject({
      outcome: 'failed',
      steps: [
        { status: 'failed', error_code: 'WEBHOOK_HTTP_ERROR' },
        { status: 'failed', error_code: 'WEBHOOK_REDIRECTED' },
      ],
    });
    expect(receiver.received).toEqual([]);
  });

  it('answers conditions about a sample player by its traits, and notes what it cannot answer', async () => {
    const segment_id = await on.client.segment([]);
    const unknown = { type: 'event', event: 'login', aggregate: 'count', op: 'gte', value: 0 };
    const not_in = { type: 'segment', segment_id, op: 'not_in' };
    const known = { type: 'trait', field: 'timezone', op: 'eq', value: 'Europe/Malta' };
    const journey_id = await on.journey([
      branch('custom', { operator: 'AND', conditions: [attribute('vip', true), known] }, 'unknown'),
      branch('unknown', { operator: 'OR', conditions: [unknown, not_in] }, 'end', 'field'),
      branch('field', { type: 'trait', field: 'total_deposited', op: 'gte', value: 100 }, 'end', 'set'),
      update('set', { vip: null }, 'still'),
      branch('still', attribute('vip', true), 'end', 'end'),
      end(),
    ]);
    const traits = { vip: true, timezone: 'Europe/Malta' };
    const simulation = await simulate(journey_id, { traits });
    expect(short(simulation).map(([id, outcome]) => [id, outcome])).toEqual([
      ['custom', 'branch:yes'],
      ['unknown', 'else'],
      ['field', 'else'],
      ['set', 'updated'],
      ['still', 'else'],
      ['end', 'ended'],
    ]);
    const notes = simulation.steps.map(({ note }) => note);
    expect(notes[1]).toContain('login');
    expect(notes[1]).toContain(segment_id);
    expect(notes[2]).toContain('total_deposited');
    expect([notes[0], notes[3], notes[4]]).toEqual([undefined, undefined, undefined]);
    const rich = await simulate(journey_id, { traits: { ...traits, total_deposited: 100 } });
    expect(short(rich)[2]).toEqual(['field', 'branch:yes', 0]);
    expect(short(await simulate(journey_id, { traits: {} }))[0]).toEqual(['custom', 'else', 0]);
  });

  it('asks about a real player as a run does', async () => {
    const player_id = await one();
    const segment_id = await on.client.segment([player_id]);
    const journey_id = await on.journey([
      branch('in', { type: 'segment', segment_id, op: 'in' }, 'drawn'),
      branch('drawn', { type: 'random', percent: 100, salt: 'all' }, 'deposited'),
      branch('deposited', { type: 'trait', field: 'total_deposited', op: 'gte', value: 1 }, 'end'),
      end(),
    ]);
    await expect
      .poll(async () => short(await simulate(journey_id, { player_id })).map(([, outcome]) => outcome))
      .toEqual(['branch:yes', 'branch:yes', 'else', 'ended']);
  });

  it('says why a message would not go out, and what else would be other', async () => {
    const [template_id, provider_id] = await Promise.all([on.client.template(), on.client.provider()]);
    const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'call' };
    const journey_id = await on.journey([mail, calling(), end()], { kind: 'api' }, { holdout_percent: 100 });
    const mute = await simulate(journey_id, { player_id: await one({ email: null }) });
    expect(mute.messages).toEqual([]);
    expect(mute.steps[0]?.note).toContain('SKIPPED_NO_RECIPIENT');
    expect(mute.notes[0]).toContain('100 %');
    const excluded = await simulate(journey_id, { traits: { status: 'self_excluded' } });
    expect(excluded.messages).toEqual([]);
    expect(excluded.steps).toMatchObject([
      { outcome: 'queued', note: expect.stringContaining('SKIPPED_SELF_EXCLUDED') as string },
      { status: 'skipped', error_code: 'SKIPPED_SELF_EXCLUDED' },
      { outcome: 'ended' },
    ]);
    expect((await simulate(journey_id)).messages).toMatchObject([
      { recipient: 'alex.sample@example.com', subject: 'Hello Alex' },
    ]);
    expect((await simulate(journey_id, { traits: { email: 'a@example.com' } })).messages).toMatchObject([
      { recipient: 'a@example.com', subject: 'Hello' },
    ]);
  });

  it('refuses what it cannot simulate', async () => {
    const journey_id = await on.journey([wait('w', MINUTE_MS, 'end'), end()]);
    const event = { at_ms: 0, event: 'login' };
    const large = { text: 'x'.repeat(16_384) };
    const invalid: Body[] = [
      { events: Array.from({ length: 101 }, () => event) },
      { events: [{ ...event, at_ms: -1 }] },
      { player_id: randomUUID(), traits: {} },
      { trigger_payload: large },
      { trigger_payload: { responses: {} } },
      { traits: { text: 'x'.repeat(65_536) } },
      { webhooks: { w: { status: 200 } } },
      { webhooks: { w: { status: 99 } } },
      { unknown: 1 },
    ];
    for (const body of invalid) {
      expect(await ask(journey_id, body), JSON.stringify(body).slice(0, 80)).toMatchObject({
        status: 422,
        code: 'VALIDATION_ERROR',
      });
    }
    const nobody = { player_id: randomUUID() };
    expect(await ask(journey_id, nobody)).toMatchObject({ status: 404, code: 'PLAYER_NOT_FOUND' });
    const gone = await one();
    await on.sql`update players set deleted_at = now() where player_id = ${gone}`;
    expect(await ask(journey_id, { player_id: gone })).toMatchObject({ code: 'PLAYER_NOT_FOUND' });
    expect(await ask(randomUUID(), {})).toMatchObject({ status: 404, code: 'JOURNEY_NOT_FOUND' });
    await on.client.api('DELETE', `/v1/journeys/${journey_id}`);
    expect(await ask(journey_id, {})).toMatchObject({ status: 404, code: 'JOURNEY_NOT_FOUND' });
  });
});
