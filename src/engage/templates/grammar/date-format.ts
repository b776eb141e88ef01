/** A directive of a date format: flags, a width, and what is written. */
export const DIRECTIVE = /%([-_0^#:]*)(\d*)[EO]?([^])?/gu;
/** Directives that the library writes, by `strftime` of Ruby. */
const OF_LIBRARY = new Set('aAbBcCdeHhIjklLmMnNpPqsSStuUwWxXyYzZ%');
/** Directives that are short for others. */
export const SHORT: Readonly<Record<string, string>> = {
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  T: '%H:%M:%S',
  v: '%e-%^b-%Y',
  '+': '%a %b %e %H:%M:%S %Z %Y',
};
/** Directives of the ISO 8601 week: its number, its year, and the last two digits of that. */
export const WEEK = new Set('VGg');

/** The first directive of a date format that has no meaning, such as `%f`; undefined where all have one. */
export function unknownDirective(format: string): string | undefined {
  for (const [whole, , , letter = ''] of format.matchAll(DIRECTIVE)) {
    const is_known = OF_LIBRARY.has(letter) || WEEK.has(letter) || SHORT[letter] !== undefined;
    if (!is_known) return whole;
  }
  return undefined;
}
