import type { Channel } from '../../tenants/config/channels.ts';
import type { Rendered } from './render.ts';

/** The page is framed by the console alone. What a template brings cannot run, load, or reach the page around it. */
export const FRAME_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
  'referrer-policy': 'no-referrer',
};

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Longer texts are cut: no channel of texts takes them. */
const MAX_SHOWN = 100_000;
const PAGE = '<!doctype html><meta charset="utf-8">';

/** A rendered message as a page: the HTML of an email as it is, the text of other channels as text. */
export function framedHtml(channel: Channel, { body }: Pick<Rendered, 'body'>): string {
  if (channel === 'email') return body;
  const text = body.slice(0, MAX_SHOWN).replaceAll(/[&<>]/g, (character) => ENTITIES[character] ?? character);
  return `${PAGE}<pre style="font: 15px/1.4 sans-serif; white-space: pre-wrap">${text}</pre>`;
}
