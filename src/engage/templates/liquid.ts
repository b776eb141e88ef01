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

/**
 * Work that rendering one message may cost: one unit per character that is put out or goes through a filter, and
 * `STEP_COST` per tag or output. Counted, so that a template fails always or never, and not on a busy machine alone.
 */
const MAX_WORK = 2_000_000;
const STEP_COST = 20;
/** For what the count does not see. */
const MAX_RENDER_MS = 1_000;
/** Tags that read other files: there are none. */
const FILE_TAGS = ['include', 'render', 'layout', 'block'];

/** HTML that was made by the template itself, with every value in it escaped: it is put out as it is. */
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

/** A text in HTML, between tags or in a quoted attribute. */
function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&#34;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** A value as it is put out; objects as JSON. */
function textOf(value: unknown): string {
  const plain: unknown = toValue(value);
  if (plain === null || plain === undefined) return '';
  if (typeof plain === 'string') return plain;
  if (Array.isArray(plain)) return plain.map(textOf).join('');
  if (typeof plain === 'object') return plain instanceof Drop ? '' : JSON.stringify(plain);
  return typeof plain === 'number' || typeof plain === 'boolean' || typeof plain === 'bigint'
    ? `${plain}`
    : '';
}

const htmlOf = (value: unknown) => (value instanceof Markup ? value.html : escapeHtml(textOf(value)));

/** What is captured is HTML already. */
class CaptureMarkup extends CaptureTag {
  override *render(ctx: Context): Generator<unknown, void, string> {
    const html = yield this.liquid.renderer.renderTemplates(this.templates, ctx);
    (ctx.bottom() as Record<string, unknown>)[this.variable] = new Markup(html);
  }
}

class BoundedEmitter implements Emitter {
  buffer = '';
  readonly #work: Context['memoryLimit'];

  constructor(work: Context['memoryLimit']) {
    this.#work = work;
  }

  write(value: unknown): void {
    const text = textOf(value);
    this.#work.use(text.length);
    this.buffer += text;
  }
}

function openEngine(outputEscape: (value: unknown) => string): Liquid {
  const engine = new Liquid({
    outputEscape,
    ownPropertyOnly: true,
    strictFilters: true,
    templates: {},
    memoryLimit: MAX_WORK,
    renderLimit: MAX_RENDER_MS,
    locale: 'en-US',
    timezoneOffset: 0,
  });
  for (const name of FILE_TAGS) delete engine.tags[name];
  // With it, what players say of themselves could become markup.
  engine.unregisterFilter('raw');
  const { renderer } = engine;
  const renderTemplates = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, ctx, emitter) => {
    ctx.memoryLimit.use((templates.length + 1) * STEP_COST);
    return renderTemplates(templates, ctx, emitter ?? new BoundedEmitter(ctx.memoryLimit));
  };
  return engine;
}

function openHtmlEngine(): Liquid {
  const engine = openEngine(htmlOf);
  engine.registerTag('capture', CaptureMarkup);
  // Every output is escaped, once.
  for (const name of ['escape', 'escape_once', 'xml_escape']) {
    engine.registerFilter(name, (value: unknown) => value);
  }
  engine.registerFilter(
    'newline_to_br',
    (value: unknown) => new Markup(htmlOf(value).replace(/\r?\n/g, '<br />\n')),
  );
  return engine;
}

/** Liquid for plain text: nothing is escaped. */
export const textEngine: Liquid = openEngine(textOf);
/** Liquid for HTML: every output is escaped, whatever filters it went through. */
export const htmlEngine: Liquid = openHtmlEngine();

/** The variables that a template reads and does not set itself. */
export function globalsOf(templates: Template[]): Variable[] {
  // The analysis asks where each of them stands, and the parser finds that out by counting from the start: minutes for a
  // long template. Nobody needs it here.
  const asked = Object.getOwnPropertyDescriptor(Token.prototype, 'getPosition');
  Token.prototype.getPosition = () => [1, 1];
  try {
    return Object.values(analyzeSync(templates, { partials: false }).globals).flat();
  } finally {
    if (asked !== undefined) Object.defineProperty(Token.prototype, 'getPosition', asked);
  }
}
