import { LRUCache } from 'lru-cache';

interface Options<K, V> {
  max: number;
  ttl?: number;
  /** The time in milliseconds by which `ttl` is measured; absent: that of the process. */
  perf?: { now: () => number };
  /** For so many milliseconds of the process the time is not asked again. */
  ttlResolution?: number;
  noUpdateTTL?: boolean;
  dispose?: LRUCache.Disposer<K, V>;
}

/**
 * Keeps the `max` entries that were used last, and grows with them. The library itself allocates for `max` entries at once,
 * which takes a tenth of the start time of the service.
 */
export class BoundedCache<K extends {}, V extends {}> extends LRUCache<K, V> {
  constructor({ max, ...options }: Options<K, V>) {
    super({ maxSize: max, sizeCalculation: () => 1, ...options });
  }
}
