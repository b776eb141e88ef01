import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { replayOf, type DeadLetter } from '../../../src/ingest/events/envelope.ts';
import { cleanUpFold } from '../../../src/ledger/fold/clean-up.ts';
import { foldBatch } from '../../../src/ledger/fold/fold-batch.ts';
import type { Rejection } from '../../../src/ledger/fold/fold-event.ts';
import type { Emission } from '../../../src/ledger/fold/snapshot.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';
import { batchOf, deposit, openFoldFixture, totalsOf, type FoldFixture, type Given } from './fold-fixture.ts';

const DAY_MS = 86_400_000;
const NOON_MS = Date.UTC(2026, 5, 1, 12);

let fixture: FoldFixture;
let project: ProjectRef;
let topic: string;
let fold: ReturnType<FoldFixture['newFold']> & { now_ms: number };
let next: bigint;
beforeAll(async () => {
  fixture = await openFoldFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  project = await fixture.newTenant();
  topic = `events-${project.project_id}`;
  fold = Object.assign(fixture.newFold(), { now_ms: NOON_MS });
  fold.clock = { ...fold.clock, now_ms: () => fold.now_ms };
  next = 0n;
});

/** Folds a batch; the reasons of what was refused, in log order. */
async function send(...events: (Given | string)[]): Promise<Emission> {
  const batch = batchOf(project, events, { topic, first: next });
  next += BigInt(events.length);
  return foldBatch(fold, batch);
}
const reasons = ({ rejections }: Emission) => rejections.map(({ reason }) => reason);
const paid = (transaction_id: string, timestamp: string, amount = 1_000): Given => ({
  ...deposit('a', transaction_id, amount),
  timestamp,
});
const session = (anonymous_id: string, dedupe_id: string, timestamp?: string): Given => ({
  event: 'session_start',
  anonymous_id,
  ...(timestamp !== undefined && { timestamp }),
  properties: { dedupe_id },
});
const count = async (name: 'duplicatesDiffering' | 'duplicates') =>
  (await fold.metrics[name].get()).values[0]?.value ?? 0;

/** The record by which the letter about a refused record is replayed. */
function replayed({ record, reason, message }: Rejection): string {
  const { key, value, offset } = record;
  const letter: DeadLetter = { reason, message, partition: 0, offset: String(offset), key, value, at_ms: 0 };
  return replayOf(letter).value;
}

const AT = ['2026-05-01T10:00:00Z', '2026-05-01T10:00:00.000Z', '2026-05-01T10:00:01Z'] as const;

describe('a duplicate', () => {
  it('with another time is dropped with a letter, whichever comes first and however often (45, 44)', async () => {
    const [first, , later] = AT;
    for (const [i, order] of [
      [first, later],
      [later, first],
    ].entries()) {
      const events = order.map((at) => paid(`${i}:77`, at));
      expect(reasons(await send(...events))).toEqual(['DUPLICATE_DIFFERS']);
      expect(reasons(await send(...events))).toEqual(['DUPLICATE_DIFFERS']);
    }
    expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ total_deposited: 2_000n });
    expect(reasons(await send(paid('p1:77', first), paid('p2:77', first)))).toEqual([]);
    expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ total_deposited: 4_000n });
    expect(await count('duplicatesDiffering')).toBe(4);
  });

  it('with the same details is silent, however its time is written', async () => {
    const untimed = deposit('a', 'u', 5);
    expect(reasons(await send(paid('t', AT[0]), paid('t', AT[1]), untimed, untimed))).toEqual([]);
    expect(await count('duplicates')).toBe(2);
    expect(reasons(await send(paid('u', AT[0], 5)))).toEqual(['DUPLICATE_DIFFERS']);
    await fixture.sql`update ledger set detail_hash = null where reference = 't'`;
    expect(reasons(await send(paid('t', AT[2])))).toEqual([]);
  });

  it.each([
    ['a bet', 'bet_placed', { bet_id: 'b', amount: 5, game_category: 'slots' }, { game_id: 'g' }],
    ['an outcome', 'sport_bet_settled', { bet_id: 'b', payout: 5 }, { event_ref: 'final' }],
    [
      'a reversal',
      'deposit_reversed',
      { transaction_id: 't', reversal_id: 'r', amount: 5 },
      { payment_method: 'card' },
    ],
    ['a void', 'bet_voided', { bet_id: 'b' }, { game_id: 'g' }],
    ['a credit', 'balance_credited', { transaction_id: 't', amount: 5, reason: 'prize' }, { sport: 'golf' }],
  ])('of %s with another detail has a letter', async (_, event, properties, detail) => {
    const one = (more: object): Given => ({
      event,
      anonymous_id: 'a',
      timestamp: AT[0],
      properties: { currency: 'EUR', ...properties, ...more },
    });
    expect(reasons(await send(one({}), one({}), one(detail), one({})))).toEqual(['DUPLICATE_DIFFERS']);
  });

  it('has a letter up to 100 a project and UTC day, and comes again after a crash', async () => {
    const other = await fixture.newTenant();
    const stamped = (n: number) =>
      Array.from({ length: n }, (_, i) => paid('t', new Date(Date.UTC(2026, 4, 1) + i).toISOString()));
    await send(paid('t', AT[0]));
    const batch = batchOf(project, stamped(70), { topic, first: next });
    next += 70n;
    expect((await foldBatch(fold, batch)).rejections).toHaveLength(70);
    // The process died before it had appended them.
    expect((await foldBatch(fixture.newFold(), batch)).rejections).toHaveLength(70);
    expect((await send(...stamped(70))).rejections.map(({ record }) => record.offset)).toEqual(
      Array.from({ length: 30 }, (_, i) => 71n + BigInt(i)),
    );
    const over = batchOf(project, stamped(150), { topic, first: next });
    next += 150n;
    expect((await foldBatch(fold, over)).rejections).toEqual([]);
    expect((await foldBatch(fixture.newFold(), over)).rejections).toHaveLength(100);
    expect(await count('duplicatesDiffering')).toBe(290);
    const elsewhere = batchOf(other, [paid('t', AT[0]), paid('t', AT[2])], { topic: `other-${topic}` });
    expect(reasons(await foldBatch(fold, elsewhere))).toEqual(['DUPLICATE_DIFFERS']);
    fold.now_ms += DAY_MS / 2;
    expect((await send(...stamped(2))).rejections).toHaveLength(2);
    await cleanUpFold({
      postgres: { service: fixture.sql } as never,
      clock: fold.clock,
      logger: createLogger('silent'),
    });
    const days = await fixture.sql<{ day: string }[]>`
      select day::text from duplicate_letters where project_id = ${project.project_id}`;
    expect(days).toEqual([{ day: '2026-06-02' }]);
  });

  it('that is replayed from its letter changes nothing and has no other letter', async () => {
    const { rejections } = await send(paid('t', AT[0]), paid('t', AT[2]), paid('t', AT[0], 7));
    expect(rejections.map(({ reason }) => reason).sort()).toEqual([
      'CONFLICTING_DUPLICATE',
      'DUPLICATE_DIFFERS',
    ]);
    const again = batchOf(project, rejections.map(replayed), { topic, first: next });
    next += 2n;
    expect(await foldBatch(fold, again)).toEqual({ events: [], rejections: [] });
    expect(await foldBatch(fixture.newFold(), again)).toEqual({ events: [], rejections: [] });
    expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ total_deposited: 1_000n });
    expect(await count('duplicatesDiffering')).toBe(1);
  });
});

describe('an event with a dedupe_id', () => {
  it('counts once in every order, repeated, with any time (46)', async () => {
    for (const [i, order] of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
    ].entries()) {
      const events = order.map((n) => session(`s-${i}`, `e-${i}`, AT[n]));
      const emission = await send(...events, ...events);
      expect(reasons(emission)).toEqual([]);
      expect(emission.events).toHaveLength(1);
      expect((await send(...events)).events).toEqual([]);
      expect(await totalsOf(fixture.sql, project, `s-${i}`)).toMatchObject({ session_count: 1n });
    }
  });

  it('is another one under another name, and in another project', async () => {
    const login: Given = { ...session('a', 'e'), event: 'login' };
    expect((await send(session('a', 'e'), login, { ...login, event: 'custom_x' })).events).toHaveLength(3);
    const other = await fixture.newTenant();
    const elsewhere = batchOf(other, [session('a', 'e')], { topic: `other-${topic}` });
    expect((await foldBatch(fold, elsewhere)).events).toHaveLength(1);
  });

  it('of responsible gaming and KYC applies each time (48)', async () => {
    const set: Given = { event: 'self_exclusion_set', anonymous_id: 'a', properties: { dedupe_id: 'e' } };
    const kyc: Given = { ...set, event: 'kyc_approved', properties: { dedupe_id: 'e', level: 1 } };
    expect((await send(set, set, kyc, kyc)).events).toHaveLength(4);
  });

  it('of another player is a conflict, which a replay of its letter does not repeat', async () => {
    const { events, rejections } = await send(session('a', 'e'), session('b', 'e'));
    expect(events).toHaveLength(1);
    expect(rejections.map(({ reason }) => reason)).toEqual(['CONFLICTING_DUPLICATE']);
    expect(await send(...rejections.map(replayed))).toEqual({ events: [], rejections: [] });
    expect(await totalsOf(fixture.sql, project, 'b')).toBeUndefined();
  });

  it("of a merged player is the survivor's", async () => {
    await send(session('a', 'e'), session('b', 'f'));
    const players = await fixture.sql<{ anonymous_id: string; player_id: string }[]>`
      select anonymous_id, player_id from player_identities where project_id = ${project.project_id}
      order by anonymous_id`;
    const [gone, survivor] = players.map(({ player_id }) => player_id);
    const { tenant_id, project_id } = project;
    await fixture.sql`insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at)
      values (${tenant_id}, ${project_id}, ${gone ?? ''}, ${survivor ?? ''}, now())`;
    expect(await send(session('b', 'e'))).toEqual({ events: [], rejections: [] });
  });

  it('is emitted again after a crash only by the record that claimed it', async () => {
    const batch = batchOf(project, [session('a', 'e'), session('a', 'e'), session('b', 'e')], { topic });
    const emission = await foldBatch(fold, batch);
    expect(emission.events).toHaveLength(1);
    expect(await foldBatch(fixture.newFold(), batch)).toEqual(emission);
  });

  it('is claimed once by two partitions at the same time', async () => {
    const batches = [0, 1, 2].map((partition) =>
      batchOf(project, [deposit('a', newId(), 1), session('a', 'e')], { topic, partition }),
    );
    await send(deposit('a', 'first', 1));
    const emissions = await Promise.all(
      batches.map((batch) => foldBatch(fixture.newFold(), { ...batch, topic: `both-${topic}` })),
    );
    expect(emissions.flatMap(({ rejections }) => rejections)).toEqual([]);
    expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ session_count: 1n });
  });

  it('is kept for 90 days', async () => {
    await send(session('a', 'e'));
    const cleanUp = () =>
      cleanUpFold({
        postgres: { service: fixture.sql } as never,
        clock: fold.clock,
        logger: createLogger('silent'),
      });
    fold.now_ms += 90 * DAY_MS;
    await cleanUp();
    expect((await send(session('a', 'e'))).events).toEqual([]);
    fold.now_ms += 1;
    await cleanUp();
    expect((await send(session('a', 'e'))).events).toHaveLength(1);
  });
});

describe('metrics', () => {
  it('count a bet and reversals once, wherever batches are cut', async () => {
    const bet = (event: string, properties: object): Given => ({
      event,
      anonymous_id: 'a',
      properties: { bet_id: 'b', currency: 'EUR', ...properties },
    });
    const events = [
      bet('bet_won', { payout: 200, movement_id: 'b' }),
      bet('bet_settled', { amount: 100, payout: 400 }),
      bet('bet_won', { payout: 200, movement_id: 'c' }),
      paid('t', AT[0], 5),
      ...[6, 0, 6].map((amount, i): Given => ({
        event: 'deposit_reversed',
        anonymous_id: 'a',
        timestamp: new Date(Date.UTC(2026, 4, 2) + i).toISOString(),
        properties: { transaction_id: 't', reversal_id: 'r', currency: 'EUR', amount },
      })),
    ];
    for (const event of events) await send(event);
    const { betTotalMismatches, reversalsAboveOriginal, reversalsReopened } = fold.metrics;
    const values = [betTotalMismatches, reversalsAboveOriginal, reversalsReopened].map(
      async (metric) => (await metric.get()).values[0]?.value,
    );
    expect(await Promise.all(values)).toEqual([1, 2, 1]);
  });
});
