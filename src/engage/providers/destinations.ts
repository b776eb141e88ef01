import { validationError, type Issue } from '../../errors.ts';
import { EgressRefused, type Destination, type Egress } from '../../platform/egress/egress.ts';

/** Ports below 1024 on which servers take mail. */
const SMTP_PORTS: readonly number[] = [25, 465, 587];
const MAX_PORT = 65_535;

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
