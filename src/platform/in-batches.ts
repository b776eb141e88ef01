/** Rows per statement. */
const MAX_BATCH = 1_000;

/** Repeats `step`, which changes at most `limit` rows, until it finds fewer or `stop` is aborted; returns how many in all. */
export async function inBatches(
  step: (limit: number) => Promise<number>,
  stop?: AbortSignal,
): Promise<number> {
  for (let done = 0; ;) {
    const count = await step(MAX_BATCH);
    done += count;
    if (count < MAX_BATCH || stop?.aborted === true) return done;
  }
}
