import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Buttons, Row } from '../../ui/form.tsx';
import { clausesOf, OPERATORS, type Clause } from './clauses.ts';
import { Any, Json, OneOf, Text, useTyped } from './fields.tsx';
import css from './journeys.module.css';
import { listOfText, textOfList } from './json-values.ts';

const m = t.journeys.edit;
const MOST_CLAUSES = 10;

interface WhereProps {
  /** What is compared, for screen readers: `Only with`. */
  label: string;
  where: unknown;
  /** Undefined: no filter. */
  onWhere: (where: unknown) => void;
}

/** A filter: comparisons that must all hold. One in a form that is not known is edited as JSON. */
export function WhereForm({ label, where, onWhere }: WhereProps) {
  const clauses = clausesOf(where);
  if (clauses === undefined) return <Json label={label} value={where} onValue={onWhere} />;
  const write = (next: readonly Clause[]) => onWhere(next.length === 0 ? undefined : next);
  return (
    <div role="group" aria-label={label} className={css['clauses']}>
      {clauses.map((clause, i) => (
        <ClauseRow
          key={i}
          index={i + 1}
          clause={clause}
          onClause={(next) => write(clauses.with(i, next))}
          onRemove={() => write(clauses.filter((_, at) => at !== i))}
        />
      ))}
      {clauses.length >= MOST_CLAUSES ? null : (
        <Buttons>
          <Button
            kind="quiet"
            onClick={() => write([...clauses, { property: 'amount', op: 'gte', value: 0 }])}
          >
            {m.addClause}
          </Button>
        </Buttons>
      )}
    </div>
  );
}

function ClauseRow({
  index,
  clause,
  onClause,
  onRemove,
}: {
  index: number;
  clause: Clause;
  onClause: (clause: Clause) => void;
  onRemove: () => void;
}) {
  const { property, op, value } = clause;
  const shape = OPERATORS[op] ?? 'scalar';
  const compare = (next: string) => {
    const wanted = OPERATORS[next] ?? 'scalar';
    if (wanted === 'none') return onClause({ property, op: next });
    if (wanted === 'list') return onClause({ property, op: next, value: Array.isArray(value) ? value : [] });
    return onClause({ property, op: next, value: Array.isArray(value) || value === undefined ? '' : value });
  };
  return (
    <Row>
      <Text
        required
        label={m.property(index)}
        value={property}
        onValue={(next) => onClause({ ...clause, property: String(next) })}
      />
      <OneOf
        label={m.comparison}
        value={op}
        choices={Object.keys(OPERATORS).map((one) => [one, t.journeys.says.comparisons[one] ?? one])}
        onChoose={compare}
      />
      {shape === 'none' ? null : shape === 'list' ? (
        <Values value={value} onValue={(next) => onClause({ ...clause, value: next })} />
      ) : (
        <Any label={m.value} value={value} onValue={(next) => onClause({ ...clause, value: next })} />
      )}
      <Buttons>
        <Button kind="quiet" onClick={onRemove}>
          {m.removeClause(index)}
        </Button>
      </Buttons>
    </Row>
  );
}

function Values({ value, onValue }: { value: unknown; onValue: (value: unknown) => void }) {
  const { shown, setTyped } = useTyped(value, textOfList, listOfText);
  return (
    <Field label={m.values}>
      {(control) => (
        <input
          {...control}
          autoComplete="off"
          value={shown}
          onChange={({ target }) => {
            setTyped(target.value);
            onValue(listOfText(target.value));
          }}
        />
      )}
    </Field>
  );
}
