/** A value, or a promise of one. Caches return it, so that a cache hit allocates no promise. */
export type Maybe<T> = T | Promise<T>;

/** Returns `use(value)`: synchronously if `value` is not a promise. */
export function andThen<T, U>(value: Maybe<T>, use: (value: T) => Maybe<U>): Maybe<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}
