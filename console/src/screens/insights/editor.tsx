import { oneOf } from '../../api/choices.ts';
import { t } from '../../messages/t.ts';
import { Choice } from '../../ui/choice.tsx';
import { Choose } from '../../ui/choose.tsx';
import { Field } from '../../ui/field.tsx';
import { Filter } from '../../ui/filter.tsx';
import css from './insights.module.css';
import { Late } from './late.tsx';
import { useSegmentChoice } from './queries.ts';
import { Range } from './range.tsx';
import {
  BREAKDOWNS,
  COMPARISONS,
  daysOf,
  FIRST,
  INTERVALS,
  KINDS,
  rangeOf,
  type Breakdown,
  type InsightQuery,
  type Interval,
  type Kind,
} from './query.ts';
import { OfKind } from './kinds.tsx';

const m = t.insights.editor;
const HAVE_INTERVALS: ReadonlySet<Kind> = new Set(['trend', 'retention', 'lifecycle']);
const MOST_GROUPS = 25;
const USUAL_GROUPS = 10;

export interface EditorProps {
  query: InsightQuery;
  /** By whose clocks dates are. */
  zone: string;
  onQuery: (query: InsightQuery) => void;
}

/** Changes the question of the address, part by part; what has no field here is kept. */
export function Editor(props: EditorProps) {
  const { query, zone, onQuery } = props;
  const { interval = 'day', range } = query;
  const has_intervals = HAVE_INTERVALS.has(query.kind);
  const intervals = query.kind === 'retention' ? INTERVALS.filter((one) => one !== 'hour') : INTERVALS;
  const set = (part: Pick<Partial<InsightQuery>, 'range' | 'interval'>) => onQuery({ ...query, ...part });
  const setInterval = (next: Interval) => {
    // Days that a range has a part of are whole days; of hours only those would be left that it has a part of.
    const whole = 'last' in range ? range : rangeOf(daysOf(range, zone, Date.now()), zone);
    set({ interval: next, range: whole ?? range });
  };
  return (
    <section className={css['editor']} aria-label={m.title}>
      <Choose
        label={m.kind}
        options={KINDS.map((kind) => ({ value: kind, label: m.kinds[kind] }))}
        value={query.kind}
        onChange={(chosen) => {
          const kind = oneOf(KINDS, chosen) ?? query.kind;
          const { filter } = query;
          onQuery({ ...FIRST[kind], filter });
        }}
      />
      <OfKind query={query} onQuery={onQuery} />
      <Range range={range} zone={zone} onRange={(next) => set({ range: next })} />
      {has_intervals ? (
        <Choose
          label={m.interval}
          options={intervals.map((one) => ({ value: one, label: m.intervals[one] }))}
          value={interval}
          onChange={(chosen) => setInterval(oneOf(INTERVALS, chosen) ?? 'day')}
        />
      ) : null}
      {query.kind === 'trend' || query.kind === 'funnel' ? (
        <>
          <Filter
            label={m.compare}
            any={m.nothing}
            value={query.compare}
            options={COMPARISONS.map((value) => ({ value, name: m.compares[value] }))}
            onChange={(value) => onQuery({ ...query, compare: oneOf(COMPARISONS, value) })}
          />
          <Groups breakdown={query.breakdown} onBreakdown={(breakdown) => onQuery({ ...query, breakdown })} />
        </>
      ) : null}
      <Whose {...props} />
    </section>
  );
}

function Groups({
  breakdown,
  onBreakdown,
}: {
  breakdown: Breakdown | undefined;
  onBreakdown: (breakdown: Breakdown | undefined) => void;
}) {
  const { by, property = '', top = USUAL_GROUPS } = breakdown ?? {};
  return (
    <>
      <Filter
        label={m.breakdown}
        any={m.none}
        value={by}
        options={BREAKDOWNS.map((value) => ({ value, name: m.breakdowns[value] }))}
        onChange={(value) => {
          const next = oneOf(BREAKDOWNS, value);
          if (next === undefined) onBreakdown(undefined);
          else onBreakdown({ by: next, ...(next === 'property' ? { property: 'currency' } : {}), top });
        }}
      />
      {breakdown !== undefined && by === 'property' ? (
        <Late
          label={m.property}
          value={property}
          onText={(text) => onBreakdown({ ...breakdown, property: text })}
        />
      ) : null}
      {breakdown === undefined ? null : (
        <Field label={m.top}>
          {(control) => (
            <input
              {...control}
              type="number"
              min={1}
              max={MOST_GROUPS}
              value={top}
              onChange={({ target }) => {
                const next = Math.min(MOST_GROUPS, Math.max(1, Math.trunc(target.valueAsNumber)));
                if (!Number.isNaN(next)) onBreakdown({ ...breakdown, top: next });
              }}
            />
          )}
        </Field>
      )}
    </>
  );
}

/** Whose events the figures are of. */
function Whose({ query, onQuery }: EditorProps) {
  const { filter = {} } = query;
  const conditions = filter.where?.length ?? 0;
  return (
    <>
      <Choice
        label={m.segment}
        pages={useSegmentChoice()}
        value={filter.segment_id ?? null}
        none={m.everybody}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        onChange={(id) => {
          const next = { ...filter, segment_id: id ?? undefined };
          const is_empty = Object.values(next).every((one) => one === undefined);
          onQuery({ ...query, filter: is_empty ? undefined : next });
        }}
      />
      {conditions === 0 ? null : <p className={css['soft']}>{m.where(conditions)}</p>}
      {filter.definition === undefined ? null : <p className={css['soft']}>{m.definition}</p>}
    </>
  );
}
