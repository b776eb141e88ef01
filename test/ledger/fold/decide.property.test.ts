import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anonymousIdentityKey, type FoldEvent } from '../../../src/ledger/fold/fold-event.ts';
import {
  type Decision,
  type Effects,
  type Emission,
  addEffects,
  type Snapshot,
} from '../../../src/ledger/fold/snapshot.ts';
import { replay } from '../../../src/ledger/fold/replay.ts';
import { addAnomalies, NO_ANOMALIES } from '../../../src/ledger/money/anomalies.ts';
import { betEffect, stakesDiffer, type BetEffect } from '../../../src/ledger/money/bets.ts';
import { countsOf, eventMoneyOf } from '../../../src/ledger/money/counting.ts';
import type { EventMoney, PlayerEvent } from '../../../src/ingest/events/envelope.ts';
import { betKindOf, type LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { SUMS, TotalsAccumulator } from '../../../src/ledger/money/totals.ts';
import { Oracle, type SentEvent } from '../../oracle/oracle.ts';
import { OracleRates } from '../../oracle/rates.ts';
import {
  mixedMarket,
  momentAt,
  MOMENTS,
  streamOf,
  toEvents,
  type Sender,
  type Step,
} from '../../oracle/streams.ts';
import { runs } from '../../engines/effort.ts';
import { eventAt, MemoryStore, PROJECT_ID } from './model.ts';

const PLAYERS = 6;
const EVENTS = 60;
/** 200,000 events in `ci`, and 10 million at night. */
const STREAMS = runs(3_400, { quick: 200, nightly: 170_000 });
const TIMEOUT_MS = 60_000 + STREAMS * 60;
const MARKET = mixedMarket('EUR', ['EUR', 'EUR', 'USD', 'ETH', 'JPY']);
const parameters = { numRuns: runs(500) };

/** Every second sender was identified before the stream. */
const senders: readonly Sender[] = Array.from({ length: PLAYERS }, (_, i) => ({
  anonymous_id: `device-${i}`,
  player_id: i % 2 === 0 ? `01900000-0000-7000-a000-00000000000${i}` : undefined,
}));

function newStore(): MemoryStore {
  const store = new MemoryStore();
  for (const { anonymous_id, player_id } of senders) {
    if (player_id !== undefined) store.identify(anonymous_id, player_id);
  }
  return store;
}

/**
 * Events without a reference have one of few dedupe_ids, of any sender; every fourth one has none. Every fifth event has one of
 * few names, and every third one is from a client key. Movements of a bet may be of several games.
 */
function eventsOf(steps: readonly Step[]): FoldEvent[] {
  return toEvents(steps, senders).map((sent, i) => {
    const { reference, salt } = steps[i] ?? { reference: 0, salt: 0 };
    const { dedupe_id = `id-${reference}-${salt}`, game_id } = sent.properties;
    const properties = {
      ...sent.properties,
      ...(reference % 4 === 0 ? {} : { dedupe_id }),
      ...(game_id === undefined ? {} : { game_id: `game ${(salt + reference) % 3}` }),
    };
    const name = i % 5 === 0 ? (salt * 7 + reference) % 4 : undefined;
    return eventAt({ ...sent, properties }, i, name, i % 3 === 0);
  });
}

/** The places at which a stream is cut into batches. */
const cuts = fc.uniqueArray(fc.integer({ min: 1, max: EVENTS - 1 }), { maxLength: 12 });
function batchesOf<T>(values: readonly T[], places: readonly number[]): T[][] {
  const ends = [...places, values.length].sort((a, b) => a - b);
  return ends.map((end, i) => values.slice(ends[i - 1] ?? 0, end));
}

/** What comes between batches: a rate, also of the past, and a merge. JPY never gets a rate. */
const happenings = fc.array(
  fc.record(
    {
      rate: fc.record({
        base: fc.constantFrom('USD', 'ETH'),
        quote: fc.constant('EUR'),
        ts_ms: fc.nat(MOMENTS).map((moment) => momentAt(moment) - 1_800_000),
        rate: fc.constantFrom('0.9', '0.915', '2999.5', '0.0001'),
      }),
      merge: fc.tuple(fc.nat(PLAYERS - 1), fc.nat(PLAYERS - 1)),
    },
    { requiredKeys: [] },
  ),
  { minLength: 1, maxLength: 4 },
);

const stream = streamOf(PLAYERS, EVENTS, true);

describe('deciding batches', () => {
  it('has the same result wherever the stream is cut into batches', () => {
    fc.assert(
      fc.property(stream, cuts, (steps, places) => {
        const whole = newStore();
        const decided = whole.fold(eventsOf(steps));
        const cut = newStore();
        const decisions = batchesOf(eventsOf(steps), places).map((batch) => cut.fold(batch));
        expect(cut.totalsByIdentity()).toEqual(whole.totalsByIdentity());
        expect(decisions.flatMap(({ emission }) => emission.rejections)).toEqual(decided.emission.rejections);
        // What a later batch changes of what an event counts is corrected.
        const emitted = decisions.flatMap((_, i) => corrected(cut, decisions.slice(i)));
        expect(emitted.map(withoutPlayer)).toEqual(decided.emission.events.map(withoutPlayer));
        expect(decisions.reduce((sum, { duplicates }) => sum + duplicates, 0)).toBe(decided.duplicates);
        expect(decisions.flatMap(({ differing }) => differing)).toEqual(decided.differing);
        const anomalies = { ...NO_ANOMALIES };
        for (const decision of decisions) addAnomalies(anomalies, decision.anomalies, 1);
        expect(anomalies).toEqual(decided.anomalies);
        expect(cut.event_ids.size).toBe(whole.event_ids.size);
        expect(cut.sent_ids).toEqual(whole.sent_ids);
      }),
      parameters,
    );
  });

  it('has the same result when a batch is decided before the one before it is committed', () => {
    fc.assert(
      fc.property(stream, cuts, fc.infiniteStream(fc.boolean()), (steps, places, is_committed) => {
        const [plain, ahead] = [newStore(), newStore()];
        let before: { snapshot: Snapshot; effects: Effects } | undefined;
        for (const batch of batchesOf(eventsOf(steps), places)) {
          const snapshot = ahead.snapshot();
          // Read before or after the commit of the batch before.
          const is_early = before !== undefined && is_committed.next().value === false;
          const read = is_early && before !== undefined ? before.snapshot : ahead.snapshot();
          if (before !== undefined) addEffects(read, before.effects);
          const decision = ahead.fold(batch, 0, read);
          expect(decision).toEqual(plain.fold(batch));
          before = { snapshot, effects: decision.effects };
        }
        expect(ahead.totalsByIdentity()).toEqual(plain.totalsByIdentity());
      }),
      parameters,
    );
  });

  it('emits for every batch on replay what it emitted at first, whatever came after', () => {
    fc.assert(
      fc.property(stream, cuts, (steps, places) => {
        const store = newStore();
        const batches = batchesOf(eventsOf(steps), places);
        const decisions = batches.map((batch) => store.fold(batch));
        const again = batches.map((batch) => replay(batch, store.snapshot(), 0));
        expect(again.map(({ rejections }) => rejections)).toEqual(
          decisions.map(({ emission }) => emission.rejections),
        );
        expect(again.map(({ differing }) => differing)).toEqual(decisions.map(({ differing }) => differing));
        expect(again.map(({ events }) => events)).toEqual(
          decisions.map((_, i) => corrected(store, decisions.slice(i))),
        );
      }),
      parameters,
    );
  });

  it('emits the same events on replay when two partitions claim the same ids', () => {
    fc.assert(
      fc.property(stream, cuts, (steps, places) => {
        const store = newStore();
        const batches = batchesOf(eventsOf(steps), places);
        const decisions = batches.map((batch, i) => store.fold(batch, i % 2));
        const again = batches.map((batch, i) => replay(batch, store.snapshot(), i % 2));
        expect(again.map(({ events }) => events)).toEqual(
          decisions.map((_, i) => corrected(store, decisions.slice(i))),
        );
        // The reasons of refusals may differ: the claims of the other partition have no time.
        const refused = (emissions: Emission[]) =>
          emissions.map(({ rejections }) => rejections.map(({ record }) => record.offset));
        expect(refused(again)).toEqual(refused(decisions.map(({ emission }) => emission)));
      }),
      parameters,
    );
  });
});

describe('the effect of a bet', () => {
  it('does not depend on the order of its rows', () => {
    fc.assert(
      fc.property(streamOf(2, EVENTS, false), fc.infiniteStream(fc.nat()), (steps, order) => {
        const store = newStore();
        store.fold(eventsOf(steps));
        for (const rows of betsOf(store)) {
          const kind = betKindOf(rows[0]?.event ?? '') ?? 'casino';
          const expected = resultOf(betEffect(kind, rows));
          const keyed = rows.map((row) => ({ row, at: order.next().value as number }));
          const shuffled = keyed.sort((a, b) => a.at - b.at).map(({ row }) => row);
          expect(resultOf(betEffect(kind, shuffled))).toEqual(expected);
          expect(stakesDiffer(shuffled)).toBe(stakesDiffer(rows));
        }
      }),
      parameters,
    );
  });
});

describe('deciding batches, rates that come late and merges', () => {
  it(
    'leave every total as an independent oracle counts it',
    () => {
      const met = { refused: 0, merged: 0, restated: 0 };
      fc.assert(
        fc.property(stream, cuts, happenings, (steps, places, happened) => {
          const rates = new OracleRates();
          const [store, oracle] = [new MemoryStore(rates), new Oracle('EUR', rates)];
          for (const { anonymous_id, player_id } of senders) {
            if (player_id === undefined) continue;
            store.identify(anonymous_id, player_id);
            oracle.identified(anonymous_id, player_id);
          }
          const sent = toEvents(steps, senders, [], MARKET);
          const events = sent.map((one, i) => eventAt(one, i));
          let taken = 0;
          for (const [i, batch] of batchesOf(events, places).entries()) {
            const { emission, duplicates } = store.fold(batch);
            const verdicts = batch.map(() => oracle.take(sent[taken++] as SentEvent));
            const refused = verdicts.filter((verdict) => verdict !== 'counted' && verdict !== 'duplicate');
            expect(emission.rejections.map(({ reason }) => reason)).toEqual(refused);
            const dropped = verdicts.filter((one) => one === 'duplicate' || one === 'DUPLICATE_DIFFERS');
            expect(dropped).toHaveLength(duplicates);
            met.refused += refused.length;
            const { rate, merge } = happened[i % happened.length] ?? {};
            if (rate !== undefined) {
              rates.set(rate);
              store.restate();
              met.restated++;
            }
            if (merge !== undefined) {
              const [from, into] = merge.map((n) => `device-${n}`) as [string, string];
              store.merge(from, into);
              oracle.merged(from, into);
              met.merged++;
            }
          }
          const expected = [...oracle.players()].filter(([name]) => name.startsWith('device'));
          const shown = new Map(
            expected.map(([name, player]) => [
              anonymousIdentityKey(PROJECT_ID, name),
              Object.fromEntries(SUMS.map((sum) => [sum, player[sum]])),
            ]),
          );
          const none = new TotalsAccumulator().of('nobody');
          const held = [...store.totalsByIdentity()].map(([key, sums = none]) => [key, sums] as const);
          expect(new Map(held)).toEqual(shown);
        }),
        { numRuns: STREAMS },
      );
      for (const [what, times] of Object.entries(met)) expect(times, what).toBeGreaterThan(STREAMS / 4);
    },
    TIMEOUT_MS,
  );
});

/** An effect without the order in which it lists its parts. */
function resultOf({ status, deltas, counts, notCounted }: BetEffect) {
  const totals = new TotalsAccumulator();
  for (const delta of deltas) totals.add(delta);
  const byOrdinal = <T>(of_rows: ReadonlyMap<LedgerRow, T>) =>
    [...of_rows].map(([{ ordinal }, value]) => [ordinal, value] as const).toSorted(([a], [b]) => a - b);
  return {
    status,
    totals: totals.byPlayer,
    counts: byOrdinal(counts),
    not_counted: byOrdinal(notCounted()),
  };
}

/** All ledger rows of each bet that has more than one row. */
function betsOf(store: MemoryStore): LedgerRow[][] {
  const all = [...store.ledger.values()].flatMap((rows) =>
    (['casino', 'sport'] as const).map((kind) => rows.filter((row) => betKindOf(row.event) === kind)),
  );
  return all.filter((rows) => rows.length > 1);
}

/**
 * The events of the first decision as event-rewriter leaves them: it writes what the ledger says in the end of the rows
 * that later decisions say to count another amount, and of no others.
 */
function corrected(store: MemoryStore, [first, ...later]: Decision[]): PlayerEvent[] {
  const present = new Map<string, EventMoney & { placed: string[] | undefined }>();
  const rows = new Map([...store.ledger.values()].flat().map((row) => [keyOf(row), row]));
  for (const { effects } of later) {
    for (const { reference, ordinal } of effects.recounted) {
      const of_reference = [...rows.values()].filter((row) => row.reference === reference);
      const row = of_reference.find((one) => one.ordinal === ordinal);
      if (row === undefined) continue;
      const placed = placedAs(of_reference.filter((one) => betKindOf(one.event) === betKindOf(row.event)));
      present.set(keyOf(row), { ...eventMoneyOf(row, countsOf(of_reference).get(row)), placed });
    }
  }
  return (first?.emission.events ?? []).map((event) => {
    const { placed, ...money } = present.get(keyOf(event)) ?? {};
    const named = event.properties['game_id'] ?? event.properties['sport'];
    const item =
      placed === undefined || named !== undefined ? {} : { item: placed[0], item_group: placed[1] };
    return { ...event, ...money, ...item } as PlayerEvent;
  });
}

/** Game and category, or sport and type, of the placed row with the first time, of several the one with the first movement. */
function placedAs(rows: readonly LedgerRow[]): string[] | undefined {
  const [first] = rows
    .flatMap(({ item, occurred_at_ms, movement_id }) =>
      item === null ? [] : [{ item, occurred_at_ms, movement_id }],
    )
    .toSorted(
      (a, b) =>
        a.occurred_at_ms - b.occurred_at_ms || (a.movement_id ?? '').localeCompare(b.movement_id ?? '', 'en'),
    );
  return first && [first.item.item, first.item.item_group];
}

const keyOf = ({ ingestion_id, event_index }: Pick<LedgerRow, 'ingestion_id' | 'event_index'>) =>
  `${ingestion_id} ${event_index}`;

/** New players get other ids in every run, so the ids are left out of the comparison. */
function withoutPlayer<T extends { player_id: string }>(event: T): Omit<T, 'player_id'> {
  const { player_id: _, ...rest } = event;
  return rest;
}
