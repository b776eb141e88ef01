import { useId, type ReactNode } from 'react';
import css from './field.module.css';

interface FieldProps {
  label: string;
  /** Said below the label. */
  hint?: ReactNode;
  /** What is wrong with the value; read out when it appears. */
  error?: string | undefined;
  /** Renders the control with the ids that tie it to label, hint and error. */
  children: (control: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => ReactNode;
}

/** A labelled control of a form. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const about = `${id}-about`;
  return (
    <div className={css['field']}>
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': about, 'aria-invalid': error !== undefined })}
      <div id={about} className={css['about']}>
        {hint}
        {error === undefined ? null : (
          <span role="alert" className={css['error']}>
            {error}
          </span>
        )}
      </div>
    </div>
  );
}
