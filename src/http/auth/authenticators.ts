import { barsOfOwnSessions, ConfigError, type Config } from '../../config.ts';
import { ConsoleSessions } from './console-sessions.ts';
import type { Clock } from '../../platform/clock.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Notifications } from '../../platform/postgres/notifications.ts';
import type { Db } from '../../platform/postgres/port.ts';
import { AccessChanges, SessionAuthenticator, type AcceptOnly } from './session.ts';
import { ApiKeyAuthenticator } from './api-key.ts';
import { openDevIssuer, type DevIssuer } from './dev-issuer.ts';
import { createInternalSecretCheck, type CheckInternalSecret } from './internal-secret.ts';
import type { KeyUses } from './key-uses.ts';
import { ProjectResolver } from './project.ts';
import { createTokenVerifier, remoteIssuer, type TrustedIssuer } from './token-verifier.ts';
import type { Platform } from '../../platform/platform.ts';

/** The checks of the API host's callers. `dev_issuer` is undefined when an identity provider is configured. */
export interface Authenticators {
  api_keys: ApiKeyAuthenticator;
  sessions: SessionAuthenticator;
  access_changes: AccessChanges;
  /** The sessions of the console's users. */
  console_sessions: ConsoleSessions;
  projects: ProjectResolver;
  /** The secret that this installation's own commands send. */
  internal_secret: string;
  checkInternalSecret: CheckInternalSecret;
  dev_issuer: DevIssuer | undefined;
}

/** So many look-ups of each kind run at once: while a table is locked, those that need it do not stop the others. */
const MEMBERSHIP_LOOKUPS = 2;
const PROJECT_LOOKUPS = 1;
const CONSOLE_LOOKUPS = 1;
const KEY_LOOKUPS = 2;

interface OpenOptions {
  config: Config;
  clock: Clock;
  /** The service role, for look-ups. */
  sql: Db;
  notifications: Notifications;
  /** Shared with the intake when both run in this process. */
  api_keys: ApiKeyAuthenticator;
  internal_secret: string;
  acceptOnly: AcceptOnly;
}

interface OpenKeysOptions extends Pick<Platform, 'logger' | 'rateLimiter'> {
  /** Notes each use of a key. */
  uses?: Pick<KeyUses, 'note'>;
  /** Decrypts the secrets of client keys; absent: no user_hash is accepted. */
  credentials_keys?: EncryptionKeys;
  metrics: Pick<Metrics, 'staleAnswers'>;
}

/** Opens only the check of API keys: the intake needs no other. */
export async function openApiKeys(
  options: Pick<OpenOptions, 'config' | 'clock' | 'sql' | 'notifications'> & OpenKeysOptions,
): Promise<ApiKeyAuthenticator> {
  const { config, clock, logger, metrics, rateLimiter, sql, notifications, uses, credentials_keys } = options;
  const api_keys = new ApiKeyAuthenticator({
    service_env: config.service_env,
    clock,
    logger,
    metrics,
    rate_limiter: rateLimiter,
    sql: sql.share(KEY_LOOKUPS),
    uses,
    credentials_keys,
  });
  await api_keys.follow(notifications);
  return api_keys;
}

/**
 * Opens every check of the API host. Rejects with {@link ConfigError} when no identity provider is configured and the
 * service may not sign its own sessions.
 */
export async function openAuthenticators(options: OpenOptions): Promise<Authenticators> {
  const { config, clock, sql, notifications, api_keys, internal_secret, acceptOnly } = options;
  const { dev_issuer, trusted } = await openIssuer(config, clock);
  const access_changes = new AccessChanges();
  const console_sessions = await ConsoleSessions.open({
    sql: sql.share(CONSOLE_LOOKUPS),
    clock,
    notifications,
    access_changes,
  });
  const sessions = new SessionAuthenticator({
    verify: createTokenVerifier(trusted, clock),
    browsers: console_sessions,
    clock,
    sql: sql.share(MEMBERSHIP_LOOKUPS),
    acceptOnly,
    access_changes,
  });
  await sessions.follow(notifications);
  const { internal_secret_previous: previous } = config;
  return {
    api_keys,
    sessions,
    access_changes,
    console_sessions,
    projects: new ProjectResolver(sql.share(PROJECT_LOOKUPS)),
    internal_secret,
    checkInternalSecret: createInternalSecretCheck(
      previous === undefined ? [internal_secret] : [internal_secret, previous],
    ),
    dev_issuer,
  };
}

/** Whose tokens count: those of the configured identity provider, otherwise the service's own. */
async function openIssuer(
  config: Config,
  clock: Clock,
): Promise<{ dev_issuer: DevIssuer | undefined; trusted: TrustedIssuer }> {
  const { identity_provider, data_dir } = config;
  if (identity_provider !== undefined) {
    return { dev_issuer: undefined, trusted: remoteIssuer(identity_provider, clock) };
  }
  const bars = barsOfOwnSessions(config);
  if (bars.length > 0) {
    throw new ConfigError(
      'AUTH_JWKS_URL (with AUTH_ISSUER and AUTH_AUDIENCE): must be set, because the service signs its own sessions ' +
        `only in development on one machine; ${bars.join('; ')}`,
    );
  }
  const dev_issuer = await openDevIssuer(data_dir, clock);
  return { dev_issuer, trusted: dev_issuer.trusted };
}
