/** A value that is there now, or will be: what caches answer, so that a hit costs no promise. */
export type Maybe<T> = T | Promise<T>;

/** `use(value)`, at once if the value is there now. */
export function andThen<T, U>(value: Maybe<T>, use: (value: T) => Maybe<U>): Maybe<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}
