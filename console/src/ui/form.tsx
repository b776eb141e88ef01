import { useLayoutEffect, useRef, type ReactNode } from 'react';
import css from './form.module.css';

/**
 * The fields of a form below each other; disabled as a whole for those who may only read, and while what is typed is
 * saved: what came in between would be lost. A field that had the focus has it again when the save has failed.
 */
export function Form({ disabled = false, children }: { disabled?: boolean; children: ReactNode }) {
  const focused = useRef<HTMLElement>(undefined);
  useLayoutEffect(() => {
    // The browser takes the focus from a field that is disabled.
    if (!disabled && document.activeElement === document.body) focused.current?.focus();
  }, [disabled]);
  return (
    <fieldset
      className={css['form']}
      disabled={disabled}
      onFocus={({ target }) => (focused.current = target)}
      onBlur={({ relatedTarget }) => {
        if (relatedTarget !== null) focused.current = undefined;
      }}
    >
      {children}
    </fieldset>
  );
}

/** Fields side by side, as far as there is room. */
export function Row({ children }: { children: ReactNode }) {
  return <div className={css['row']}>{children}</div>;
}

/** Buttons side by side. */
export function Buttons({ children }: { children: ReactNode }) {
  return <div className={css['buttons']}>{children}</div>;
}
