import {
  LiquidError,
  Tokenizer,
  TypeGuards,
  Variable,
  type Liquid,
  type Template,
  type TopLevelToken,
} from 'liquidjs';
import { ApiError, type Issue } from '../../errors.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { BoundedContext, prepare } from './bounds.ts';
import { GrammarError } from './grammar/lexer.ts';
import { undefinedFilter } from './grammar/filter-names.ts';
import { requireLiquid } from './grammar/require-liquid.ts';
import { localeOf, mentionsMoney, MONEY, type MoneyCatalogue, type MoneyContext } from './money.ts';
import { plainText } from './plain-text.ts';
import { chargePath } from './work.ts';
import { globalsOf, htmlEngine, textEngine } from './liquid.ts';

/** A template as its author wrote it: Liquid in every field. */
export interface TemplateSource {
  channel: Channel;
  subject: string | null;
  preheader: string | null;
  body: string;
  data: Readonly<Record<string, string>>;
}

/** A template rendered for one player. */
export interface Rendered {
  /** One line without control characters. */
  subject: string | null;
  /** HTML with every value escaped. */
  preheader: string | null;
  /** HTML with every value escaped for email, text for the others. */
  body: string;
  /** The text part of an email, made of its body; null for the other channels. */
  text: string | null;
  data: Record<string, string>;
  /** The variables that the template reads and the scope does not have, sorted: `first_name`, `bonus.code`. */
  missing_variables: string[];
}

/** A parsed field of a template. */
interface Field {
  engine: Liquid;
  templates: Template[];
  path: string;
}

/** A parsed template: parsed once, it is rendered for many players. */
export interface CompiledTemplate {
  channel: Channel;
  subject: Field | null;
  preheader: Field | null;
  body: Field;
  data: readonly (readonly [name: string, field: Field])[];
  /** Whether it may use the filter `money`, which needs the currencies of the tenant. */
  mentions_money: boolean;
  /** The variables that the template reads; the path of `bonus.code` is `['bonus', 'code']`. */
  reads: readonly { name: string; path: readonly (string | number)[] }[];
}

/** A problem in a field of a template, with its position, counted from 1. */
interface TemplateIssue extends Issue {
  line: number | null;
  column: number | null;
  /** The name of the wrong tag, such as `if`; for an output its text. */
  tag: string | null;
}

/** The template cannot be rendered for this player. `message` contains no data of the player. */
export class RenderFailed extends Error {
  override readonly name = 'RenderFailed';
  readonly code = 'TEMPLATE_FAILED';
  readonly issue: TemplateIssue;

  constructor(issue: TemplateIssue) {
    super(`${issue.path}: ${issue.message}`);
    this.issue = issue;
  }
}

/** The longest rendered field, in UTF-16 units. */
const MAX_LENGTH = { line: 10_000, text: 1024 * 1024 };
const MAX_TAG_LENGTH = 100;
/**
 * Limits of a template's code, which is parsed at once, over all fields: tags (also those in `liquid`) and outputs, their
 * characters, and marks between their parts.
 */
const MAX_TAGS = 1_000;
/** Twice as many, all of them operands of conditions, took 44 ms of a busy machine to parse: too near to the 50 that we allow. */
const MAX_CODE = 16_384;
const MAX_TAG_CODE = 8_192;
const MAX_MARKS = 4_000;

/** How much code the fields of a template have so far. */
interface Code {
  tags: number;
  characters: number;
  marks: number;
}

/**
 * Parses every field of a template that is about to be saved. Throws TEMPLATE_INVALID unless each is Liquid by the grammar;
 * details name field, line, column and tag.
 */
export function checkTemplate(source: TemplateSource): CompiledTemplate {
  return parseFields(source, requireLiquid);
}

/**
 * Parses every field of a stored template. Templates that were saved before the grammar was checked are read as the library
 * reads them. Throws TEMPLATE_INVALID.
 */
export function compileTemplate(source: TemplateSource): CompiledTemplate {
  return parseFields(source, () => undefined);
}

function parseFields(
  source: TemplateSource,
  check: (text: string, tokens: readonly TopLevelToken[]) => void,
): CompiledTemplate {
  const issues: TemplateIssue[] = [];
  const code: Code = { tags: 0, characters: 0, marks: 0 };
  const parse = (path: string, text: string, engine: Liquid): Field => {
    let tokens: TopLevelToken[] = [];
    try {
      tokens = tokensOf(text, engine, code);
      // Before the library parses them: it takes the tokens out of the list, and says less.
      check(text, tokens);
      return { path, engine, templates: engine.parser.parseTokens(tokens) };
    } catch (error) {
      issues.push(
        error instanceof GrammarError
          ? (earlierIssue(path, engine, tokens, error.at) ?? grammarIssue(path, text, error))
          : issueOf(path, error),
      );
      return { path, engine, templates: [] };
    }
  };
  const markup = source.channel === 'email' ? htmlEngine : textEngine;
  const optional = (path: 'subject' | 'preheader', engine: Liquid) => {
    const text = source[path];
    return text === null ? null : parse(path, text, engine);
  };
  const subject = optional('subject', textEngine);
  const preheader = optional('preheader', markup);
  const body = parse('body', source.body, markup);
  const data = Object.entries(source.data).map(
    ([name, text]) => [name, parse(`data.${name}`, text, textEngine)] as const,
  );
  const fields = [subject, preheader, body, ...data.map(([, field]) => field)];
  const reads = preparedReads(
    fields.filter((field) => field !== null),
    issues,
  );
  if (issues.length > 0) throw templateInvalid(issues);
  const mentions_money = mentionsMoney(textsOf(source));
  return { channel: source.channel, subject, preheader, body, data, mentions_money, reads };
}

/** Every text of a template that may have Liquid in it. */
export function textsOf({ subject, preheader, body, data }: TemplateSource): string[] {
  return [subject ?? '', preheader ?? '', body, ...Object.values(data)];
}

/**
 * The tags, outputs and texts of a field, which are added to `so_far`. Throws RangeError when the template has more code
 * than may be parsed at once.
 */
function tokensOf(text: string, engine: Liquid, so_far: Code): TopLevelToken[] {
  so_far.tags += numberOfTags(text);
  requireAtMost(MAX_TAGS, so_far.tags, 'tags, outputs and lines of liquid tags');
  const tokens = new QuickTokenizer(text, engine.options.operators).readTopLevelTokens(engine.options);
  for (const token of tokens) {
    if (TypeGuards.isHTMLToken(token)) continue;
    const length = token.end - token.begin;
    const code = text.slice(token.begin, token.end);
    so_far.characters += length;
    so_far.marks += code.match(/[,|.:[]/g)?.length ?? 0;
    // Each line of a `liquid` tag is a tag.
    if (TypeGuards.isTagToken(token) && token.name === 'liquid')
      so_far.tags += code.match(/\n/g)?.length ?? 0;
    if (length > MAX_TAG_CODE) {
      throw new RangeError(`has a tag or output of ${length} characters: give at most ${MAX_TAG_CODE}`);
    }
  }
  requireAtMost(MAX_TAGS, so_far.tags, 'tags, outputs and lines of liquid tags');
  requireAtMost(MAX_CODE, so_far.characters, 'characters in tags and outputs');
  requireAtMost(MAX_MARKS, so_far.marks, 'of the marks , | . : [ in tags and outputs');
  return tokens;
}

/** As the library's, which compares each character of a text with each delimiter: 15 ms for a megabyte. */
class QuickTokenizer extends Tokenizer {
  override readHTMLToken(delimiters: string[]): ReturnType<Tokenizer['readHTMLToken']> {
    const begin = this.p;
    this.p = nextTag(this.input, begin);
    return Object.assign(super.readHTMLToken(delimiters), { begin });
  }
}

/** Where the next `{{` or `{%` begins, from `from` on; the length of the text if there is none. */
function nextTag(text: string, from: number): number {
  for (let at = text.indexOf('{', from); at !== -1; at = text.indexOf('{', at + 1)) {
    if (text[at + 1] === '{' || text[at + 1] === '%') return at;
  }
  return text.length;
}

/** How often `{{` and `{%` are in the text; without a list of them, as a hostile text has hundreds of thousands. */
function numberOfTags(text: string): number {
  let tags = 0;
  for (let at = nextTag(text, 0); at < text.length; at = nextTag(text, at + 2)) tags++;
  return tags;
}

function requireAtMost(most: number, given: number, what: string): void {
  if (given > most) throw new RangeError(`brings the template to ${given} ${what}: give at most ${most}`);
}

/**
 * Renders the template with the variables in `scope`, and amounts in the currencies of the tenant. Throws
 * {@link RenderFailed} when a limit is exceeded or a filter fails. The limits of work and time apply to all fields of the message together.
 */
export function renderMessage(
  template: CompiledTemplate,
  scope: Record<string, unknown>,
  catalogue: MoneyCatalogue,
): Rendered {
  const { subject, preheader, body, data, reads } = template;
  const globals = { [MONEY]: { catalogue, locale: localeOf(scope) } satisfies MoneyContext };
  const contextOf = ({ engine }: Field, limits?: Pick<BoundedContext, 'memoryLimit' | 'renderLimit'>) =>
    new BoundedContext(scope, engine.options, { sync: true, globals }, { liquid: engine, ...limits });
  const { memoryLimit, renderLimit } = contextOf(body);
  const made = (field: Field, kind: 'line' | 'text') =>
    render(field, contextOf(field, { memoryLimit, renderLimit }), kind);
  const missing = charged(body, () =>
    reads.filter(({ path }) => {
      chargePath(memoryLimit, path.length);
      return isMissing(scope, path);
    }),
  ).map(({ name }) => name);
  const rendered = {
    subject: subject && made(subject, 'line'),
    preheader: preheader && made(preheader, 'line'),
    body: made(body, 'text'),
    data: Object.fromEntries(data.map(([name, field]) => [name, made(field, 'text')])),
    missing_variables: missing,
  };
  return { ...rendered, text: template.channel === 'email' ? plainText(rendered.body) : null };
}

/** Whether the body shows nothing, or the subject of an email: such a message is not sent. */
export function isBlank({ subject, body, text }: Pick<Rendered, 'subject' | 'body' | 'text'>): boolean {
  const is_email = text !== null;
  return !isVisible(body) || (is_email && !isVisible(subject ?? ''));
}

function isVisible(text: string): boolean {
  return /[^\s\p{Cf}]/u.test(text);
}

/** 422 TEMPLATE_INVALID; the message contains the first issue and its position. */
export function templateInvalid(issues: TemplateIssue[]): ApiError {
  const [first] = issues;
  const position = first?.line ? ` line ${first.line}, column ${first.column}` : '';
  const message =
    first === undefined ? 'the template is not usable' : `${first.path}${position}: ${first.message}`;
  return new ApiError('TEMPLATE_INVALID', message, { details: { issues } });
}

function render(field: Field, context: BoundedContext, kind: 'line' | 'text'): string {
  const { engine, templates, path } = field;
  const text: unknown = charged(field, () => engine.renderSync(templates, context));
  if (typeof text !== 'string') return '';
  if (text.length > MAX_LENGTH[kind]) {
    const message = `becomes over ${MAX_LENGTH[kind]} characters long`;
    throw new RenderFailed({ path, message, line: null, column: null, tag: null });
  }
  // Lone surrogates, and control characters other than white space, can neither be stored nor sent.
  const whole = text.toWellFormed();
  if (kind === 'line') return whole.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  return whole.replace(/\r\n?/g, '\n').replace(/[^\P{Cc}\t\n]/gu, '');
}

/** The result of work for a field. Throws {@link RenderFailed} when a limit is exceeded. */
function charged<T>({ path }: Field, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new RenderFailed(issueOf(path, error));
  }
}

/** Messages of the parser and renderer, and the messages that replace them. */
const IN_OTHER_WORDS: readonly (readonly [RegExp, (part: string) => string])[] = [
  [/^undefined filter: (\S+)$/, undefinedFilter],
  [/^.* limit exceeded$/s, () => 'takes more work than one message may cost'],
  [/^.*call stack.*$/is, () => 'is nested too deeply'],
];

/** What the library refuses before a fault of the grammar, such as a tag that does not exist. */
function earlierIssue(
  path: string,
  engine: Liquid,
  tokens: readonly TopLevelToken[],
  at: number,
): TemplateIssue | undefined {
  try {
    engine.parser.parseTokens(tokens.filter(({ end }) => end <= at));
  } catch (error) {
    const issue = issueOf(path, error);
    // The block may end behind the fault.
    return issue.message.endsWith('not closed') ? undefined : issue;
  }
  return undefined;
}

function grammarIssue(path: string, text: string, { at, message }: GrammarError): TemplateIssue {
  const before = text.slice(0, at);
  const line_begin = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  // The code around the fault, on its line.
  const code_begin = Math.max(before.lastIndexOf('{{'), before.lastIndexOf('{%'));
  const begin = Math.max(line_begin, code_begin, at - MAX_TAG_LENGTH / 2);
  const [tag = ''] = text.slice(begin, begin + MAX_TAG_LENGTH).split('\n', 1);
  return { path, message, line, column: at - line_begin + 1, tag: tag.trim() || null };
}

function issueOf(path: string, error: unknown): TemplateIssue {
  if (!LiquidError.is(error)) return { path, message: messageOf(error), line: null, column: null, tag: null };
  const { token } = error;
  const [line = null, column = null] = token.getPosition();
  const tag = TypeGuards.isTagToken(token) ? token.name : token.getText().slice(0, MAX_TAG_LENGTH);
  return { path, message: messageOf(error.originalError ?? error), line, column, tag: tag || null };
}

/** The message of an error without the position, which has fields of its own. */
function messageOf(error: unknown): string {
  const said = error instanceof Error ? error.message : 'cannot be rendered';
  const message = said.replace(/(, file:[^,]*)?, line:\d+, col:\d+$/, '').slice(0, 500);
  for (const [pattern, inOtherWords] of IN_OTHER_WORDS) {
    const found = pattern.exec(message);
    if (found !== null) return inOtherWords(found[1] ?? '');
  }
  return message;
}

/** Prepares the fields for rendering; returns the variables that they read and do not set, once each, sorted by name. */
function preparedReads(fields: readonly Field[], issues: TemplateIssue[]): CompiledTemplate['reads'] {
  const reads = new Map<string, (string | number)[]>();
  for (const { path, templates } of fields) {
    try {
      for (const variable of globalsOf(templates)) {
        const known = staticPath(variable);
        reads.set(String(new Variable(known, variable.location)), known);
      }
      prepare(templates);
    } catch (error) {
      issues.push(issueOf(path, error));
    }
  }
  return [...reads].map(([name, path]) => ({ name, path })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The path of a variable, up to a part that depends on another variable, or that every list or text has (`size`). */
function staticPath({ segments }: Variable): (string | number)[] {
  const path: (string | number)[] = [];
  for (const segment of segments) {
    if (segment instanceof Variable) break;
    if (path.length > 0 && (segment === 'size' || segment === 'first' || segment === 'last')) break;
    path.push(segment);
  }
  return path;
}

function isMissing(scope: unknown, path: readonly (string | number)[]): boolean {
  let value = scope;
  for (const segment of path) {
    if (typeof value !== 'object' || value === null) return true;
    const key =
      typeof segment === 'number' && segment < 0 && Array.isArray(value) ? value.length + segment : segment;
    value = Object.hasOwn(value, key) ? (value as Record<string | number, unknown>)[key] : undefined;
  }
  return value === null || value === undefined;
}
