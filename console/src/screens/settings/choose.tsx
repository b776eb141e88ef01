import { Field } from '../../ui/field.tsx';

/** A choice among few values; `any` is the name of none of them. */
export function Choose({
  label,
  any,
  options,
  value,
  onChange,
}: {
  label: string;
  any?: string;
  options: readonly { value: string; label: string }[];
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <Field label={label}>
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
