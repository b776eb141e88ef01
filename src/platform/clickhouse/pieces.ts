/** Consecutive pieces of `lines`, each of at most `max_chars` with its line ends, or of a single longer line. */
export function* piecesOf(lines: readonly string[], max_chars: number): Generator<string[]> {
  let piece: string[] = [];
  let chars = 0;
  for (const line of lines) {
    if (piece.length > 0 && chars + line.length + 1 > max_chars) {
      yield piece;
      piece = [];
      chars = 0;
    }
    piece.push(line);
    chars += line.length + 1;
  }
  if (piece.length > 0) yield piece;
}
