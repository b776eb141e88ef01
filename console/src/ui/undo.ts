import { useReducer } from 'react';

/** Steps that can be taken back. */
const MOST_STEPS = 200;
/** Changes of the same thing within this time are one step. */
const TOGETHER_MS = 1_000;

interface Steps<T> {
  past: readonly T[];
  present: T;
  future: readonly T[];
  tag: string | undefined;
  at_ms: number;
}

type Step<T> =
  | { kind: 'set'; next: (present: T) => T; tag: string | undefined; at_ms: number }
  | { kind: 'undo' }
  | { kind: 'redo' };

/** A value whose changes can be taken back and repeated. */
export interface Undoable<T> {
  present: T;
  /** Changes with the same `tag` in quick succession, such as keystrokes in a field, are one step. */
  change: (next: (present: T) => T, tag?: string) => void;
  undo: () => void;
  redo: () => void;
  can_undo: boolean;
  can_redo: boolean;
}

export function useUndoable<T>(initial: () => T): Undoable<T> {
  const [{ past, present, future }, step] = useReducer(after<T>, undefined, () => ({
    past: [],
    present: initial(),
    future: [],
    tag: undefined,
    at_ms: 0,
  }));
  return {
    present,
    change: (next, tag) => step({ kind: 'set', next, tag, at_ms: Date.now() }),
    undo: () => step({ kind: 'undo' }),
    redo: () => step({ kind: 'redo' }),
    can_undo: past.length > 0,
    can_redo: future.length > 0,
  };
}

function after<T>(steps: Steps<T>, step: Step<T>): Steps<T> {
  const { past, present, future } = steps;
  const apart = { tag: undefined, at_ms: 0 };
  if (step.kind === 'undo') {
    const before = past.at(-1);
    if (before === undefined) return steps;
    return { past: past.slice(0, -1), present: before, future: [present, ...future], ...apart };
  }
  if (step.kind === 'redo') {
    const [next, ...rest] = future;
    return next === undefined ? steps : { past: [...past, present], present: next, future: rest, ...apart };
  }
  const next = step.next(present);
  if (next === present) return steps;
  const { tag, at_ms } = step;
  const together = tag !== undefined && tag === steps.tag && at_ms - steps.at_ms < TOGETHER_MS;
  return {
    past: together ? past : [...past, present].slice(-MOST_STEPS),
    present: next,
    future: [],
    tag,
    at_ms,
  };
}
