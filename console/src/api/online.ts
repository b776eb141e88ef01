import { onlineManager } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { askConsole } from './client.ts';

/** Whether the browser has a network. Without one, questions wait until there is one again. */
export function useOnline(): boolean {
  return useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  );
}

/**
 * Imports a part of the console. The router loads the whole page anew when a part cannot be fetched, because a later
 * release may have replaced it. When the service cannot be reached at all, that would leave only an error of the browser:
 * then this rejects with an {@link ApiError} instead, which the page shows with another try.
 */
export async function importPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (cause) {
    await askConsole('GET', '/console/auth/options');
    throw cause;
  }
}
