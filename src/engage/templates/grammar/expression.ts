import { isFilter, undefinedFilter } from './filter-names.ts';
import { GrammarError, type Lexeme } from './lexer.ts';

/** Operators of conditions that compare two values. */
const COMPARISONS = new Set(['==', '!=', '<>', '<', '>', '<=', '>=', 'contains']);
const MAX_DEPTH = 20;

/** Words that others use in conditions, with what Liquid has for them. */
const MEANT: Readonly<Record<string, string>> = {
  is: '==',
  equals: '==',
  eq: '==',
  equal: '==',
  '=': '==',
  '===': '==',
  isnt: '!=',
  neq: '!=',
  gt: '>',
  lt: '<',
  gte: '>=',
  lte: '<=',
  like: 'contains',
  includes: 'contains',
  include: 'contains',
  contain: 'contains',
};

/** A filter in use, with its arguments that are written as texts: `undefined` for any other argument. */
export interface FilterUse {
  name: string;
  at: number;
  texts: { text: string; at: number }[];
}

/**
 * Reads the lexemes of one tag or output by the grammar of Liquid. Each method reads one part of it and throws
 * {@link GrammarError} where something else stands.
 */
export class Expressions {
  readonly #lexemes: readonly Lexeme[];
  readonly #filters: FilterUse[] = [];
  #at = 0;

  constructor(lexemes: readonly Lexeme[]) {
    this.#lexemes = lexemes;
  }

  /** The filters that were read. */
  get filters(): readonly FilterUse[] {
    return this.#filters;
  }

  get next(): Lexeme {
    return this.#lexemes[this.#at] ?? this.#last;
  }

  /** Reads the next lexeme if it is this mark or word. */
  takes(text: string): boolean {
    if (this.next.kind === 'text' || this.next.text !== text) return false;
    this.#at += 1;
    return true;
  }

  /** Reads this mark or word. `example` shows how the whole is written. */
  mark(text: string, example: string): void {
    if (!this.takes(text)) this.#refuse(`write ${text} here, as in ${example}`);
  }

  /** Reads a name, such as that of a new variable. */
  name(what: string): string {
    const { kind, text } = this.next;
    if (kind !== 'name') this.#refuse(`write ${what} here`);
    this.#at += 1;
    return text;
  }

  /** Reads a text in quotes or a name. */
  nameOrText(what: string): void {
    if (this.next.kind === 'text') this.#at += 1;
    else this.name(what);
  }

  /** Nothing may follow. */
  end(): void {
    const { kind, text } = this.next;
    if (kind === 'end') return;
    if (text === 'then') this.#refuse('leave "then" out');
    if (text === ',') this.#refuse('leave the comma out: a number has no separators');
    this.#refuse(`${quoted(text)} is too much here`);
  }

  /** Reads a value with its filters: `first_name | default: "you"`. */
  filtered(): void {
    this.value();
    while (this.takes('|')) this.#filter();
  }

  /** Reads `a == b and c or d`. */
  condition(): void {
    let missing = 'a condition is missing';
    for (;;) {
      this.#requireMore(missing);
      this.takes('not');
      this.value();
      const { kind, text } = this.next;
      if (kind !== 'text' && COMPARISONS.has(text)) {
        this.#at += 1;
        this.#requireMore(`a value is missing after ${text}`);
        this.value();
      }
      const joint = this.next.text;
      if (!this.takes('and') && !this.takes('or')) break;
      missing = `a condition is missing after "${joint}"`;
    }
    this.#requireJoined();
  }

  /** Reads a variable, a literal or a range. */
  value(depth = 0): void {
    if (depth > MAX_DEPTH) this.#refuse('is nested too deeply');
    const { kind, text } = this.next;
    if (kind === 'number' || kind === 'text') this.#at += 1;
    else if (text === '(') this.#range(depth);
    else if (text === '[') this.#path(depth);
    else if (kind === 'name' && !COMPARISONS.has(text) && text !== 'and' && text !== 'or') {
      this.#at += 1;
      this.#path(depth);
    } else this.#refuse(kind === 'end' ? 'a value is missing' : `write a value here, not ${quoted(text)}`);
  }

  get #last(): Lexeme {
    return this.#lexemes[this.#lexemes.length - 1] ?? { kind: 'end', text: '', at: 0 };
  }

  #requireMore(message: string): void {
    if (this.next.kind === 'end') this.#refuse(message);
  }

  #path(depth: number): void {
    for (;;) {
      if (this.takes('.')) this.name('the name of a field');
      else if (this.takes('[')) {
        this.value(depth + 1);
        this.mark(']', 'a[0]');
      } else return;
    }
  }

  #range(depth: number): void {
    this.mark('(', '(1..3)');
    this.value(depth + 1);
    if (this.next.text !== '..')
      this.#refuse('brackets are for ranges alone, as in (1..3): Liquid has none in conditions');
    this.mark('..', '(1..3)');
    this.value(depth + 1);
    this.mark(')', '(1..3)');
  }

  #filter(): void {
    const at = this.next.at;
    const name = this.name('the name of a filter');
    if (!isFilter(name)) throw new GrammarError(at, undefinedFilter(name));
    const texts: FilterUse['texts'] = [];
    this.#filters.push({ name, at, texts });
    if (!this.takes(':')) {
      if (this.next.kind !== 'end' && this.next.text !== '|') {
        this.#refuse(`write : before what is given to ${name}, or | before another filter`);
      }
      return;
    }
    do {
      const { kind, text, at: from } = this.next;
      if (kind === 'text') texts.push({ text: text.slice(1, -1), at: from });
      const is_key = kind === 'name' && this.#lexemes[this.#at + 1]?.text === ':';
      if (is_key) this.#at += 2;
      this.value();
    } while (this.takes(','));
    if (this.next.kind !== 'end' && this.next.text !== '|') {
      this.#refuse(`write , between what is given to ${name}, or | before another filter`);
    }
  }

  /** After a condition: the end. Refuses words of other languages with what was meant. */
  #requireJoined(): void {
    const { kind, text } = this.next;
    if (kind === 'end') return;
    const lower = text.toLowerCase();
    if (lower === 'and' || lower === 'or' || lower === 'not' || lower === 'contains') {
      this.#refuse(`${quoted(text)} is not Liquid: write ${lower} in small letters`);
    }
    if (lower === 'in') this.#refuse('"in" is not Liquid: write == and or, as in x == "a" or x == "b"');
    if (text === '|' && this.#lexemes[this.#at + 1]?.text === '|')
      this.#refuse('"||" is not Liquid: write or');
    if (text === '|') this.#refuse('a condition has no filters: assign the value to a variable before');
    const meant = MEANT[lower];
    if (meant !== undefined) this.#refuse(`${quoted(text)} is not Liquid: write ${meant}`);
    this.end();
  }

  #refuse(message: string): never {
    throw this.next.fault ?? new GrammarError(this.next.at, message);
  }
}

function quoted(text: string): string {
  return /^["']/.test(text) ? text : `"${text}"`;
}
