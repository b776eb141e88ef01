import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestService } from '../../../engines/service.ts';
import {
  end,
  runFixture,
  startMovedService,
  update,
  wait,
  type RunFixture,
  type MovedClock,
} from './run-fixture.ts';

const DAY_MS = 86_400_000;

let service: TestService;
let clock: MovedClock;
let on: RunFixture;
beforeAll(async () => {
  ({ service, clock } = await startMovedService());
  on = runFixture(service);
});
afterAll(async () => service?.close());

const one = async () => (await on.client.players(1))[0] ?? '';

describe('a run', () => {
  it('goes from a trigger over a wait and a change of the player to its end, and shows each step', async () => {
    const player_id = await one();
    const journey_id = await on.journey([
      wait('w', 2 * DAY_MS, 'set'),
      update('set', { vip_step: 2, first_name: null }, 'end'),
      end(),
    ]);
    const { status, data } = await on.trigger(journey_id, player_id, { coupon: 'A7' });
    expect(status).toBe(201);
    expect(data).toMatchObject({
      journey_id,
      journey_version: 1,
      player_id,
      status: 'running',
      current_node_id: 'w',
      completed_at: null,
      context: { trigger_payload: { coupon: 'A7' }, coupon: 'A7' },
      trigger: { kind: 'api' },
      outcome: null,
    });
    const waiting = await on.reached(journey_id, data.run_id, 'w');
    expect(waiting.history).toHaveLength(1);
    expect(waiting.history[0]).toMatchObject({ seq: 1, node_id: 'w', node_type: 'wait', status: 'waiting' });
    const due_ms = Date.parse(waiting.history[0]?.due_at ?? '');
    expect(due_ms - Date.parse(waiting.history[0]?.entered_at ?? '')).toBe(2 * DAY_MS);
    clock.pass(2 * DAY_MS);
    const done = await on.reached(journey_id, data.run_id, 'completed');
    expect(done).toMatchObject({ outcome: 'ended', current_node_id: 'end', error_code: null });
    expect(done.completed_at).not.toBeNull();
    expect(
      done.history.map(({ seq, node_id, status: is, outcome, next_node_id }) => ({
        seq,
        node_id,
        is,
        outcome,
        next_node_id,
      })),
    ).toEqual([
      { seq: 1, node_id: 'w', is: 'completed', outcome: 'elapsed', next_node_id: 'set' },
      { seq: 2, node_id: 'set', is: 'completed', outcome: 'updated', next_node_id: 'end' },
      { seq: 3, node_id: 'end', is: 'completed', outcome: 'ended', next_node_id: null },
    ]);
    expect((await on.player(player_id))['custom_attributes']).toEqual({ vip_step: 2 });
  });

  it('queues a message with its context, and shows what became of it', async () => {
    const player_id = await one();
    const [template_id, provider_id] = await Promise.all([on.client.template(), on.client.provider()]);
    const send = { id: 's', type: 'send_message', template_id, provider_id, next: 'end' };
    const journey_id = await on.journey([send, end()]);
    const run_id = await on.start(journey_id, player_id, { coupon: 'B1' });
    const run = await on.reached(journey_id, run_id, 'completed');
    expect(run.history[0]).toMatchObject({ node_id: 's', outcome: 'queued', status: 'completed' });
    expect(run.history[0]?.message_send_id).toEqual(expect.any(String));
    const { data } = await on.client.api<{ journey_run_id: string }[]>(
      'GET',
      `/v1/players/${player_id}/messages`,
    );
    expect(data.map(({ journey_run_id }) => journey_run_id)).toEqual([run_id]);
  });

  it('fails with the code of its step', async () => {
    const journey_id = await on.journey([
      { id: 's', type: 'send_message', template_id: randomUUID(), provider_id: randomUUID(), next: 'end' },
      end(),
    ]);
    const run = await on.reached(journey_id, await on.start(journey_id, await one()), 'failed');
    expect(run.error_code).toMatch(/_MISSING$/);
    expect(run.completed_at).not.toBeNull();
    expect(run.history.at(-1)).toMatchObject({ node_id: 's', status: 'failed', error_code: run.error_code });
  });

  it('changes no player who is excluded or banned, and goes on', async () => {
    const journey_id = await on.journey([update('u', { vip: true }, 'end'), end()]);
    for (const [status, code] of [
      ['self_excluded', 'SKIPPED_SELF_EXCLUDED'],
      ['banned', 'SKIPPED_BANNED'],
    ] as const) {
      const player_id = await one();
      await on.client.api('PATCH', `/v1/players/${player_id}`, { status });
      const run = await on.reached(journey_id, await on.start(journey_id, player_id), 'completed');
      expect(run.history[0]).toMatchObject({ node_id: 'u', status: 'skipped', error_code: code });
      expect((await on.player(player_id))['custom_attributes']).not.toHaveProperty('vip');
    }
  });

  it('asks about its player at a branch: attributes, memberships, and what ClickHouse knows', async () => {
    const [member, other] = await on.client.players(2);
    const segment_id = await on.client.segment([member ?? '']);
    const condition = {
      operator: 'AND',
      conditions: [
        { type: 'segment', segment_id, op: 'in' },
        { type: 'trait', field: 'custom_attributes.step', op: 'eq', value: 1 },
        {
          operator: 'NOT',
          conditions: [
            { type: 'event', event: 'deposit_confirmed', aggregate: 'count', op: 'gte', value: 1 },
          ],
        },
      ],
    };
    const journey_id = await on.journey([
      update('u', { step: 1 }, 'b'),
      {
        id: 'b',
        type: 'branch',
        branches: [{ condition, next: 'yes' }],
        else_next: 'no',
      },
      end('yes'),
      end('no'),
    ]);
    const runs = await Promise.all(
      [member, other].map(async (player_id) => {
        const run_id = await on.start(journey_id, player_id ?? '');
        return on.reached(journey_id, run_id, 'completed');
      }),
    );
    expect(runs.map(({ current_node_id }) => current_node_id)).toEqual(['yes', 'no']);
    expect(runs[0]?.history.map(({ node_id }) => node_id)).toEqual(['u', 'b', 'yes']);
  });
});

describe('POST trigger', () => {
  it('answers a repeated Idempotency-Key with the same run', async () => {
    const journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
    const player_id = await one();
    const headers = { 'idempotency-key': randomUUID() };
    const first = await on.trigger(journey_id, player_id, {}, headers);
    const second = await on.trigger(journey_id, player_id, {}, headers);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.data.run_id).toBe(first.data.run_id);
    expect((await on.runs(journey_id)).data).toHaveLength(1);
  });

  it('refuses journeys that are not active, unknown players, and contexts that are reserved or too large', async () => {
    const journey_id = await on.journey([end()]);
    const player_id = await one();
    const answers = [
      await on.trigger(journey_id, randomUUID()),
      await on.trigger(randomUUID(), player_id),
      await on.trigger(journey_id, player_id, { events: {} }),
      await on.trigger(journey_id, player_id, { responses: {} }),
      await on.trigger(journey_id, player_id, { text: 'x'.repeat(16_384) }),
    ];
    await on.sql`update journeys set status = 'paused' where journey_id = ${journey_id}`;
    answers.push(await on.trigger(journey_id, player_id));
    expect(answers.map(({ status, code }) => `${status} ${code}`)).toEqual([
      '404 PLAYER_NOT_FOUND',
      '404 JOURNEY_NOT_FOUND',
      '422 VALIDATION_ERROR',
      '422 VALIDATION_ERROR',
      '422 VALIDATION_ERROR',
      '409 JOURNEY_INVALID_STATUS',
    ]);
    expect((await on.runs(journey_id)).data).toEqual([]);
  });

  it('keeps a given trigger_payload', async () => {
    const journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
    const { data } = await on.trigger(journey_id, await one(), { trigger_payload: { amount: 5 }, a: 1 });
    expect(data.context).toEqual({ trigger_payload: { amount: 5 }, a: 1 });
  });
});

describe('reading and cancelling', () => {
  it('lists runs page by page, by status, player and node, and the runs of a player', async () => {
    const [first, ...others] = await on.client.players(5);
    const journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
    for (const player_id of [first ?? '', ...others]) await on.start(journey_id, player_id);
    const pages: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = cursor === '' ? '?limit=2' : `?limit=2&cursor=${encodeURIComponent(cursor)}`;
      const { data, next_cursor } = await on.runs(journey_id, query);
      pages.push(...data.map(({ player_id }) => player_id));
      cursor = next_cursor;
    }
    expect(pages).toEqual([first, ...others].toReversed());
    const of_first = (await on.runs(journey_id, `?player_id=${first}&node_id=w&status=running`)).data;
    expect(of_first).toHaveLength(1);
    expect((await on.runs(journey_id, '?status=completed')).data).toEqual([]);
    const { data } = await on.client.api<(typeof of_first)[number][]>('GET', `/v1/players/${first}/journeys`);
    expect(data).toMatchObject([{ run_id: of_first[0]?.run_id, journey_name: expect.any(String) }]);
    expect((await on.client.api('GET', `/v1/players/${randomUUID()}/journeys`)).code).toBe(
      'PLAYER_NOT_FOUND',
    );
  });

  it('cancels a run once, with a last step; what has ended stays', async () => {
    const journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
    const run_id = await on.start(journey_id, await one());
    await on.reached(journey_id, run_id, 'w');
    const cancel = () => on.client.api('POST', `/v1/journeys/${journey_id}/runs/${run_id}/cancel`);
    const first = await cancel();
    expect(first).toMatchObject({ status: 200, data: { status: 'cancelled' } });
    expect(first.data['cancelled_by']).toEqual(expect.any(String));
    expect((await cancel()).data).toEqual(first.data);
    clock.pass(DAY_MS);
    const after = await on.run(journey_id, run_id);
    expect(after.history).toHaveLength(1);
    expect(after.history[0]).toMatchObject({ node_id: 'w', status: 'skipped', outcome: 'cancelled' });
    const short = await on.journey([end()]);
    const ended = await on.start(short, await one());
    await on.reached(short, ended, 'completed');
    const refused = await on.client.api('POST', `/v1/journeys/${short}/runs/${ended}/cancel`);
    expect([refused.status, refused.code]).toEqual([409, 'JOURNEY_RUN_INVALID_STATUS']);
    const unknown = await on.client.api('POST', `/v1/journeys/${short}/runs/${run_id}/cancel`);
    expect([unknown.status, unknown.code]).toEqual([404, 'JOURNEY_RUN_NOT_FOUND']);
  });

  it('cancels the runs of a journey at one node', async () => {
    const journey_id = await on.journey([wait('a', DAY_MS, 'b'), wait('b', DAY_MS, 'end'), end()]);
    const [early, late] = await on.client.players(2);
    const first = await on.start(journey_id, early ?? '');
    await on.reached(journey_id, first, 'a');
    clock.pass(DAY_MS);
    await on.reached(journey_id, first, 'b');
    const second = await on.start(journey_id, late ?? '');
    await on.reached(journey_id, second, 'a');
    const cancel = (body: object) => on.client.api('POST', `/v1/journeys/${journey_id}/runs/cancel`, body);
    expect((await cancel({ version: 2 })).data).toEqual({ cancelled: 0 });
    expect((await cancel({ node_id: 'b' })).data).toEqual({ cancelled: 1 });
    expect((await on.run(journey_id, first)).status).toBe('cancelled');
    expect((await cancel({})).data).toEqual({ cancelled: 1 });
    expect((await on.run(journey_id, second)).status).toBe('cancelled');
  });
});
