import { t } from '../../messages/t.ts';
import { Choice, Value } from './controls.tsx';
import { useTools } from './builder-context.ts';
import { operandOf } from './forms.ts';
import { canShow, firstValue } from './values.ts';
import { operatorOf, type Word, type Written } from './vocabulary.ts';

const m = t.segments.build;

interface ComparisonProps {
  /** What has `op` and `value`: a condition, or a clause about a property. */
  written: Written;
  word: Word;
  onWritten: (next: Written, key: string) => void;
}

/** The operator and what it compares with. A value that suits another operator, too, is kept. */
export function Comparison({ written, word, onWritten }: ComparisonProps) {
  const { vocabulary, currency } = useTools();
  const { op } = written;
  const current = operatorOf(vocabulary, op);
  const shape = current?.value ?? 'none';
  const operand = operandOf(word, currency?.scale ?? 0);
  const is_money = word.unit !== null && ['scalar', 'number', 'list', 'range'].includes(shape);
  return (
    <>
      <Choice
        label={m.operator}
        value={current?.name ?? String(op)}
        choices={word.operators.map((name) => [name, t.segments.words.operators[name] ?? name])}
        onChoose={(next) => onWritten({ ...written, ...comparedBy(next) }, 'op')}
      />
      <Value
        shape={shape}
        operand={operand}
        value={written['value']}
        onValue={(value, key) => onWritten({ ...written, value }, key)}
      />
      {is_money ? <span>{currency === undefined ? m.subunits : m.money(currency.code)}</span> : null}
    </>
  );

  function comparedBy(name: string): Written {
    const next = operatorOf(vocabulary, name)?.value ?? 'none';
    const { value } = written;
    return { op: name, value: canShow(value, next, operand) ? value : firstValue(next, operand) };
  }
}

/** The first comparison with a left side: by its first operator, or, of a number, by "at least". */
export function firstComparison(
  word: Word,
  shapeOf: (op: string) => Parameters<typeof firstValue>[0],
): Written {
  const op = word.operators.includes('gte') && word.kind === 'number' ? 'gte' : (word.operators[0] ?? 'eq');
  return { op, value: firstValue(shapeOf(op), operandOf(word, 0)) };
}
