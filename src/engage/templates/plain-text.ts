import { Tokenizer, type TokenizerCallbacks as Callbacks } from 'htmlparser2';

/** What is read of the HTML, and written of the text: the work for one message is bounded. */
const MAX_HTML = 96 * 1024;
const MAX_TEXT = 100_000;
const MAX_TAG = 4_096;

/** Elements whose content is not shown. */
const HIDDEN = new Set(['head', 'script', 'style', 'template', 'title']);
/** Elements that stand in a paragraph of their own, and those that stand on a line of their own. */
const PARAGRAPHS = new Set('p h1 h2 h3 h4 h5 h6 ul ol table blockquote pre hr'.split(' '));
const LINES = new Set('br div tr li section article header footer main center form dl dt dd'.split(' '));
const CELLS = new Set(['td', 'th']);

/** Addresses that lead somewhere from a message. */
const LINK = /^(?:https?|mailto|tel):/i;
/** Invisible characters that pad the hidden beginning of a message, controls, and the replacement character. */
const UNSHOWN = /[\p{Cc}\p{Cf}\ufffd]/u;

/**
 * The text of an email's HTML, for readers that show no HTML: paragraphs and lines, list items with a hyphen, links with
 * their address in brackets. One pass of a tokenizer over the first 96 KiB; a tree of elements, which a library would
 * build, takes many times as long and more than linear time for some texts.
 */
export function plainText(html: string): string {
  const reader = new Reader(html.slice(0, MAX_HTML));
  return reader.read();
}

/** Passes the text and tags of a page to a {@link Writer}. Its methods are called by the tokenizer. */
class Reader implements Callbacks {
  readonly #source: string;
  readonly #writer = new Writer();
  /** The element whose content is not shown. */
  #hidden: string | undefined;
  #text = '';
  #tag = '';
  #attribute = '';
  #value = '';
  #href: string | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  read(): string {
    const tokenizer = new Tokenizer({ xmlMode: false, decodeEntities: true }, this);
    tokenizer.write(this.#source);
    tokenizer.end();
    return this.#writer.finished();
  }

  ontext(start: number, end: number): void {
    if (this.#hidden === undefined && this.#writer.length < MAX_TEXT)
      this.#text += this.#source.slice(start, end);
  }

  ontextentity(code_point: number): void {
    const character = String.fromCodePoint(code_point);
    if (this.#hidden === undefined && !UNSHOWN.test(character)) this.#text += character;
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#name(start, end);
    this.#href = undefined;
  }

  onattribname(start: number, end: number): void {
    this.#attribute = this.#name(start, end);
    this.#value = '';
  }

  onattribdata(start: number, end: number): void {
    if (this.#attribute === 'href') this.#value += this.#source.slice(start, end);
  }

  onattribentity(code_point: number): void {
    if (this.#attribute === 'href') this.#value += String.fromCodePoint(code_point);
  }

  onattribend(): void {
    if (this.#attribute === 'href') this.#href ??= this.#value.slice(0, MAX_TAG).trim();
  }

  onopentagend(): void {
    // A body ends a head that is not closed.
    if (this.#tag === 'body' && this.#hidden === 'head') this.#hidden = undefined;
    if (this.#hidden !== undefined) return;
    this.#flush();
    if (HIDDEN.has(this.#tag)) this.#hidden = this.#tag;
    else this.#writer.open(this.#tag, this.#href);
  }

  onselfclosingtag(): void {
    this.onopentagend();
  }

  onclosetag(start: number, end: number): void {
    const name = this.#name(start, end);
    if (this.#hidden === undefined) {
      this.#flush();
      this.#writer.close(name);
    } else if (this.#hidden === name) this.#hidden = undefined;
  }

  onend(): void {
    this.#flush();
  }

  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}

  #name(start: number, end: number): string {
    return this.#source.slice(start, Math.min(end, start + MAX_TAG)).toLowerCase();
  }

  #flush(): void {
    this.#writer.text(this.#text);
    this.#text = '';
  }
}

/** Writes text and tags, with white space as a browser shows it. */
class Writer {
  readonly #parts: string[] = [];
  #length = 0;
  /** The newlines, or the space, that come before the next text. */
  #newlines = 0;
  #has_space = false;
  #link: { href: string; shown: string } | undefined;

  get length(): number {
    return this.#length;
  }

  text(source: string): void {
    const text = source.replace(/\s+/g, ' ');
    if (text === '') return;
    const words = text.trim();
    if (text.startsWith(' ')) this.#has_space = true;
    if (words === '') return;
    const between = this.#newlines > 0 ? '\n'.repeat(this.#newlines) : this.#has_space ? ' ' : '';
    const added = this.#length === 0 ? words : between + words;
    this.#parts.push(added);
    this.#length += added.length;
    if (this.#link !== undefined && this.#link.shown.length < MAX_TAG) this.#link.shown += added;
    this.#newlines = 0;
    this.#has_space = text.endsWith(' ');
  }

  open(name: string, href: string | undefined): void {
    if (name === 'a') this.#anchor(href !== undefined && LINK.test(href) ? href : undefined);
    else this.#breaks(name);
    if (name === 'li') this.text('- ');
  }

  close(name: string): void {
    if (name === 'a') this.#anchor(undefined);
    else this.#breaks(name);
  }

  #breaks(name: string): void {
    if (PARAGRAPHS.has(name)) this.#newlines = 2;
    else if (name === 'br') this.#newlines = Math.min(this.#newlines + 1, 2);
    else if (LINES.has(name)) this.#newlines = Math.max(this.#newlines, 1);
    else if (CELLS.has(name)) this.#has_space = true;
  }

  finished(): string {
    return this.#parts.join('').slice(0, MAX_TEXT).toWellFormed();
  }

  /** Writes the address of the link that ends, unless its text is the address. */
  #anchor(href: string | undefined): void {
    const ended = this.#link;
    this.#link = href === undefined ? undefined : { href, shown: '' };
    if (ended === undefined) return;
    const shown = ended.shown.trim();
    if (shown === ended.href || `mailto:${shown}` === ended.href) return;
    this.#has_space = true;
    this.text(`(${ended.href})`);
  }
}
