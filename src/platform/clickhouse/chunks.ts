/** Cuts `lines` into consecutive chunks of at most `max_chars` including line ends; a longer line is its own chunk. */
export function* chunksOf(lines: readonly string[], max_chars: number): Generator<string[]> {
  let chunk: string[] = [];
  let chars = 0;
  for (const line of lines) {
    if (chunk.length > 0 && chars + line.length + 1 > max_chars) {
      yield chunk;
      chunk = [];
      chars = 0;
    }
    chunk.push(line);
    chars += line.length + 1;
  }
  if (chunk.length > 0) yield chunk;
}
