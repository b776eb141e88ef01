import { Queue, type Limits } from './queue.ts';
import type { Store } from './sender.ts';

/** A store that ends with the program. */
export function memoryStore(limits: Limits): Store {
  const queue = new Queue([], limits);
  return {
    update: async (work) => {
      const result = work(queue);
      queue.changed.clear();
      queue.removed.clear();
      return result;
    },
  };
}
