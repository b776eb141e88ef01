import { Field } from './field.tsx';

interface FilterProps {
  label: string;
  value: string | undefined;
  /** The name of no choice. */
  any: string;
  options: readonly { value: string; name: string }[];
  onChange: (value: string | undefined) => void;
}

/** A choice that narrows a list. */
export function Filter({ label, value = '', any, options, onChange }: FilterProps) {
  return (
    <Field label={label}>
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
        >
          <option value="">{any}</option>
          {options.some((one) => one.value === value) || value === '' ? null : (
            <option value={value}>{value}</option>
          )}
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
