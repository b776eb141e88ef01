import { hash } from 'node:crypto';
import { z } from 'zod';
import { ApiError } from '../../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../../http/endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import { readUnsubscribeToken, type Unsubscriber } from '../unsubscribe-link.ts';
import { unsubscribe } from './unsubscribe.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  link_key: Buffer;
}

const STYLE = 'body{font:1.1em sans-serif;max-width:32em;margin:4em auto;padding:0 1em}';

/** The page loads nothing, runs nothing and posts to itself. In a frame of another page a click could be a stolen one. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
} as const;

/** The form has no action, so the browser posts it to the page's own URL. */
const QUESTION = page('Do you want to receive no more of these messages?', '<button>Unsubscribe</button>');
const DONE = page('You will receive no more of these messages.', '');

const shared = {
  path: '/v1/unsubscribe',
  access: { mode: 'public' },
  // A missing token is answered like a wrong one.
  query: z.object({ token: z.string().default('').describe('Of the link in the message') }),
  response: z.string(),
  shape: 'raw',
  content_type: 'text/html; charset=utf-8',
  headers: HEADERS,
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
} as const;

/** The targets of the links in messages, for players, who have no credential. */
export function unsubscribeEndpoints({ postgres, clock, link_key }: Deps): AnyEndpoint[] {
  return [
    endpoint({
      ...shared,
      method: 'GET',
      summary:
        'A page that asks whether to unsubscribe; it changes nothing, because mail scanners follow links',
      handle({ query }) {
        requireToken(link_key, query.token);
        return QUESTION;
      },
    }),
    endpoint({
      ...shared,
      method: 'POST',
      summary: 'Unsubscribes: by the page, or by a mail program (RFC 8058)',
      raw_types: ['application/x-www-form-urlencoded', 'multipart/form-data'],
      async handle({ query }) {
        await unsubscribe({ postgres, clock }, requireToken(link_key, query.token));
        return DONE;
      },
    }),
  ];
}

function requireToken(link_key: Buffer, token: string): Unsubscriber {
  const who = readUnsubscribeToken(link_key, token);
  if (who === undefined)
    throw new ApiError('NOT_FOUND', 'this link is not one of ours: use the one in the message');
  return who;
}

function page(says: string, button: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<meta name="referrer" content="no-referrer">
<title>Unsubscribe</title>
<style>${STYLE}</style>
</head>
<body>
<p>${says}</p>
<form method="post">${button}</form>
</body>
</html>
`;
}
