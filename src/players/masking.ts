// The console masks with this file, too (console/src/format/mask.ts): what it imports must run in browsers.

/** Names of properties whose values are masked, in any spelling: `email`, `userEmail`, `phone_number`, `msisdn`. */
const PERSONAL_NAME = /e-?mail|phone|telef|mobile|msisdn/i;
/** `tel` as a word of a name: `tel`, `homeTel`, `tel_no`, but not `hotel` or `telegram`. */
const TEL_IN_NAME = /(?:^|[^A-Za-z])(?:tel|Tel|TEL)(?![a-z])|[a-z\d](?:Tel|TEL)(?![a-z])/;
const MAY_HAVE_NAMES = /mail|phone|tel|mobile|msisdn|\\u/i;
/** The longest name before the `@` of an e-mail address, and the longest domain (RFC 5321). */
const MAX_LOCAL = 64;
const MAX_DOMAIN = 255;
/** What may begin an e-mail address or a telephone number. No JSON number begins with 00. */
const MAY_HAVE_CONTACTS = /[@+＋]|[^\d.]00.?[1-9]/;
/** The fewest digits of an international telephone number, with its country, and the longest spelling of one. */
const MIN_DIGITS = 7;
/** The same where it may be something else: after a letter, or with 00 in place of the plus. */
const MIN_DIGITS_IN_DOUBT = 9;
const MAX_PHONE = 32;

/** More than so many masks cost too much time: the whole is masked. */
const MAX_MASKS = 2_000;
const MASKED_WHOLE = '{"•••":"•••"}';

/**
 * JSON text with e-mail addresses and telephone numbers masked: addresses, and numbers such as `+356 9912 3456` or
 * `0035699123456`, in any text, and all texts and numbers under a name such as `email` or `tel`. All else stays as it is written, numbers to the
 * last digit; of a text with over 2,000 of them nothing does. It takes about 10 ms per megabyte of any text.
 */
export function maskPersonal(json: string): string {
  const may_have_names = MAY_HAVE_NAMES.test(json);
  if (!may_have_names && !MAY_HAVE_CONTACTS.test(json)) return json;
  return new Masking(json, may_have_names).masked();
}

/** Keeps the first character, and of an e-mail address its domain, of another text over 6 characters its last two. */
export function maskText(text: string): string {
  return maskPart(text, 0, text.length);
}

const [SPACE, QUOTE, PLUS, COMMA, MINUS, DOT, ZERO, NINE, COLON, AT] = [
  32, 34, 43, 44, 45, 46, 48, 57, 58, 64,
];
const [OPEN_LIST, BACKSLASH, CLOSE_LIST, UNDERSCORE, OPEN_OBJECT, CLOSE_OBJECT] = [91, 92, 93, 95, 123, 125];
const [LETTER_U, NO_BREAK_SPACE, WIDE_PLUS, WIDE_ZERO, WIDE_NINE] = [117, 160, 0xff0b, 0xff10, 0xff19];
/** For each character below 128: 1 if it is one of these, else 0. */
const ascii = (characters: string) =>
  Uint8Array.from({ length: 128 }, (_one, code) => Number(characters.includes(String.fromCharCode(code))));
const ENDS_LOCAL = ascii(' \t\n\v\f\r@"<>(),;');
const SEPARATES_DIGITS = ascii(' -.()/');

const isDigit = (code: number) => code >= ZERO && code <= NINE;
const isLetter = (code: number) => (code | 32) >= 97 && (code | 32) <= 122;

/** One pass over JSON text, from its first character to its last. */
class Masking {
  readonly #json: string;
  readonly #may_have_names: boolean;
  #shown = '';
  /** The end of what is in `#shown`. */
  #done = 0;
  #depth = 0;
  /** The depth of the list or object that is personal with all that is in it; 0: there is none. */
  #personal_depth = 0;
  /** The value after the name that was read last is personal. */
  #is_next_personal = false;
  #masks = 0;

  constructor(json: string, may_have_names: boolean) {
    this.#json = json;
    this.#may_have_names = may_have_names;
  }

  masked(): string {
    const json = this.#json;
    for (let at = 0; at < json.length;) {
      const code = json.charCodeAt(at);
      if (code === QUOTE) at = this.#text(at);
      else if (code === MINUS || isDigit(code)) at = this.#number(at);
      else {
        if (code === OPEN_LIST || code === OPEN_OBJECT) this.#open();
        else if (code === CLOSE_LIST || code === CLOSE_OBJECT) this.#close();
        else if (code === COMMA) this.#is_next_personal = false;
        at++;
      }
      if (this.#masks > MAX_MASKS) return MASKED_WHOLE;
    }
    return this.#done === 0 ? json : this.#shown + json.slice(this.#done);
  }

  #open(): void {
    this.#depth++;
    if (this.#is_next_personal && this.#personal_depth === 0) this.#personal_depth = this.#depth;
    this.#is_next_personal = false;
  }

  #close(): void {
    if (this.#depth === this.#personal_depth) this.#personal_depth = 0;
    this.#depth--;
  }

  #isPersonal(): boolean {
    return this.#is_next_personal || this.#personal_depth > 0;
  }

  #replace(from: number, to: number, by: string): void {
    this.#masks++;
    this.#shown += this.#json.slice(this.#done, from) + by;
    this.#done = to;
  }

  #number(from: number): number {
    const json = this.#json;
    let end = from + 1;
    for (let code = json.charCodeAt(end); isOfNumber(code); code = json.charCodeAt(end)) end++;
    if (this.#isPersonal()) this.#replace(from, end, `"${maskPart(json, from, end)}"`);
    return end;
  }

  /** A name or a text value, from its first quote to after its last. */
  #text(from: number): number {
    const json = this.#json;
    let end = from + 1;
    let has_escapes = false;
    let may_have_contacts = false;
    for (let code = json.charCodeAt(end); end < json.length && code !== QUOTE; code = json.charCodeAt(end)) {
      if (code === BACKSLASH) {
        has_escapes = true;
        may_have_contacts ||= json.charCodeAt(end + 1) === LETTER_U;
        end++;
      } else
        may_have_contacts ||=
          code === AT || isPlus(code) || (code === ZERO && json.charCodeAt(end - 1) === ZERO);
      end++;
    }
    const next = afterSpaces(json, end + 1);
    const is_name = json.charCodeAt(next) === COLON;
    const is_personal = !is_name && this.#isPersonal();
    if (!is_personal && !may_have_contacts && !(is_name && this.#may_have_names))
      return is_name ? next + 1 : end + 1;
    // A text without escapes is masked where it stands.
    const text = has_escapes ? (JSON.parse(json.slice(from, end + 1)) as string) : json;
    const [first, last] = has_escapes ? [0, text.length] : [from + 1, end];
    const masked = is_personal ? maskPart(text, first, last) : this.#maskContacts(text, first, last);
    // What had no escapes needs none now.
    if (masked !== undefined)
      this.#replace(from, end + 1, has_escapes ? JSON.stringify(masked) : `"${masked}"`);
    if (!is_name) return end + 1;
    this.#is_next_personal = last - first > 2 && isPersonalName(text.slice(first, last));
    return next + 1;
  }

  /** The text in [from, to) with its e-mail addresses and international telephone numbers masked; undefined: it has none. */
  #maskContacts(text: string, from: number, to: number): string | undefined {
    let shown = '';
    let done = from;
    for (let at = from; at < to && this.#masks <= MAX_MASKS; at++) {
      const code = text.charCodeAt(at);
      if (code === ZERO) {
        const zeros = endOfZeros(text, at, to) - at;
        if (zeros !== 2) {
          at += zeros - 1;
          continue;
        }
      } else if (code !== AT && (!isPlus(code) || isAmongOthers(text, at, done))) continue;
      const end = code === AT ? endOfEmail(text, at, to) : endOfPhone(text, at, done, to);
      if (end === -1) continue;
      const begin = code === AT ? beginOfEmail(text, at, done) : at;
      if (begin === -1) continue;
      shown += text.slice(done, begin) + maskPart(text, begin, end);
      this.#masks++;
      done = end;
      at = end - 1;
    }
    return done === from ? undefined : shown + text.slice(done, to);
  }
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === DOT || code === MINUS || code === PLUS || (code | 32) === 101;
}

function afterSpaces(json: string, from: number): number {
  let at = from;
  while (json.charCodeAt(at) <= SPACE) at++;
  return at;
}

/** Whether all texts and numbers under this name are masked. */
export function isPersonalName(name: string): boolean {
  return PERSONAL_NAME.test(name) || TEL_IN_NAME.test(name);
}

function maskPart(text: string, from: number, to: number): string {
  if (from === to) return '•••';
  let at = to - 1;
  while (at > from && text.charCodeAt(at) !== AT) at--;
  const begin = text.slice(from, from + (isLead(text.charCodeAt(from)) ? 2 : 1));
  if (at > from) return `${begin}•••${text.slice(at, endOfDomain(text, at, to))}`;
  const is_long = to - from > 6;
  return `${begin}•••${is_long ? text.slice(isTrail(text.charCodeAt(to - 2)) ? to - 1 : to - 2, to) : ''}`;
}

/** The first, and the second, half of a character of two UTF-16 units. */
const isLead = (code: number) => code >= 0xd800 && code < 0xdc00;
const isTrail = (code: number) => code >= 0xdc00 && code < 0xe000;

/** Where the address begins whose `@` is at `at`, at `since` or later; -1: there is none. A name in quotes may contain anything. */
function beginOfEmail(text: string, at: number, since: number): number {
  const first = Math.max(since, at - MAX_LOCAL);
  let from = at;
  if (text.charCodeAt(at - 1) === QUOTE) {
    for (from = at - 2; from > first && text.charCodeAt(from) !== QUOTE;) from--;
    return from >= first && text.charCodeAt(from) === QUOTE ? from : -1;
  }
  while (from > first && !isEndOfLocal(text.charCodeAt(from - 1))) from--;
  return from === at ? -1 : from;
}

const isEndOfLocal = (code: number) => (code < 128 ? ENDS_LOCAL[code] === 1 : code === NO_BREAK_SPACE);

/** Where the address ends whose `@` is at `at`; -1: no domain with a point follows. */
function endOfEmail(text: string, at: number, to: number): number {
  const end = endOfDomain(text, at, to);
  let dot = at + 2;
  while (dot < end && text.charCodeAt(dot) !== DOT) dot++;
  return dot < end - 1 ? end : -1;
}

/** The place after the domain behind the `@` at `at`: letters and digits of any script, `-`, `.` and `_`. */
function endOfDomain(text: string, at: number, to: number): number {
  const last = Math.min(to, at + 1 + MAX_DOMAIN);
  let end = at + 1;
  while (end < last && isOfDomain(text.charCodeAt(end))) end++;
  return end;
}

function isOfDomain(code: number): boolean {
  return (
    isLetter(code) ||
    isDigit(code) ||
    code === MINUS ||
    code === DOT ||
    code === UNDERSCORE ||
    code > NO_BREAK_SPACE
  );
}

function endOfZeros(text: string, from: number, to: number): number {
  let end = from + 1;
  while (end < to && text.charCodeAt(end) === ZERO) end++;
  return end;
}

const isPlus = (code: number) => code === PLUS || code === WIDE_PLUS;
const isAnyDigit = (code: number) => isDigit(code) || (code >= WIDE_ZERO && code <= WIDE_NINE);
/** Whether the plus at `at` is one of several, or after a digit: no number begins there. Checked here, a megabyte of `+1` costs 12 ms, not 16. */
const isAmongOthers = (text: string, at: number, since: number) =>
  isPlus(text.charCodeAt(at + 1)) || (at > since && isAnyDigit(text.charCodeAt(at - 1)));
/** What the digits of another number, or of an id, are joined by. */
const JOINS_DIGITS = ascii('-._/');

/**
 * Where the international telephone number ends that begins with the `+` or `00` at `from`; -1: it is something else. What is
 * before `since` does not belong to it.
 */
function endOfPhone(text: string, from: number, since: number, to: number): number {
  const has_plus = isPlus(text.charCodeAt(from));
  const first = from + (has_plus ? 1 : 2);
  const code = text.charCodeAt(first);
  if (!isAnyDigit(code) && !isSeparator(code)) return -1;
  const before = from > since ? text.charCodeAt(from - 1) : SPACE;
  if (isAnyDigit(before) || (!has_plus && (isLetter(before) || JOINS_DIGITS[before] === 1))) return -1;
  // No code of a country begins with 0.
  if (code === ZERO || code === WIDE_ZERO) return -1;
  if (!has_plus && !isDigit(isSeparator(code) ? text.charCodeAt(first + 1) : code)) return -1;
  const last = Math.min(to, from + MAX_PHONE);
  let [end, digits] = [-1, 0];
  for (let at = first; at < last; at++) {
    const one = text.charCodeAt(at);
    if (isAnyDigit(one)) {
      end = at + 1;
      digits++;
    } else if (!isSeparator(one)) break;
  }
  return digits < (has_plus && !isLetter(before) ? MIN_DIGITS : MIN_DIGITS_IN_DOUBT) ? -1 : end;
}

function isSeparator(code: number): boolean {
  return code === NO_BREAK_SPACE || SEPARATES_DIGITS[code] === 1;
}
