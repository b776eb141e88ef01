import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { setConsoleHeaders } from './headers.ts';
import type { FailureReason } from './sign-in-failed.ts';

const STYLE = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}`;

/** Stricter than the policy of the console's pages: no script, and only this style. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGES: Record<FailureReason, { status: number; title: string; says: string }> = {
  refused: {
    status: 403,
    title: 'You are not signed in',
    says: 'The identity provider has not let you in. If you did not cancel this yourself, ask its administrator whether you may use this console.',
  },
  not_begun: {
    status: 400,
    title: 'This sign-in cannot be used',
    says: 'It took longer than ten minutes, was used before, or began in another browser or under another address. Begin it again.',
  },
  invalid: {
    status: 502,
    title: 'The sign-in failed',
    says: 'The answer of the identity provider could not be accepted. Begin again; if this does not help, the log of the service says what was wrong.',
  },
  unavailable: {
    status: 503,
    title: 'The identity provider does not answer',
    says: 'Nobody can sign in at present; who is signed in stays so. Try again in a few minutes.',
  },
  busy: {
    status: 429,
    title: 'Too many sign-ins at once',
    says: 'Try again in a few seconds.',
  },
};

const RETRY_AFTER_S: Partial<Record<FailureReason, number>> = { unavailable: 5, busy: 5 };

/**
 * Answers with a page that says why there is no session. It shows only the id of the request, under which the log
 * has the details. `home_url`: where the console is, by its public address.
 */
export function answerFailure(
  reply: FastifyReply,
  reason: FailureReason,
  { https, home_url, request_id }: { https: boolean; home_url: string; request_id: string },
): FastifyReply {
  const { status, title, says } = PAGES[reason];
  setConsoleHeaders(reply, { https });
  const retry_after_s = RETRY_AFTER_S[reason];
  if (retry_after_s !== undefined) void reply.header('retry-after', String(retry_after_s));
  return reply
    .code(status)
    .header('content-security-policy', POLICY)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8').send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${says}</p>
<p><a href="${attribute(home_url)}">To the console</a></p>
<p><small>Request ${attribute(request_id)}</small></p>
</main>
</body>
</html>
`);
}

function attribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
