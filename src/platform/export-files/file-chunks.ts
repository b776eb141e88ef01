/** Bytes of a file in one row of Postgres, or a little more. */
export const CHUNK_BYTES = 256 * 1024;

/** The bytes of a file in chunks of at least `bytes`, except the last one. One chunk is in memory at a time. */
export async function* inChunks(
  parts: AsyncIterable<Uint8Array>,
  bytes = CHUNK_BYTES,
): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let waiting_bytes = 0;
  for await (const part of parts) {
    waiting.push(part);
    waiting_bytes += part.byteLength;
    if (waiting_bytes < bytes) continue;
    yield Buffer.concat(waiting);
    [waiting, waiting_bytes] = [[], 0];
  }
  if (waiting_bytes > 0) yield Buffer.concat(waiting);
}
