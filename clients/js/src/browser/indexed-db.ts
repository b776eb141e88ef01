import { Queue, type Entry, type Limits } from '../events/queue.ts';
import type { Store } from '../events/sender.ts';

const ENTRIES = 'entries';

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error));
  });
}

/**
 * A store that all pages of an origin share under a name, and that outlives them. Each update is one transaction, so that what
 * one page has begun another can end. `clear` removes everything.
 */
export function indexedDbStore(name: string, limits: Limits): Store & { clear(): Promise<void> } {
  let opened: Promise<IDBDatabase> | undefined;
  const open = async (): Promise<IDBDatabase> => {
    const request = indexedDB.open(name, 1);
    request.addEventListener('upgradeneeded', () =>
      request.result.createObjectStore(ENTRIES, { keyPath: 'seq' }),
    );
    const database = await resultOf(request);
    // Browsers close databases of pages that they have put to sleep.
    database.addEventListener('close', () => (opened = undefined));
    database.addEventListener('versionchange', () => {
      opened = undefined;
      database.close();
    });
    return database;
  };
  const change = async <T>(work: (entries: IDBObjectStore) => Promise<T>): Promise<T> => {
    try {
      const transaction = (await (opened ??= open())).transaction(ENTRIES, 'readwrite');
      const ended = new Promise<void>((resolve, reject) => {
        transaction.addEventListener('complete', () => resolve());
        transaction.addEventListener('abort', () => reject(transaction.error));
      });
      const [result] = await Promise.all([work(transaction.objectStore(ENTRIES)), ended]);
      return result;
    } catch (error) {
      opened = undefined;
      throw error;
    }
  };
  return {
    update: (work) =>
      change(async (entries) => {
        const queue = new Queue((await resultOf(entries.getAll())) as Entry[], limits);
        const result = work(queue);
        for (const { seq } of queue.removed) entries.delete(seq);
        for (const entry of queue.changed) entries.put(entry);
        return result;
      }),
    clear: async () => {
      await change(async (entries) => entries.clear());
    },
  };
}
