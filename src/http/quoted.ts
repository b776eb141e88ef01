/** Characters of a quoted value. */
const MAX_QUOTED = 80;
/** Longer lists are not written out. */
const MAX_ELEMENTS = 5;
/** Names that are suggested, and characters of a name that are compared. */
const MAX_SUGGESTED = 3;
const MAX_COMPARED = 64;

/** A sent JSON value for an error message: as JSON of at most 80 characters, without control characters. */
export function quoted(value: unknown): string {
  if (Array.isArray(value) && value.length > MAX_ELEMENTS) return `a list of ${value.length}`;
  const short = typeof value === 'string' ? value.slice(0, MAX_QUOTED + 1) : value;
  // JSON escapes the control characters of ASCII and lone surrogates; these are all others that change a line's look.
  const text = (JSON.stringify(short) ?? 'nothing').replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`,
  );
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED - 1).toWellFormed()}…`;
}

/** `; the nearest are a, b`: the known names most like the sent one; empty when none is like it, or it is no text. */
export function nearestOf(sent: unknown, names: readonly string[]): string {
  if (typeof sent !== 'string') return '';
  const one = sent.slice(0, MAX_COMPARED).toLowerCase();
  const most = one.length / 3;
  const near = names
    .map((name) => ({ name, far: distance(one, name.toLowerCase(), most) }))
    .filter(({ far }) => far <= most)
    .sort((a, b) => a.far - b.far)
    .slice(0, MAX_SUGGESTED)
    .map(({ name }) => name);
  if (near.length === 0) return '';
  return near.length === 1 ? `; the nearest is ${near.join()}` : `; the nearest are ${near.join(', ')}`;
}

/** Edits from one text to the other; a text that begins or ends the other is one edit away. Infinity: over `most`. */
function distance(one: string, other: string, most: number): number {
  if (one.length > 2 && (other.startsWith(one) || other.endsWith(one))) return 1;
  if (Math.abs(one.length - other.length) > most) return Infinity;
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
