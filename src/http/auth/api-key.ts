import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import { ApiError } from '../../errors.ts';
import { StaleIfErrorCache } from '../../platform/stale-if-error-cache.ts';
import type { Clock } from '../../platform/clock.ts';
import { DecryptionFailed, type EncryptionKeys } from '../../platform/encryption.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Db } from '../../platform/postgres/port.ts';
import type { RateLimiter, RatePolicy } from '../../platform/rate-limit/port.ts';
import { decryptClientSecret, isUserHash } from './client-secret.ts';
import { keyClientOf, type KeyClient } from './key-clients.ts';
import { KeyLookups } from './key-lookups.ts';
import type { KeyUses } from './key-uses.ts';
import type { Maybe } from './maybe.ts';
import { findKeysByPublicId, type ApiKeyKind, type StoredKey } from './queries.ts';
import { UnknownKeys } from './unknown-keys.ts';
import type { Platform } from '../../platform/platform.ts';

/** NOTIFY channel; the payload is the public id of a key that was revoked. */
export const API_KEYS_CHANNEL = 'api_keys_changed';

/** The environments of keys and deployments; a key works only in a deployment of its own environment. */
export const API_KEY_ENVIRONMENTS = ['dev', 'stag', 'prod'] as const;
export type ApiKeyEnvironment = (typeof API_KEY_ENVIRONMENTS)[number];

const PUBLIC_ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
const PUBLIC_ID_LENGTH = 8;
const SECRET_BYTES = 33;
const MAX_CACHED_KEYS = 50_000;
/** Only a safety net: a revocation is announced by NOTIFY and takes effect at once. */
const KEY_TTL_MS = 60_000;
/** Unseen keys of an address that guesses are looked up together, once in this time. */
const GUESSES_TOGETHER_MS = 1_000;
/** So many look-ups of addresses that guess wait at a time; further ones are refused. */
const MAX_WAITING_GUESSES = 200;
const RETRY_AFTER_S = 1;

/** The parts of `svc_pk_<env>_<id8>_<secret44>` (spec part 2). */
export interface ParsedApiKey {
  environment: ApiKeyEnvironment;
  public_id: string;
  secret: string;
}

/** A new key: `key` is shown once, `prefix` is public, and only `secret_hash` of the secret is stored. */
export interface GeneratedApiKey {
  key: string;
  prefix: string;
  public_id: string;
  secret_hash: Buffer;
}

/** The caller of a request with an API key. `ingest_policy` is the key's own ingestion rate; undefined: the default. */
export interface ApiKeyPrincipal {
  tenant_id: string;
  project_id: string;
  key_id: string;
  environment: ApiKeyEnvironment;
  ingest_policy: RatePolicy | undefined;
  kind: ApiKeyKind;
  /** The origins from which pages may use a client key; empty for a server key. */
  allowed_origins: readonly string[];
  /**
   * Whether `user_hash` proves that the tenant's servers know the caller as this external_id (docs/clients.md, Who did it). Always
   * false for a server key, which needs no proof. A function, so that no log shows the client secret.
   */
  provesUser: (external_id: string, user_hash: string | undefined) => boolean;
}

/** Creates a random key. Its secret has 33 random bytes, which are 44 base64url characters. */
export function generateApiKey(environment: ApiKeyEnvironment): GeneratedApiKey {
  let public_id = '';
  while (public_id.length < PUBLIC_ID_LENGTH) {
    public_id += PUBLIC_ID_ALPHABET[randomInt(PUBLIC_ID_ALPHABET.length)];
  }
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const prefix = apiKeyPrefix(environment, public_id);
  return { key: `${prefix}_${secret}`, prefix, public_id, secret_hash: hashSecret(secret) };
}

/** The public part of a key, `svc_pk_<env>_<id8>`. */
export function apiKeyPrefix(environment: string, public_id: string): string {
  return `svc_pk_${environment}_${public_id}`;
}

/** Splits a key by position, because its secret may contain `_` and `-`; undefined when `text` is not an API key. */
export function parseApiKey(text: string): ParsedApiKey | undefined {
  const match = /^svc_pk_(dev|stag|prod)_([a-z0-9]{8})_([A-Za-z0-9_-]{44})$/.exec(text);
  if (match === null) return undefined;
  const [, environment, public_id, secret] = match as unknown as [string, ApiKeyEnvironment, string, string];
  return { environment, public_id, secret };
}

/** SHA-256 of the secret. A secret of 264 random bits needs no slow hash. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

interface CachedKey {
  principal: ApiKeyPrincipal;
  secret_hash: Buffer;
  /** From then on the key is refused; Infinity: it has no end. */
  expires_at_ms: number;
}

/** A header that was accepted: what it contains, and its key, which must still be the one in the cache. */
interface PassedHeader {
  given: ParsedApiKey;
  key: CachedKey;
}

/** The connection of a caller, and what it says about itself. A request is one. */
export interface Caller {
  /** The address of the client, or of the proxy when it is not trusted. */
  readonly ip: string;
  readonly headers?: { readonly 'user-agent'?: string | undefined };
  /**
   * The name of the library, where the body names it (Segment dialect); null: the body is not read yet, and `noteUse` follows.
   */
  readonly library?: string | null | undefined;
  /** Called with the kind of the client once the key is accepted, unless `library` is null. */
  noteClient?(client: KeyClient): void;
}

interface ApiKeyAuthenticatorOptions extends Pick<Platform, 'clock' | 'logger'> {
  /** The deployment's environment; keys of another one are refused. */
  service_env: ApiKeyEnvironment;
  metrics: Pick<Metrics, 'staleAnswers'>;
  rate_limiter: RateLimiter;
  /** The service role. */
  sql: Db;
  /** Notes each request for which a key is accepted; absent: nobody asks when keys were used. */
  uses?: Pick<KeyUses, 'note'> | undefined;
  /** Decrypts the secrets of client keys; absent: no user_hash is accepted. */
  credentials_keys?: EncryptionKeys | undefined;
}

/**
 * Checks API keys against Postgres through a cache. A revocation removes the key from the cache at once. While Postgres
 * does not answer, keys of the cache stay valid for at most 15 minutes, and others are answered with 503.
 */
export class ApiKeyAuthenticator {
  #service_env: ApiKeyEnvironment;
  #keys: StaleIfErrorCache<CachedKey>;
  /** Authorization headers that were accepted: a repeated header needs no hash. */
  #headers = new BoundedCache<string, PassedHeader>({ max: MAX_CACHED_KEYS });
  #unknown: UnknownKeys;
  #lookups: KeyLookups;
  /** How many look-ups of addresses that guess wait, and for what. */
  #guesses = 0;
  #pause: Promise<void> | undefined;
  #uses: Pick<KeyUses, 'note'> | undefined;
  #clock: Clock;
  #logger: Logger;
  #credentials_keys: EncryptionKeys | undefined;

  constructor(options: ApiKeyAuthenticatorOptions) {
    const { service_env, clock, logger, metrics, rate_limiter, sql, uses, credentials_keys } = options;
    this.#service_env = service_env;
    this.#uses = uses;
    this.#clock = clock;
    this.#logger = logger;
    this.#credentials_keys = credentials_keys;
    this.#unknown = new UnknownKeys(clock, rate_limiter);
    this.#lookups = new KeyLookups((public_ids) => findKeysByPublicId(sql, public_ids));
    this.#keys = new StaleIfErrorCache({
      name: 'api_keys',
      max: MAX_CACHED_KEYS,
      fresh_ms: KEY_TTL_MS,
      load: this.#lookUp,
      clock,
      logger,
      onStale: () => metrics.staleAnswers.inc({ cache: 'api_keys' }),
    });
  }

  /** Starts to listen for keys that any process revokes. */
  async follow(notifications: Notifications): Promise<void> {
    await notifications.on(
      API_KEYS_CHANNEL,
      (public_id) => this.evict(public_id),
      () => this.#expireAll(),
    );
  }

  /**
   * Returns the caller that an Authorization header identifies, without a promise when it is cached. Throws or rejects
   * with UNAUTHORIZED when the key is missing, malformed, unknown, revoked, at its end or of another environment; with
   * SERVICE_UNAVAILABLE when it is not cached and Postgres does not answer; with RATE_LIMITED when it is not cached and
   * the address of `from` asks for too many unknown keys.
   */
  authenticate(header: string | undefined, from: Caller): Maybe<ApiKeyPrincipal> {
    const passed = header === undefined ? undefined : this.#headers.get(header);
    const given = passed?.given ?? this.#parse(header);
    const { public_id } = given;
    if (passed === undefined && this.#unknown.has(public_id)) throw unknownKey();
    const key = this.#find(public_id, from);
    if (!(key instanceof Promise))
      return passed !== undefined && passed.key === key
        ? this.#used(key, from)
        : this.#admit(header, key, given, from);
    // Now: a connection that has ended meanwhile has no address.
    const { ip } = from;
    return key.then(async (found) => {
      if (found === undefined) await this.#refuse(header, public_id, ip);
      return this.#admit(header, found, given, from);
    }, throwUnchecked);
  }

  /** Notes the use of a key whose library was not known yet when the key was accepted. Returns the kind of the client. */
  noteUse(principal: ApiKeyPrincipal, { headers, library }: Omit<Caller, 'ip'>): KeyClient {
    const client = keyClientOf({ user_agent: headers?.['user-agent'], library: library ?? undefined });
    this.#uses?.note(principal, client);
    return client;
  }

  /** Removes one key from the cache; must be called after its change has been committed. */
  evict(public_id: string): void {
    this.#keys.forget(public_id);
    this.#unknown.forget(public_id);
  }

  /** Keys are not removed: Postgres may still be out of reach. Each is loaded again at its next use. */
  #expireAll(): void {
    this.#keys.expireAll();
    this.#unknown.forgetAll();
  }

  #find(public_id: string, from: Caller): Maybe<CachedKey | undefined> {
    if (this.#keys.has(public_id) || !this.#unknown.isGuessing(from.ip)) return this.#keys.get(public_id);
    if (this.#guesses >= MAX_WAITING_GUESSES) throw tooManyGuesses();
    return this.#keys.get(public_id, this.#lookUpLater);
  }

  #lookUp = async (public_id: string) => this.#usable(await this.#lookups.find(public_id));

  #lookUpLater = async (public_id: string) => {
    this.#guesses++;
    this.#pause ??= sleep(GUESSES_TOGETHER_MS).then(() => (this.#pause = undefined));
    try {
      await this.#pause;
      return await this.#lookUp(public_id);
    } finally {
      this.#guesses--;
    }
  };

  #admit(
    header: string | undefined,
    key: CachedKey | undefined,
    given: ParsedApiKey,
    from: Caller,
  ): ApiKeyPrincipal {
    if (key === undefined || !timingSafeEqual(key.secret_hash, hashSecret(given.secret))) throw unknownKey();
    if (header !== undefined) this.#headers.set(header, { given, key });
    return this.#used(key, from);
  }

  /** The end of a key is looked at here, after all caches, so that it applies to the millisecond. */
  #used({ principal, expires_at_ms }: CachedKey, from: Caller): ApiKeyPrincipal {
    if (this.#clock.now_ms() >= expires_at_ms) throw new ApiError('UNAUTHORIZED', 'the API key has ended');
    if (from.library === null) return principal;
    const client = this.noteUse(principal, from);
    from.noteClient?.(client);
    return principal;
  }

  async #refuse(header: string | undefined, public_id: string, ip: string): Promise<void> {
    if (header !== undefined) this.#headers.delete(header);
    await this.#unknown.add(public_id, ip);
  }

  #parse(header: string | undefined): ParsedApiKey {
    const token = bearerToken(header);
    if (token === undefined) {
      throw new ApiError('UNAUTHORIZED', 'an API key is required: Authorization: Bearer svc_pk_…');
    }
    const parsed = parseApiKey(token);
    if (parsed === undefined) throw new ApiError('UNAUTHORIZED', 'the bearer token is not an API key');
    const service_env = this.#service_env;
    if (parsed.environment !== service_env) {
      const message = `this API key is for environment ${parsed.environment}; this service is ${service_env}`;
      throw new ApiError('UNAUTHORIZED', message);
    }
    return parsed;
  }

  #usable(stored: StoredKey | undefined): CachedKey | undefined {
    if (stored?.environment !== this.#service_env) return undefined;
    const { tenant_id, project_id, key_id, secret_hash, kind, allowed_origins, expires_at } = stored;
    const { ingest_per_minute, ingest_burst } = stored;
    const ingest_policy =
      ingest_per_minute === null
        ? undefined
        : { name: 'ingest', per_second: ingest_per_minute / 60, burst: ingest_burst ?? ingest_per_minute };
    const client_secret = this.#clientSecretOf(stored);
    const provesUser = (external_id: string, user_hash: string | undefined) =>
      client_secret !== undefined &&
      user_hash !== undefined &&
      isUserHash(client_secret, external_id, user_hash);
    return {
      principal: {
        tenant_id,
        project_id,
        key_id,
        environment: this.#service_env,
        ingest_policy,
        kind,
        allowed_origins,
        provesUser,
      },
      secret_hash,
      expires_at_ms: expires_at?.getTime() ?? Infinity,
    };
  }

  /** Undefined for a server key. What cannot be decrypted is logged, and proves nobody; the key itself works. */
  #clientSecretOf(stored: StoredKey): string | undefined {
    if (stored.client_secret === null || this.#credentials_keys === undefined) return undefined;
    try {
      return decryptClientSecret(this.#credentials_keys, stored, stored.client_secret);
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error;
      const { tenant_id, key_id } = stored;
      this.#logger.warn(
        { err: error, tenant_id, key_id },
        'the secret of a client key cannot be decrypted; no user_hash is accepted',
      );
      return undefined;
    }
  }
}

function unknownKey(): ApiError {
  return new ApiError('UNAUTHORIZED', 'the API key is unknown or was revoked');
}

function throwUnchecked(cause: unknown): never {
  const message = 'the API key cannot be checked now; send the request again';
  throw new ApiError('SERVICE_UNAVAILABLE', message, { cause, retry_after_s: RETRY_AFTER_S });
}

function tooManyGuesses(): ApiError {
  const message = 'too many unknown API keys from this address; send the request again';
  return new ApiError('RATE_LIMITED', message, { retry_after_s: RETRY_AFTER_S });
}

/** The token of an `Authorization: Bearer <token>` header; undefined when the header is anything else. */
export function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  return /^bearer +([^\s]+) *$/i.exec(header)?.[1];
}
