/** The only source of time. Tests inject their own; domain code takes `now_ms` as a value. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now_ms(): number;
}

export const systemClock: Clock = { now_ms: () => Date.now() };
