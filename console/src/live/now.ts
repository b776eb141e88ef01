import { useSyncExternalStore } from 'react';

const TICK_MS = 1_000;
let now_ms = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now_ms = Date.now();
    for (const one of listeners) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The present time in milliseconds, to the second; all who use it share one timer. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now_ms);
}
