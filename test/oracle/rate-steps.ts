import * as fc from 'fast-check';
import type { Db, Tx } from '../../src/platform/postgres/port.ts';
import type { OracleRate, OracleRates } from './rates.ts';
import { MOMENTS, momentAt } from './streams.ts';

/** One operation of an operator on the table of rates. */
export interface RateStep {
  /** When it happens, relative to the sending of the events. */
  phase: 'before' | 'during' | 'after';
  /** On a pair without rates every kind acts as `put`. */
  kind: 'put' | 'correct' | 'repeat' | 'move' | 'delete' | 'roll back';
  /** Selects the pair. */
  pair: number;
  /** The rate's time is this many milliseconds after one of the events' moments. */
  moment: number;
  offset_ms: number;
  /** Selects one of the pair's existing rates, where the kind needs one. */
  index: number;
  /** The rate is this multiple of the usual one, with this many significant digits. */
  factor: number;
  digits: number;
  /** Runs in one transaction with the step before it. */
  joins: boolean;
}

/** The usual value of one unit in euros. */
const WORTH: Readonly<Record<string, number>> = {
  EUR: 1,
  USD: 0.92,
  SEK: 0.088,
  JPY: 0.0062,
  KWD: 3,
  BTC: 60_000,
  ETH: 3_000,
};
export const CURRENCIES: readonly string[] = Object.keys(WORTH);

const LONG_MS = 400 * 86_400_000;
/** Number of groups of pairs that run concurrently; steps on one pair keep their order. */
const LANES = 3;

export function rateStepsOf(length: number): fc.Arbitrary<RateStep[]> {
  const step: fc.Arbitrary<RateStep> = fc.record({
    phase: fc.constantFrom('before', 'during', 'during', 'after'),
    kind: fc.constantFrom('put', 'put', 'put', 'put', 'correct', 'repeat', 'move', 'delete', 'roll back'),
    pair: fc.nat(1_000),
    moment: fc.nat(MOMENTS - 1),
    // At the event's time, just after it, just before it, between two moments, before all of them, after all of them.
    offset_ms: fc.constantFrom(0, 0, 1, -1, 1_800_000, -LONG_MS, LONG_MS),
    index: fc.nat(100),
    factor: fc.double({ min: 0.8, max: 1.25, noNaN: true }),
    digits: fc.integer({ min: 1, max: 16 }),
    joins: fc.boolean(),
  });
  const steps = fc.noShrink(fc.array(step, { minLength: length, maxLength: length }));
  return steps.map((all) => Object.assign(all, { [fc.toStringMethod]: () => `${length} rate steps` }));
}

/**
 * The pairs from the base currency to every other one, some of the opposite pairs, and two pairs without the base
 * currency, which convert nothing.
 */
function pairsOf(base_currency: string): [string, string][] {
  const others = CURRENCIES.filter((code) => code !== base_currency);
  const [a = '', b = ''] = others;
  return [
    ...others.map((code): [string, string] => [base_currency, code]),
    ...others.filter((_, i) => i % 3 !== 0).map((code): [string, string] => [code, base_currency]),
    [a, b],
    [b, a],
  ];
}

/** An operator who changes a tenant's rates by SQL. The oracle's rates follow the committed changes. */
export class RateOperator {
  readonly #sql: Db;
  readonly #tenant_id: string;
  readonly #rates: OracleRates;
  readonly #pairs: [string, string][];

  constructor(sql: Db, tenant_id: string, base_currency: string, rates: OracleRates) {
    this.#sql = sql;
    this.#tenant_id = tenant_id;
    this.#rates = rates;
    this.#pairs = pairsOf(base_currency);
  }

  /**
   * Runs the steps of a phase, several groups of pairs at once. Each transaction of several steps awaits `meanwhile`.
   */
  async take(
    steps: readonly RateStep[],
    phase: RateStep['phase'],
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const now = steps.filter((step) => step.phase === phase);
    const lanes = Array.from({ length: LANES }, (_, lane) =>
      now.filter(({ pair }) => (pair % this.#pairs.length) % LANES === lane),
    );
    await Promise.all(lanes.map((lane) => this.#takeLane(lane, meanwhile)));
  }

  async #takeLane(steps: readonly RateStep[], meanwhile: () => Promise<void>): Promise<void> {
    for (let next = 0; next < steps.length;) {
      const together = [steps[next++] as RateStep];
      while (steps[next]?.joins === true) together.push(steps[next++] as RateStep);
      for (const kept of [false, true]) {
        const part = together.filter(({ kind }) => (kind === 'roll back') !== kept);
        if (part.length > 0) await this.#takeTogether(part, kept, meanwhile);
      }
    }
  }

  async #takeTogether(
    steps: readonly RateStep[],
    kept: boolean,
    meanwhile: () => Promise<void>,
  ): Promise<void> {
    const undone = new Error('rolled back on purpose');
    const work = this.#sql.begin(async (tx) => {
      // This role is subject to row-level security and does not own the table.
      await tx`set local role engagement_service`;
      for (const step of steps) await this.#take(tx, step, kept);
      if (steps.length > 1) await meanwhile();
      if (!kept) throw undone;
    });
    await work.catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  }

  async #take(tx: Tx, step: RateStep, kept: boolean): Promise<void> {
    const rate = this.#rateOf(step);
    const known = this.#rates.ofPair(rate.base, rate.quote);
    const old = known[step.index % Math.max(known.length, 1)];
    if (old === undefined || step.kind === 'put' || step.kind === 'roll back') {
      await this.#put(tx, rate);
      if (kept) this.#rates.set(rate);
    } else if (step.kind === 'delete') {
      await tx`delete from fx_rates where ${this.#is(tx, old)}`;
      this.#rates.delete(old);
    } else if (step.kind === 'move' && !this.#rates.has(rate)) {
      await tx`update fx_rates set ts = ${new Date(rate.ts_ms)}, rate = ${rate.rate} where ${this.#is(tx, old)}`;
      this.#rates.delete(old);
      this.#rates.set(rate);
    } else {
      const corrected = step.kind === 'repeat' ? old : { ...old, rate: rate.rate };
      await tx`update fx_rates set rate = ${corrected.rate} where ${this.#is(tx, old)}`;
      this.#rates.set(corrected);
    }
  }

  async #put(tx: Tx, { base, quote, ts_ms, rate }: OracleRate): Promise<void> {
    await tx`
      insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${this.#tenant_id}, ${base}, ${quote}, ${new Date(ts_ms)}, ${rate})
      on conflict (tenant_id, base, quote, ts) do update set rate = excluded.rate`;
  }

  #is(tx: Tx, { base, quote, ts_ms }: OracleRate) {
    return tx`tenant_id = ${this.#tenant_id} and base = ${base} and quote = ${quote} and ts = ${new Date(ts_ms)}`;
  }

  #rateOf({ pair, moment, offset_ms, factor, digits }: RateStep): OracleRate {
    const [base, quote] = this.#pairs[pair % this.#pairs.length] ?? ['', ''];
    const value = ((WORTH[base] ?? 1) / (WORTH[quote] ?? 1)) * factor;
    return { base, quote, ts_ms: momentAt(moment) + offset_ms, rate: plainDecimal(value, digits) };
  }
}

/** The number with this many significant digits, without an exponent. */
function plainDecimal(value: number, digits: number): string {
  const [mantissa = '', exponent = '0'] = value.toExponential(digits - 1).split('e');
  const all = mantissa.replace('.', '');
  const places = digits - 1 - Number(exponent);
  if (places <= 0) return all + '0'.repeat(-places);
  const padded = all.padStart(places + 1, '0');
  return `${padded.slice(0, -places)}.${padded.slice(-places)}`;
}
