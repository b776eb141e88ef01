import type { Capabilities, PlatformStatus } from './protocol.ts';

/** The slug of the platform of a project without adapters; no adapter can have it. */
export const SANDBOX_SLUG = 'sandbox';

/**
 * The call was not made, or the platform certainly did nothing with it, and it may be made again. `credentials`: the
 * platform does not accept our signature or token. `busy`: it said 408, 425 or 429, or `max_rps` and `max_in_flight` leave no room.
 * `unreachable`: no connection, TLS or DNS. `circuit`: 20 calls in a row had no known outcome, so calls pause.
 */
export interface Unsent {
  kind: 'unsent';
  reason: 'credentials' | 'busy' | 'unreachable' | 'circuit';
  /** For `last_error`; it quotes no secret and no address. */
  message: string;
  /** When to try again at the earliest. */
  retry_after_ms?: number;
  /** For `unreachable`: nothing came back within the time for a connection, so that each such call takes as long. */
  is_time_out?: true;
}

/** It may have been done, or not: ask for the status before the call is made again with the same key. */
export interface Unknown {
  kind: 'unknown';
  message: string;
}

/** The platform refused: nothing was done, and nothing will be. `code` is the platform's, or `HTTP_<status>`. */
export interface Refused {
  kind: 'refused';
  code: string;
  message: string;
}

/** The answer to a call that the adapter does not declare. */
export const UNSUPPORTED: Refused = {
  kind: 'refused',
  code: 'UNSUPPORTED',
  message: 'the adapter does not declare this capability',
};

/** What a platform answered to a grant. `duplicate`: it has the grant already, so its status decides. */
export type GrantAnswer =
  | { kind: 'credited' | 'accepted'; platform_bonus_id: string }
  | Refused
  | { kind: 'duplicate' }
  /** Nothing was sent, because `mayDepart` did not allow it. */
  | { kind: 'held' }
  | Unsent
  | Unknown;

/** What a platform answered to a cancel. `missing`: it has no such bonus (404). `ended`: the bonus has ended (409). */
export type CancelAnswer =
  { kind: 'cancelled' } | { kind: 'missing' } | { kind: 'ended' } | Refused | Unsent | Unknown;

/** A bonus as the platform has it; amounts in the smallest unit of the grant's currency. */
export interface PlatformBonus {
  grant_id: string;
  platform_bonus_id: string;
  status: PlatformStatus;
  updated_at: Date;
  /** Absolute. */
  total_wagered?: bigint;
  released_amount?: bigint;
  amount?: bigint;
}

/** What a platform answered to a status query. `unsupported`: the adapter has no such capability. */
export type StatusAnswer =
  { kind: 'found'; bonus: PlatformBonus } | { kind: 'missing' } | { kind: 'unsupported' } | Unsent | Unknown;

/** What a platform answered to a call about KYC. */
export type KycAnswer =
  { kind: 'accepted'; provider_ref: string | null } | { kind: 'unsupported' } | Refused | Unsent | Unknown;

/**
 * Whether the first byte of a grant may leave: `by_ms` is the last moment at which it may, in milliseconds of
 * `performance.now()`; undefined: it may not leave.
 */
export type Departure = { by_ms: number } | undefined;

/** A grant to send. `body` is the JSON text of a `GrantBody`, frozen with the grant: each attempt sends the same bytes. */
export interface GrantOrder {
  grant_id: string;
  body: string;
  /**
   * Asked before each call is begun, once the limits of the platform let it pass, and again when the call was late. It
   * must not reject.
   */
  mayDepart: () => Promise<Departure>;
}

/** A cancel to send. `body` is the JSON text of a `CancelBody`. */
export interface CancelOrder {
  grant_id: string;
  body: string;
}

/** A call about KYC to send. `body` is the JSON text of a `KycInitiateBody` or `KycUpdateBody`. */
export interface KycCall {
  action: 'initiate' | 'update';
  /** The Idempotency-Key: a UUID that stays the same in each attempt. */
  call_id: string;
  body: string;
}

/**
 * The platform that a project's bonuses are issued through (bonuses part 9). No call rejects, except `sandbox`'s when
 * Postgres does not answer. `attempt` counts from 1 and is sent as `X-Attempt`.
 */
export interface BonusPlatform {
  slug: string;
  kind: 'http' | 'sandbox';
  capabilities: Capabilities;
  /** How many calls it takes at once: running more of them at a time only makes them wait. */
  max_in_flight: number;
  /** Calls per second at most. */
  max_rps: number;
  /** `refused` with the code UNSUPPORTED when the adapter has no such capability. */
  grant(order: GrantOrder, attempt: number): Promise<GrantAnswer>;
  /** `refused` with the code UNSUPPORTED when the adapter has no such capability. */
  cancel(order: CancelOrder, attempt: number): Promise<CancelAnswer>;
  status(ref: { grant_id: string; platform_bonus_id: string | null }): Promise<StatusAnswer>;
  kyc(call: KycCall, attempt: number): Promise<KycAnswer>;
}
