/** One answer of the service to a request. Status 0: there was none. */
export interface Answer {
  status: number;
  /** The Retry-After header. */
  retry_after?: string | null;
  /** The Date header. */
  date?: string | null;
  body?: string;
}

/** An event that the service refused. `index` is its place in the batch. */
export interface RejectedRow {
  index: number;
  code: string;
  reason: string;
}

/** What an answer means for the batch. */
export type Verdict =
  /** It is there, but for the rejected events. */
  | { kind: 'done'; rejected: readonly RejectedRow[] }
  /** None of it is accepted, and none will be. */
  | { kind: 'refused'; code: string }
  | { kind: 'split' }
  /** The key is refused: nothing is sent any more. */
  | { kind: 'stop'; code: string }
  /** Send it again: after that time, or after a back-off. `is_counted`: the back-off grows. */
  | { kind: 'retry'; after_ms: number | undefined; is_counted: boolean };

/** Of these statuses the same request may succeed later, as of 5xx; other ones below 500 are final. */
const TEMPORARY = new Set([0, 408, 410, 429, 460]);
const FINAL = new Set([501, 505, 511]);
const LONGEST_ASKED_S = 300;
const FIRST_MS = 500;
const LONGEST_MS = 60_000;

/** What an answer to a request means; `kind` is that of its entries. */
export function verdictOf({ status, retry_after, body }: Answer, kind: 'event' | 'identify'): Verdict {
  const said = parsed(body);
  if (status >= 200 && status < 300) {
    const rejected = kind === 'identify' ? ignoredOf(said) : said?.data?.rejected;
    // Anything else is a page of a proxy, or was cut: it is sent again, which is harmless.
    if (said?.data !== undefined && Array.isArray(rejected)) return { kind: 'done', rejected };
    return { kind: 'retry', after_ms: undefined, is_counted: true };
  }
  const code = said?.error?.code ?? `HTTP_${status}`;
  if (status === 401) return { kind: 'stop', code };
  if (status === 413) return { kind: 'split' };
  // A redirection is never from the service.
  const is_temporary = TEMPORARY.has(status) || (status >= 300 && status < 400) || status >= 500;
  if (!is_temporary || FINAL.has(status)) return { kind: 'refused', code };
  const after_s = status === 429 || status === 503 ? Number(retry_after ?? 0) : 0;
  if (!(after_s > 0)) return { kind: 'retry', after_ms: undefined, is_counted: true };
  return { kind: 'retry', after_ms: Math.min(after_s, LONGEST_ASKED_S) * 1000, is_counted: status !== 429 };
}

/** The pause before an attempt after so many failures: anything up to 0.5 s, 1 s, 2 s … 60 s. `random` is below 1. */
export function backOffMs(failures: number, random: number): number {
  return random * Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
}

/** What was left out of an identify call without the right `user_hash`. */
function ignoredOf(said: Said | undefined): RejectedRow[] {
  const ignored = said?.data?.ignored;
  return ignored?.length ? [{ index: 0, code: 'IGNORED', reason: ignored.join(', ') }] : [];
}

interface Said {
  data?: { rejected?: RejectedRow[]; ignored?: string[] };
  error?: { code?: string };
}

function parsed(body: string | undefined): Said | undefined {
  try {
    return JSON.parse(body ?? '') as Said | undefined;
  } catch {
    return undefined;
  }
}
