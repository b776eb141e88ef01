/**
 * Every error that the service answers with (spec part 7): its status, and when it occurs. The OpenAPI document and the
 * table of docs/errors.md are derived from it; a test compares them.
 */
export const ERRORS = {
  BODY_MALFORMED: { status: 400, when: 'the body is not valid JSON of the documented shape' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    when: 'the Content-Type is not application/json, or the Content-Encoding is not supported there',
  },
  REQUEST_TIMEOUT: { status: 408, when: 'the request did not arrive completely within 30 s' },
  UNAUTHORIZED: { status: 401, when: 'the credential is missing, malformed, expired or revoked' },
  FORBIDDEN: {
    status: 403,
    when: 'the credential is valid but may not do this; with 401, the signature of a webhook is wrong',
  },
  KEY_KIND_FORBIDDEN: {
    status: 403,
    when: 'the API key is a client key, which may not send this event or call this endpoint',
  },
  NOT_FOUND: { status: 404, when: 'no such path or resource' },
  PLAYER_NOT_FOUND: { status: 404, when: 'the player does not exist in this project' },
  API_KEY_NOT_FOUND: { status: 404, when: 'the API key does not exist in this project' },
  PROJECT_NOT_FOUND: { status: 404, when: 'the project does not exist in this tenant' },
  SEGMENT_NOT_FOUND: { status: 404, when: 'the segment does not exist in this project' },
  TEMPLATE_NOT_FOUND: { status: 404, when: 'the template does not exist in this project' },
  PROVIDER_NOT_FOUND: { status: 404, when: 'the messaging provider does not exist in this tenant' },
  CAMPAIGN_NOT_FOUND: { status: 404, when: 'the campaign does not exist in this project' },
  VARIANT_NOT_FOUND: { status: 404, when: 'the variant does not exist in this campaign' },
  JOURNEY_NOT_FOUND: { status: 404, when: 'the journey does not exist in this project' },
  JOURNEY_RUN_NOT_FOUND: { status: 404, when: 'the journey has no run of this id' },
  JOURNEY_VERSION_NOT_FOUND: { status: 404, when: 'the journey has no version of this number' },
  BONUS_TEMPLATE_NOT_FOUND: { status: 404, when: 'the bonus template does not exist in this project' },
  ADAPTER_NOT_FOUND: { status: 404, when: 'the adapter does not exist in this project' },
  VIP_TIER_NOT_FOUND: { status: 404, when: 'the VIP tier does not exist in this tenant' },
  TENANT_NOT_FOUND: { status: 404, when: 'the tenant does not exist' },
  CURRENCY_NOT_FOUND: { status: 404, when: "the tenant's catalogue has no currency of this code" },
  FX_RATE_NOT_FOUND: { status: 404, when: 'no rate between the two currencies is known' },
  BONUS_GRANT_NOT_FOUND: { status: 404, when: 'the bonus grant does not exist in this project' },
  BONUS_CAMPAIGN_NOT_FOUND: { status: 404, when: 'the bonus campaign does not exist in this project' },
  INSIGHT_NOT_FOUND: { status: 404, when: 'the insight does not exist in this project' },
  DASHBOARD_NOT_FOUND: { status: 404, when: 'the dashboard does not exist in this project' },
  ALERT_NOT_FOUND: { status: 404, when: 'the alert does not exist in this project' },
  REPORT_NOT_FOUND: { status: 404, when: 'the report does not exist in this project' },
  EXPORT_NOT_FOUND: { status: 404, when: 'the export does not exist in this project, or its time is over' },
  EVENT_NOT_FOUND: { status: 404, when: 'no event of this project has this ingestion_id and index' },
  METHOD_NOT_ALLOWED: { status: 405, when: 'the path exists, but not for this method' },
  CONFLICT: { status: 409, when: 'the change collides with another record' },
  CAMPAIGN_INVALID_STATUS: { status: 409, when: 'the campaign is in a status that does not allow this' },
  JOURNEY_INVALID_STATUS: { status: 409, when: 'the journey is in a status that does not allow this' },
  JOURNEY_RUN_INVALID_STATUS: { status: 409, when: 'the run has ended, so it cannot be cancelled' },
  KYC_INVALID_STATUS: {
    status: 409,
    when: "the player's KYC is in a status that does not allow this decision",
  },
  BONUS_GRANT_LIMIT_REACHED: {
    status: 409,
    when: 'the player has as many grants of the template, or of its exclusion group, as are allowed',
  },
  BONUS_BUDGET_EXCEEDED: { status: 409, when: "the rest of the template's budget is smaller than the bonus" },
  BONUS_PAUSED: { status: 409, when: 'the tenant has paused its bonuses (config.bonuses.paused)' },
  BONUS_GRANT_INVALID_STATUS: { status: 409, when: 'the grant has ended, so it cannot be cancelled' },
  BONUS_CAMPAIGN_INVALID_STATUS: {
    status: 409,
    when: 'the bonus campaign is in a status that does not allow this',
  },
  ADAPTER_SLUG_TAKEN: { status: 409, when: 'another adapter of the installation has this slug' },
  ADAPTER_ALREADY_ACTIVE: { status: 409, when: 'another adapter of the project is active' },
  VIP_TIER_CODE_TAKEN: { status: 409, when: 'another VIP tier of the tenant has this code' },
  VIP_TIER_RANK_TAKEN: { status: 409, when: 'another active VIP tier of the tenant has this rank' },
  VIP_TIER_INACTIVE: { status: 409, when: 'the VIP tier is not active, so no player can be put into it' },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    when: 'a request with this Idempotency-Key is being worked on; see Retry-After',
  },
  PRECONDITION_FAILED: {
    status: 412,
    when: 'the record was changed after the version in If-Match; details have the present version',
  },
  PAYLOAD_TOO_LARGE: { status: 413, when: 'the body, inflated if it is compressed, is over the size limit' },
  HEADERS_TOO_LARGE: { status: 431, when: 'the request line and the headers are over the size limit' },
  IDENTITY_REQUIRED: { status: 422, when: 'an event carries neither anonymous_id nor player_id' },
  PROPERTIES_INVALID: { status: 422, when: "an event's name or properties fail their schema" },
  VALIDATION_ERROR: { status: 422, when: 'a parameter or field has a value that is not valid' },
  FIELD_NOT_WRITABLE: { status: 422, when: 'a computed or read-only field was set by the caller' },
  SEGMENT_DEFINITION_INVALID: {
    status: 422,
    when: 'a segment definition is not valid; details name each node',
  },
  SEGMENT_TOO_EXPENSIVE: {
    status: 422,
    when: 'a segment needs more time or memory than one query may use',
  },
  INSIGHT_NOT_A_SEGMENT: {
    status: 422,
    when: 'no definition of a segment says which players a figure has; details have the path of what it cannot say',
  },
  INSIGHT_TOO_EXPENSIVE: {
    status: 422,
    when: 'a query would read more rows than one may; details have rows, limit and a hint',
  },
  JOURNEY_GRAPH_INVALID: {
    status: 422,
    when: 'a journey is not valid; details name each fault of its trigger, graph and settings',
  },
  TEMPLATE_INVALID: {
    status: 422,
    when: 'the template is not valid Liquid; details name the field, line and column',
  },
  TEMPLATE_NOT_ACTIVE: { status: 422, when: 'the template does not have the status active' },
  PROVIDER_NOT_CONFIGURED: { status: 422, when: 'no active messaging provider serves the channel' },
  BONUS_TEMPLATE_NOT_ACTIVE: { status: 422, when: 'the bonus template is paused' },
  BONUS_DEPOSIT_AMOUNT_REQUIRED: {
    status: 422,
    when: 'a bonus on a deposit needs the amount of the deposit',
  },
  BONUS_PLAYER_NOT_ELIGIBLE: {
    status: 422,
    when: 'the player may not have the bonus; details.reason says why',
  },
  BONUS_CONFIG_INVALID: {
    status: 422,
    when: 'the config of a bonus does not match its type; details name each fault',
  },
  LICENCE_RULE_VIOLATED: {
    status: 422,
    when: 'a rule of the licence forbids this; details.rule_id names the rule',
  },
  IDEMPOTENCY_KEY_REUSED: { status: 422, when: 'this Idempotency-Key was used for another request' },
  RATE_LIMITED: { status: 429, when: 'the rate limit is exceeded; see Retry-After' },
  INTERNAL_ERROR: { status: 500, when: 'a fault of the service; the log has the cause under the request id' },
  ADAPTER_REJECTED: {
    status: 502,
    when: 'the casino platform refused; details have its code as platform_code',
  },
  ADAPTER_UNAVAILABLE: {
    status: 503,
    when: 'the casino platform gave no clear answer; a call that can be repeated is queued',
  },
  INGESTION_UNAVAILABLE: { status: 503, when: 'the event log takes no writes now; see Retry-After' },
  SERVICE_UNAVAILABLE: {
    status: 503,
    when: 'a storage engine does not answer now, or the service is overloaded; see Retry-After',
  },
} as const satisfies Record<string, { status: number; when: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** One invalid input: `path` is a dotted path into the body or query; `message` describes the allowed values. */
export interface Issue {
  path: string;
  message: string;
}

export interface ErrorDetails {
  issues?: Issue[];
  [key: string]: unknown;
}

interface ApiErrorOptions {
  cause?: unknown;
  details?: ErrorDetails;
  /** Seconds for the `Retry-After` header. */
  retry_after_s?: number;
  /** For a code with several statuses; absent: the status in {@link ERRORS}. */
  status?: number;
}

/** An error with a code of {@link ERRORS}; the error handler turns it into the error envelope of spec part 1. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: ErrorDetails | undefined;
  readonly retry_after_s: number | undefined;

  /** `message` is shown to the caller: it must help the caller and never contain a secret. */
  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = options.status ?? ERRORS[code].status;
    this.details = options.details;
    this.retry_after_s = options.retry_after_s;
  }
}

/** The status of FORBIDDEN when a signature is bad; 403 when a permission is missing (spec part 7). */
export const SIGNATURE_STATUS = 401;

/** 401 FORBIDDEN: a webhook's signature is bad or too old. The answer does not tell the two apart. */
export function signatureRefused(): ApiError {
  const message =
    'the signature is missing, wrong or out of its time: check the secret, the URL and the clock';
  return new ApiError('FORBIDDEN', message, { status: SIGNATURE_STATUS });
}

/** 422 VALIDATION_ERROR with `details.issues`. */
export function validationError(issues: Issue[]): ApiError {
  const first = issues[0];
  const message = first === undefined ? 'invalid input' : `${first.path || 'body'}: ${first.message}`;
  return new ApiError('VALIDATION_ERROR', message, { details: { issues } });
}
