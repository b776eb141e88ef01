import { t } from '../../messages/t.ts';
import { Field } from '../../ui/field.tsx';
import { daysOf, LAST_DAYS, rangeOf, type InsightRange } from './query.ts';

const m = t.insights.editor;
const DATES = 'dates';

interface RangeProps {
  range: InsightRange;
  zone: string;
  onRange: (range: InsightRange) => void;
}

/** The last days, or from one day to another. */
export function Range({ range, zone, onRange }: RangeProps) {
  const last = 'last' in range ? range.last.days : undefined;
  const choices =
    last === undefined || LAST_DAYS.some((days) => days === last) ? LAST_DAYS : [...LAST_DAYS, last];
  const days = daysOf(range, zone, Date.now());
  const set = (part: Partial<typeof days>) => {
    const next = rangeOf({ ...days, ...part }, zone);
    if (next !== undefined) onRange(next);
  };
  return (
    <>
      <Field label={m.range}>
        {(control) => (
          <select
            {...control}
            value={last ?? DATES}
            onChange={({ target }) =>
              target.value === DATES ? set({}) : onRange({ last: { days: Number(target.value) } })
            }
          >
            {choices.map((one) => (
              <option key={one} value={one}>
                {m.last(one)}
              </option>
            ))}
            <option value={DATES}>{m.dates}</option>
          </select>
        )}
      </Field>
      {last !== undefined
        ? null
        : (['from', 'to'] as const).map((end) => (
            <Field key={end} label={m[end]}>
              {(control) => (
                <input
                  {...control}
                  type="date"
                  value={days[end]}
                  onChange={({ target }) => set({ [end]: target.value })}
                />
              )}
            </Field>
          ))}
    </>
  );
}
