import { setTimeout as sleep } from 'node:timers/promises';
import { TooBusy, FairQueue } from '../platform/fair-queue.ts';
import type { Unsent } from './platform.ts';

/** So many calls in a row without a known outcome pause the calls. */
export const CIRCUIT_UNKNOWNS = 20;
/** For so long; then one call shows whether the platform answers again. */
export const CIRCUIT_REST_MS = 30_000;
/** How long a call waits for a place and for its turn. */
const PATIENCE_MS = 1_000;
const MAX_WAITING = 1_000;
/** The window of `max_rps`. */
const SECOND_MS = 1_000;

/** What the calls of a platform may take. */
export interface GateLimits {
  max_in_flight: number;
  max_rps: number;
}

/** Monotonic time in milliseconds. */
export type Monotonic = () => number;

/**
 * Which calls of one platform may be made now, in this process: at most `max_in_flight` at once, at most `max_rps`
 * begun in any second, and none while the circuit is open. Calls wait up to 1 s for a place, in the order in which they
 * came. The calls of one platform never wait for those of another.
 */
export class Gate {
  readonly #now: Monotonic;
  readonly #line = new FairQueue<void>('a call of the platform', {
    max_waiting: MAX_WAITING,
    max_wait_ms: PATIENCE_MS,
  });
  #limits: GateLimits;
  #in_flight = 0;
  /** When calls of the last second began, the oldest first. */
  #begun: number[] = [];
  /** When the calls that wait for their turn are expected to begin, in addition to those that began. */
  #planned: number[] = [];
  /** The end of the wait of the last call that waits for its turn. */
  #turn: Promise<void> = Promise.resolve();
  #unknowns = 0;
  #rests_until_ms = 0;
  #is_trying = false;

  constructor(limits: GateLimits, now: Monotonic = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** The limits from now on. */
  set limits(limits: GateLimits) {
    this.#limits = limits;
    while (this.#in_flight < limits.max_in_flight && this.#line.serve()) this.#in_flight++;
  }

  /** Whether calls pause because their outcomes are unknown. */
  get isOpen(): boolean {
    return this.#unknowns >= CIRCUIT_UNKNOWNS;
  }

  /**
   * Makes the call when it may be made, and says `unsent` otherwise. `isUnknown` says whether nobody knows what the call
   * did; `saysNothing`, whether it never reached the platform, so that it says nothing about the circuit.
   */
  async run<T>(
    call: () => Promise<T>,
    { isUnknown, saysNothing }: { isUnknown: (outcome: T) => boolean; saysNothing: (outcome: T) => boolean },
  ): Promise<T | Unsent> {
    const refused = this.#circuit() ?? (await this.#enter());
    if (refused !== undefined) return refused;
    let is_trial = false;
    try {
      const rests = this.#circuit();
      if (rests !== undefined) return rests;
      const late = await this.#takeTurn();
      if (late !== undefined) return late;
      const rests_now = this.#circuit();
      if (rests_now !== undefined) return rests_now;
      is_trial = this.isOpen;
      if (is_trial) this.#is_trying = true;
      const outcome = await call();
      this.#note(isUnknown(outcome), saysNothing(outcome));
      return outcome;
    } finally {
      if (is_trial) this.#is_trying = false;
      if (this.#in_flight > this.#limits.max_in_flight || !this.#line.serve()) this.#in_flight--;
    }
  }

  #circuit(): Unsent | undefined {
    if (!this.isOpen) return undefined;
    const rest_ms = this.#rests_until_ms - this.#now();
    if (rest_ms <= 0 && !this.#is_trying) return undefined;
    return {
      kind: 'unsent',
      reason: 'circuit',
      message: `${CIRCUIT_UNKNOWNS} calls in a row had no known outcome`,
      retry_after_ms: Math.max(Math.ceil(rest_ms), SECOND_MS),
    };
  }

  async #enter(): Promise<Unsent | undefined> {
    if (this.#in_flight < this.#limits.max_in_flight) {
      this.#in_flight++;
      return undefined;
    }
    try {
      await this.#line.join();
      return undefined;
    } catch (error) {
      if (!(error instanceof TooBusy)) throw error;
      return busy(`${this.#limits.max_in_flight} calls are under way`, SECOND_MS);
    }
  }

  /** Waits until a second holds no more than `max_rps` calls with this one; calls that would wait too long are refused. */
  async #takeTurn(): Promise<Unsent | undefined> {
    const { max_rps } = this.#limits;
    const now_ms = this.#now();
    this.#planned = this.#planned.filter((at_ms) => at_ms > now_ms - SECOND_MS);
    const planned_ms = Math.max(now_ms, (this.#planned.at(-max_rps) ?? -Infinity) + SECOND_MS);
    const wait_ms = planned_ms - now_ms;
    if (wait_ms > PATIENCE_MS) return busy(`${max_rps} calls a second are made`, Math.ceil(wait_ms));
    this.#planned.push(planned_ms);
    // One after the other, because timers are late: what counts is when calls really began.
    const turn = this.#turn.then(() => this.#waitForSecond(max_rps));
    this.#turn = turn;
    await turn;
    return undefined;
  }

  async #waitForSecond(max_rps: number): Promise<void> {
    for (;;) {
      const now_ms = this.#now();
      this.#begun = this.#begun.filter((at_ms) => at_ms > now_ms - SECOND_MS);
      const nth_ms = this.#begun.at(-max_rps);
      if (nth_ms === undefined) {
        this.#begun.push(now_ms);
        return;
      }
      await sleep(Math.ceil(nth_ms + SECOND_MS - now_ms));
    }
  }

  #note(is_unknown: boolean, says_nothing: boolean): void {
    if (says_nothing) return;
    if (!is_unknown) {
      this.#unknowns = 0;
      return;
    }
    this.#unknowns = Math.min(this.#unknowns + 1, CIRCUIT_UNKNOWNS);
    if (this.isOpen) this.#rests_until_ms = this.#now() + CIRCUIT_REST_MS;
  }
}

function busy(message: string, retry_after_ms: number): Unsent {
  return { kind: 'unsent', reason: 'busy', message, retry_after_ms };
}
