import type { ReactNode } from 'react';
import type { Texts, TextIssue } from '../format/record-texts.ts';
import { Field } from './field.tsx';

/** A record that is being written, field by field, as texts. */
export interface RecordForm {
  texts: Texts;
  /** What is wrong, by what is typed or by the API. */
  issues: readonly TextIssue[];
  change: (texts: Texts) => void;
}

interface InputProps {
  form: RecordForm;
  path: string;
  label: string;
  hint?: ReactNode;
  /** Of more than one line. */
  lines?: number;
  /** Whole numbers, numbers, or any text. */
  mode?: 'numeric' | 'decimal' | 'text';
  max?: number;
  disabled?: boolean;
}

/** A field that is typed. */
export function Input({ form, path, label, hint, lines, mode = 'text', max = 200, disabled }: InputProps) {
  const { texts, change } = form;
  return (
    <Field label={label} hint={hint} error={issueAt(form, path)}>
      {(control) => {
        const shared = { ...control, disabled, value: texts[path] ?? '', dir: 'auto' as const };
        return lines === undefined ? (
          <input
            {...shared}
            inputMode={mode}
            autoComplete="off"
            maxLength={max}
            onChange={({ target }) => change({ [path]: target.value })}
          />
        ) : (
          <textarea {...shared} rows={lines} onChange={({ target }) => change({ [path]: target.value })} />
        );
      }}
    </Field>
  );
}

/** A secret that is typed, and never shown again. */
export function SecretInput({
  form,
  path,
  label,
  hint,
}: Pick<InputProps, 'form' | 'path' | 'label' | 'hint'>) {
  const { texts, change } = form;
  return (
    <Field label={label} hint={hint} error={issueAt(form, path)}>
      {(control) => (
        <input
          {...control}
          type="password"
          autoComplete="new-password"
          maxLength={20_000}
          value={texts[path] ?? ''}
          onChange={({ target }) => change({ [path]: target.value })}
        />
      )}
    </Field>
  );
}

interface SelectProps {
  form: RecordForm;
  path: string;
  label: string;
  hint?: ReactNode;
  options: readonly { value: string; name: string }[];
  disabled?: boolean;
}

/** A field with a few values. */
export function Select({ form, path, label, hint, options, disabled }: SelectProps) {
  const { texts, change } = form;
  const value = texts[path] ?? '';
  const is_listed = options.some((one) => one.value === value);
  return (
    <Field label={label} hint={hint} error={issueAt(form, path)}>
      {(control) => (
        <select
          {...control}
          disabled={disabled}
          value={value}
          onChange={({ target }) => change({ [path]: target.value })}
        >
          {is_listed ? null : <option value={value}>{value}</option>}
          {options.map((one) => (
            <option key={one.value} value={one.value}>
              {one.name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** What is wrong with the field; undefined: nothing. */
export function issueAt({ issues }: Pick<RecordForm, 'issues'>, path: string): string | undefined {
  const found = issues.filter((issue) => issue.path === path).map(({ message }) => message);
  return found.length === 0 ? undefined : [...new Set(found)].join('; ');
}

/** The choices of a table of names. */
export function optionsOf(names: Readonly<Record<string, string>>): { value: string; name: string }[] {
  return Object.entries(names).map(([value, name]) => ({ value, name }));
}
