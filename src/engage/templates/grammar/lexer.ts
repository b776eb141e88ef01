/**
 * A part of a tag or output. `at` is its position in the field, counted from 0. A `fault` stands where the code cannot be
 * read, with what is wrong there.
 */
export interface Lexeme {
  kind: 'name' | 'number' | 'text' | 'mark' | 'end' | 'fault';
  text: string;
  at: number;
  fault?: GrammarError;
}

/** Code that is not Liquid. `at` is the position in the field, counted from 0. */
export class GrammarError extends Error {
  override readonly name = 'GrammarError';
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

const BLANK = /[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/uy;
/** Names of Liquid, and of attributes in other scripts. */
const NAME = /[\p{L}_][\p{L}\p{M}\p{N}_-]*\??/uy;
const NUMBER = /[+-]?\d+(?:\.\d+)?(?![\p{L}\p{N}_])/uy;
const TEXT = /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'/uy;
const MARK = /==|!=|<>|<=|>=|\.\.|[<>|:,.[\]()=]/uy;
const LETTERS = /[\p{L}\p{M}\p{N}_-]+\??/uy;

/** Characters that look like another one, with what was meant. */
const MEANT: Readonly<Record<string, string>> = {
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '"',
  '»': '"',
  '‘': "'",
  '’': "'",
  '‚': "'",
  '`': "'",
  '´': "'",
  '≥': '>=',
  '≤': '<=',
  '≠': '!=',
  '＝': '==',
  '–': '-',
  '—': '-',
  '−': '-',
};

/** Signs that other languages compute with, with the filters that do it. */
const COMPUTED_BY: Readonly<Record<string, string>> = {
  '/': '| divided_by: 2, or | money for an amount in the smallest unit',
  '*': '| times: 2',
  '+': '| plus: 2',
  '-': '| minus: 2',
};

/** The lexemes of the code between `begin` and `end` of a field, and one at the end; of code up to the first fault. */
export function lexemesOf(field: string, begin: number, end: number): Lexeme[] {
  const code = field.slice(0, end);
  const lexemes: Lexeme[] = [];
  const match = (pattern: RegExp, at: number) => {
    pattern.lastIndex = at;
    return pattern.exec(code)?.[0];
  };
  let at = begin;
  while (at < end) {
    const blank = match(BLANK, at);
    if (blank !== undefined) {
      at += blank.length;
      continue;
    }
    const lexeme = lexemeAt(lexemes.at(-1), match, at);
    if (lexeme === undefined) {
      // What stands before may be a fault, too: the reader of the lexemes finds the first one.
      lexemes.push({ kind: 'fault', text: '', at, fault: unreadable(code, at) });
      return lexemes;
    }
    lexemes.push(lexeme);
    at += lexeme.text.length;
  }
  lexemes.push({ kind: 'end', text: '', at: end });
  return lexemes;
}

type Match = (pattern: RegExp, at: number) => string | undefined;

function lexemeAt(before: Lexeme | undefined, match: Match, at: number): Lexeme | undefined {
  // A key may begin with a digit, as `orders.0` does.
  const is_key = before?.kind === 'mark' && before.text === '.' && before.at + 1 === at;
  const kinds = [
    ['name', is_key ? LETTERS : NAME],
    ['number', NUMBER],
    ['text', TEXT],
    ['mark', MARK],
  ] as const;
  for (const [kind, pattern] of kinds) {
    const text = match(pattern, at);
    if (text !== undefined) return { kind, text, at };
  }
  return undefined;
}

function unreadable(code: string, at: number): GrammarError {
  const character = String.fromCodePoint(code.codePointAt(at) ?? 0);
  if (character === '"' || character === "'") {
    return new GrammarError(at, `a text that begins with ${character} does not end`);
  }
  if (character === '&' || character === '|')
    return new GrammarError(at, `"${character}" is not Liquid: write and, or`);
  const meant = MEANT[character];
  if (meant !== undefined) return new GrammarError(at, `"${character}" is not Liquid: write ${meant}`);
  const filter = COMPUTED_BY[character];
  if (filter !== undefined) return new GrammarError(at, `"${character}" is not Liquid here: write ${filter}`);
  const point = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
  if (/[\p{C}\p{Z}]/u.test(character)) {
    return new GrammarError(at, `there is an invisible character (${point}): delete it`);
  }
  return new GrammarError(at, `"${character}" (${point}) is not Liquid here`);
}
