import { useState, type ComponentPropsWithRef } from 'react';
import { t } from '../../messages/t.ts';
import { isUtcTime } from './forms.ts';
import {
  boundShape,
  listOf,
  listText,
  numberOf,
  numberText,
  same,
  scalarOf,
  scalarText,
  spanParts,
  type Operand,
} from './values.ts';
import type { Shape } from './vocabulary.ts';

const m = t.segments.build;

/** A change of a value; `key` names the control, so that its keystrokes are one step back. */
export type OnValue = (value: unknown, key: string) => void;

interface TypedProps extends Omit<ComponentPropsWithRef<'input'>, 'value' | 'onChange'> {
  value: unknown;
  textOf: (value: unknown) => string;
  valueOf: (text: string) => unknown;
  onValue: (value: unknown) => void;
  multiline?: boolean;
}

/**
 * A field whose text stands for a value. The text is kept as it is typed (`1.`) while it means the value; when the value
 * becomes another one, by a step back, its own text is shown.
 */
export function Typed({ value, textOf, valueOf, onValue, multiline = false, ...rest }: TypedProps) {
  const [typed, setTyped] = useState<string>();
  const shown = typed !== undefined && same(valueOf(typed), value) ? typed : textOf(value);
  const onChange = ({ target }: { target: { value: string } }) => {
    setTyped(target.value);
    onValue(valueOf(target.value));
  };
  if (multiline) {
    return (
      <textarea
        rows={4}
        aria-label={rest['aria-label']}
        value={shown}
        onChange={onChange}
        spellCheck={false}
      />
    );
  }
  return <input {...rest} value={shown} onChange={onChange} autoComplete="off" spellCheck={false} />;
}

/** A choice; a value that is not among the choices is shown as one more. */
export function Choice({
  label,
  value,
  choices,
  onChoose,
}: {
  label: string;
  value: string;
  choices: readonly (readonly [value: string, text: string])[];
  onChoose: (value: string) => void;
}) {
  const is_known = choices.some(([one]) => one === value);
  return (
    <select aria-label={label} value={value} onChange={({ target }) => onChoose(target.value)}>
      {is_known ? null : <option value={value}>{value === '' ? '—' : value}</option>}
      {choices.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface ValueProps {
  shape: Shape;
  operand: Operand;
  value: unknown;
  onValue: OnValue;
  /** The control's name; absent: what the shape calls for. */
  label?: string;
}

/** The control of what a left side is compared with. */
export function Value({ shape, operand, value, onValue, label }: ValueProps) {
  switch (shape) {
    case 'none':
      return null;
    case 'scalar':
      return <Scalar operand={operand} value={value} onValue={onValue} label={label ?? m.value} />;
    case 'number':
      return (
        <Scalar
          operand={{ ...operand, kind: 'number', values: null }}
          value={value}
          onValue={onValue}
          label={label ?? m.value}
        />
      );
    case 'text':
      return (
        <Scalar
          operand={{ ...operand, kind: 'text', values: null }}
          value={value}
          onValue={onValue}
          label={m.value}
        />
      );
    case 'list':
      return <Listing operand={operand} value={value} onValue={onValue} />;
    case 'range':
      return <Range operand={operand} value={value} onValue={onValue} />;
    case 'moment':
      return <Moment value={value} onValue={onValue} label={label ?? m.moment} />;
    case 'span':
      return <Span value={value} onValue={onValue} />;
  }
}

type ControlProps = Pick<ValueProps, 'operand' | 'value' | 'onValue'>;

function Scalar({ operand, value, onValue, label }: ControlProps & { label: string }) {
  const { values, kind } = operand;
  if (values !== null) {
    return (
      <Choice
        label={label}
        value={String(value)}
        choices={values.map((one) => [one, t.segments.words.fields(one)])}
        onChoose={(next) => onValue(next, label)}
      />
    );
  }
  return (
    <Typed
      aria-label={label}
      inputMode={kind === 'number' ? 'decimal' : 'text'}
      title={kind === 'json' ? m.flexible : undefined}
      value={value}
      textOf={(one) => scalarText(one, operand)}
      valueOf={(text) => scalarOf(text, operand)}
      onValue={(next) => onValue(next, label)}
    />
  );
}

function Listing({ operand, value, onValue }: ControlProps) {
  const { values } = operand;
  if (values === null) {
    return (
      <Typed
        multiline
        aria-label={m.values}
        value={value}
        textOf={(one) => listText(one, operand)}
        valueOf={(text) => listOf(text, operand)}
        onValue={(next) => onValue(next, 'list')}
      />
    );
  }
  const chosen = Array.isArray(value) ? (value as unknown[]) : [];
  const others = chosen.filter((one) => typeof one !== 'string' || !values.includes(one));
  return (
    <fieldset aria-label={m.value}>
      {values.map((one) => (
        <label key={one}>
          <input
            type="checkbox"
            checked={chosen.includes(one)}
            onChange={({ target }) => {
              const kept = values.filter((each) => (each === one ? target.checked : chosen.includes(each)));
              onValue([...kept, ...others], one);
            }}
          />{' '}
          {t.segments.words.fields(one)}
        </label>
      ))}
    </fieldset>
  );
}

function Range({ operand, value, onValue }: ControlProps) {
  const range = Array.isArray(value) ? (value as unknown[]) : [];
  const shape = operand.kind === 'date' ? 'moment' : boundShape(range);
  return [m.low, m.high].map((label, i) => (
    <Value
      key={label}
      shape={shape}
      operand={operand}
      value={range[i]}
      label={shape === 'moment' ? (i === 0 ? m.windowFrom : m.windowTo) : label}
      onValue={(next) => onValue(range.with(i, next), label)}
    />
  ));
}

/** A time in UTC; one that the browser's control would change is edited as text. */
export function Moment({ value, onValue, label }: { value: unknown; onValue: OnValue; label: string }) {
  if (!isUtcTime(value)) {
    return (
      <input
        aria-label={label}
        value={String(value)}
        onChange={({ target }) => onValue(target.value, label)}
        autoComplete="off"
      />
    );
  }
  return (
    <input
      type="datetime-local"
      aria-label={label}
      value={String(value).slice(0, -1)}
      onChange={({ target: { value: text } }) => {
        // The control is empty while a part of the time is missing.
        if (text !== '') onValue(`${text.length === 16 ? `${text}:00` : text}Z`, label);
      }}
    />
  );
}

/** A number of days or hours. */
export function Span({ value, onValue }: { value: unknown; onValue: OnValue }) {
  const { unit, length } = spanParts(value) ?? { unit: 'days', length: '' };
  return (
    <>
      <Typed
        aria-label={m.spanLength}
        inputMode="numeric"
        size={5}
        value={length}
        textOf={(one) => numberText(one)}
        valueOf={(text) => numberOf(text)}
        onValue={(next) => onValue({ [unit]: next }, 'span')}
      />
      <Choice
        label={m.spanUnit}
        value={unit}
        choices={[
          ['days', m.spanUnits.days],
          ['hours', m.spanUnits.hours],
        ]}
        onChoose={(next) => onValue({ [next]: length }, 'span unit')}
      />
    </>
  );
}
