/** One field or node that the API refused, and why. */
export interface Issue {
  path: string;
  message: string;
}

/** An answer of the API that is not a success, or none at all. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  /** 0: no answer was received. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;
  readonly request_id: string | undefined;
  readonly retry_after_s: number | undefined;

  constructor(
    code: string,
    message: string,
    rest: {
      status: number;
      details?: Readonly<Record<string, unknown>> | undefined;
      request_id?: string | undefined;
      retry_after_s?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: rest.cause });
    this.code = code;
    this.status = rest.status;
    this.details = rest.details ?? {};
    this.request_id = rest.request_id;
    this.retry_after_s = rest.retry_after_s;
  }

  /** The fields that the API names, if it names any. */
  get issues(): readonly Issue[] {
    const { issues } = this.details;
    return Array.isArray(issues) ? (issues as Issue[]) : [];
  }

  /** Whether the same request may succeed later. */
  get is_temporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}
