import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Emission } from '../../../src/ledger/fold/snapshot.ts';
import { foldBatch } from '../../../src/ledger/fold/fold-batch.ts';
import { newId } from '../../../src/platform/ids.ts';
import { batchOf, deposit, openFoldFixture, totalsOf, type FoldFixture, type Given } from './fold-fixture.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';

const LARGEST = '9223372036854775807';

let fixture: FoldFixture;
let project: ProjectRef;
/** Each test has a topic of its own, and so positions of its own. */
let topic: string;
beforeAll(async () => {
  fixture = await openFoldFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  project = await fixture.newTenant();
  topic = `events-${project.project_id}`;
});

const session = (anonymous_id: string): Given => ({ event: 'session_start', anonymous_id });
const bet = (bet_id: string, amount: number) => ({
  bet_id,
  amount,
  currency: 'EUR',
  game_id: 'g',
  game_category: 'slots',
});
const placed = (anonymous_id: string, bet_id: string, amount: number): Given => ({
  event: 'bet_placed',
  anonymous_id,
  properties: bet(bet_id, amount),
});
const settled = (anonymous_id: string, bet_id: string, amount: number, payout: number): Given => ({
  event: 'bet_settled',
  anonymous_id,
  properties: { ...bet(bet_id, amount), payout, outcome: 'won' },
});

/** Offset and reason of every refused record. */
function refused({ rejections }: Emission): string[] {
  return rejections
    .toSorted((a, b) => Number(a.record.offset - b.record.offset))
    .map(({ reason, record }) => `${record.offset} ${reason}`);
}

async function storedPosition(partition = 0): Promise<bigint | undefined> {
  const [row] = await fixture.sql<{ next_offset: bigint }[]>`
    select next_offset from fold_positions where topic = ${topic} and partition = ${partition}`;
  return row?.next_offset;
}

describe('two folds with the same batch', () => {
  it('apply it once when they race, and emit the same', async () => {
    const events = Array.from({ length: 40 }, (_, i) => [
      session(`a-${i % 7}`),
      deposit(`a-${i % 7}`, `t-${i % 13}`, i % 13),
      placed(`a-${i % 7}`, `b-${i % 7}`, 100),
    ]).flat();
    const batch = batchOf(project, events, { topic });
    const folds = [fixture.newFold(), fixture.newFold(), fixture.newFold()];
    const emissions = await Promise.all(folds.map((fold) => foldBatch(fold, batch)));
    for (const emission of emissions) expect(emission).toEqual(emissions[0]);
    expect(await storedPosition()).toBe(BigInt(events.length));
    const count = (name: string) => events.filter((event) => event.anonymous_id === name).length / 3;
    for (const name of ['a-0', 'a-3', 'a-6']) {
      expect(await totalsOf(fixture.sql, project, name)).toMatchObject({
        session_count: BigInt(count(name)),
        total_wagered: 100n,
        bet_count: 1n,
      });
    }
  });

  it('apply nothing twice when the later one still has an old position', async () => {
    const first = batchOf(project, [session('a')], { topic });
    const second = batchOf(project, [session('a'), deposit('a', 't', 5)], { topic, first: 1n });
    const zombie = fixture.newFold();
    const successor = fixture.newFold();
    await foldBatch(zombie, first);
    const told = await foldBatch(successor, second);
    expect(await foldBatch(zombie, second)).toEqual(told);
    expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({
      session_count: 2n,
      total_deposited: 5n,
    });
  });

  it('continue in the middle of a batch whose beginning was applied before', async () => {
    const events = [session('a'), session('a'), session('a')];
    const batch = batchOf(project, events, { topic });
    const beginning = { ...batch, records: batch.records.slice(0, 2) };
    await foldBatch(fixture.newFold(), beginning);
    const emission = await foldBatch(fixture.newFold(), batch);
    expect(emission.events).toHaveLength(3);
    expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ session_count: 3n });
  });
});

describe('two partitions with common players, bets or transactions', () => {
  it('read again when the other one creates the same player first', async () => {
    const fold = fixture.newFold();
    const player_id = newId();
    let folding: Promise<Emission> | undefined;
    await fixture.sql.begin(async (tx) => {
      const now = new Date();
      const { tenant_id, project_id } = project;
      await tx`insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
        values (${tenant_id}, ${project_id}, 'shared', ${player_id}, ${now})`;
      await tx`insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
        values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', ${now}, ${now})`;
      await tx`insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
        values (${tenant_id}, ${project_id}, ${player_id}, ${now}, ${now}, ${now})`;
      folding = foldBatch(fold, batchOf(project, [deposit('shared', 't', 7)], { topic }));
      await fixture.someoneWaits();
    });
    const emission = await folding;
    expect(emission?.events.map((event) => event.player_id)).toEqual([player_id]);
    expect(fold.conflicts).toHaveLength(1);
    expect(await totalsOf(fixture.sql, project, 'shared')).toMatchObject({ total_deposited: 7n });
  });

  it('have the right totals when they share bets, transactions and new players', async () => {
    const conflicts: string[] = [];
    for (let round = 0; round < 15; round++) {
      const ids = Array.from({ length: 20 }, (_, i) => `bet-${round}-${i}`);
      const name = (i: number) => `p-${round}-${i % 5}`;
      // Both partitions have the same bets and deposits in opposite order: one waits for the other, or both deadlock.
      const one = ids.flatMap((id, i) => [placed(name(i), id, 10), deposit(name(i), `t-${round}-${i}`, 3)]);
      const other = ids
        .flatMap((id, i) => [settled(name(i), id, 10, 4), deposit(name(i), `t-${round}-${i}`, 3)])
        .reverse();
      const folds = [fixture.newFold(), fixture.newFold()];
      const first = BigInt(round * 40);
      const emissions = await Promise.all(
        [one, other].map((events, partition) =>
          foldBatch(
            folds[partition] ?? fixture.newFold(),
            batchOf(project, events, { topic, partition, first }),
          ),
        ),
      );
      conflicts.push(...folds.flatMap((fold) => fold.conflicts));
      // Every pair of equal deposits contains one duplicate.
      expect(emissions.flatMap(({ events }) => events)).toHaveLength(60);
      expect(emissions.flatMap(refused)).toEqual([]);
      for (let i = 0; i < 5; i++) {
        expect(await totalsOf(fixture.sql, project, name(i))).toEqual({
          total_deposited: 12n,
          total_wagered: 40n,
          total_won: 16n,
          bet_count: 4n,
          session_count: 0n,
        });
      }
    }
    expect(conflicts.length).toBeGreaterThan(0);
  });
});

describe('a record that cannot be folded', () => {
  it('is refused alone when a total would exceed 64 bits; the rest of the batch is applied', async () => {
    const events = [
      ...Array.from({ length: 5 }, () => session('other')),
      deposit('rich', 't-1', LARGEST),
      ...Array.from({ length: 6 }, () => session('rich')),
      deposit('rich', 't-2', 1),
      ...Array.from({ length: 4 }, () => session('other')),
    ];
    const batch = batchOf(project, events, { topic });
    const emission = await foldBatch(fixture.newFold(), batch);
    expect(refused(emission)).toEqual(['12 POISON_RECORD']);
    expect(emission.events).toHaveLength(events.length - 1);
    expect(await storedPosition()).toBe(BigInt(events.length));
    expect(await totalsOf(fixture.sql, project, 'rich')).toMatchObject({
      total_deposited: BigInt(LARGEST),
      session_count: 6n,
    });
    expect(await totalsOf(fixture.sql, project, 'other')).toMatchObject({ session_count: 9n });
    // After a crash before the emission the batch is delivered again.
    const again = await foldBatch(fixture.newFold(), batch);
    expect(refused(again)).toEqual(['12 POISON_RECORD']);
    expect(again.events).toEqual(emission.events);
  });

  it('is refused when its amount alone exceeds 64 bits in the base currency', async () => {
    const batch = batchOf(project, [deposit('a', 't-1', '9223372036854775808'), deposit('a', 't-2', 1)], {
      topic,
    });
    const emission = await foldBatch(fixture.newFold(), batch);
    expect(refused(emission)).toEqual(['0 AMOUNT_OUT_OF_RANGE']);
    expect(await foldBatch(fixture.newFold(), batch)).toEqual(emission);
    expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ total_deposited: 1n });
  });

  it('is refused when it names a player of another project or an unknown one', async () => {
    const elsewhere = await fixture.newTenant();
    await foldBatch(fixture.newFold(), batchOf(elsewhere, [session('a')], { topic: `${topic}-elsewhere` }));
    const [foreign] = await fixture.sql<{ player_id: string }[]>`
      select player_id from player_identities where tenant_id = ${elsewhere.tenant_id}`;
    const batch = batchOf(
      project,
      [
        { event: 'login', player_id: foreign?.player_id ?? '' },
        { event: 'login', player_id: newId(), anonymous_id: 'known' },
        session('known'),
      ],
      { topic },
    );
    const emission = await foldBatch(fixture.newFold(), batch);
    expect(refused(emission)).toEqual(['0 UNKNOWN_PLAYER', '1 UNKNOWN_PLAYER']);
    expect(await foldBatch(fixture.newFold(), batch)).toEqual(emission);
    expect(await totalsOf(fixture.sql, project, 'known')).toMatchObject({ session_count: 1n });
    expect(await totalsOf(fixture.sql, elsewhere, 'a')).toMatchObject({ session_count: 1n });
  });

  it('is refused, whatever it contains instead of an accepted event, and blocks no other record', async () => {
    const elsewhere = await fixture.newTenant();
    const sound = batchOf(project, [session('a')]).records[0]?.value ?? '';
    const changed = (change: (accepted: Record<string, Record<string, unknown>>) => void) => {
      const accepted = JSON.parse(sound) as Record<string, Record<string, unknown>>;
      change(accepted);
      return JSON.stringify(accepted);
    };
    const withEvent = (event: unknown) => changed((accepted) => Object.assign(accepted, { event }));
    const unsound = ['', 'null', '[]', '7', '"text"', '{', '{}', '{"event":null}'];
    unsound.push(
      withEvent(null),
      withEvent('session_start'),
      withEvent({ event: 'session_start' }),
      withEvent({ event: 7, anonymous_id: 'a' }),
      withEvent({ event: 'session_start', anonymous_id: 7 }),
      withEvent({ event: 'session_start', anonymous_id: 'a', player_id: null }),
      withEvent({ event: 'session_start', anonymous_id: 'a', timestamp: 'yesterday' }),
      withEvent({ event: 'session_start', anonymous_id: 'a', timestamp: 7 }),
      withEvent({ event: 'kyc_approved', anonymous_id: 'a', properties: null }),
      withEvent({ event: 'kyc_approved', anonymous_id: 'a', properties: 'level' }),
      withEvent({ event: 'kyc_approved', anonymous_id: 'a', properties: [] }),
      withEvent(deposit('a', 't', 1.5)),
      withEvent(deposit('a', 't', -1)),
      withEvent(deposit('a', 't', 'much')),
      withEvent(deposit('a', 't', '1'.repeat(60))),
      withEvent(deposit('a', 'nul \u0000', 1)),
      withEvent({ event: 'session_start', anonymous_id: 'nul \u0000' }),
      withEvent({ event: 'session_start', player_id: 'not a uuid' }),
      changed((accepted) => Object.assign(accepted, { tenant_id: 'not a uuid' })),
      changed((accepted) => Object.assign(accepted, { project_id: 'not a uuid' })),
      changed((accepted) => Object.assign(accepted, { tenant_id: newId() })),
      changed((accepted) => Object.assign(accepted, { tenant_id: elsewhere.tenant_id })),
      changed((accepted) => Object.assign(accepted, { project_id: elsewhere.project_id })),
      changed((accepted) => Object.assign(accepted, { project_id: project.project_id.toUpperCase() })),
      changed((accepted) => Object.assign(accepted, { received_at_ms: 'now' })),
      changed((accepted) => Object.assign(accepted, { received_at_ms: 8_640_000_000_000_001 })),
      changed((accepted) => Object.assign(accepted, { index: -0.5 })),
      changed((accepted) => Object.assign(accepted, { index: 70_000, event: deposit('a', 't', 1) })),
    );
    const batch = batchOf(
      project,
      unsound.flatMap((value) => [value, session('a')]),
      { topic },
    );
    const emission = await foldBatch(fixture.newFold(), batch);
    expect(refused(emission).map((text) => text.split(' ')[0])).toEqual(unsound.map((_, i) => String(2 * i)));
    expect(emission.events).toHaveLength(unsound.length);
    expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({
      session_count: BigInt(unsound.length),
      total_deposited: 0n,
    });
    // A repetition after a crash refuses the same records and does not get stuck.
    const again = await foldBatch(fixture.newFold(), batch);
    expect(refused(again).map((text) => text.split(' ')[0])).toEqual(unsound.map((_, i) => String(2 * i)));
    expect(again.events).toEqual(emission.events);
  });
});

describe('money properties on an event that has none in the catalogue', () => {
  it('are never counted as money', async () => {
    const odd = { amount: 'a lot', payout: { of: 'nothing' }, currency: 7, transaction_id: 9 };
    const events: Given[] = [
      { event: 'bet_lost', anonymous_id: 'a', properties: { ...odd, bet_id: 'b-1' } },
      { event: 'sport_bet_voided', anonymous_id: 'a', properties: { ...odd, bet_id: 'b-2' } },
      { event: 'session_start', anonymous_id: 'a', properties: odd },
      { event: 'custom_payment', anonymous_id: 'a', properties: odd },
      {
        event: 'deposit_confirmed',
        anonymous_id: 'a',
        properties: { ...deposit('a', 't', 5).properties, payout: 1.5, bet_id: 3 },
      },
      {
        event: 'sport_cashout',
        anonymous_id: 'a',
        properties: { bet_id: 'b-3', payout: 4, currency: 'EUR', amount: 'a lot' },
      },
    ];
    const emission = await foldBatch(fixture.newFold(), batchOf(project, events, { topic }));
    expect(refused(emission)).toEqual([]);
    expect(await totalsOf(fixture.sql, project, 'a')).toEqual({
      total_deposited: 5n,
      total_wagered: 0n,
      total_won: 4n,
      bet_count: 2n,
      session_count: 1n,
    });
  });
});

it('a statement that is cancelled or waits too long makes no dead letter; the batch is applied later', async () => {
  const fold = fixture.newFold();
  await foldBatch(fold, batchOf(project, [deposit('a', 't-1', 1)], { topic }));
  const batch = batchOf(project, [deposit('a', 't-2', 20), deposit('b', 't-3', 300)], { topic, first: 1n });
  await fixture.sql.begin(async (tx) => {
    await tx`lock table player_totals in access exclusive mode`;
    const failed = foldBatch(fold, batch).catch((error: Error & { code?: string }) => error.code);
    await fixture.someoneWaits();
    // As the owner: the service role may not cancel statements of other sessions.
    await fixture.sql.begin(async (other) => {
      await other`set local role none`;
      await other`
        select pg_cancel_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
    });
    expect(await failed).toBe('57014');
  });
  expect(await storedPosition()).toBe(1n);
  expect((await foldBatch(fold, batch)).rejections).toEqual([]);
  expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ total_deposited: 21n });
});
