import { endOfText } from '../../platform/exact-json.ts';

const HEAD = /^[ \t\n\r]*\{[ \t\n\r]*"events"[ \t\n\r]*:[ \t\n\r]*\[/;
const TAIL = /^[ \t\n\r]*\}[ \t\n\r]*$/;
const [SPACE, QUOTE, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [
  32, 34, 44, 91, 93, 123, 125,
];
/** A text of which more than a quarter is white space is not worth its place in the log. */
const SPACED = 4;
/** Events that were checked are nested less deeply; the value of a repeated key was not, when another follows it. */
const MAX_DEPTH = 40;

/**
 * The texts of the events of a batch, as they were sent: to cut them out takes less than half the time of `JSON.stringify`. `body`
 * is JSON that was parsed, of `count` events; parsing one of the texts gives the same event. Undefined for an event with much
 * white space, or nested over 40 levels deep. The list is empty when another text than a plain `{"events": […]}` gave the events: a key is written with
 * escapes, or is repeated.
 */
export function eventTexts(body: string, count: number): readonly (string | undefined)[] {
  const head = HEAD.exec(body)?.[0];
  if (head === undefined) return [];
  const texts: (string | undefined)[] = [];
  let [from, end, depth, deepest, spaces] = [head.length, head.length, 0, 0, 0];
  for (let at = head.length; at < body.length; at++) {
    const code = body.charCodeAt(at);
    if (code === QUOTE) at = endOfText(body, at) - 1;
    else if (code <= SPACE) {
      if (at === from) from++;
      else spaces++;
      continue;
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (++depth > deepest) deepest = depth;
    } else if (depth === 0 && (code === COMMA || code === CLOSE_LIST)) {
      const is_cut = deepest <= MAX_DEPTH && spaces * SPACED <= end - from;
      texts.push(is_cut ? body.slice(from, end) : undefined);
      if (code === CLOSE_LIST) return texts.length === count && TAIL.test(body.slice(at + 1)) ? texts : [];
      from = at + 1;
      deepest = spaces = 0;
      continue;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth--;
    end = at + 1;
  }
  return [];
}
