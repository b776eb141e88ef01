import { Field } from '../../ui/field.tsx';

/** A text that is asked with once it is typed: when the field is left, or at Enter. */
export function Late({
  label,
  value,
  list,
  onText,
}: {
  label: string;
  value: string;
  /** The id of a list of texts that are known. */
  list?: string | undefined;
  onText: (text: string) => void;
}) {
  const take = (text: string) => {
    if (text !== '' && text !== value) onText(text);
  };
  return (
    <Field label={label}>
      {(control) => (
        <input
          {...control}
          // Another value is another field: what is typed is not the value yet.
          key={value}
          defaultValue={value}
          list={list}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
          onBlur={({ target }) => take(target.value.trim())}
          onKeyDown={({ key, currentTarget }) => {
            if (key === 'Enter') take(currentTarget.value.trim());
          }}
        />
      )}
    </Field>
  );
}
