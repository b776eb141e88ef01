import type { FastifyReply } from 'fastify';

/**
 * What pages of the console may do: load from this host alone, run no inline script, and be framed by nobody. Images may
 * be data URLs, which the style sheets' icons are.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'content-security-policy-report-only': "require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

const YEAR_S = 31_536_000;

/** Sets the security headers of the console. `https`: the service is reached by HTTPS, so browsers must stay with it. */
export function setConsoleHeaders(reply: FastifyReply, { https }: { https: boolean }): void {
  void reply.headers(HEADERS);
  if (https) void reply.header('strict-transport-security', `max-age=${YEAR_S}`);
}
