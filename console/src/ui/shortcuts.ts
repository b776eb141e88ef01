import { useEffect, useEffectEvent } from 'react';

const KEY = 'console.shortcuts';
const SEQUENCE_MS = 1_000;

/** Whether keys without a modifier act. People who dictate or use a keyboard badly switch them off (WCAG 2.1.4). */
export function shortcutsAreOn(): boolean {
  return localStorage.getItem(KEY) !== 'off';
}

/** Switches the keys without a modifier on or off. */
export function switchShortcuts(on: boolean): void {
  if (on) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, 'off');
}

/**
 * Listens for keys on the whole page: `mod+k` (⌘ or Ctrl), `/`, `?`, or two letters in a row such as `g p`. Returns of
 * `run` say whether the key was used. Keys without a modifier count only outside of fields and while they are on.
 */
export function useShortcuts(run: (keys: string) => boolean): void {
  const onKeys = useEffectEvent(run);
  useEffect(() => {
    let first: { key: string; at_ms: number } | undefined;
    const listener = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      if (event.ctrlKey || event.metaKey) {
        if (onKeys(`mod+${event.key.toLowerCase()}`)) event.preventDefault();
        return;
      }
      if (isTyped(event.target) || !shortcutsAreOn() || document.querySelector('dialog[open]') !== null)
        return;
      const { key } = event;
      const before =
        first !== undefined && event.timeStamp - first.at_ms < SEQUENCE_MS ? first.key : undefined;
      first = undefined;
      if ((before !== undefined && onKeys(`${before} ${key}`)) || onKeys(key)) event.preventDefault();
      else first = { key, at_ms: event.timeStamp };
    };
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}

function isTyped(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
  );
}
