import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byKind, countsOf, effectOf } from '../../../src/ledger/money/counting.ts';
import { inBase, scalesOf, type Conversions } from '../../../src/ledger/money/conversion.ts';
import { claimOf, judgeClaim, type LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { SUMS, TotalsAccumulator, type Sum } from '../../../src/ledger/money/totals.ts';
import { runs } from '../../engines/effort.ts';
import { shuffle } from '../../oracle/front-door.ts';
import { countedEarlier, judgeEarlier } from '../../oracle/earlier-rules.ts';
import type { SentEvent } from '../../oracle/oracle.ts';
import { DECIMALS } from '../../oracle/rates.ts';
import {
  countedOf,
  factOf,
  familyOf,
  judge,
  sumsOf as statedSums,
  type Counted,
  type Fact,
  type Family,
} from '../../oracle/references.ts';
import { BASE, FAMILIES, PLAYERS, RATES, streamOf, toEvents } from './reference-streams.ts';

// Random events of one reference, judged and counted by the rules of the service and by the oracle (feeds.md 2).

/** A stream has over 15 events on average, with its repeats: 200,000 in `ci`, and 10 million at night. */
const STREAMS = runs(14_000, { quick: 1_000, nightly: 700_000 });
const FEWER_STREAMS = runs(4_000, { quick: 500 });
const TIMEOUT_MS = 30_000 + STREAMS * 10;

type Sums = Record<string, Record<Sum, bigint>>;

/** The rules of the service, event by event. */
class Service {
  readonly rows: LedgerRow[] = [];

  take({ event, anonymous_id = '', timestamp, properties }: SentEvent): string {
    const at_ms = Date.parse(timestamp);
    const claim = claimOf(event, properties, at_ms);
    if (claim === undefined) throw new Error(`${event} has no claim`);
    const verdict = judgeClaim(claim, anonymous_id, this.rows);
    if (verdict !== 'new') return verdict === 'conflict' ? 'CONFLICTING_DUPLICATE' : verdict;
    const conversion = conversionOf(claim.currency, at_ms);
    this.rows.push({
      ...claim,
      ...inBase(claim, conversion),
      scales: scalesOf(conversion),
      tenant_id: 't',
      project_id: 'q',
      ordinal: this.rows.length,
      player_id: anonymous_id,
      occurred_at_ms: at_ms,
      detail_hash: 0,
      item: null,
      ingestion_id: 'i',
      event_index: 0,
      log_partition: 0,
      log_offset: BigInt(this.rows.length),
    });
    return 'counted';
  }
}

function sumsOf(rows: readonly LedgerRow[]): Sums {
  const totals = new TotalsAccumulator();
  for (const [kind, of_kind] of byKind(rows))
    for (const delta of effectOf(kind, of_kind).deltas) totals.add(delta);
  return Object.fromEntries(PLAYERS.map((player) => [player, totals.of(player)]));
}

/** Which rows of bets and balances have money of which nothing counts, by their place among the accepted. */
function notCountedOf(rows: readonly LedgerRow[]): number[] {
  const not_counted = [...byKind(rows)]
    .filter(([kind]) => !isTransaction(kind))
    .flatMap(([kind, of_kind]) => [...effectOf(kind, of_kind).notCounted().keys()]);
  return not_counted.map(({ ordinal }) => ordinal).sort((a, b) => a - b);
}

/** The money that the single rows count, added up over all players. */
function countedByRow(rows: readonly LedgerRow[]): Partial<Record<Sum, bigint>> {
  const sums = noSums()['p1'] as Record<Sum, bigint>;
  for (const [{ event }, { stake, payout, bonus_stake, bonus_payout }] of countsOf(rows)) {
    if (event.startsWith('deposit')) sums.total_deposited += isReversal(event) ? -stake : stake;
    else if (event.startsWith('withdrawal')) sums.total_withdrawn += isReversal(event) ? -stake : stake;
    else if (event === 'balance_credited') sums.total_credited += stake;
    else if (event === 'balance_debited') sums.total_debited += stake;
    else {
      sums.total_wagered += stake;
      sums.total_won += payout;
      sums.total_bonus_wagered += bonus_stake;
      sums.total_bonus_won += bonus_payout;
    }
  }
  return ofMoney(sums);
}

function withoutPlayers(sums: Sums): Partial<Record<Sum, bigint>> {
  const all = noSums()['p1'] as Record<Sum, bigint>;
  for (const of_player of Object.values(sums)) for (const sum of SUMS) all[sum] += of_player[sum];
  return ofMoney(all);
}

function ofMoney(sums: Record<Sum, bigint>): Partial<Record<Sum, bigint>> {
  return Object.fromEntries(Object.entries(sums).filter(([sum]) => sum.startsWith('total_')));
}

function isReversal(event: string): boolean {
  return event.endsWith('_reversed');
}

function conversionOf(currency: string | null, at_ms: number): Conversions {
  if (currency === null || currency === BASE) return 'same';
  const rate = RATES.at(currency, BASE, at_ms);
  return rate && { ...rate, from_scale: DECIMALS[currency] ?? 0, to_scale: DECIMALS[BASE] ?? 0 };
}

/** The rules as the oracle states them, over all accepted events at once; `rules`: those of today, or the earlier ones. */
class Stated {
  readonly facts: Fact<string>[] = [];
  readonly #rules: { judge: typeof judge; countedOf: typeof countedOf };

  constructor(rules = { judge, countedOf }) {
    this.#rules = rules;
  }

  take(sent: SentEvent): string {
    const fact = factOf(sent, sent.anonymous_id ?? '');
    const of_family = this.facts.filter(({ event }) => familyOf(event) === familyOf(fact.event));
    const verdict = this.#rules.judge(fact, of_family);
    if (verdict === 'counted') this.facts.push(fact);
    return verdict;
  }

  sums(): Sums {
    const counted = FAMILIES.map((family) => this.#counted(family));
    const sums = statedSums(counted, (amount, { currency = '', at_ms }) =>
      RATES.convert(amount, currency, BASE, at_ms),
    );
    const none = noSums();
    return Object.fromEntries(
      PLAYERS.map((player) => [player, { ...(none[player] as Record<Sum, bigint>), ...sums.get(player) }]),
    );
  }

  /** The places of the facts of bets and balances that have money of which nothing counts. */
  notCounted(): number[] {
    const counted = FAMILIES.flatMap((family) => this.#counted(family).postings.map(({ fact }) => fact));
    return this.facts.flatMap((fact, place) => {
      const hasMoney = fact.amount !== undefined || fact.payout !== undefined;
      return hasMoney && !isTransaction(familyOf(fact.event)) && !counted.includes(fact) ? [place] : [];
    });
  }

  #counted(family: Family): Counted<string> {
    return this.#rules.countedOf(
      family,
      this.facts.filter(({ event }) => familyOf(event) === family),
    );
  }
}

/** A reversal counts in its original, not by itself. */
function isTransaction(family: Family | undefined): boolean {
  return family === 'deposit' || family === 'withdrawal';
}

function noSums(): Sums {
  const zeros = () => Object.fromEntries(SUMS.map((sum) => [sum, 0n])) as Record<Sum, bigint>;
  return Object.fromEntries(PLAYERS.map((player) => [player, zeros()]));
}

describe('the rules of one reference', () => {
  it(
    'judge and count as an independent statement of them does, whatever comes twice',
    () => {
      let sent_events = 0;
      fc.assert(
        fc.property(streamOf(true), (stream) => {
          const drawn = toEvents(stream);
          const sent = shuffle([...drawn, ...drawn.filter((_, i) => i % 3 === 0)], stream.order);
          sent_events += sent.length;
          const [service, stated] = [new Service(), new Stated()];
          for (const event of sent) expect(service.take(event)).toBe(stated.take(event));
          expect(sumsOf(service.rows)).toEqual(stated.sums());
          expect(notCountedOf(service.rows)).toEqual(stated.notCounted());
          expect(countedByRow(service.rows)).toEqual(withoutPlayers(stated.sums()));
        }),
        { numRuns: STREAMS },
      );
      expect(sent_events).toBeGreaterThan(STREAMS * 15);
    },
    TIMEOUT_MS,
  );

  it(
    'count the same in every order of the accepted rows',
    () => {
      fc.assert(
        fc.property(streamOf(true), (stream) => {
          const service = new Service();
          for (const event of toEvents(stream)) service.take(event);
          const sums = sumsOf(service.rows);
          for (const seed of [stream.order, stream.order + 1, stream.order + 2]) {
            const rows = shuffle(service.rows, seed).map((row, ordinal) => ({ ...row, ordinal }));
            expect(sumsOf(rows)).toEqual(sums);
          }
        }),
        { numRuns: FEWER_STREAMS },
      );
    },
    TIMEOUT_MS,
  );

  it(
    'count the same in every order of arrival of events that do not contradict, and accept none twice',
    () => {
      fc.assert(
        fc.property(streamOf(false), (stream) => {
          const sent = toEvents(stream);
          const [first, other] = [new Service(), new Service()];
          for (const event of sent) first.take(event);
          const arrived = shuffle(sent, stream.order);
          for (const event of [...arrived, ...arrived]) other.take(event);
          expect(sumsOf(other.rows)).toEqual(sumsOf(first.rows));
          const accepted = other.rows.length;
          for (const event of sent) expect(other.take(event)).not.toBe('counted');
          expect(other.rows).toHaveLength(accepted);
        }),
        { numRuns: FEWER_STREAMS },
      );
    },
    TIMEOUT_MS,
  );

  it(
    'without the new events and properties count as they did before',
    () => {
      fc.assert(
        fc.property(streamOf(true), (stream) => {
          const [service, before] = [
            new Service(),
            new Stated({ judge: judgeEarlier, countedOf: countedEarlier }),
          ];
          for (const event of toEvents(stream, true)) {
            const verdict = before.take(event);
            // A void has no content since: that of another player was a conflict, and is a duplicate.
            if (event.event === 'sport_bet_voided') service.take(event);
            else expect(service.take(event)).toBe(verdict);
          }
          expect(sumsOf(service.rows)).toEqual(before.sums());
        }),
        { numRuns: FEWER_STREAMS },
      );
    },
    TIMEOUT_MS,
  );
});
