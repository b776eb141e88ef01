/** A text that is kept. */
export interface Kept {
  read(): string | undefined;
  /** Undefined removes it. */
  write(text: string | undefined): void;
}

/** A clock that is at most so wrong is not corrected: answers say the time in seconds, and take a while. */
const TOLERATED_MS = 60_000;
/** An answer that took longer may have waited while the device slept. */
const SLOW_MS = 10_000;

/** The time of the service, as far as it is known, in milliseconds. */
export interface Clock {
  now_ms(): number;
  /** Takes the Date header of an answer to a request that was sent at that time of the device. */
  learn(date: string | null | undefined, sent_ms: number): void;
}

/** Corrects the clock of a device by what `kept` has, which outlives the page: the next one is right from its first event. */
export function clockOf(device_ms: () => number, kept: Kept): Clock {
  const known_ms = () => Number(kept.read()) || 0;
  return {
    now_ms: () => device_ms() + known_ms(),
    learn: (date, sent_ms) => {
      const now_ms = device_ms();
      const behind_ms = Date.parse(date ?? '') - now_ms;
      if (now_ms - sent_ms > SLOW_MS || !(Math.abs(behind_ms - known_ms()) > TOLERATED_MS)) return;
      kept.write(Math.abs(behind_ms) > TOLERATED_MS ? String(behind_ms) : undefined);
    },
  };
}
