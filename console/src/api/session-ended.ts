import { useSyncExternalStore } from 'react';

let ended = false;
const listeners = new Set<() => void>();

function set(next: boolean): void {
  ended = next;
  for (const listener of listeners) listener();
}

/**
 * Whether the API has refused the session while pages were open. The pages stay as they are, with what was typed, and a
 * dialog asks to sign in again.
 */
export const sessionEnded = {
  tell: () => set(true),
  mended: () => set(false),
};

export function useSessionEnded(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => ended,
  );
}
