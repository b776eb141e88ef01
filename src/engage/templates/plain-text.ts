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

const TAG_BEGIN = /<[a-z!?/]/g;
const TAG_NAME = /^<(\/?)([a-z][a-z0-9]*)/;

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  shy: '',
  zwnj: '',
  zwj: '',
  euro: '€',
  pound: '£',
  yen: '¥',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  bull: '•',
  middot: '·',
  times: '×',
};

/**
 * The text of an email's HTML, for readers that show no HTML: paragraphs and lines, list items with a hyphen, links with
 * their address in brackets. One pass over the first 96 KiB, without searching any part twice; a library that builds a
 * tree takes many times as long.
 */
export function plainText(html: string): string {
  const source = html.slice(0, MAX_HTML);
  const lower = source.toLowerCase();
  const writer = new Writer();
  let at = 0;
  while (at < source.length && writer.length < MAX_TEXT) {
    // Any other `<` is text.
    TAG_BEGIN.lastIndex = at;
    const open = TAG_BEGIN.exec(lower)?.index;
    writer.text(source.slice(at, open));
    if (open === undefined) break;
    const [, slash, name = ''] = TAG_NAME.exec(lower.slice(open, open + 32)) ?? [];
    const closing = lower.startsWith('<!--', open) ? '-->' : '>';
    const end = source.indexOf(closing, open);
    // Nothing that is not closed is shown, nor what follows it.
    if (end < 0) break;
    at = end + closing.length;
    if (slash === '' && HIDDEN.has(name)) {
      const close = lower.indexOf(`</${name}`, at);
      if (close < 0) break;
      at = close;
    } else writer.tag(name, slash === '/', source.slice(open, Math.min(at, open + MAX_TAG)));
  }
  return writer.finished();
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
    const text = decoded(source).replace(/\s+/g, ' ');
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

  tag(name: string, is_end: boolean, source: string): void {
    if (name === 'a') this.#anchor(is_end ? undefined : hrefOf(source));
    else if (PARAGRAPHS.has(name)) this.#newlines = 2;
    else if (name === 'br') this.#newlines = Math.min(this.#newlines + 1, 2);
    else if (LINES.has(name)) this.#newlines = Math.max(this.#newlines, 1);
    else if (CELLS.has(name)) this.#has_space = true;
    if (name === 'li' && !is_end) this.text('- ');
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

/** The address of an `<a>`; undefined without one, and for one that leads nowhere outside the message. */
function hrefOf(tag: string): string | undefined {
  const [, double, single, bare] = /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(tag) ?? [];
  const href = decoded(double ?? single ?? bare ?? '').trim();
  return /^(?:https?|mailto|tel):/i.test(href) ? href : undefined;
}

function decoded(source: string): string {
  return source.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal, hexadecimal, name) => {
      if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole;
      const code = decimal === undefined ? parseInt(String(hexadecimal), 16) : Number(decimal);
      // Control characters, and what is no character, would not arrive.
      return code >= 0x20 && code <= 0x10ffff && !(code >= 0x7f && code < 0xa0)
        ? String.fromCodePoint(code)
        : '';
    },
  );
}
