import {
  analyzeSync,
  CaptureTag,
  Drop,
  Liquid,
  Token,
  toValue,
  type Context,
  type Emitter,
  type Template,
  type Variable,
} from 'liquidjs';
import { exactJson } from '../../platform/exact-json.ts';
import { plainOf } from './amount.ts';
import { boundOperators, boundTags, costOf } from './bounds.ts';
import { Exact } from './decimals.ts';
import { boundFilters, replaceFilter } from './filters.ts';
import { chargeValue, MAX_WORK } from './work.ts';

/** A limit for work that is not counted. */
const MAX_RENDER_MS = 1_000;
/** Per character: of a value in the output of HTML, and of the output. */
const ESCAPED = 4;
const EMITTED = 2;

/** HTML that the template itself has made, with every value in it escaped: it is not escaped again. */
class Markup extends Drop {
  readonly html: string;

  constructor(html: string) {
    super();
    this.html = html;
  }

  override valueOf(): string {
    return this.html;
  }

  override toString(): string {
    return this.html;
  }
}

/** Escapes a text for HTML, between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&#34;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** The text of a value in the output; objects as JSON, numbers with the digits that were sent. */
function textOf(value: unknown): string {
  const given = plainOf(value);
  if (given instanceof Exact) return String(given);
  const plain: unknown = toValue(given);
  if (plain === null || plain === undefined) return '';
  if (typeof plain === 'string') return plain;
  if (Array.isArray(plain)) return plain.map(textOf).join('');
  if (typeof plain === 'object') return plain instanceof Drop ? '' : exactJson(plain);
  return typeof plain === 'number' || typeof plain === 'boolean' || typeof plain === 'bigint'
    ? `${plain}`
    : '';
}

const htmlOf = (value: unknown) => (value instanceof Markup ? value.html : escapeHtml(textOf(value)));

/** The tag `capture` for HTML: the captured text is escaped already, so it becomes {@link Markup}. */
class CaptureMarkup extends CaptureTag {
  override *render(ctx: Context): Generator<unknown, void, string> {
    const html = yield this.liquid.renderer.renderTemplates(this.templates, ctx);
    (ctx.bottom() as Record<string, unknown>)[this.variable] = new Markup(html);
  }
}

/** Collects the output of a template and counts its characters as work. */
class BoundedEmitter implements Emitter {
  buffer = '';
  readonly #work: Context['memoryLimit'];

  constructor(work: Context['memoryLimit']) {
    this.#work = work;
  }

  write(value: unknown): void {
    const text = textOf(value);
    this.#work.use(text.length * EMITTED);
    this.buffer += text;
  }
}

/** Charges for writing a value as text, before it is written. */
function charging(write: (value: unknown) => string, rate: number) {
  return function charged(this: { context: Context } | void, value: unknown): string {
    if (this !== undefined) chargeValue(this.context.memoryLimit, value, rate);
    return write(value);
  };
}

function openEngine(write: (value: unknown) => string, rate: number): Liquid {
  const engine = new Liquid({
    outputEscape: charging(write, rate),
    operators: boundOperators() ?? {},
    ownPropertyOnly: true,
    strictFilters: true,
    templates: {},
    memoryLimit: MAX_WORK,
    renderLimit: MAX_RENDER_MS,
    locale: 'en-US',
    timezoneOffset: 0,
  });
  boundTags(engine);
  boundFilters(engine);
  const { renderer } = engine;
  const renderTemplates = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, ctx, emitter) => {
    ctx.memoryLimit.use(costOf(templates));
    return renderTemplates(templates, ctx, emitter ?? new BoundedEmitter(ctx.memoryLimit));
  };
  return engine;
}

function openHtmlEngine(): Liquid {
  const engine = openEngine(htmlOf, ESCAPED);
  engine.registerTag('capture', CaptureMarkup);
  // Every output is escaped once, so these filters must not escape it before.
  for (const name of ['escape', 'escape_once', 'xml_escape']) replaceFilter(engine, name, (value) => value);
  replaceFilter(engine, 'newline_to_br', (value) => new Markup(htmlOf(value).replace(/\r?\n/g, '<br />\n')));
  return engine;
}

/** Liquid for plain text: values are not escaped. */
export const textEngine: Liquid = openEngine(textOf, 1);
/** Liquid for HTML: every value is escaped after its filters. */
export const htmlEngine: Liquid = openHtmlEngine();

/** The variables that a template reads and does not set itself, one entry per use. */
export function globalsOf(templates: Template[]): Variable[] {
  // The analysis calls getPosition for each variable, which counts lines from the start of the template: minutes for a
  // long one. The positions are not needed here, so a constant replaces the method meanwhile.
  const asked = Object.getOwnPropertyDescriptor(Token.prototype, 'getPosition');
  Token.prototype.getPosition = () => [1, 1];
  try {
    return Object.values(analyzeSync(templates, { partials: false }).globals).flat();
  } finally {
    if (asked !== undefined) Object.defineProperty(Token.prototype, 'getPosition', asked);
  }
}
