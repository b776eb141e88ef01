/** One field or node that the service refused, and why. */
export interface Issue {
  path: string;
  message: string;
}

/** Codes of failures that are not answers of the service: no answer, none in time, or one that cannot be read. */
export type TransportCode = 'UNREACHABLE' | 'TIMED_OUT' | 'ANSWER_UNREADABLE';

interface Rest {
  status: number;
  details?: Readonly<Record<string, unknown>> | undefined;
  request_id?: string | undefined;
  retry_after_s?: number | undefined;
  cause?: unknown;
}

/** What should be the id of a record can be no part of a path: it is empty, `.` or `..`. Nothing was asked. */
export class InvalidIdError extends TypeError {
  override readonly name = 'InvalidIdError';
}

/** A call that did not succeed: an error answer of the service, or a failure on the way (see {@link TransportCode}). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** A code of the service's error table (`ErrorCode`), or a {@link TransportCode}. */
  readonly code: string;
  /** The HTTP status; 0: no answer was received. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;
  /** Names the request in the log of the service. */
  readonly request_id: string | undefined;
  /** How long to wait before trying again, in seconds, where the service says it. */
  readonly retry_after_s: number | undefined;

  constructor(code: string, message: string, rest: Rest) {
    super(message, rest.cause === undefined ? {} : { cause: rest.cause });
    this.code = code;
    this.status = rest.status;
    this.details = rest.details ?? {};
    this.request_id = rest.request_id;
    this.retry_after_s = rest.retry_after_s;
  }

  /** The fields that the service names; empty when it names none. */
  get issues(): readonly Issue[] {
    const { issues } = this.details;
    return Array.isArray(issues) ? (issues as Issue[]) : [];
  }

  /** Whether the same request may succeed later. Changes are safe to repeat only with an Idempotency-Key. */
  get is_temporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}
