/** A value that is there now, or will be: what caches answer, so that a hit costs no promise. */
export type Maybe<T> = T | Promise<T>;

/** `next(value)`, at once if the value is there now. */
export function andThen<T, U>(value: Maybe<T>, next: (value: T) => Maybe<U>): Maybe<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
