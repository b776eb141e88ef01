/** Rejects with `late()` when `work` has not settled within `limit_ms`; `work` itself goes on. */
export async function withinTime<T>(
  limit_ms: number,
  work: Promise<T>,
  late = () => new Error(`no answer in ${limit_ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), limit_ms);
  });
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}
