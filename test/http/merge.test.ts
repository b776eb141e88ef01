import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, startTestService, type TestService } from '../engines/embedded.ts';
import {
  cashedOut,
  deposit,
  Operator,
  placed,
  session,
  settled,
  sportPlaced,
  sportSettled,
  voided,
  withdrawal,
  type Fields,
  type Sent,
} from '../identity/operator.ts';

let service: TestService;
let operator: Operator;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  operator = await Operator.open(service);
});

const phone = { anonymous_id: 'phone' };
const laptop = { anonymous_id: 'laptop' };
const ann = { external_id: 'ann' };

/** A player of each device, without an external_id. */
async function twoVisitors(): Promise<{ phone_id: string; laptop_id: string }> {
  const one = await operator.identify(phone);
  const other = await operator.identify(laptop);
  return { phone_id: one.player_id, laptop_id: other.player_id };
}

/** Merges the player of the laptop into the one of the phone, who becomes Ann; her id. */
async function signUp(): Promise<string> {
  const { player_id } = await operator.identify({ ...phone, ...ann });
  await operator.identify({ ...laptop, ...ann });
  return player_id;
}

const TOTALS = [
  'total_deposited',
  'total_withdrawn',
  'total_wagered',
  'total_won',
  'ggr',
  'bet_count',
  'session_count',
  'pending_conversions',
] as const;

/** A player's totals in the order of {@link TOTALS}. */
async function totals(player_id: string): Promise<unknown[]> {
  const player = await operator.player(player_id);
  return TOTALS.map((total) => player[total]);
}

/** The totals summed over all players that are listed. */
async function sums(): Promise<number[]> {
  const players = await operator.list();
  return TOTALS.map((total) => players.reduce((sum, player) => sum + Number(player[total]), 0));
}

describe('two devices of one person', () => {
  const browsing: Sent[] = [
    session(phone),
    deposit(phone, 't-1', 1_000),
    placed(phone, 'b-1', 300),
    session(laptop),
    session(laptop),
    deposit(laptop, 't-2', 50),
    withdrawal(laptop, 't-3', 20),
    settled(laptop, 'b-2', 40, 100),
  ];

  it('are one player after the sign-up, with the sum of both', async () => {
    await operator.fold(...browsing);
    const before = await sums();
    const [a, b] = await operator.list();
    expect(before).toEqual([1_050, 20, 340, 100, 240, 2, 3, 0]);
    const first = await operator.identify({ ...phone, ...ann });
    expect(first).toMatchObject({ created: false, merged_player_ids: [], conflict: false });
    const other = a?.['id'] === first.player_id ? b : a;
    expect(await operator.identify({ ...laptop, ...ann })).toEqual({
      player_id: first.player_id,
      created: false,
      merged_player_ids: [other?.['id']],
      conflict: false,
    });
    const players = await operator.list();
    expect(players).toHaveLength(1);
    expect(players[0]).toMatchObject({
      id: first.player_id,
      external_id: 'ann',
      anonymous_ids: ['laptop', 'phone'],
      status: 'active',
    });
    expect(await sums()).toEqual(before);
    const time = (field: string, pick: (...times: number[]) => number) =>
      pick(...[a, b].map((player) => Date.parse(String(player?.[field]))));
    expect(Date.parse(String(players[0]?.['first_seen_at']))).toBe(time('first_seen_at', Math.min));
    expect(Date.parse(String(players[0]?.['last_seen_at']))).toBe(time('last_seen_at', Math.max));
    expect(Date.parse(String(players[0]?.['created_at']))).toBe(time('created_at', Math.min));
  });

  it('go on as one, under every id they had', async () => {
    await operator.fold(...browsing);
    const merged_id = (await operator.identify(laptop)).player_id;
    const player_id = await signUp();
    expect(merged_id).not.toBe(player_id);
    await operator.fold(
      session(laptop),
      session({ player_id: merged_id }),
      session({ player_id: merged_id.toUpperCase() }),
      deposit({ player_id: merged_id }, 't-4', 7),
      deposit(laptop, 't-5', 8),
    );
    expect(await totals(player_id)).toEqual([1_065, 20, 340, 100, 240, 2, 6, 0]);
    expect(await operator.deadLetters()).toEqual([]);
    expect(await operator.list()).toHaveLength(1);
    const answer = { player_id, created: false, merged_player_ids: [], conflict: false };
    for (const ids of [laptop, phone, ann, { player_id: merged_id }, { ...laptop, ...ann }]) {
      expect(await operator.identify(ids)).toEqual(answer);
    }
  });

  it('answer as the survivor wherever the merged id is asked for', async () => {
    await operator.fold(...browsing);
    const merged_id = (await operator.identify(laptop)).player_id;
    const player_id = await signUp();
    expect(await operator.player(merged_id)).toEqual(await operator.player(player_id));
    expect(await operator.player(merged_id.toUpperCase())).toMatchObject({ id: player_id });
    const changed = await operator.patch(merged_id, { email: 'ann@example.com' });
    expect(changed).toMatchObject({ id: player_id, email: 'ann@example.com' });
    expect(await operator.player(player_id)).toEqual(changed);
    const linked = await operator.identify({ player_id: merged_id, anonymous_id: 'tablet' });
    expect(linked).toMatchObject({ player_id, created: false });
    expect((await operator.player(player_id))['anonymous_ids']).toEqual(['laptop', 'phone', 'tablet']);
    const removed = await operator.remove(merged_id);
    expect(removed).toMatchObject({ id: player_id, status: 'deleted' });
    expect(await operator.remove(merged_id)).toEqual(removed);
    expect(await operator.list()).toEqual([]);
    expect((await operator.admin(`/${merged_id}`, 'PATCH', { email: null })).error.code).toBe('CONFLICT');
  });
});

describe('a chain of merges', () => {
  it('ends at the last survivor, whichever id is named', async () => {
    await operator.fold(...['a', 'b', 'c'].flatMap((anonymous_id, i) => deposit({ anonymous_id }, `t-${i}`, 10 ** i)));
    const ids = await Promise.all(
      ['a', 'b', 'c'].map(async (anonymous_id) => (await operator.identify({ anonymous_id })).player_id),
    );
    const [a = '', b = '', c = ''] = ids;
    expect(await operator.identify({ anonymous_id: 'a', player_id: b })).toMatchObject({ player_id: b, merged_player_ids: [a] });
    expect(await operator.identify({ anonymous_id: 'b', player_id: c })).toMatchObject({ player_id: c, merged_player_ids: [b] });
    for (const id of ids) expect(await operator.player(id)).toMatchObject({ id: c, total_deposited: 111 });
    expect(await operator.list()).toHaveLength(1);
    expect((await operator.player(c))['anonymous_ids']).toEqual(['a', 'b', 'c']);
    // The ledger rows of the first one still hold their claims, for the last one.
    await operator.fold(
      deposit({ player_id: a }, 't-0', 1),
      deposit({ player_id: c }, 't-0', 1),
      deposit({ anonymous_id: 'a' }, 't-1', 10),
      deposit({ player_id: b }, 't-0', 2),
    );
    expect(await operator.player(c)).toMatchObject({ total_deposited: 111 });
    expect(await operator.deadLetters()).toEqual(['CONFLICTING_DUPLICATE deposit_confirmed']);
  });

  it('is made by one call that names three players', async () => {
    await operator.fold(deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20));
    const { phone_id, laptop_id } = await twoVisitors();
    const known = await operator.identify(ann);
    const all = await operator.identify({ ...phone, ...ann, player_id: laptop_id });
    expect(all).toEqual({ ...known, created: false, merged_player_ids: [laptop_id, phone_id] });
    expect(await operator.player(phone_id)).toMatchObject({ id: known.player_id, total_deposited: 21 });
  });
});

describe('two players without an external_id', () => {
  it('become the one that player_id names', async () => {
    await operator.fold(deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20));
    const { phone_id, laptop_id } = await twoVisitors();
    const merged = await operator.identify({ ...laptop, player_id: phone_id });
    expect(merged).toEqual({
      player_id: phone_id,
      created: false,
      merged_player_ids: [laptop_id],
      conflict: false,
    });
    expect(await operator.player(laptop_id)).toMatchObject({ id: phone_id, total_deposited: 21, external_id: null });
    // The other way round names the same player twice now.
    expect(await operator.identify({ ...phone, player_id: laptop_id })).toMatchObject({
      player_id: phone_id,
      merged_player_ids: [],
    });
  });

  it('become the one with an external_id, when one of them gets it, also where player_id names the other', async () => {
    const { phone_id, laptop_id } = await twoVisitors();
    await operator.identify({ ...phone, ...ann });
    expect(await operator.identify({ ...phone, player_id: laptop_id })).toMatchObject({
      player_id: phone_id,
      merged_player_ids: [laptop_id],
      conflict: false,
    });
    expect(await operator.player(laptop_id)).toMatchObject({ id: phone_id, ...ann });
  });
});

describe('two players with different external_ids', () => {
  const bob = { external_id: 'bob' };

  it('stay two with all they have, and the second is up for review', async () => {
    const first = await operator.identify({ ...phone, ...ann });
    const second = await operator.identify({ ...laptop, ...bob });
    await operator.fold(deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20));
    const before = await operator.list();
    const shared = await operator.identify({ ...phone, ...bob });
    expect(shared).toEqual({ ...second, created: false, conflict: true });
    const strip = ({ status: _, updated_at: __, ...player }: Fields) => player;
    expect((await operator.list()).map(strip)).toEqual(before.map(strip));
    expect(await operator.player(first.player_id)).toMatchObject({ status: 'active', anonymous_ids: ['phone'] });
    expect(await operator.player(second.player_id)).toMatchObject({ status: 'conflict', anonymous_ids: ['laptop'] });
    // Who the events are counted for does not change.
    await operator.fold(deposit(phone, 't-3', 300), deposit(laptop, 't-4', 4_000));
    expect(await operator.player(first.player_id)).toMatchObject({ total_deposited: 301 });
    expect(await operator.player(second.player_id)).toMatchObject({ total_deposited: 4_020 });
    expect(await operator.identify({ ...phone, ...bob })).toEqual(shared);
    expect(await operator.identify(phone)).toMatchObject({ player_id: first.player_id, conflict: false });
  });

  it('stay two however the call names them', async () => {
    const first = await operator.identify({ ...phone, ...ann });
    const second = await operator.identify({ ...laptop, ...bob });
    for (const [ids, player_id] of [
      [{ ...ann, player_id: second.player_id }, first.player_id],
      [{ ...laptop, ...ann }, first.player_id],
      [{ ...laptop, player_id: first.player_id }, first.player_id],
      [{ ...phone, ...bob, player_id: first.player_id }, second.player_id],
    ] as const) {
      const answer = { player_id, created: false, merged_player_ids: [], conflict: true };
      expect(await operator.identify(ids)).toEqual(answer);
    }
    expect((await operator.list()).map(({ anonymous_ids }) => anonymous_ids)).toEqual([['phone'], ['laptop']]);
  });

  it('are not joined by a third one whom both claim', async () => {
    await operator.fold(deposit({ anonymous_id: 'tablet' }, 't-1', 5));
    await operator.identify({ ...phone, ...ann });
    const second = await operator.identify({ ...laptop, ...bob });
    const tablet = await operator.identify({ anonymous_id: 'tablet' });
    // The tablet's player has no external_id and goes to Bob, Ann's phone does not.
    const all = await operator.identify({ ...phone, ...bob, player_id: tablet.player_id });
    expect(all).toEqual({ ...second, created: false, merged_player_ids: [tablet.player_id], conflict: true });
    expect(await operator.player(second.player_id)).toMatchObject({
      status: 'conflict',
      anonymous_ids: ['tablet', 'laptop'],
      total_deposited: 5,
    });
    expect(await operator.list()).toHaveLength(2);
    await operator.identify({ anonymous_id: 'tablet', ...ann });
    expect(await operator.list()).toHaveLength(2);
  });
});

describe('a deleted player', () => {
  /** What a deleted player is, but for the time of asking. */
  const shown = (player_id: string) => operator.player(player_id);

  it('is never merged into another', async () => {
    await operator.fold(deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20));
    const { phone_id, laptop_id } = await twoVisitors();
    await operator.remove(phone_id);
    const before = await shown(phone_id);
    const known = await operator.identify(ann);
    for (const ids of [{ ...phone, ...ann }, { ...ann, player_id: phone_id }]) {
      expect(await operator.identify(ids)).toEqual({ ...known, created: false });
    }
    const other = { created: false, merged_player_ids: [], conflict: false };
    expect(await operator.identify({ ...phone, player_id: laptop_id })).toEqual({ player_id: laptop_id, ...other });
    expect(await shown(phone_id)).toEqual(before);
    expect(await operator.player(laptop_id)).toMatchObject({ total_deposited: 20 });
  });

  it('is answered with, and gets nothing of another', async () => {
    const { player_id } = await operator.identify({ ...phone, ...ann });
    const { laptop_id } = await twoVisitors();
    await operator.fold(deposit(laptop, 't-2', 20));
    await operator.remove(player_id);
    const before = await shown(player_id);
    const visitor = await operator.player(laptop_id);
    for (const ids of [
      { ...laptop, ...ann },
      { ...ann, player_id: laptop_id },
      { ...ann, anonymous_id: 'new' },
      { player_id, anonymous_id: 'newer' },
      { ...ann, traits: { email: 'back@example.com', colour: 'red' } },
    ]) {
      const answer = { player_id, created: false, merged_player_ids: [], conflict: false };
      expect(await operator.identify(ids), JSON.stringify(ids)).toEqual(answer);
      expect(await shown(player_id), JSON.stringify(ids)).toEqual(before);
      expect(await operator.player(laptop_id), JSON.stringify(ids)).toEqual(visitor);
    }
  });

  it('is not the answer where a live one is named as well', async () => {
    const { player_id } = await operator.identify({ ...phone, ...ann });
    const { laptop_id } = await twoVisitors();
    await operator.remove(player_id);
    const answer = { player_id: laptop_id, created: false, merged_player_ids: [], conflict: false };
    expect(await operator.identify({ ...phone, player_id: laptop_id })).toEqual(answer);
  });
});

describe('bets', () => {
  // Phone and laptop are two players when the bets begin, one when they end.
  const none = [0, 0, 0, 0, 0, 0, 0, 0];

  it.each([
    ['a casino bet settled', [placed(phone, 'b', 300)], [settled(laptop, 'b', 300, 500)], [0, 0, 300, 500, -200, 1, 0, 0]],
    ['a casino bet placed late', [settled(laptop, 'b', 300, 500)], [placed(phone, 'b', 200)], [0, 0, 200, 500, -300, 1, 0, 0]],
    ['a sport bet settled', [sportPlaced(phone, 'b', 300)], [sportSettled(laptop, 'b', 500)], [0, 0, 300, 500, -200, 1, 0, 0]],
    ['a sport bet cashed out', [sportPlaced(phone, 'b', 300)], [cashedOut(laptop, 'b', 90)], [0, 0, 300, 90, 210, 1, 0, 0]],
    ['a sport bet voided', [sportPlaced(phone, 'b', 300)], [voided(laptop, 'b')], none],
    [
      'a sport bet voided after it was settled',
      [sportPlaced(phone, 'b', 300), sportSettled(laptop, 'b', 500)],
      [voided(laptop, 'b')],
      none,
    ],
    [
      'a sport bet settled after it was cashed out',
      [sportPlaced(phone, 'b', 300), cashedOut(laptop, 'b', 90)],
      [sportSettled(phone, 'b', 700)],
      [0, 0, 300, 700, -400, 1, 0, 0],
    ],
    [
      'bets of both kinds with one id',
      [placed(phone, 'b', 1), sportPlaced(laptop, 'b', 20)],
      [settled(laptop, 'b', 1, 300), sportSettled(phone, 'b', 4_000)],
      [0, 0, 21, 4_300, -4_279, 2, 0, 0],
    ],
  ])('%s by the other player count once, before and after the merge', async (_what, begin, end, expected) => {
    // Times of their own, so that the latest outcome is the latest that is sent.
    const start_ms = Date.now() - 60_000;
    const events = [...begin, ...end].map((event, i) => ({
      ...event,
      timestamp: new Date(start_ms + i * 1_000).toISOString(),
    }));
    await operator.fold(session(phone), session(laptop));
    const rest = [...expected];
    rest[6] = 2;
    for (const merge_after of [events.length, begin.length, 0]) {
      operator = await Operator.open(service);
      await operator.fold(session(phone), session(laptop), ...events.slice(0, merge_after));
      const before = await sums();
      const player_id = await signUp();
      expect(await sums()).toEqual(before);
      if (merge_after < events.length) await operator.fold(...events.slice(merge_after));
      expect(await totals(player_id), `merged after ${merge_after} events`).toEqual(rest);
      expect(await operator.deadLetters()).toEqual([]);
    }
  });
});

describe('transactions of a merged player', () => {
  it('stay claimed: the same again is a duplicate, another content a conflict, and others may not have them', async () => {
    await operator.fold(deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20), session({ anonymous_id: 'other' }));
    const { laptop_id } = await twoVisitors();
    const player_id = await signUp();
    await operator.fold(
      deposit(laptop, 't-2', 20),
      deposit(phone, 't-2', 20),
      deposit({ player_id }, 't-2', 20),
      deposit({ player_id: laptop_id }, 't-2', 20),
      deposit({ player_id: laptop_id }, 't-1', 1),
    );
    expect(await operator.deadLetters()).toEqual([]);
    await operator.fold(deposit(laptop, 't-2', 21), deposit({ anonymous_id: 'other' }, 't-2', 20));
    const conflict = 'CONFLICTING_DUPLICATE deposit_confirmed';
    expect(await operator.deadLetters()).toEqual([conflict, conflict]);
    expect(await totals(player_id)).toEqual([21, 0, 0, 0, 0, 0, 0, 0]);
    expect(await sums()).toEqual([21, 0, 0, 0, 0, 0, 1, 0]);
  });

  it('that wait for a rate wait for the survivor', async () => {
    const yesterday = new Date(Date.now() - 86_400_000);
    await operator.fold(deposit(phone, 't-1', 1_000, 'USD'), deposit(laptop, 't-2', 2_000, 'USD'));
    const player_id = await signUp();
    expect(await totals(player_id)).toEqual([0, 0, 0, 0, 0, 0, 0, 2]);
    const sql = service.platform.postgres.service;
    await sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${operator.tenant.tenant_id}, 'USD', 'EUR', ${yesterday}, 0.5)`;
    await eventually('both are converted', async () =>
      (await operator.player(player_id))['pending_conversions'] === 0 ? true : undefined,
    );
    expect(await totals(player_id)).toEqual([1_500, 0, 0, 0, 0, 0, 0, 0]);
    // Converted before the merge or after it: the same.
    await operator.fold(deposit({ anonymous_id: 'tablet' }, 't-3', 10, 'USD'));
    await operator.identify({ anonymous_id: 'tablet', ...ann });
    await sql`
      update fx_rates set rate = 2 where tenant_id = ${operator.tenant.tenant_id}`;
    await eventually('all are restated', async () =>
      (await operator.player(player_id))['total_deposited'] === 6_020 ? true : undefined,
    );
  });
});

describe('ids of merged players', () => {
  it('mean nothing in another tenant or project', async () => {
    const { laptop_id } = await twoVisitors();
    const player_id = await signUp();
    const { tenant_id } = operator.tenant;
    const internal = { 'x-internal-secret': service.internal_secret, 'content-type': 'application/json' };
    const made = await fetch(`${service.base_url}/v1/internal/projects`, {
      method: 'POST',
      headers: internal,
      body: JSON.stringify({ tenant_id, name: 'Second' }),
    });
    const { project_id } = ((await made.json()) as { data: { project_id: string } }).data;
    const key = await fetch(`${service.base_url}/v1/projects/${project_id}/api-keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${operator.tenant.session_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'k' }),
    });
    const { key: api_key } = ((await key.json()) as { data: { key: string } }).data;
    const neighbour = new Operator(service, { ...operator.tenant, project_id, api_key });
    const stranger = await Operator.open(service);
    for (const other of [neighbour, stranger]) {
      // The same ids stand for other players there, and the merge here has not moved them.
      const theirs = await other.identify(laptop);
      expect(theirs.created).toBe(true);
      for (const id of [laptop_id, player_id]) {
        const { status, error } = await other.tryToIdentify({ player_id: id });
        expect([status, error.code]).toEqual([404, 'PLAYER_NOT_FOUND']);
      }
      await other.fold(session({ player_id: laptop_id }), session(laptop));
    }
    expect(await stranger.deadLetters()).toEqual(['UNKNOWN_PLAYER session_start']);
    expect(await operator.deadLetters()).toEqual(['UNKNOWN_PLAYER session_start']);
    for (const path of ['', '/timeline', '/deposits-daily']) {
      expect((await stranger.admin(`/${laptop_id}${path}`)).error.code).toBe('PLAYER_NOT_FOUND');
    }
    for (const [method, body] of [['PATCH', { email: null }], ['DELETE', undefined]] as const) {
      expect((await stranger.admin(`/${laptop_id}`, method, body)).error.code).toBe('PLAYER_NOT_FOUND');
    }
    expect(await operator.player(laptop_id)).toMatchObject({ id: player_id, session_count: 0, status: 'active' });
  });
});
