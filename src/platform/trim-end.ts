/**
 * The text without this character at its end, however often it stands there. The pattern `/x+$/` does the same, but looks
 * at a long run of the character again from each place in it.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
