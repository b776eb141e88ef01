import type { ReactNode } from 'react';
import css from './form.module.css';

/** The fields of a form below each other; disabled as a whole for those who may only read. */
export function Form({ disabled = false, children }: { disabled?: boolean; children: ReactNode }) {
  return (
    <fieldset className={css['form']} disabled={disabled}>
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
