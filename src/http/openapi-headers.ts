import type { DocumentedEndpoint } from './endpoint.ts';

type Json = Record<string, unknown>;

const seconds = { type: 'integer', minimum: 1 };
const count = { type: 'integer', minimum: 0 };

const REQUEST_ID: Json = {
  'X-Request-Id': {
    required: true,
    description: 'Names this request in the log of the service',
    schema: { type: 'string', format: 'uuid' },
  },
};

const REPLAYED: Json = {
  'Idempotent-Replayed': {
    description: '`true` when this is the answer to an earlier request with the same Idempotency-Key',
    schema: { type: 'string', const: 'true' },
  },
};

const VERSION: Json = {
  ETag: {
    description: 'The version of the record: send it as If-Match with a PATCH',
    schema: { type: 'string' },
  },
};

const rateLimit = (required: boolean): Json => ({
  'X-RateLimit-Limit': { required, description: 'Requests at once', schema: seconds },
  'X-RateLimit-Remaining': { required, description: 'Requests left now', schema: count },
  'X-RateLimit-Reset': { required, description: 'Seconds until all are there again', schema: count },
});

const retryAfter = (required: boolean): Json => ({
  'Retry-After': { required, description: 'Seconds to wait before trying again', schema: seconds },
});

const OF_STATUS: Readonly<Record<number, Json>> = {
  401: { 'WWW-Authenticate': { required: true, schema: { type: 'string', const: 'Bearer' } } },
  // Not required: of the conflicts, only IDEMPOTENCY_IN_PROGRESS ends by itself.
  409: retryAfter(false),
  429: retryAfter(true),
  503: retryAfter(true),
};

/** The headers of a success. The ingestion host sends no request id with accepted events: ingestion_id names them. */
export function successHeaders({ server, idempotent, versioned }: DocumentedEndpoint): Json {
  return {
    ...(server === 'ingestion' ? rateLimit(true) : REQUEST_ID),
    ...(idempotent === true ? REPLAYED : {}),
    ...(versioned === true ? VERSION : {}),
  };
}

/**
 * The headers of an error. A request that is refused because its address sends unknown API keys has no rate limit to
 * report. A request whose headers are too large is refused before it gets a request id.
 */
export function errorHeaders(status: number, { server }: DocumentedEndpoint): Json {
  if (status === 431) return {};
  return {
    ...REQUEST_ID,
    ...OF_STATUS[status],
    ...(server === 'ingestion' && status === 429 ? rateLimit(false) : {}),
  };
}
