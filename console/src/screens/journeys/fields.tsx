import { useId, useState } from 'react';
import { t } from '../../messages/t.ts';
import { Choice as Listed } from '../../ui/choice.tsx';
import { Field } from '../../ui/field.tsx';
import type { Pages } from '../../ui/listed.tsx';
import { jsonOf, jsonText, Unread } from './draft.ts';
import { valueOf, valueText } from './json-values.ts';
import type { Named } from './queries.ts';
import { sameJson } from './difference.ts';

const m = t.journeys.edit;

interface ValueProps {
  label: string;
  hint?: string;
  value: unknown;
  onValue: (value: unknown) => void;
}

/** A text; an empty one is omitted unless `required`. */
export function Text({
  label,
  hint,
  value,
  onValue,
  required = false,
  suggestions,
}: ValueProps & { required?: boolean; suggestions?: readonly string[] }) {
  const list = useId();
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <>
          <input
            {...control}
            autoComplete="off"
            maxLength={2_000}
            list={suggestions === undefined ? undefined : list}
            value={typeof value === 'string' ? value : jsonText(value)}
            onChange={({ target }) => onValue(target.value === '' && !required ? undefined : target.value)}
          />
          {suggestions === undefined ? null : (
            <datalist id={list}>
              {suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

/** A value whose text is kept as it is typed, while it means the value. */
export function useTyped(
  value: unknown,
  textOf: (value: unknown) => string,
  read: (text: string) => unknown,
) {
  const [typed, setTyped] = useState<string>();
  const shown = typed !== undefined && sameJson(read(typed), value) ? typed : textOf(value);
  return { shown, setTyped };
}

/** A whole number; other text stays text, and the service says what is wrong with it. */
export function Whole({ label, hint, value, onValue }: ValueProps) {
  const read = (text: string): unknown => {
    if (text.trim() === '') return undefined;
    return /^-?\d{1,15}$/.test(text.trim()) ? Number(text) : text;
  };
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          inputMode="numeric"
          autoComplete="off"
          value={typeof value === 'string' ? value : jsonText(value ?? undefined)}
          onChange={({ target }) => onValue(read(target.value))}
        />
      )}
    </Field>
  );
}

/** A value of any kind: numbers, true, false and JSON as such, everything else as text. */
export function Any({ label, hint, value, onValue }: ValueProps) {
  const { shown, setTyped } = useTyped(value, valueText, valueOf);
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <input
          {...control}
          autoComplete="off"
          value={shown}
          onChange={({ target }) => {
            setTyped(target.value);
            onValue(valueOf(target.value));
          }}
        />
      )}
    </Field>
  );
}

/** JSON as text. What is not JSON yet is kept, and the draft cannot be saved. */
export function Json({ label, hint, value, onValue }: ValueProps) {
  const { shown, setTyped } = useTyped(value, jsonText, jsonOf);
  return (
    <Field label={label} hint={hint} error={value instanceof Unread ? m.notJson : undefined}>
      {(control) => (
        <textarea
          {...control}
          rows={Math.min(12, shown.split('\n').length + 1)}
          spellCheck={false}
          value={shown}
          onChange={({ target }) => {
            setTyped(target.value);
            onValue(jsonOf(target.value));
          }}
        />
      )}
    </Field>
  );
}

/** One of several; a value that is not among them is shown as one more. */
export function OneOf({
  label,
  hint,
  value,
  choices,
  onChoose,
}: {
  label: string;
  hint?: string;
  value: string;
  choices: readonly (readonly [value: string, text: string])[];
  onChoose: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <select {...control} value={value} onChange={({ target }) => onChoose(target.value)}>
          {choices.some(([one]) => one === value) ? null : (
            <option value={value}>{value === '' ? '—' : value}</option>
          )}
          {choices.map(([one, text]) => (
            <option key={one} value={one}>
              {text.slice(0, 120)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Check({
  label,
  value,
  onValue,
}: {
  label: string;
  value: boolean;
  onValue: (value: boolean) => void;
}) {
  return (
    <label>
      <input type="checkbox" checked={value} onChange={({ target }) => onValue(target.checked)} /> {label}
    </label>
  );
}

/** A record of a list of the API, by its name. */
export function Chosen({
  label,
  pages,
  value,
  onValue,
}: {
  label: string;
  pages: Pages<Named>;
  value: unknown;
  onValue: (id: string) => void;
}) {
  return (
    <Listed
      label={label}
      pages={pages}
      value={typeof value === 'string' && value !== '' ? value : null}
      none={m.choose}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      onChange={(id) => onValue(id ?? '')}
    />
  );
}

const UNITS = { seconds: 1_000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;
type Unit = keyof typeof UNITS;
const NAMES: readonly Unit[] = ['days', 'hours', 'minutes', 'seconds'];

/** A span of time in milliseconds, as a number and its unit. */
export function Span({ label, hint, value, onValue }: ValueProps) {
  const [chosen, setUnit] = useState<Unit>(
    () => NAMES.find((one) => typeof value === 'number' && value % UNITS[one] === 0) ?? 'seconds',
  );
  const [typed, setTyped] = useState<string>();
  const read = (written: string, by: Unit): unknown => {
    if (written === '') return undefined;
    return /^-?\d+(\.\d+)?$/.test(written.trim()) ? Math.round(Number(written) * UNITS[by]) : written;
  };
  const kept = typed !== undefined && read(typed, chosen) === value ? typed : undefined;
  // A step back may bring a value that is not a whole number of the unit.
  const is_shown = kept !== undefined || typeof value !== 'number' || value % UNITS[chosen] === 0;
  const unit = is_shown ? chosen : 'seconds';
  const plain = typeof value === 'number' ? String(value / UNITS[unit]) : jsonText(value).replaceAll('"', '');
  const text = kept ?? plain;
  const write = (written: string, by: Unit) => {
    setTyped(written);
    setUnit(by);
    onValue(read(written, by));
  };
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <>
          <input
            {...control}
            inputMode="numeric"
            autoComplete="off"
            value={text}
            onChange={({ target }) => write(target.value, unit)}
          />
          <select
            aria-label={m.unitOf(label)}
            value={unit}
            onChange={({ target }) => write(text, NAMES.find((one) => one === target.value) ?? 'days')}
          >
            {NAMES.map((one) => (
              <option key={one} value={one}>
                {m.units[one]}
              </option>
            ))}
          </select>
        </>
      )}
    </Field>
  );
}
