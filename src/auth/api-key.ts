import { hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Db } from '../platform/postgres/port.ts';
import type { RatePolicy } from '../platform/rate-limit/port.ts';
import { bearerToken } from './bearer.ts';
import { findKeyByPublicId, type StoredKey } from './queries.ts';

/** NOTIFY channel; the payload is the public id of a key that was revoked or created. */
export const API_KEYS_CHANNEL = 'api_keys_changed';

/** The environments of keys and deployments; a key works only in a deployment of its own environment. */
export const API_KEY_ENVIRONMENTS = ['dev', 'stag', 'prod'] as const;
export type ApiKeyEnvironment = (typeof API_KEY_ENVIRONMENTS)[number];

const PUBLIC_ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
const PUBLIC_ID_LENGTH = 8;
const SECRET_BYTES = 33;
const MAX_CACHED_KEYS = 50_000;
const MAX_CACHED_REFUSALS = 10_000;
/** Only a safety net: a revocation is announced by NOTIFY and takes effect at once. */
const KEY_TTL_MS = 60_000;
const REFUSAL_TTL_MS = 5_000;

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
  expires_at_ms: number;
}

interface ApiKeyAuthenticatorOptions {
  /** The deployment's environment; keys of another one are refused. */
  service_env: ApiKeyEnvironment;
  clock: Clock;
  /** The service role. */
  sql: Db;
}

/** Checks API keys against Postgres through a cache. A revocation removes the key from the cache at once. */
export class ApiKeyAuthenticator {
  #options: ApiKeyAuthenticatorOptions;
  #keys = new LRUCache<string, CachedKey>({ max: MAX_CACHED_KEYS });
  /** Authorization headers that were accepted: a repeated header needs no hash. Every eviction clears all of them. */
  #headers = new LRUCache<string, CachedKey>({ max: MAX_CACHED_KEYS });
  /** Public ids that name no key, each with the time until which it is refused without a query. */
  #refusals = new LRUCache<string, number>({ max: MAX_CACHED_REFUSALS });
  #lookups = new Map<string, Promise<CachedKey | undefined>>();
  /** Grows with every eviction: a look-up that began before an eviction must not fill the cache after it. */
  #epoch = 0;

  constructor(options: ApiKeyAuthenticatorOptions) {
    this.#options = options;
  }

  /** Starts to listen for keys that any process revokes or creates. */
  async follow(notifications: Notifications): Promise<void> {
    await notifications.on(
      API_KEYS_CHANNEL,
      (public_id) => this.evict(public_id),
      () => this.#evictAll(),
    );
  }

  /**
   * Returns the caller that an Authorization header identifies, without a promise when it is cached. Throws or rejects
   * with UNAUTHORIZED when the key is missing, malformed, unknown, revoked or of another environment.
   */
  authenticate(header: string | undefined): ApiKeyPrincipal | Promise<ApiKeyPrincipal> {
    const now_ms = this.#options.clock.now_ms();
    const passed = header === undefined ? undefined : this.#headers.get(header);
    if (passed !== undefined && passed.expires_at_ms > now_ms) return passed.principal;
    const parsed = this.#parse(header);
    const cached = this.#keys.get(parsed.public_id);
    if (cached !== undefined && cached.expires_at_ms > now_ms) {
      const principal = checkSecret(cached, parsed);
      if (header !== undefined) this.#headers.set(header, cached);
      return principal;
    }
    const refused_until_ms = this.#refusals.get(parsed.public_id);
    if (refused_until_ms !== undefined && refused_until_ms > now_ms) throw unknownKey();
    return this.#lookUp(parsed.public_id).then((found) => checkSecret(found, parsed));
  }

  /** Removes one key from the caches; must be called after its change has been committed. */
  evict(public_id: string): void {
    this.#epoch++;
    this.#headers.clear();
    this.#keys.delete(public_id);
    this.#refusals.delete(public_id);
    this.#lookups.delete(public_id);
  }

  #evictAll(): void {
    this.#epoch++;
    this.#headers.clear();
    this.#keys.clear();
    this.#refusals.clear();
    this.#lookups.clear();
  }

  #parse(header: string | undefined): ParsedApiKey {
    const token = bearerToken(header);
    if (token === undefined) {
      throw new ApiError('UNAUTHORIZED', 'an API key is required: Authorization: Bearer svc_pk_…');
    }
    const parsed = parseApiKey(token);
    if (parsed === undefined) throw new ApiError('UNAUTHORIZED', 'the bearer token is not an API key');
    const { service_env } = this.#options;
    if (parsed.environment !== service_env) {
      const message = `this API key is for environment ${parsed.environment}; this service is ${service_env}`;
      throw new ApiError('UNAUTHORIZED', message);
    }
    return parsed;
  }

  /** Concurrent requests that miss the cache for one key share one query. */
  #lookUp(public_id: string): Promise<CachedKey | undefined> {
    const running = this.#lookups.get(public_id);
    if (running !== undefined) return running;
    const lookup = this.#fetch(public_id).finally(() => {
      if (this.#lookups.get(public_id) === lookup) this.#lookups.delete(public_id);
    });
    this.#lookups.set(public_id, lookup);
    return lookup;
  }

  async #fetch(public_id: string): Promise<CachedKey | undefined> {
    const epoch = this.#epoch;
    const { sql, clock, service_env } = this.#options;
    const stored = await findKeyByPublicId(sql, public_id);
    const now_ms = clock.now_ms();
    const found =
      stored?.environment === service_env ? toCached(stored, service_env, now_ms + KEY_TTL_MS) : undefined;
    if (epoch !== this.#epoch) return found;
    if (found === undefined) this.#refusals.set(public_id, now_ms + REFUSAL_TTL_MS);
    else this.#keys.set(public_id, found);
    return found;
  }
}

function toCached(stored: StoredKey, environment: ApiKeyEnvironment, expires_at_ms: number): CachedKey {
  const { tenant_id, project_id, key_id, secret_hash, ingest_per_minute, ingest_burst } = stored;
  const ingest_policy =
    ingest_per_minute === null
      ? undefined
      : { name: 'ingest', per_second: ingest_per_minute / 60, burst: ingest_burst ?? ingest_per_minute };
  return {
    principal: { tenant_id, project_id, key_id, environment, ingest_policy },
    secret_hash,
    expires_at_ms,
  };
}

function checkSecret(key: CachedKey | undefined, given: ParsedApiKey): ApiKeyPrincipal {
  if (key === undefined || !timingSafeEqual(key.secret_hash, hashSecret(given.secret))) throw unknownKey();
  return key.principal;
}

function unknownKey(): ApiError {
  return new ApiError('UNAUTHORIZED', 'the API key is unknown or was revoked');
}
