import type { Page } from './call.ts';
import { ApiError } from './errors.ts';

/**
 * The items of every page of a list, one page read ahead of none: the next is asked for when the last item of one was taken.
 *
 *     for await (const segment of each((page) => client.segments.list({ ...page, limit: 200 }))) …
 */
export async function* each<T>(
  read: (page: { cursor?: string }) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | undefined;
  for (;;) {
    const { data, next_cursor } = await read(cursor === undefined ? {} : { cursor });
    yield* data;
    if (next_cursor === null) return;
    // Without this a list that repeats its cursor would never end.
    if (next_cursor === cursor) {
      throw new ApiError('ANSWER_UNREADABLE', 'the list gave the same cursor again', { status: 200 });
    }
    cursor = next_cursor;
  }
}

/** A fresh Idempotency-Key. Make one per action, not per attempt: attempts with the same key act once. */
export function actionKey(): string {
  return crypto.randomUUID();
}
