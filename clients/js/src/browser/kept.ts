import type { Kept } from './clock.ts';

/** Keeps a text in the browser under a name, for all pages of the origin; in a browser that keeps nothing, until the page ends. */
export function keptAs(name: string): Kept {
  /** What could not be kept: storage is full, or forbidden. */
  let last: string | undefined;
  return {
    read: () => {
      try {
        return localStorage.getItem(name) ?? last;
      } catch {
        return last;
      }
    },
    write: (text) => {
      last = undefined;
      try {
        if (text === undefined) localStorage.removeItem(name);
        else localStorage.setItem(name, text);
      } catch {
        last = text;
      }
    },
  };
}
