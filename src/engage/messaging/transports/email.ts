import type { Message, Outcome } from '../../providers/message.ts';

/** A text that is safe in a header: control characters and line breaks become spaces. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}

/**
 * Whether the text is one plain address. A text that a mail program would read as a list, a name or a comment is
 * refused: the message could reach another person.
 */
export function isAddress(text: string): boolean {
  return /^[^\s\p{Cc}@,;:<>()[\]"\\]+@[^\s\p{Cc}@,;:<>()[\]"\\]+$/u.test(text);
}

/** The outcome of a message whose recipient is not an address. */
export const NO_ADDRESS: Outcome = { kind: 'rejected', reason: 'the recipient is not an email address' };

/** Parses `Casino <hello@casino.example>`, or an address alone. */
export function parseSender(from: string): { email: string; name?: string } {
  const [, name = '', email] = /^([^<>]*)<([^<>]+)>$/.exec(oneLine(from)) ?? [];
  if (email === undefined) return { email: oneLine(from) };
  const plain = name.trim().replace(/^"(.*)"$/, '$1');
  return plain === '' ? { email } : { email, name: plain };
}

const HIDDEN = 'display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all';

/**
 * The body with the preheader as its first, hidden text: mail programs show the beginning of the body after the
 * subject.
 */
export function emailHtml({ body, preheader }: Pick<Message, 'body' | 'preheader'>): string {
  if (preheader === null || preheader === '') return body;
  const hidden = `<div style="${HIDDEN}">${preheader}</div>`;
  // Two searches, because one expression for both would try the rest of the text from every `<body`.
  const opening = body.search(/<body/i);
  const end = opening < 0 ? 0 : body.indexOf('>', opening) + 1;
  return body.slice(0, end) + hidden + body.slice(end);
}
