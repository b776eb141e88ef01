import type { Clock } from '../clock.ts';
import type { Turned } from '../poll-loop.ts';
import { Lanes, type LaneRules, type LaneVerdict } from './lanes.ts';

/** Lanes that one look finds; further ones have their turn at the next look. */
const MAX_LANES = 1_000;
/** The longest rest between two looks. */
const MAX_REST_MS = 30_000;

/** A lane in which something waits. */
export type Waiting<Lane> = Lane & {
  /** When the first of it is due. */
  next_at: Date;
  /** Nothing of it may be called now. */
  is_paused?: boolean;
  /** How many calls of the lane may be made at once, at most. Absent: as many as of each lane. */
  most?: number;
};

/** Calls to other systems that wait in a table of Postgres. */
export interface CallWork<Lane, Call extends Lane> extends LaneRules<Lane> {
  /** Up to `limit` lanes in which something waits, in the order of their keys after `after`. */
  find: (after: Lane | undefined, limit: number) => Promise<Waiting<Lane>[]>;
  /**
   * Claims what is due: of each lane as many calls as it has places. A claim raises the number of attempts and lets the
   * call come due again once it counts as lost. So a process that dies leaves nothing to clean up, and a result counts only
   * if no other attempt was claimed since. Those that are yielded begin at once.
   */
  claim: (lanes: (Lane & { places: number })[], now: Date, stop?: AbortSignal) => AsyncIterable<Call[]>;
  /** Makes a claimed call and writes what it has led to. Must not reject. */
  call: (call: Call) => Promise<LaneVerdict>;
}

/**
 * Makes the calls that are due, in lanes that share 256 places ({@link Lanes}). Several processes may do so for one table:
 * each attempt belongs to one of them. No transaction is open while a call is made.
 */
export class CallQueue<Lane, Call extends Lane> {
  readonly #work: CallWork<Lane, Call>;
  readonly #clock: Clock;
  readonly #lanes: Lanes<Lane>;
  readonly #calls = new Set<Promise<void>>();
  #after: Lane | undefined;
  /** At the last look a lane was due and had no place. */
  #is_crowded = false;
  /** The last look has asked for a rest. */
  #is_at_rest = false;
  /** A call has ended since the last look began, which may not have seen when it is due again. */
  #has_ended = false;
  readonly #onFree: () => void;

  /** `onFree` is called when a place is free for which a call may be waiting, and when a call ends during a rest. */
  constructor(clock: Clock, work: CallWork<Lane, Call>, onFree: () => void = () => undefined) {
    this.#clock = clock;
    this.#work = work;
    this.#onFree = onFree;
    this.#lanes = new Lanes(work);
  }

  /**
   * Begins the calls that are due and have a place; true when there may be more to begin at once. While all lanes that are
   * due rest, so does the queue: until the first of them, or a call of another lane, may begin. Who adds calls wakes it.
   */
  async turn(stop?: AbortSignal): Promise<Turned> {
    this.#is_at_rest = false;
    this.#has_ended = false;
    const found = await this.#work.find(this.#after, MAX_LANES);
    const has_more = found.length === MAX_LANES;
    this.#after = has_more ? found.at(-1) : undefined;
    const now = new Date(this.#clock.now_ms());
    const due = found.filter(({ next_at, is_paused = false }) => next_at <= now && !is_paused);
    const granted = this.#lanes.grant(due, now.getTime());
    this.#is_crowded = granted.length < due.length;
    const isStopped = () => stop?.aborted === true;
    if (granted.length === 0 && !has_more) return this.#restOf(found, now.getTime());
    if (granted.length === 0 || isStopped()) return has_more;
    let has_begun = false;
    for await (const claimed of this.#work.claim(granted, now, stop)) {
      for (const call of claimed) this.#begin(call);
      has_begun ||= claimed.length > 0;
      if (isStopped()) break;
    }
    return has_begun || has_more;
  }

  /** False: a lane that is due does not rest, none is due, or it is not known when all others are. */
  #restOf(found: readonly Waiting<Lane>[], now_ms: number): Turned {
    if (this.#has_ended) return false;
    let until_ms = now_ms + MAX_REST_MS;
    let has_resting = false;
    for (const lane of found) {
      const due_ms = lane.next_at.getTime();
      const rests_until_ms = due_ms <= now_ms ? this.#lanes.restOf(lane, now_ms) : due_ms;
      if (rests_until_ms === undefined) return false;
      has_resting ||= due_ms <= now_ms;
      until_ms = Math.min(until_ms, rests_until_ms);
    }
    this.#is_at_rest = has_resting;
    return has_resting && { rest_ms: until_ms - now_ms };
  }

  /** Resolves when all calls have ended and what they have led to is written. */
  async close(): Promise<void> {
    await Promise.all(this.#calls);
  }

  #begin(call: Call): void {
    this.#lanes.begin(call);
    const ended = this.#work.call(call).then((verdict) => {
      this.#lanes.end(call, verdict, this.#clock.now_ms());
      this.#calls.delete(ended);
      this.#has_ended = true;
      if (this.#is_at_rest || (this.#is_crowded && verdict !== 'not_made')) this.#onFree();
    });
    this.#calls.add(ended);
  }
}
