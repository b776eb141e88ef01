import { BoundedCache } from '../../platform/bounded-cache.ts';
import { ApiError, validationError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { bearerToken } from './api-key.ts';
import { browserUser, type BrowserRequest, type BrowserSessions } from './browser-session.ts';
import { andThen, type Maybe } from './maybe.ts';
import { findMemberships } from './queries.ts';
import type { Role } from './roles.ts';
import type { VerifiedToken, VerifyToken } from './token-verifier.ts';

/** Hears that what a user may do may have changed; undefined: any user. */
type Listener = (user_id: string | undefined) => void;

/** Tells what lasts, such as a stream, that a user's memberships or sessions have changed in any process. */
export class AccessChanges {
  readonly #listeners = new Set<Listener>();

  /** Calls the listener at each change, when a new check sees it; returns how to stop that. */
  watch(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(user_id: string | undefined): void {
    for (const listener of this.#listeners) listener(user_id);
  }
}

/** NOTIFY channel; the payload is the user id whose memberships changed. */
export const MEMBERSHIPS_CHANNEL = 'memberships_changed';

const MAX_CACHED_TOKENS = 10_000;
const TOKEN_TTL_MS = 60_000;
const MAX_CACHED_USERS = 10_000;
const MEMBERSHIPS_TTL_MS = 5_000;

/** The caller of a request with an admin session (spec part 5, rule 1). */
export interface SessionPrincipal {
  user_id: string;
  tenant_id: string;
  role: Role;
}

/** The caller of a request about the user in all tenants: the oldest membership first. */
export interface UserPrincipal {
  user_id: string;
  memberships: readonly SessionPrincipal[];
  /** What the user would be after accepting, the oldest invitation first. */
  invitations: readonly SessionPrincipal[];
}

/** What a user is in all tenants, and may become. */
type Standing = Omit<UserPrincipal, 'user_id'>;

interface CachedMemberships {
  standing: Standing;
  expires_at_ms: number;
}

/**
 * Accepts the invitation of a tenant if it is the only one of a user who is in no tenant; otherwise nothing happens.
 * `request_id`: of the call that accepts it.
 */
export type AcceptOnly = (
  invitation: { tenant_id: string; user_id: string },
  request_id: string,
) => Promise<void>;

interface SessionAuthenticatorOptions {
  verify: VerifyToken;
  browsers: BrowserSessions;
  clock: Clock;
  /** The service role. */
  sql: Db;
  acceptOnly: AcceptOnly;
  /** Called with each change of memberships. */
  access_changes: AccessChanges;
}

/** Resolves session tokens to members of tenants. A cached token needs no cryptography, cached memberships no query. */
export class SessionAuthenticator {
  #options: SessionAuthenticatorOptions;
  /** Each token stays until it expires, or must be checked again because its signing key may have been withdrawn. */
  #tokens = new BoundedCache<string, VerifiedToken>({ max: MAX_CACHED_TOKENS });
  #memberships = new BoundedCache<string, CachedMemberships>({ max: MAX_CACHED_USERS });
  /** Grows with every eviction: a look-up that began before an eviction must not fill the cache after it. */
  #epoch = 0;

  constructor(options: SessionAuthenticatorOptions) {
    this.#options = options;
  }

  /** Starts to listen for memberships that any process changes. */
  async follow(notifications: Notifications): Promise<void> {
    await notifications.on(
      MEMBERSHIPS_CHANNEL,
      (user_id) => this.evict(user_id),
      () => this.#evictAll(),
    );
  }

  /**
   * Returns the caller, without a promise when it is cached: the user of the bearer token or, without one, of the
   * console's cookie. `tenant_header` is X-Tenant-Id, which chooses among several tenants. Throws or rejects with
   * UNAUTHORIZED (no valid session), FORBIDDEN (no such membership, or a cookie from another page) or VALIDATION_ERROR
   * (several tenants and no header, or not a UUID).
   */
  authenticate(request: BrowserRequest, tenant_header: string | undefined): Maybe<SessionPrincipal> {
    return andThen(this.#user(request), (user_id) =>
      andThen(this.#standing(user_id, request), (standing) => choose(standing, tenant_header)),
    );
  }

  /**
   * Returns the user with all memberships, which may be none, without a promise when they are cached. Throws or rejects
   * with UNAUTHORIZED, or FORBIDDEN for a cookie from another page.
   */
  authenticateUser(request: BrowserRequest): Maybe<UserPrincipal> {
    return andThen(this.#user(request), (user_id) =>
      andThen(this.#standing(user_id, request), (standing) => ({ user_id, ...standing })),
    );
  }

  #user(request: BrowserRequest): Maybe<string> {
    const { authorization } = request.headers;
    const browser = authorization === undefined ? browserUser(this.#options.browsers, request) : undefined;
    return browser ?? this.#bearer(authorization);
  }

  /** Removes a user's memberships from the cache; must be called after their change has been committed. */
  evict(user_id: string): void {
    this.#epoch++;
    this.#memberships.delete(user_id);
    this.#options.access_changes.tell(user_id);
  }

  #evictAll(): void {
    this.#epoch++;
    this.#memberships.clear();
    this.#options.access_changes.tell(undefined);
  }

  #bearer(authorization: string | undefined): Maybe<string> {
    const token = bearerToken(authorization);
    if (token === undefined) {
      throw new ApiError(
        'UNAUTHORIZED',
        'an admin session is required: Authorization: Bearer <session token>',
      );
    }
    if (token.startsWith('svc_pk_')) {
      throw new ApiError('UNAUTHORIZED', 'an admin session is required here, not an API key');
    }
    const cached = this.#tokens.get(token);
    if (cached !== undefined && cached.expires_at_ms > this.#options.clock.now_ms()) return cached.user_id;
    return this.#verify(token);
  }

  async #verify(token: string): Promise<string> {
    const { user_id, expires_at_ms, recheck_at_ms = Infinity } = await this.#options.verify(token);
    const until_ms = Math.min(expires_at_ms, recheck_at_ms, this.#options.clock.now_ms() + TOKEN_TTL_MS);
    this.#tokens.set(token, { user_id, expires_at_ms: until_ms });
    return user_id;
  }

  #standing(user_id: string, { id }: BrowserRequest): Maybe<Standing> {
    const cached = this.#memberships.get(user_id);
    if (cached !== undefined && cached.expires_at_ms > this.#options.clock.now_ms()) return cached.standing;
    return this.#fetch(user_id, id);
  }

  /**
   * A user of no tenant accepts the only invitation by coming: that is a new colleague. Everybody else is asked, because
   * who is in two tenants has to name one in each call, and no admin alone may bring that about.
   */
  async #fetch(user_id: string, request_id: string): Promise<Standing> {
    const epoch = this.#epoch;
    const { sql, clock, acceptOnly } = this.#options;
    let rows = await findMemberships(sql, user_id);
    const [only, second] = rows;
    if (only?.is_accepted === false && second === undefined) {
      await acceptOnly({ tenant_id: only.tenant_id, user_id }, request_id);
      rows = await findMemberships(sql, user_id);
    }
    const principalsOf = (is_wanted: boolean) =>
      rows
        .filter(({ is_accepted }) => is_accepted === is_wanted)
        .map(({ tenant_id, role }) => ({ user_id, tenant_id, role }));
    const standing = { memberships: principalsOf(true), invitations: principalsOf(false) };
    if (epoch === this.#epoch) {
      const expires_at_ms = clock.now_ms() + MEMBERSHIPS_TTL_MS;
      this.#memberships.set(user_id, { standing, expires_at_ms });
    }
    return standing;
  }
}

function choose({ memberships, invitations }: Standing, tenant_header: string | undefined): SessionPrincipal {
  const [first, second] = memberships;
  if (tenant_header !== undefined) {
    const tenant_id = tenant_header.toLowerCase();
    if (!isUuid(tenant_id)) throw validationError([{ path: 'X-Tenant-Id', message: 'must be a UUID' }]);
    const chosen = memberships.find((principal) => principal.tenant_id === tenant_id);
    if (chosen === undefined) throw new ApiError('FORBIDDEN', 'you are not a member of this tenant');
    return chosen;
  }
  if (first === undefined) {
    const hint = invitations.length === 0 ? '' : ': accept an invitation of GET /v1/invitations';
    throw new ApiError('FORBIDDEN', `you are not a member of any tenant${hint}`);
  }
  if (second !== undefined) {
    const message = 'you belong to several tenants: name one in the X-Tenant-Id header';
    throw validationError([{ path: 'X-Tenant-Id', message }]);
  }
  return first;
}
