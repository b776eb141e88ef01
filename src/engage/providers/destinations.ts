import { validationError, type Issue } from '../../errors.ts';
import { isLoopback } from '../../platform/egress/addresses.ts';
import { EgressRefused, type Destination, type Egress } from '../../platform/egress/egress.ts';

/** Ports below 1024 on which servers take mail. */
const SMTP_PORTS: readonly number[] = [25, 465, 587];
const MAX_PORT = 65_535;

/** The port on which mail servers encrypt from the first byte. */
export const IMPLICIT_TLS_PORT = 465;

/** Scheme, host and port that the secrets of a config go to; the kind of a provider never changes. */
export function addressOf({ host, port, secure, base_url }: Readonly<Record<string, unknown>>): string {
  if (typeof host === 'string')
    return `${isImplicit(port, secure) ? 'smtps' : 'smtp'}://${host}:${String(port)}`;
  return typeof base_url === 'string' ? new URL(base_url).origin : 'the usual address of the provider';
}

function isImplicit(port: unknown, secure: unknown): boolean {
  return secure === undefined ? port === IMPLICIT_TLS_PORT : secure === true;
}

/**
 * Throws VALIDATION_ERROR when a password would go over the network in clear: to a mail server that need not encrypt, and
 * is not one of this machine in development.
 */
export function requireEncryption(
  egress: Egress,
  { shown, secrets }: Readonly<Record<'shown' | 'secrets', Readonly<Record<string, unknown>>>>,
): void {
  const { host, port, secure, require_tls } = shown;
  if (typeof host !== 'string' || secrets['password'] === undefined) return;
  const must_encrypt = typeof require_tls === 'boolean' ? require_tls : !isLoopback(host);
  if (isImplicit(port, secure) || must_encrypt || egress.mayBePlain(host)) return;
  const message = 'must be true where a password is sent, so that nobody else reads it';
  throw validationError([{ path: 'config.require_tls', message }]);
}

/** The server of an SMTP provider. */
export function smtpDestination(host: string, port: number): Destination {
  return { host, port, usual_ports: SMTP_PORTS };
}

/**
 * Throws VALIDATION_ERROR when a config has a host or URL that tenants may not send to. The config need not be checked
 * otherwise: what is missing or of another type is left to the schema of its kind.
 */
export async function requireUsableDestinations(
  egress: Egress,
  config: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { host, port, base_url, service_account } = config;
  const checks: [path: string, check: Promise<void>][] = [];
  if (typeof host === 'string' && typeof port === 'number' && port > 0 && port <= MAX_PORT) {
    checks.push(['config.host', egress.check(smtpDestination(host.trim(), port))]);
  }
  if (typeof base_url === 'string') checks.push(['config.base_url', egress.checkUrl(base_url)]);
  const token_uri = tokenUriOf(service_account);
  if (token_uri !== undefined) {
    checks.push(['config.service_account.token_uri', egress.checkUrl(token_uri)]);
  }
  const issues: Issue[] = [];
  const results = await Promise.allSettled(checks.map(([, check]) => check));
  for (const [i, result] of results.entries()) {
    if (result.status === 'fulfilled') continue;
    const error: unknown = result.reason;
    if (!(error instanceof EgressRefused)) throw error;
    issues.push({ path: checks[i]?.[0] ?? 'config', message: error.message });
  }
  if (issues.length > 0) throw validationError(issues);
}

/** The token address of a service account, which may be given as the text of its file. */
function tokenUriOf(service_account: unknown): string | undefined {
  let account = service_account;
  try {
    if (typeof account === 'string') account = JSON.parse(account);
  } catch {
    return undefined;
  }
  const found =
    typeof account === 'object' && account !== null && 'token_uri' in account && account.token_uri;
  return typeof found === 'string' ? found : undefined;
}
