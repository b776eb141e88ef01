import { TypeGuards, type TagToken, type TopLevelToken } from 'liquidjs';
import { Expressions, type FilterUse } from './expression.ts';
import { GrammarError, lexemesOf } from './lexer.ts';

type Rule = (read: Expressions) => void;

const nothing: Rule = () => undefined;
const condition: Rule = (read) => read.condition();
const filtered: Rule = (read) => read.filtered();
const variable: Rule = (read) => void read.name('the name of a variable');

const assign: Rule = (read) => {
  const example = 'assign x = 1';
  read.name('the name of a new variable');
  read.mark('=', example);
  read.filtered();
};

const when: Rule = (read) => {
  do read.value();
  while (read.takes(',') || read.takes('or'));
};

const cycle: Rule = (read) => {
  read.value();
  if (read.takes(':')) read.value();
  while (read.takes(',')) read.value();
};

/** `for x in list`, with the words that may follow: `reversed`, `limit: 2`, `offset: continue`. */
function loop(name: string, flags: readonly string[], settings: readonly string[]): Rule {
  return (read) => {
    const example = `${name} x in list`;
    read.name('the name of a variable');
    read.mark('in', example);
    read.value();
    for (;;) {
      read.takes(',');
      const { kind, text } = read.next;
      if (kind !== 'name') return;
      if (flags.includes(text)) read.takes(text);
      else if (settings.includes(text)) {
        read.takes(text);
        read.mark(':', `${text}: 2`);
        read.value();
      } else return;
    }
  };
}

const BLOCKS = ['capture', 'case', 'for', 'if', 'tablerow', 'unless'];
/** How each tag goes on after its name. */
const RULES: Readonly<Record<string, Rule>> = {
  assign,
  capture: (read) => read.nameOrText('the name of a new variable'),
  case: filtered,
  when,
  cycle,
  decrement: variable,
  increment: variable,
  echo: filtered,
  if: condition,
  elsif: condition,
  unless: condition,
  for: loop('for', ['reversed'], ['limit', 'offset']),
  tablerow: loop('tablerow', [], ['cols', 'limit', 'offset']),
};
/** Tags after whose names nothing follows. */
const BARE = new Set(['else', 'break', 'continue', ...BLOCKS.map((name) => `end${name}`)]);

const TAG_NAME = /\s*(#|[A-Za-z_]\w*)/y;

/**
 * Checks the tags and outputs of a field against the grammar of Liquid, which its parser reads more loosely: it passes over
 * what it does not understand, and a message says something else than its author meant. Returns the filters in use. Throws
 * {@link GrammarError} at the first fault.
 */
export function requireGrammar(field: string, tokens: readonly TopLevelToken[]): FilterUse[] {
  const filters: FilterUse[] = [];
  let comments = 0;
  for (const token of tokens) {
    if (TypeGuards.isHTMLToken(token)) continue;
    const [begin, end] = codeOf(field, token.begin, token.end);
    if (TypeGuards.isOutputToken(token)) {
      if (comments === 0) filters.push(...readWhole(field, begin, end, filtered));
      continue;
    }
    const { name } = token as TagToken;
    if (name === 'comment') comments += 1;
    else if (name === 'endcomment') comments -= 1;
    else if (comments > 0) continue;
    else if (name === 'liquid') filters.push(...readLines(field, begin, end));
    else filters.push(...readTag(field, begin, end));
  }
  return filters;
}

/** The code of a tag or output without its braces and hyphens. */
function codeOf(field: string, begin: number, end: number): [number, number] {
  const from = begin + (field[begin + 2] === '-' ? 3 : 2);
  const to = end - (field[end - 3] === '-' && end - 3 >= from ? 3 : 2);
  return [from, Math.max(from, to)];
}

function readTag(field: string, begin: number, end: number): readonly FilterUse[] {
  TAG_NAME.lastIndex = begin;
  const [whole, name] = TAG_NAME.exec(field.slice(0, end)) ?? [];
  if (name !== undefined) requireMeant(field, begin + (whole?.length ?? 0) - name.length, name, end);
  const rule = RULES[name ?? ''] ?? (BARE.has(name ?? '') ? nothing : undefined);
  // The parser says what is wrong with a tag that has no name or does not exist. Text in comments is not code.
  if (whole === undefined || name === undefined || rule === undefined) return [];
  const from = begin + whole.length;
  if (name === 'else' && /^\s+if\b/.test(field.slice(from, end))) {
    throw new GrammarError(field.indexOf('if', from), '"else if" is not Liquid: write elsif');
  }
  return readWhole(field, from, end, rule);
}

/** Refuses names of tags in other languages with what Liquid has for them. */
function requireMeant(field: string, at: number, name: string, end: number): void {
  if (name === 'elseif' || name === 'elif') {
    throw new GrammarError(at, `"${name}" is not Liquid: write elsif`);
  }
  if (name !== 'end') return;
  const [block = ''] = /^\s+\w{1,20}/.exec(field.slice(at + name.length, end)) ?? [];
  const closing = `end${block.trim()}`;
  if (BARE.has(closing)) throw new GrammarError(at, `"end ${block.trim()}" is not Liquid: write ${closing}`);
}

/** The tags of a `liquid` tag, one a line. */
function readLines(field: string, begin: number, end: number): FilterUse[] {
  const filters: FilterUse[] = [];
  const name_end = field.indexOf('liquid', begin) + 'liquid'.length;
  let comments = 0;
  for (let from = name_end; from < end;) {
    const newline = field.indexOf('\n', from);
    const to = newline < 0 || newline > end ? end : newline;
    const [name] = field.slice(from, to).trim().split(/\s/, 1);
    if (name === 'comment') comments += 1;
    else if (name === 'endcomment') comments -= 1;
    else if (comments === 0) filters.push(...readTag(field, from, to));
    from = to + 1;
  }
  return filters;
}

function readWhole(field: string, begin: number, end: number, rule: Rule): readonly FilterUse[] {
  const read = new Expressions(lexemesOf(field, begin, end));
  rule(read);
  read.end();
  return read.filters;
}
