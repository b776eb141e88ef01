/** Calls at the same time: in all, of one lane, and of all lanes with a share in common (a quarter of all). */
const MAX_IN_FLIGHT = 256;
const MAX_PER_LANE = 16;
const MAX_SHARE = MAX_IN_FLIGHT / 4;
/** Lanes that are remembered, with failures and with their last turns. */
const MAX_KNOWN = 10_000;

/** How calls are divided into lanes. */
export interface LaneRules<Lane> {
  keyOf: (lane: Lane) => string;
  /** What many lanes may have in common, such as a tenant or a host: it has at most a quarter of all places. */
  sharesOf: (lane: Lane) => readonly string[];
  /** After so many silent calls in a row a lane rests; then one call shows whether it answers again. Absent: it never rests. */
  rest?: { failures: number; rest_ms: number };
}

/**
 * What the end of a call says about its lane. `silent`: no answer or none that is usable. `unknown`: nothing. `not_made`:
 * nothing was called, and the next call of the lane would probably not be made either.
 */
export type LaneVerdict = 'answered' | 'silent' | 'unknown' | 'not_made';

interface State {
  in_flight: number;
  failures: number;
  rests_until_ms: number;
}

/**
 * Who may be called now. A lane that does not answer holds a few places for a short time, then none if it rests, so that it
 * never keeps others from being called.
 */
export class Lanes<Lane> {
  readonly #rules: LaneRules<Lane>;
  readonly #states = new Map<string, State>();
  readonly #of_shares = new Map<string, number>();
  #in_flight = 0;
  /** When lanes were given a place, as a number that grows: those that waited longest are first. */
  readonly #served = new Map<string, number>();
  #turns = 0;

  constructor(rules: LaneRules<Lane>) {
    this.#rules = rules;
  }

  /**
   * Places for these lanes, one after the other in turn, until there are no more; at most `most` for each. The lane that
   * was given none for the longest time is first, so lanes that share places with busy ones have their turns too.
   */
  grant<L extends Lane & { most?: number }>(lanes: readonly L[], now_ms: number): (L & { places: number })[] {
    const { keyOf, sharesOf } = this.#rules;
    const used = new Map(this.#of_shares);
    const usedOf = (share: string) => used.get(share) ?? 0;
    let free = MAX_IN_FLIGHT - this.#in_flight;
    const granted = lanes.map((lane) => {
      const key = keyOf(lane);
      const served = this.#served.get(key) ?? 0;
      return { lane, key, served, shares: sharesOf(lane), places: 0, most: this.#freeOf(lane, now_ms) };
    });
    granted.sort((one, other) => one.served - other.served);
    for (let has_given = true; has_given && free > 0;) {
      has_given = false;
      for (const one of granted) {
        if (free === 0 || one.places >= one.most) continue;
        if (one.shares.some((share) => usedOf(share) >= MAX_SHARE)) continue;
        one.places++;
        free--;
        for (const share of one.shares) used.set(share, usedOf(share) + 1);
        this.#serve(one.key);
        has_given = true;
      }
    }
    return granted.filter(({ places }) => places > 0).map(({ lane, places }) => ({ ...lane, places }));
  }

  /** Until when a lane rests; `Infinity`: until its one call ends; undefined: it does not rest. */
  restOf(lane: Lane, now_ms: number): number | undefined {
    const { keyOf, rest } = this.#rules;
    const state = this.#states.get(keyOf(lane));
    if (rest === undefined || state === undefined || state.failures < rest.failures) return undefined;
    if (state.in_flight > 0) return Number.POSITIVE_INFINITY;
    return state.rests_until_ms > now_ms ? state.rests_until_ms : undefined;
  }

  /** A call begins. */
  begin(lane: Lane): void {
    const key = this.#rules.keyOf(lane);
    const state = this.#states.get(key) ?? { in_flight: 0, failures: 0, rests_until_ms: 0 };
    state.in_flight++;
    this.#states.set(key, state);
    this.#count(lane, 1);
  }

  /** A call has ended. */
  end(lane: Lane, verdict: LaneVerdict, now_ms: number): void {
    const { keyOf, rest } = this.#rules;
    const key = keyOf(lane);
    const state = this.#states.get(key);
    if (state === undefined) return;
    state.in_flight--;
    this.#count(lane, -1);
    if (verdict === 'answered') state.failures = 0;
    if (rest !== undefined && verdict === 'silent' && ++state.failures >= rest.failures)
      state.rests_until_ms = now_ms + rest.rest_ms;
    if (state.in_flight === 0 && state.failures === 0) this.#states.delete(key);
    else if (this.#states.size > MAX_KNOWN) this.#forgetOne();
  }

  #serve(key: string): void {
    this.#served.delete(key);
    this.#served.set(key, ++this.#turns);
    if (this.#served.size <= MAX_KNOWN) return;
    const [oldest] = this.#served.keys();
    if (oldest !== undefined) this.#served.delete(oldest);
  }

  #freeOf(lane: Lane & { most?: number }, now_ms: number): number {
    const { keyOf, rest } = this.#rules;
    const state = this.#states.get(keyOf(lane)) ?? { in_flight: 0, failures: 0, rests_until_ms: 0 };
    if (rest !== undefined && state.failures >= rest.failures)
      return state.rests_until_ms > now_ms || state.in_flight > 0 ? 0 : 1;
    return Math.min(MAX_PER_LANE, lane.most ?? MAX_PER_LANE) - state.in_flight;
  }

  #count(lane: Lane, change: 1 | -1): void {
    this.#in_flight += change;
    for (const share of this.#rules.sharesOf(lane)) {
      const count = (this.#of_shares.get(share) ?? 0) + change;
      if (count === 0) this.#of_shares.delete(share);
      else this.#of_shares.set(share, count);
    }
  }

  #forgetOne(): void {
    for (const [key, { in_flight }] of this.#states) {
      if (in_flight === 0) {
        this.#states.delete(key);
        return;
      }
    }
  }
}
