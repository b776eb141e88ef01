import { ApiError } from '../errors.ts';
import { OUT_OF_MEMORY, OUTAGES, StatementTimedOut } from '../platform/clickhouse/port.ts';

/** Statements that may be refused while items are bisected, and the time they may take, before it is given up. */
const MAX_REFUSED = 16;
const MAX_REFUSED_MS = 60_000;

/** A statement about several players needs more time or memory than it may take: it is about too many of them. */
export class TooManyPlayers extends Error {
  override readonly name = 'TooManyPlayers';
}

/** Whether a statement that is about less may succeed where ClickHouse refused this one for its time or memory. */
export function isForItsSize(error: unknown): boolean {
  // Without a cause the text itself was too long, which is by the definitions.
  if (error instanceof ApiError) return error.code === 'SEGMENT_TOO_EXPENSIVE' && error.cause !== undefined;
  return error instanceof Error && (error as { code?: unknown }).code === OUT_OF_MEMORY;
}

/**
 * Why ClickHouse or the compiler refuses this statement, for `last_error`; undefined when the error says nothing about
 * the statement, because ClickHouse cannot be reached, does not answer, or cannot work now.
 */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name === 'PostgresError') return undefined;
  if (error instanceof StatementTimedOut || error.cause instanceof StatementTimedOut) return undefined;
  if (error instanceof ApiError) return error.message;
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string' || !/^\d+$/.test(code) || OUTAGES.has(code)) return undefined;
  if (code === OUT_OF_MEMORY) return 'ClickHouse is short of memory now; it is tried again later';
  return `ClickHouse refuses the statement of this definition with code ${code}; it is tried again later`;
}

/**
 * Calls `run` for all items; when their statement is refused, for each half, so that one item fails alone. `onRefused`
 * gets each item that is refused alone, with the reason. Rejects with errors that are not refusals. It also rejects after 16
 * refusals or a minute of them, but not before the first item was recorded by `onRefused`: so the next attempt is shorter.
 */
export async function bisect<Item>(
  items: readonly Item[],
  run: (part: readonly Item[]) => Promise<void>,
  onRefused: (item: Item, reason: string) => Promise<void>,
): Promise<void> {
  let refused = 0;
  let refused_ms = 0;
  let is_shorter = false;
  const visit = async (part: readonly Item[]): Promise<void> => {
    const [first] = part;
    if (first === undefined) return;
    const started_ms = performance.now();
    try {
      await run(part);
    } catch (error) {
      const reason = refusalOf(error);
      if (reason === undefined) throw error;
      // A statement that is too long was not sent and cost nothing.
      const was_sent = !(error instanceof ApiError) || error.cause !== undefined;
      refused += was_sent ? 1 : 0;
      refused_ms += performance.now() - started_ms;
      if (part.length === 1) {
        await onRefused(first, reason);
        is_shorter = true;
      }
      if (is_shorter && (refused >= MAX_REFUSED || refused_ms > MAX_REFUSED_MS)) throw error;
      if (part.length === 1) return;
      const half = Math.ceil(part.length / 2);
      await visit(part.slice(0, half));
      await visit(part.slice(half));
    }
  };
  await visit(items);
}
