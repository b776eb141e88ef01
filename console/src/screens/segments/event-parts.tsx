import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { useTools } from './builder-context.ts';
import css from './builder.module.css';
import { Comparison, firstComparison } from './comparison.tsx';
import { Choice, Moment, Span, Typed } from './controls.tsx';
import { windowKind } from './forms.ts';
import { isObject } from './tree.ts';
import { firstValue, plainText, same } from './values.ts';
import { operatorOf, propertyWord, type Written } from './vocabulary.ts';

const m = t.segments.build;
const OWN = '';

/** The name of an event: one of the catalogue, or one of the operator's own. */
export function EventName({ value, onValue }: { value: string; onValue: (event: string) => void }) {
  const { vocabulary } = useTools();
  const { prefix } = vocabulary.custom_events;
  const is_own = !vocabulary.events.some(({ name }) => name === value);
  const groups = Map.groupBy(vocabulary.events, ({ group }) => group);
  return (
    <>
      <select
        aria-label={m.event}
        value={is_own ? OWN : value}
        onChange={({ target }) => onValue(target.value === OWN ? prefix : target.value)}
      >
        {[...groups].map(([group, events]) => (
          <optgroup key={group} label={t.segments.words.fields(group)}>
            {events.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </optgroup>
        ))}
        <option value={OWN}>{m.customEvent}</option>
      </select>
      {is_own ? (
        <Typed
          aria-label={m.customName}
          value={value}
          textOf={plainText}
          valueOf={(text) => text}
          onValue={(next) => onValue(plainText(next))}
        />
      ) : null}
    </>
  );
}

/** A property of an event: one that the catalogue knows, or another one. */
export function Property({
  event,
  value,
  onValue,
}: {
  event: unknown;
  value: string;
  onValue: (property: string) => void;
}) {
  const { vocabulary } = useTools();
  const { properties = [] } = vocabulary.events.find(({ name }) => name === event) ?? {};
  const is_own = !properties.some(({ name }) => name === value);
  return (
    <>
      <Choice
        label={m.property}
        value={is_own ? OWN : value}
        choices={[
          ...properties.map(({ name }) => [name, t.segments.words.fields(name)] as const),
          [OWN, m.otherProperty],
        ]}
        onChoose={onValue}
      />
      {is_own ? (
        <Typed
          aria-label={m.otherName}
          value={value}
          textOf={plainText}
          valueOf={(text) => text}
          onValue={(next) => onValue(plainText(next))}
        />
      ) : null}
    </>
  );
}

/** When events count. */
export function Window({
  value,
  onValue,
}: {
  value: unknown;
  onValue: (value: unknown, key: string) => void;
}) {
  const kind = windowKind(value);
  const window = isObject(value) ? value : {};
  const first = {
    always: undefined,
    last: { last: { days: 30 } },
    range: rangeOf(firstValue('range', { kind: 'date', unit: null, values: null, scale: 0 })),
  };
  return (
    <>
      <Choice
        label={m.window}
        value={kind}
        choices={[
          ['always', m.windows.always],
          ['last', m.windows.last],
          ['range', m.windows.range],
        ]}
        onChoose={(next) => onValue(first[next as typeof kind], 'window')}
      />
      {kind === 'last' ? (
        <Span value={window['last']} onValue={(last, key) => onValue({ last }, `window ${key}`)} />
      ) : null}
      {kind === 'range' ? (
        <>
          <Moment
            label={m.windowFrom}
            value={window['from']}
            onValue={(from) => onValue({ ...window, from }, 'window from')}
          />
          <Moment
            label={m.windowTo}
            value={window['to']}
            onValue={(to) => onValue({ ...window, to }, 'window to')}
          />
        </>
      ) : null}
    </>
  );
}

function rangeOf(value: unknown): Written {
  const [from, to] = Array.isArray(value) ? (value as unknown[]) : [];
  return { from, to };
}

/** What the properties of an event must be so that it counts. */
export function Where({
  written,
  onWritten,
}: {
  written: Written;
  onWritten: (next: Written, key: string) => void;
}) {
  const { vocabulary } = useTools();
  const { event, where } = written;
  const clauses = (Array.isArray(where) ? (where as unknown[]) : []).map((one) => (isObject(one) ? one : {}));
  const shapeOf = (op: string) => operatorOf(vocabulary, op)?.value ?? 'none';
  const set = (next: readonly Written[], key: string) =>
    onWritten({ ...written, where: next.length === 0 ? undefined : next }, key);
  const clauseOf = (property: string): Written => ({
    property,
    ...firstComparison(propertyWord(vocabulary, event, property), shapeOf),
  });
  const rename = (clause: Written, property: string): Written => {
    const before = propertyWord(vocabulary, event, clause['property']);
    const after = propertyWord(vocabulary, event, property);
    const is_alike =
      before.kind === after.kind && before.unit === after.unit && same(before.values, after.values);
    return is_alike ? { ...clause, property } : clauseOf(property);
  };
  const first = vocabulary.events.find(({ name }) => name === event)?.properties[0]?.name ?? 'amount';
  return (
    <>
      {clauses.map((clause, i) => (
        <div key={i} role="group" aria-label={m.where(i + 1)} className={css['clause']}>
          <Property
            event={event}
            value={plainText(clause['property'])}
            onValue={(property) => set(clauses.with(i, rename(clause, property)), `where ${i}`)}
          />
          <Comparison
            written={clause}
            word={propertyWord(vocabulary, event, clause['property'])}
            onWritten={(next, key) => set(clauses.with(i, next), `where ${key} ${i}`)}
          />
          <Button
            kind="quiet"
            aria-label={m.removeWhere}
            onClick={() => set(clauses.toSpliced(i, 1), 'remove where')}
          >
            ✕
          </Button>
        </div>
      ))}
      {clauses.length >= vocabulary.limits.where_clauses ? null : (
        <Button kind="quiet" onClick={() => set([...clauses, clauseOf(first)], 'add where')}>
          {m.addWhere}
        </Button>
      )}
    </>
  );
}
