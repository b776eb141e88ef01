import { Tokenizer } from 'htmlparser2';
import type { Message, SendOutcome } from '../../providers/message.ts';

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
export const NO_ADDRESS: SendOutcome = { kind: 'rejected', reason: 'the recipient is not an email address' };

/** Parses `Casino <hello@casino.example>`, or an address alone. */
export function parseSender(from: string): { email: string; name?: string } {
  const [, name = '', email] = /^([^<>]*)<([^<>]+)>$/.exec(oneLine(from)) ?? [];
  if (email === undefined) return { email: oneLine(from) };
  const plain = name.trim().replace(/^"(.*)"$/, '$1');
  return plain === '' ? { email } : { email, name: plain };
}

/** The type of pictures. */
export const PNG = 'image/png';

/** The pictures of a message, each with the name of its file and the id that its HTML names. */
export function picturesOf({ pictures = [] }: Pick<Message, 'pictures'>) {
  return pictures.map(({ cid, png }) => ({ filename: `${cid}.png`, content_id: cid, png }));
}

const HIDDEN = 'display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all';

/** Characters in which the element `body` is looked for: a head with its styles comes before it. */
const MAX_HEAD = 128 * 1024;

/**
 * The body with the preheader as its first, hidden text: mail programs show the beginning of the body after the subject.
 * Without an element `body` it comes after the last of the head, `html` and the document type, and else first.
 */
export function emailHtml({ body, preheader }: Pick<Message, 'body' | 'preheader'>): string {
  if (preheader === null || preheader === '') return body;
  const begin = contentBegin(body.slice(0, MAX_HEAD));
  return `${body.slice(0, begin)}<div style="${HIDDEN}">${preheader}</div>${body.slice(begin)}`;
}

/** Where the content of a page begins; text in comments, styles and attributes is not a tag. */
function contentBegin(html: string): number {
  let begin = 0;
  let tag = '';
  const nameOf = (start: number, end: number) => html.slice(start, Math.min(end, start + 10)).toLowerCase();
  const nothing = () => undefined;
  const tokenizer: Tokenizer = new Tokenizer(
    { xmlMode: false, decodeEntities: false },
    {
      onopentagname: (start, end) => (tag = nameOf(start, end)),
      onopentagend: (end) => {
        if (tag === 'html' || tag === 'body') begin = end + 1;
        if (tag === 'body') tokenizer.pause();
      },
      onclosetag: (start, end) => {
        if (nameOf(start, end) === 'head') begin = html.indexOf('>', end) + 1;
      },
      ondeclaration: (_start, end) => (begin = end + 1),
      onselfclosingtag: nothing,
      onattribname: nothing,
      onattribdata: nothing,
      onattribentity: nothing,
      onattribend: nothing,
      ontext: nothing,
      ontextentity: nothing,
      oncomment: nothing,
      oncdata: nothing,
      onprocessinginstruction: nothing,
      onend: nothing,
    },
  );
  tokenizer.write(html);
  return begin;
}
