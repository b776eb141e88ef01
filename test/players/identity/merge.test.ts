import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, internally } from '../../engines/http-client.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import {
  ann,
  deposit,
  laptop,
  Operator,
  phone,
  placed,
  session,
  settled,
  withdrawal,
  type Fields,
  type Sent,
} from './operator.ts';

let service: TestService;
let operator: Operator;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  operator = await Operator.open(service);
});

/** Identifies each device as a player without an external_id. */
async function twoVisitors(): Promise<{ phone_id: string; laptop_id: string }> {
  const one = await operator.identify(phone);
  const other = await operator.identify(laptop);
  return { phone_id: one.player_id, laptop_id: other.player_id };
}

/** The player's anonymous ids, sorted: their own order depends on which partition was folded first. */
async function devicesOf(player_id: string): Promise<string[]> {
  return ((await operator.player(player_id))['anonymous_ids'] as string[]).toSorted();
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

  it('are one player after the sign-up, with the sums of both', async () => {
    await operator.fold(...browsing);
    const before = await operator.sums();
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
      status: 'active',
    });
    expect(await devicesOf(first.player_id)).toEqual(['laptop', 'phone']);
    expect(await operator.sums()).toEqual(before);
    const time = (field: string, pick: (...times: number[]) => number) =>
      pick(...[a, b].map((player) => Date.parse(String(player?.[field]))));
    expect(Date.parse(String(players[0]?.['first_seen_at']))).toBe(time('first_seen_at', Math.min));
    expect(Date.parse(String(players[0]?.['last_seen_at']))).toBe(time('last_seen_at', Math.max));
    expect(Date.parse(String(players[0]?.['created_at']))).toBe(time('created_at', Math.min));
  });

  it('continue as one player, under every id that they had', async () => {
    await operator.fold(...browsing);
    const merged_id = (await operator.identify(laptop)).player_id;
    const player_id = await operator.signUp();
    expect(merged_id).not.toBe(player_id);
    await operator.fold(
      session(laptop),
      session({ player_id: merged_id }),
      session({ player_id: merged_id.toUpperCase() }),
      deposit({ player_id: merged_id }, 't-4', 7),
      deposit(laptop, 't-5', 8),
    );
    expect(await operator.totals(player_id)).toEqual([1_065, 20, 340, 100, 240, 2, 6, 0]);
    expect(await operator.deadLetters()).toEqual([]);
    expect(await operator.list()).toHaveLength(1);
    const answer = { player_id, created: false, merged_player_ids: [], conflict: false };
    for (const ids of [laptop, phone, ann, { player_id: merged_id }, { ...laptop, ...ann }]) {
      expect(await operator.identify(ids)).toEqual(answer);
    }
  });

  it('are shown as the survivor wherever the merged id is used', async () => {
    await operator.fold(...browsing);
    const merged_id = (await operator.identify(laptop)).player_id;
    const player_id = await operator.signUp();
    expect(await operator.player(merged_id)).toEqual(await operator.player(player_id));
    expect(await operator.player(merged_id.toUpperCase())).toMatchObject({ id: player_id });
    const changed = await operator.patch(merged_id, { email: 'ann@example.com' });
    expect(changed).toMatchObject({ id: player_id, email: 'ann@example.com' });
    expect(await operator.player(player_id)).toEqual(changed);
    const linked = await operator.identify({ player_id: merged_id, anonymous_id: 'tablet' });
    expect(linked).toMatchObject({ player_id, created: false });
    expect(await devicesOf(player_id)).toEqual(['laptop', 'phone', 'tablet']);
    const removed = await operator.remove(merged_id);
    expect(removed).toMatchObject({ id: player_id, status: 'deleted' });
    expect(await operator.remove(merged_id)).toEqual(removed);
    expect(await operator.list()).toEqual([]);
    expect((await operator.admin(`/${merged_id}`, 'PATCH', { email: null })).error.code).toBe('CONFLICT');
  });
});

describe('a chain of merges', () => {
  it('ends at the last survivor, whichever id is named', async () => {
    await operator.fold(
      ...['a', 'b', 'c'].flatMap((anonymous_id, i) => deposit({ anonymous_id }, `t-${i}`, 10 ** i)),
    );
    const ids = await Promise.all(
      ['a', 'b', 'c'].map(async (anonymous_id) => (await operator.identify({ anonymous_id })).player_id),
    );
    const [a = '', b = '', c = ''] = ids;
    expect(await operator.identify({ anonymous_id: 'a', player_id: b })).toMatchObject({
      player_id: b,
      merged_player_ids: [a],
    });
    expect(await operator.identify({ anonymous_id: 'b', player_id: c })).toMatchObject({
      player_id: c,
      merged_player_ids: [b],
    });
    for (const id of ids) expect(await operator.player(id)).toMatchObject({ id: c, total_deposited: 111 });
    expect(await operator.list()).toHaveLength(1);
    expect(await devicesOf(c)).toEqual(['a', 'b', 'c']);
    // The ledger rows of the first player still hold their claims, now for the last survivor.
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
  it('are merged into the one that player_id names', async () => {
    await operator.fold(deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20));
    const { phone_id, laptop_id } = await twoVisitors();
    const merged = await operator.identify({ ...laptop, player_id: phone_id });
    expect(merged).toEqual({
      player_id: phone_id,
      created: false,
      merged_player_ids: [laptop_id],
      conflict: false,
    });
    expect(await operator.player(laptop_id)).toMatchObject({
      id: phone_id,
      total_deposited: 21,
      external_id: null,
    });
    // With the ids exchanged, both now name the same player.
    expect(await operator.identify({ ...phone, player_id: laptop_id })).toMatchObject({
      player_id: phone_id,
      merged_player_ids: [],
    });
  });

  it('are merged into the one that got an external_id, even if player_id names the other', async () => {
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

  it('stay two players with all their data, and the second is marked for review', async () => {
    const first = await operator.identify({ ...phone, ...ann });
    const second = await operator.identify({ ...laptop, ...bob });
    await operator.fold(deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20));
    const before = await operator.list();
    const shared = await operator.identify({ ...phone, ...bob });
    expect(shared).toEqual({ ...second, created: false, conflict: true });
    const strip = (player: Fields) => ({ ...player, status: '', updated_at: '' });
    expect((await operator.list()).map(strip)).toEqual(before.map(strip));
    expect(await operator.player(first.player_id)).toMatchObject({
      status: 'active',
      anonymous_ids: ['phone'],
    });
    expect(await operator.player(second.player_id)).toMatchObject({
      status: 'conflict',
      anonymous_ids: ['laptop'],
    });
    // The events still count for the same players.
    await operator.fold(deposit(phone, 't-3', 300), deposit(laptop, 't-4', 4_000));
    expect(await operator.player(first.player_id)).toMatchObject({ total_deposited: 301 });
    expect(await operator.player(second.player_id)).toMatchObject({ total_deposited: 4_020 });
    expect(await operator.identify({ ...phone, ...bob })).toEqual(shared);
    expect(await operator.identify(phone)).toMatchObject({ player_id: first.player_id, conflict: false });
  });

  it('stay two players, whichever ids the call uses', async () => {
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
    expect((await operator.list()).map(({ anonymous_ids }) => anonymous_ids)).toEqual([
      ['phone'],
      ['laptop'],
    ]);
  });

  it('are not joined by a third player that both claim', async () => {
    await operator.fold(deposit({ anonymous_id: 'tablet' }, 't-1', 5));
    await operator.identify({ ...phone, ...ann });
    const second = await operator.identify({ ...laptop, ...bob });
    const tablet = await operator.identify({ anonymous_id: 'tablet' });
    // The tablet's player has no external_id and is merged into Bob's; Ann's player is not.
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
  /** The deleted player as the API shows it. */
  const shown = (player_id: string) => operator.player(player_id);

  it('is never merged into another', async () => {
    await operator.fold(deposit(phone, 't-1', 1), deposit(laptop, 't-2', 20));
    const { phone_id, laptop_id } = await twoVisitors();
    await operator.remove(phone_id);
    const before = await shown(phone_id);
    const known = await operator.identify(ann);
    for (const ids of [
      { ...phone, ...ann },
      { ...ann, player_id: phone_id },
    ]) {
      expect(await operator.identify(ids)).toEqual({ ...known, created: false });
    }
    const other = { created: false, merged_player_ids: [], conflict: false };
    expect(await operator.identify({ ...phone, player_id: laptop_id })).toEqual({
      player_id: laptop_id,
      ...other,
    });
    expect(await shown(phone_id)).toEqual(before);
    expect(await operator.player(laptop_id)).toMatchObject({ total_deposited: 20 });
  });

  it('is returned by identify, and gets nothing from another player', async () => {
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

  it('is not returned when a live player is named as well', async () => {
    const { player_id } = await operator.identify({ ...phone, ...ann });
    const { laptop_id } = await twoVisitors();
    await operator.remove(player_id);
    const answer = { player_id: laptop_id, created: false, merged_player_ids: [], conflict: false };
    expect(await operator.identify({ ...phone, player_id: laptop_id })).toEqual(answer);
  });
});

describe('ids of merged players', () => {
  it('are unknown in another tenant or project', async () => {
    const { laptop_id } = await twoVisitors();
    const player_id = await operator.signUp();
    const { tenant_id } = operator.tenant;
    const made = await internally(service, 'projects', { tenant_id, name: 'Second' });
    const project_id = String(made.data['project_id']);
    const key = await call<{ key: string }>(
      `${service.base_url}/v1/projects/${project_id}/api-keys`,
      operator.tenant.session_token,
      { body: { name: 'k' } },
    );
    const { key: api_key } = key.data;
    const neighbour = new Operator(service, { ...operator.tenant, project_id, api_key });
    const stranger = await Operator.open(service);
    for (const other of [neighbour, stranger]) {
      // There the same ids belong to other players, and this merge did not change them.
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
    for (const other of [neighbour, stranger]) {
      for (const path of ['', '/timeline', '/deposits-daily']) {
        expect((await other.admin(`/${laptop_id}${path}`)).error.code).toBe('PLAYER_NOT_FOUND');
      }
      for (const [method, body] of [
        ['PATCH', { email: null }],
        ['DELETE', undefined],
      ] as const) {
        expect((await other.admin(`/${laptop_id}`, method, body)).error.code).toBe('PLAYER_NOT_FOUND');
      }
    }
    expect(await operator.player(laptop_id)).toMatchObject({
      id: player_id,
      session_count: 0,
      status: 'active',
    });
  });
});
