import { Field } from './field.tsx';

/** A choice among few values; `any` is the name of none of them. */
export function Choose({
  label,
  hint,
  any,
  options,
  value,
  onChange,
}: {
  label: string;
  hint?: string | undefined;
  any?: string;
  options: readonly { value: string; label: string }[];
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <select {...control} value={value} onChange={({ target }) => onChange(target.value)}>
          {any === undefined ? null : <option value="">{any}</option>}
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
