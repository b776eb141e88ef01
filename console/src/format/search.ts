/** Whether a text has all the words of a search, in any order and letter case. */
export function hasWords(text: string, q: string): boolean {
  const lower = text.toLowerCase();
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
