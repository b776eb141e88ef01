import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isLoopback, isLoopbackUrl, LOOPBACK_NETWORKS, networkList } from './platform/egress/addresses.ts';
import type { KafkaCredentials } from './platform/event-log/kafka-client.ts';
import { trimEnd } from './platform/trim-end.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const optionalText = z.string().min(1).optional();
const internalSecret = z.string().min(32);
const credentialsKey = z.string().regex(/^[0-9a-f]{64}$/i, 'must be 32 bytes in hexadecimal');
const providerUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
  .refine((text) => !/[?#@]/.test(text), 'must have no query, fragment or credentials');

/** The environment variables of the service; docs/configuration.md is tested against this list. */
const environmentSchema = z.object({
  SERVICE_ENV: z.enum(['dev', 'stag', 'prod']).default('dev'),
  ROLES: z.string().default('all'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(8080),
  INGEST_PORT: port.default(8081),
  OPS_PORT: port.optional(),
  OPS_HOST: optionalText,
  DRAIN_SECONDS: z.coerce.number().min(0).max(300).default(0),
  DATA_DIR: z.string().min(1).default('./data'),
  BUILD_COMMIT: z.string().min(1).max(64).default('unknown'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
  KAFKA_BROKERS: optionalText,
  KAFKA_TOPIC_PREFIX: z.string().default(''),
  KAFKA_PARTITIONS: z.coerce.number().int().min(1).max(1000).default(6),
  KAFKA_REPLICATION_FACTOR: z.coerce.number().int().min(1).max(100).default(3),
  KAFKA_MIN_INSYNC_REPLICAS: z.coerce.number().int().min(1).max(100).optional(),
  KAFKA_TLS: z.enum(['true', 'false']).default('false'),
  KAFKA_CA_FILE: optionalText,
  KAFKA_CERT_FILE: optionalText,
  KAFKA_KEY_FILE: optionalText,
  KAFKA_SASL_MECHANISM: z.enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512']).optional(),
  KAFKA_SASL_USERNAME: optionalText,
  KAFKA_SASL_PASSWORD: optionalText,
  CLICKHOUSE_URL: optionalText,
  POSTGRES_URL: optionalText,
  REDIS_URL: optionalText,
  AUTH_JWKS_URL: optionalText,
  AUTH_ISSUER: optionalText,
  AUTH_AUDIENCE: optionalText,
  OIDC_ISSUER: providerUrl.optional(),
  OIDC_CLIENT_ID: optionalText,
  OIDC_CLIENT_SECRET: optionalText,
  INTERNAL_SECRET: internalSecret.optional(),
  INTERNAL_SECRET_PREVIOUS: internalSecret.optional(),
  CREDENTIALS_KEY: credentialsKey.optional(),
  CREDENTIALS_KEY_PREVIOUS: credentialsKey.optional(),
  ERASURE_KEY: credentialsKey.optional(),
  PUBLIC_URL: providerUrl.optional(),
  PUBLIC_INGEST_URL: providerUrl.optional(),
  EGRESS_ALLOW: optionalText,
  TRUSTED_PROXIES: optionalText,
  FX_FIAT_URL: providerUrl.default('https://api.frankfurter.dev'),
  FX_SECOND_FIAT_URL: providerUrl.optional(),
  FX_CRYPTO_URL: providerUrl.default('https://api.coingecko.com'),
  RATE_INGEST_PER_SECOND: z.coerce.number().positive().default(10_000),
  RATE_INGEST_BURST: z.coerce.number().int().positive().default(50_000),
  RATE_IDENTIFY_PER_SECOND: z.coerce.number().positive().default(1_000),
  RATE_ADMIN_PER_SECOND: z.coerce.number().positive().default(100),
});

export const ENVIRONMENT_VARIABLES = Object.keys(environmentSchema.shape);

/** Variables with a secret: each may be given as the path of a file instead, in a variable whose name ends in `_FILE`. */
export const SECRET_VARIABLES = [
  'INTERNAL_SECRET',
  'INTERNAL_SECRET_PREVIOUS',
  'CREDENTIALS_KEY',
  'CREDENTIALS_KEY_PREVIOUS',
  'ERASURE_KEY',
  'OIDC_CLIENT_SECRET',
  'KAFKA_SASL_PASSWORD',
  'CLICKHOUSE_URL',
  'POSTGRES_URL',
  'REDIS_URL',
] as const satisfies readonly (keyof typeof environmentSchema.shape)[];

/** The roles one process can take on; `all` runs every one of them. */
export const ROLES = [
  'api',
  'intake',
  'player-fold',
  'analytics-sink',
  'player-mirror',
  'segment-refresh',
  'messenger',
  'journey-runner',
  'fx-restater',
  'event-rewriter',
  'webhook-deliverer',
  'bonus-sender',
  'scheduler',
] as const;
export type Role = (typeof ROLES)[number];

/** The roles that use the rate limiter, and so Redis: callers of the APIs have limits, and messaging providers have limits. */
export const LIMITING_ROLES: readonly Role[] = ['api', 'intake', 'messenger'];

/**
 * The roles that erase people, or that recognise an excluded person who comes back with an earlier address. A journey and
 * the identify calls of the Segment dialect set addresses, too. Other roles run without ERASURE_KEY.
 */
export const ERASING_ROLES: readonly Role[] = ['api', 'intake', 'journey-runner', 'scheduler'];

/** The roles that encrypt and decrypt what tenants keep secret: those of others run without CREDENTIALS_KEY. */
export const KEYED_ROLES: readonly Role[] = [
  'api',
  'intake',
  'messenger',
  'webhook-deliverer',
  'bonus-sender',
  'scheduler',
];

/**
 * Paths of PEM files: the authority that signed the brokers' certificates (absent: the system's authorities), and the
 * client certificate of the service with its key.
 */
export interface KafkaTlsFiles {
  ca_file?: string | undefined;
  client?: { cert_file: string; key_file: string } | undefined;
}

/** The four servers of a distributed installation; absent when everything runs inside this process. */
export interface Servers {
  kafka_brokers: string[];
  kafka_topic_prefix: string;
  kafka_partitions: number;
  kafka_replication_factor: number;
  kafka_min_insync_replicas: number;
  /** Absent: connections to Kafka are not encrypted. */
  kafka_tls?: KafkaTlsFiles | undefined;
  /** Absent: the service does not authenticate to Kafka. */
  kafka_sasl?: KafkaCredentials | undefined;
  clickhouse_url: string;
  postgres_url: string;
  /** Absent where no role is one of {@link LIMITING_ROLES}. */
  redis_url: string | undefined;
}

/** Base URLs of the providers of exchange rates; the providers' paths are appended. */
export interface FxUrls {
  fiat_url: string;
  /** Asked for the fiat currencies that the first provider does not have. Absent: nobody is. */
  second_fiat_url?: string | undefined;
  crypto_url: string;
}

/** The identity provider that signs users in to the console. */
export interface ConsoleProvider {
  /** As the provider writes it: its metadata is below this URL. */
  issuer: string;
  client_id: string;
  /** Absent: a public client, which PKCE alone protects. */
  client_secret: string | undefined;
}

export interface Config {
  service_env: 'dev' | 'stag' | 'prod';
  roles: ReadonlySet<Role>;
  host: string;
  port: number;
  ingest_port: number;
  /** Where health, metrics and the internal endpoints are, and nothing else. Absent: on the base API. */
  ops: { host: string; port: number } | undefined;
  /** How long a process that got the signal to stop still takes requests, so that load balancers learn of it. */
  drain_ms: number;
  data_dir: string;
  log_level: string;
  /** The commit that this program was built from, for `build_info`; `unknown` without one. */
  build_commit: string;
  servers: Servers | undefined;
  /** Absent: the development issuer signs sessions (in development, on one machine). */
  identity_provider: { jwks_url: string; issuer: string; audience: string } | undefined;
  /** Absent: the console has the development sign-in at most. */
  console_provider: ConsoleProvider | undefined;
  /** Absent: a secret is generated and kept in `data_dir`. */
  internal_secret: string | undefined;
  /** Also accepted while the secret is rotated. */
  internal_secret_previous: string | undefined;
  /**
   * 32 bytes in hexadecimal; encrypts the credentials of messaging providers. Absent: a key is generated and kept in
   * `data_dir`.
   */
  credentials_key: string | undefined;
  /** Decrypts credentials that it encrypted, while the key is rotated. */
  credentials_key_previous: string | undefined;
  /**
   * 32 bytes in hexadecimal; keys the hashes of addresses that are kept of erased players. Absent: a key is generated and
   * kept in `data_dir`.
   */
  erasure_key: string | undefined;
  /** The URL at which players and messaging providers reach the base API, without a trailing slash. */
  public_url: string;
  /** The origin at which pages reach the ingestion host, without a trailing slash. Absent: that of their requests. */
  public_ingest_url: string | undefined;
  /** Networks that messages may be sent to although they are not public. */
  egress_allow: readonly string[];
  /** Networks of reverse proxies: of a connection from there, X-Forwarded-For says who the client is. */
  trusted_proxies: readonly string[];
  fx: FxUrls;
  rates: Record<'ingest' | 'identify' | 'admin', { per_second: number; burst: number }>;
}

/** A configuration that cannot be used; `message` lists every problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Variables = Record<string, string | undefined>;

/**
 * Reads the configuration of a process of the service from environment variables. Rejects unusable or half-given ones
 * with {@link ConfigError}.
 */
export function readConfig(environment: Variables = process.env): Config {
  const env = parse(environment);
  const config = configOf(env);
  if (config.servers !== undefined) requireShared(env, config.roles);
  return config;
}

/**
 * Why the service may not sign its own sessions, each reason with its setting; none: it may. Behind a proxy every
 * connection comes from loopback, so the address of the listener alone does not say that this is a machine of its own.
 */
export function barsOfOwnSessions(config: Config): string[] {
  const { service_env, servers, public_url, host, ops } = config;
  const hosts = { HOST: host, OPS_HOST: ops?.host ?? host };
  return [
    ...(service_env === 'dev' ? [] : [`SERVICE_ENV is "${service_env}", not "dev"`]),
    ...(servers === undefined ? [] : ['KAFKA_BROKERS is given: the engines are servers']),
    ...(isLoopbackUrl(public_url) ? [] : [`PUBLIC_URL is "${public_url}", which is not a loopback address`]),
    ...Object.entries(hosts)
      .filter(([name, address]) => !isLoopback(address) && (name === 'HOST' || address !== host))
      .map(([name, address]) => `${name} is "${address}", which is not a loopback address`),
  ];
}

/**
 * Reads the configuration of a command, which makes no links and encrypts nothing: on servers it may lack what
 * {@link readConfig} requires for these.
 */
export function readCommandConfig(environment: Variables = process.env): Config {
  return configOf(parse(environment));
}

function parse(environment: Variables): Environment {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = environmentSchema.safeParse({ ...given, ...secretsOfFiles(given) });
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map((i) => `${i.path.join('.')}: ${i.message}`).join('; '));
  }
  return parsed.data;
}

/** The secrets that are given as files, without the line break at their end. */
function secretsOfFiles(given: Variables): Variables {
  const secrets: Variables = {};
  for (const name of SECRET_VARIABLES) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    if (given[name] !== undefined) throw new ConfigError(`give ${name} or ${name}_FILE, not both`);
    try {
      secrets[name] = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new ConfigError(`${name}_FILE: "${path}" cannot be read (${code ?? 'unknown'})`, { cause });
    }
    if (secrets[name] === '') throw new ConfigError(`${name}_FILE: "${path}" is empty`);
  }
  return secrets;
}

function configOf(env: Environment): Config {
  const adminPerSecond = env.RATE_ADMIN_PER_SECOND;
  const servers = readServers(env);
  const public_url = trimEnd(env.PUBLIC_URL ?? `http://localhost:${env.PORT}`, '/');
  return {
    service_env: env.SERVICE_ENV,
    roles: readRoles(env.ROLES),
    host: env.HOST,
    port: env.PORT,
    ingest_port: env.INGEST_PORT,
    ops: readOps(env),
    drain_ms: env.DRAIN_SECONDS * 1_000,
    data_dir: env.DATA_DIR,
    log_level: env.LOG_LEVEL,
    build_commit: env.BUILD_COMMIT,
    servers,
    identity_provider: readIdentityProvider(env),
    console_provider: readConsoleProvider(env, public_url),
    internal_secret: env.INTERNAL_SECRET,
    internal_secret_previous: env.INTERNAL_SECRET_PREVIOUS,
    credentials_key: env.CREDENTIALS_KEY,
    credentials_key_previous: env.CREDENTIALS_KEY_PREVIOUS,
    erasure_key: env.ERASURE_KEY,
    public_url,
    public_ingest_url: readPublicIngestUrl(env),
    egress_allow: readEgressAllow(env, servers !== undefined),
    trusted_proxies: readNetworks('TRUSTED_PROXIES', env.TRUSTED_PROXIES ?? 'none'),
    fx: {
      fiat_url: env.FX_FIAT_URL,
      second_fiat_url: env.FX_SECOND_FIAT_URL,
      crypto_url: env.FX_CRYPTO_URL,
    },
    rates: {
      ingest: { per_second: env.RATE_INGEST_PER_SECOND, burst: env.RATE_INGEST_BURST },
      identify: { per_second: env.RATE_IDENTIFY_PER_SECOND, burst: Math.ceil(env.RATE_IDENTIFY_PER_SECOND) },
      // A window of whole seconds and whole calls: rounded up, 2.5 would be 3 calls in 2 s.
      admin: { per_second: adminPerSecond, burst: Math.max(1, Math.floor(adminPerSecond)) },
    },
  };
}

type Environment = z.infer<typeof environmentSchema>;

/** Clients add their paths to it, so it has none. */
function readPublicIngestUrl({ PUBLIC_INGEST_URL: text }: Environment): string | undefined {
  if (text === undefined) return undefined;
  const { origin, pathname } = new URL(text);
  if (pathname === '/') return origin;
  throw new ConfigError('PUBLIC_INGEST_URL: must have no path');
}

function readRoles(text: string): ReadonlySet<Role> {
  if (text === 'all') return new Set(ROLES);
  const roles = text.split(',').map((name) => name.trim());
  for (const role of roles) {
    if (!(ROLES as readonly string[]).includes(role)) {
      throw new ConfigError(`ROLES: "${role}" is not one of all, ${ROLES.join(', ')}`);
    }
  }
  return new Set(roles as Role[]);
}

/**
 * By default loopback for development on one machine. A service that listens on loopback may be behind a reverse proxy,
 * so in production that says nothing about who its tenants are.
 */
function readEgressAllow(
  { EGRESS_ALLOW: text, HOST, SERVICE_ENV }: Environment,
  has_servers: boolean,
): readonly string[] {
  if (text === undefined) {
    return SERVICE_ENV === 'dev' && !has_servers && isLoopback(HOST) ? LOOPBACK_NETWORKS : [];
  }
  return readNetworks('EGRESS_ALLOW', text);
}

function readNetworks(name: string, text: string): readonly string[] {
  const networks = text === 'none' ? [] : text.split(',').map((network) => network.trim());
  try {
    networkList(networks);
  } catch (cause) {
    const { message } = cause as Error;
    throw new ConfigError(`${name}: ${message}; separate several by commas, or write "none"`, { cause });
  }
  return networks;
}

function readOps({ OPS_PORT, OPS_HOST, HOST }: Environment): Config['ops'] {
  if (OPS_PORT === undefined && OPS_HOST !== undefined) throw new ConfigError('OPS_HOST: needs OPS_PORT');
  return OPS_PORT === undefined ? undefined : { host: OPS_HOST ?? HOST, port: OPS_PORT };
}

function readServers(env: Environment): Servers | undefined {
  const { KAFKA_BROKERS, CLICKHOUSE_URL, POSTGRES_URL, REDIS_URL } = env;
  const roles = readRoles(env.ROLES);
  const limits = LIMITING_ROLES.some((role) => roles.has(role));
  const urls = { KAFKA_BROKERS, CLICKHOUSE_URL, POSTGRES_URL, ...(limits ? { REDIS_URL } : {}) };
  const missing = missingOf(urls);
  const security = readKafkaSecurity(env);
  if (missing.length === Object.keys(urls).length) {
    if (security.kafka_tls === undefined && security.kafka_sasl === undefined) return undefined;
    throw new ConfigError('KAFKA_TLS and KAFKA_SASL_MECHANISM need KAFKA_BROKERS and the other servers');
  }
  if (!KAFKA_BROKERS || !CLICKHOUSE_URL || !POSTGRES_URL || (limits && !REDIS_URL)) {
    throw new ConfigError(`give all servers or none; missing: ${missing.join(', ')}`);
  }
  return {
    kafka_brokers: KAFKA_BROKERS.split(',').map((broker) => broker.trim()),
    kafka_topic_prefix: env.KAFKA_TOPIC_PREFIX,
    kafka_partitions: env.KAFKA_PARTITIONS,
    ...readKafkaReplicas(env),
    ...security,
    clickhouse_url: CLICKHOUSE_URL,
    postgres_url: POSTGRES_URL,
    redis_url: REDIS_URL,
  };
}

/**
 * Throws unless the settings are given that the processes of an installation on servers share: a process that made up
 * its own would send links to itself, encrypt credentials that no other process can read, keep hashes of excluded people
 * that no other process recognises, or refuse the internal calls that another one accepts.
 */
function requireShared(
  { PUBLIC_URL, CREDENTIALS_KEY, ERASURE_KEY, INTERNAL_SECRET }: Environment,
  roles: ReadonlySet<Role>,
): void {
  const needs = (those: readonly Role[]) => those.some((role) => roles.has(role));
  const missing = missingOf({
    PUBLIC_URL,
    ...(needs(KEYED_ROLES) ? { CREDENTIALS_KEY } : {}),
    ...(needs(ERASING_ROLES) ? { ERASURE_KEY } : {}),
    ...(needs(['api']) ? { INTERNAL_SECRET } : {}),
  });
  if (missing.length === 0) return;
  const problems = missing.map(
    (name) => `${name}: must be set, the same in every process that runs on servers and needs it`,
  );
  throw new ConfigError(problems.join('; '));
}

function readKafkaReplicas({
  KAFKA_REPLICATION_FACTOR: factor,
  KAFKA_MIN_INSYNC_REPLICAS: min_insync = Math.max(1, factor - 1),
}: Environment): Pick<Servers, 'kafka_replication_factor' | 'kafka_min_insync_replicas'> {
  if (min_insync > factor) {
    const both = `KAFKA_MIN_INSYNC_REPLICAS (${min_insync}) is over KAFKA_REPLICATION_FACTOR (${factor})`;
    throw new ConfigError(`${both}: Kafka would refuse every write`);
  }
  return { kafka_replication_factor: factor, kafka_min_insync_replicas: min_insync };
}

function readKafkaSecurity(env: Environment): Pick<Servers, 'kafka_tls' | 'kafka_sasl'> {
  const { KAFKA_CA_FILE, KAFKA_CERT_FILE, KAFKA_KEY_FILE } = env;
  const files = { KAFKA_CA_FILE, KAFKA_CERT_FILE, KAFKA_KEY_FILE };
  const has_tls = env.KAFKA_TLS === 'true';
  const given = Object.keys(files).filter((name) => files[name as keyof typeof files] !== undefined);
  if (!has_tls && given.length > 0) throw new ConfigError(`${given.join(', ')}: needs KAFKA_TLS=true`);
  if ((KAFKA_CERT_FILE === undefined) !== (KAFKA_KEY_FILE === undefined)) {
    const missing = missingOf({ KAFKA_CERT_FILE, KAFKA_KEY_FILE });
    throw new ConfigError(`give KAFKA_CERT_FILE and KAFKA_KEY_FILE together; missing: ${missing.join(', ')}`);
  }
  const client =
    KAFKA_CERT_FILE && KAFKA_KEY_FILE ? { cert_file: KAFKA_CERT_FILE, key_file: KAFKA_KEY_FILE } : undefined;
  return {
    kafka_tls: has_tls ? { ca_file: KAFKA_CA_FILE, client } : undefined,
    kafka_sasl: readKafkaSasl(env),
  };
}

function readKafkaSasl(env: Environment): KafkaCredentials | undefined {
  const { KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD } = env;
  const sasl = { KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD };
  const missing = missingOf(sasl);
  if (missing.length === Object.keys(sasl).length) return undefined;
  if (!KAFKA_SASL_MECHANISM || !KAFKA_SASL_USERNAME || !KAFKA_SASL_PASSWORD) {
    throw new ConfigError(`give ${Object.keys(sasl).join(', ')} together; missing: ${missing.join(', ')}`);
  }
  return { mechanism: KAFKA_SASL_MECHANISM, username: KAFKA_SASL_USERNAME, password: KAFKA_SASL_PASSWORD };
}

/** The names of the variables without a value. */
function missingOf(variables: Record<string, string | undefined>): string[] {
  return Object.keys(variables).filter((name) => variables[name] === undefined);
}

function readIdentityProvider(env: Environment): Config['identity_provider'] {
  const { AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE } = env;
  if (!AUTH_JWKS_URL && !AUTH_ISSUER && !AUTH_AUDIENCE) return undefined;
  if (!AUTH_JWKS_URL || !AUTH_ISSUER || !AUTH_AUDIENCE) {
    throw new ConfigError('give AUTH_JWKS_URL, AUTH_ISSUER and AUTH_AUDIENCE together');
  }
  return { jwks_url: AUTH_JWKS_URL, issuer: AUTH_ISSUER, audience: AUTH_AUDIENCE };
}

/** Both URLs by HTTPS, except on loopback: browsers keep the console's cookies nowhere else. */
function readConsoleProvider(env: Environment, public_url: string): Config['console_provider'] {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = env;
  if (!OIDC_ISSUER && !OIDC_CLIENT_ID && !OIDC_CLIENT_SECRET) return undefined;
  if (!OIDC_ISSUER || !OIDC_CLIENT_ID) {
    throw new ConfigError('give OIDC_ISSUER and OIDC_CLIENT_ID together; OIDC_CLIENT_SECRET needs both');
  }
  for (const [name, url] of Object.entries({ OIDC_ISSUER, PUBLIC_URL: public_url })) {
    if (new URL(url).protocol === 'https:' || isLoopbackUrl(url)) continue;
    throw new ConfigError(`${name}: must be an https URL, or on a loopback address, to sign users in`);
  }
  return { issuer: OIDC_ISSUER, client_id: OIDC_CLIENT_ID, client_secret: OIDC_CLIENT_SECRET };
}
