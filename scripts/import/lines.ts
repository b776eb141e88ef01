import { createReadStream } from 'node:fs';

/** Bytes of a line; a longer one is refused and skipped without being kept. */
export const MAX_LINE_BYTES = 65_536;
const CHUNK_BYTES = 262_144;
const LF = 0x0a;
const CR = 0x0d;

/** Where reading begins: the offset of the first byte of line `line`, counted from 1. */
export interface Position {
  offset: number;
  line: number;
}

/** A line of a file. `end` is the offset of the byte after its line end; without `bytes` the line is too long. */
export interface FileLine {
  line: number;
  end: number;
  /** Without the line end. */
  bytes: Buffer | undefined;
}

/** The lines of `file` from a position to the offset `size`, in parts as they are read. Memory is bounded by a part. */
export async function* readLines(
  file: string,
  { offset, line }: Position,
  size: number,
): AsyncGenerator<FileLine[]> {
  if (offset >= size) return;
  const chunks = createReadStream(file, { start: offset, end: size - 1, highWaterMark: CHUNK_BYTES });
  let begun: Buffer[] = [];
  let begun_bytes = 0;
  let number = line;
  let chunk_offset = offset;
  const keep = (part: Buffer) => {
    begun_bytes += part.length;
    if (begun_bytes <= MAX_LINE_BYTES) begun.push(part);
    else begun = [];
  };
  const endLine = (end: number): FileLine => {
    const bytes = begun_bytes > MAX_LINE_BYTES ? undefined : withoutCr(joined(begun));
    [begun, begun_bytes] = [[], 0];
    return { line: number++, end, bytes };
  };
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    const lines: FileLine[] = [];
    let from = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      keep(chunk.subarray(from, at));
      lines.push(endLine(chunk_offset + at + 1));
      from = at + 1;
    }
    if (from < chunk.length) keep(chunk.subarray(from));
    chunk_offset += chunk.length;
    yield lines;
  }
  if (begun_bytes > 0) yield [endLine(size)];
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

function withoutCr(bytes: Buffer): Buffer {
  return bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes;
}
