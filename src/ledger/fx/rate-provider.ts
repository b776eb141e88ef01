import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'lossless-json';
import type { Clock } from '../../platform/clock.ts';
import { readRetryAfter } from '../../platform/retry-after.ts';
import { trimEnd } from '../../platform/trim-end.ts';

/** A rate as a provider publishes it: 1 whole unit of `base` = `rate` whole units of `quote`. */
export interface PublishedRate extends Pair {
  /** Plain decimal digits, as published. */
  rate: string;
  ts: Date;
  source: string;
}

/** 1 whole unit of `base` in whole units of `quote`. */
export interface Pair {
  base: string;
  quote: string;
}

/** Days of a history, both included, as `YYYY-MM-DD` in UTC. */
export interface Days {
  from: string;
  to: string;
}

/** The answer of a provider. */
export interface Published {
  rates: PublishedRate[];
  /** The requested pairs that it does not have. */
  missing: Pair[];
  /** Parts of the answer that are invalid; the rates of the other parts are usable. */
  broken?: { provider: string; message: string }[];
}

export interface ProviderDeps {
  clock: Clock;
  /** Time-out of one attempt, until the whole body is read. */
  timeout_ms: number;
  pause: (ms: number, stop: AbortSignal | undefined) => Promise<unknown>;
}

export const PROVIDER_DEFAULTS: Omit<ProviderDeps, 'clock'> = {
  timeout_ms: 10_000,
  pause: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
};

/** The pauses before the second and the third attempt. */
const PAUSES_MS = [500, 2_000] as const;
/** A provider that sends a longer Retry-After is not tried again: the caller has to fetch later. */
const MAX_RETRY_AFTER_MS = 30_000;
/** These refuse the content of a request; 401 and 403, which refuse the caller, are not among them. */
const UNKNOWN_STATUSES = new Set([400, 404, 410, 422]);
const MAX_BODY_BYTES = 1024 * 1024;
const HEADERS = { accept: 'application/json', 'user-agent': 'player-engagement-service' };

/** A provider gave no usable answer; `message` names the provider, the URL and the failure. */
export class ProviderFailed extends Error {
  override readonly name = 'ProviderFailed';
  readonly code = 'FX_PROVIDER_FAILED';
  readonly provider: string;
  /** The provider did not answer, or answered 429 or 5xx: other requests to it would fail too. */
  readonly is_down: boolean;
  /** Its Retry-After; 0 when it sent none. */
  readonly retry_after_ms: number;
  /** The provider answered, and does not have what was requested. */
  readonly is_unknown: boolean;

  constructor(
    provider: string,
    message: string,
    options: { is_down: boolean; retry_after_ms?: number; is_unknown?: boolean; cause?: unknown },
  ) {
    super(`${provider}: ${message}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.provider = provider;
    this.is_down = options.is_down;
    this.retry_after_ms = options.retry_after_ms ?? 0;
    this.is_unknown = options.is_unknown ?? false;
  }
}

/** An attempt that failed. `is_passing`: a retry may succeed. `retry_after_ms` is undefined without Retry-After. */
class AttemptFailed extends Error {
  readonly is_passing: boolean;
  readonly retry_after_ms: number | undefined;
  readonly status: number | undefined;

  constructor(
    message: string,
    is_passing: boolean,
    options: { cause?: unknown; retry_after_ms?: number | undefined; status?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.is_passing = is_passing;
    this.retry_after_ms = options.retry_after_ms;
    this.status = options.status;
  }
}

/** The URL of `path` below a provider's URL. Each parameter is a list. */
export function addressBelow(
  provider_url: string,
  path: string,
  parameters: Readonly<Record<string, readonly string[]>>,
): string {
  const url = new URL(provider_url);
  url.pathname = trimEnd(url.pathname, '/') + path;
  // The commas between values are not percent-encoded: providers read them as separators.
  const query = Object.entries(parameters).map(
    ([name, values]) => `${name}=${values.map(encodeURIComponent).join(',')}`,
  );
  url.search = query.join('&');
  return url.href;
}

/**
 * Gets JSON in which every number is a `LosslessNumber`, which keeps the digits as sent. Makes up to three attempts
 * when a retry may succeed; does not follow redirects. Rejects with {@link ProviderFailed}, or with the reason of
 * `stop`.
 */
export async function askProvider(
  provider: string,
  url: string,
  deps: ProviderDeps,
  stop: AbortSignal | undefined,
): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    stop?.throwIfAborted();
    let failure: AttemptFailed;
    try {
      return await attemptOnce(url, deps, stop);
    } catch (error) {
      stop?.throwIfAborted();
      if (!(error instanceof AttemptFailed)) throw error;
      failure = error;
    }
    const { is_passing, retry_after_ms = 0 } = failure;
    const pause_ms = PAUSES_MS[attempt - 1];
    if (!is_passing || pause_ms === undefined || retry_after_ms > MAX_RETRY_AFTER_MS) {
      const message = `GET ${url} ${failure.message}, attempt ${attempt}`;
      const is_unknown = UNKNOWN_STATUSES.has(failure.status ?? 0);
      const options = { is_down: is_passing, retry_after_ms, is_unknown, cause: failure.cause };
      throw new ProviderFailed(provider, message, options);
    }
    await deps.pause(Math.max(pause_ms, retry_after_ms), stop);
  }
}

async function attemptOnce(url: string, deps: ProviderDeps, stop: AbortSignal | undefined): Promise<unknown> {
  const timeout = AbortSignal.timeout(deps.timeout_ms);
  const signal = stop === undefined ? timeout : AbortSignal.any([stop, timeout]);
  let bytes: Buffer;
  try {
    const response = await fetch(url, { headers: HEADERS, redirect: 'manual', signal });
    if (!response.ok) {
      await response.body?.cancel();
      throw refusal(response, deps.clock);
    }
    bytes = await readBody(response);
  } catch (error) {
    if (error instanceof AttemptFailed) throw error;
    if (timeout.aborted) throw new AttemptFailed(`took over ${deps.timeout_ms} ms`, true);
    throw new AttemptFailed('got no answer', true, { cause: error });
  }
  try {
    return parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new AttemptFailed('was not answered with JSON', false, { cause: error });
  }
}

function refusal({ status, headers }: Response, clock: Clock): AttemptFailed {
  const is_passing = status === 429 || status >= 500;
  const retry_after_ms = readRetryAfter(headers.get('retry-after'), clock.now_ms()) ?? undefined;
  const patience =
    retry_after_ms === undefined ? '' : ` (try again in ${Math.ceil(retry_after_ms / 1000)} s)`;
  return new AttemptFailed(`was answered with ${status}${patience}`, is_passing, { retry_after_ms, status });
}

async function readBody(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the body, which closes the connection.
    if (bytes > MAX_BODY_BYTES)
      throw new AttemptFailed(`was answered with over ${MAX_BODY_BYTES} bytes`, false);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
