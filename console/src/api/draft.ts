import { useState } from 'react';

/** What is typed over a saved record, and the version of the record that it was typed over. */
interface Typed<D> {
  values: Partial<D>;
  etag: string | undefined;
}

/** A record that is being changed. */
export interface DraftState<D> {
  /** The saved record with what is typed over it. */
  draft: D;
  /** What is typed and differs from what is saved: only this is written. */
  changes: Partial<D>;
  dirty: boolean;
  /** The version that the first change was typed over: for If-Match. */
  etag: string | undefined;
  change: (values: Partial<D>) => void;
  /** Forgets what is typed. */
  reset: () => void;
}

/**
 * Keeps what is typed apart from the record, which may be read anew meanwhile: fields that nobody touched follow it, and
 * are not written over what somebody else has saved.
 */
export function useDraft<D extends object>(saved: D, etag: string | undefined): DraftState<D> {
  const [typed, setTyped] = useState<Typed<D>>();
  const values = typed?.values ?? {};
  const changes = changesOf(values, saved);
  return {
    draft: { ...saved, ...values },
    changes,
    dirty: Object.keys(changes).length > 0,
    etag: typed?.etag ?? etag,
    change: (more) =>
      setTyped((before) => ({
        values: { ...before?.values, ...more },
        etag: before === undefined ? etag : before.etag,
      })),
    reset: () => setTyped(undefined),
  };
}

/** The fields of `typed` that differ from what is saved. */
export function changesOf<D extends object>(typed: Partial<D>, saved: D): Partial<D> {
  const changed = (Object.keys(typed) as (keyof D)[]).filter((field) => typed[field] !== saved[field]);
  return Object.fromEntries(changed.map((field) => [field, typed[field]])) as Partial<D>;
}
