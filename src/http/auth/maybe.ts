/** A value, or a promise of one. Caches return it, so that a cache hit allocates no promise. */
export type Maybe<T> = T | Promise<T>;

/** Returns `use(value)`: synchronously if `value` is not a promise. */
export function andThen<T, U>(value: Maybe<T>, use: (value: T) => Maybe<U>): Maybe<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/**
 * Calls `done` when the work of a hook is done: without a promise if the work has none. An error that it throws or rejects
 * with is passed to `done`.
 */
export function whenDone(work: () => Maybe<unknown>, done: (error?: Error) => void): void {
  let working: Maybe<unknown>;
  try {
    working = work();
  } catch (error) {
    done(error as Error);
    return;
  }
  if (working instanceof Promise) working.then(() => done(), done);
  else done();
}

/** Calls `fail` with the error that the value rejects with, if it is a promise. What `fail` returns is not awaited. */
export function onRejection(value: Maybe<unknown>, fail: (error: unknown) => unknown): void {
  if (value instanceof Promise) value.catch((error: unknown) => void fail(error));
}
