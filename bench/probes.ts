import { setTimeout as sleep } from 'node:timers/promises';
import { post, type Target } from './steady.ts';

const POLL_EVERY_MS = 5;
/** A probe that takes longer, after the last one was sent, fails the benchmark. */
const LONGEST_WAIT_MS = 30_000;

/** The event of probes, which no other load sends. */
export const PROBE = 'custom_probe';

/** How often probes are sent, and how many. */
interface Rhythm {
  count: number;
  every_ms: number;
  /** Begins the names of the probes' players. */
  label?: string;
}

/**
 * Sends events of new players one after the other, and polls which of the accepted ones have arrived: with one question
 * for all of them, because one for each would be most of the load of Postgres. `arrived` returns those of the anonymous ids that
 * have. Returns the wait of each from its 202 on, in milliseconds.
 */
export async function sendProbes(
  target: Target,
  { count, every_ms, label = 'probe' }: Rhythm,
  arrived: (anonymous_ids: readonly string[]) => Promise<readonly string[]>,
): Promise<number[]> {
  const accepted_ms = new Map<string, number>();
  const waits_ms: number[] = [];
  // A busy machine sends them later than they are due.
  let until_ms = Number.POSITIVE_INFINITY;
  const send = async () => {
    for (let i = 0; i < count; i++) {
      const anonymous_id = `${label}-${i}`;
      await post(target, { event: PROBE, anonymous_id });
      accepted_ms.set(anonymous_id, performance.now());
      await sleep(every_ms);
    }
    until_ms = performance.now() + LONGEST_WAIT_MS;
  };
  const watch = async () => {
    while (waits_ms.length < count) {
      if (performance.now() > until_ms) throw new Error(`${count - waits_ms.length} probes never arrived`);
      const names = await arrived([...accepted_ms.keys()]);
      const now_ms = performance.now();
      for (const name of names) {
        waits_ms.push(now_ms - (accepted_ms.get(name) ?? now_ms));
        accepted_ms.delete(name);
      }
      await sleep(POLL_EVERY_MS);
    }
  };
  await Promise.all([send(), watch()]);
  return waits_ms;
}
