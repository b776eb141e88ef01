import { useId } from 'react';
import { oneOf } from '../../api/choices.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import css from './insights.module.css';
import { Late } from './late.tsx';
import { useEvents, useMetrics } from './queries.ts';
import {
  AGGREGATES,
  MOST_SERIES,
  type Aggregate,
  type EventSeries,
  type Metric,
  type Series,
  type TrendQuery,
} from './query.ts';

const m = t.insights.editor;
const UNITS = ['money', 'count', 'rate'] as const;
const OF_EVENT = 'event';

interface SeriesListProps {
  query: TrendQuery;
  onQuery: (query: TrendQuery) => void;
}

/** The series of a trend: figures of the dictionary, or of an event. */
export function SeriesList({ query, onQuery }: SeriesListProps) {
  const { series, ratio } = query;
  const set = (next: Series[]) => {
    // A ratio names series by their numbers.
    const { ratio: _before, ...rest } = query;
    onQuery({
      ...rest,
      series: next,
      ...(ratio === undefined || next.length !== series.length ? {} : { ratio }),
    });
  };
  return (
    <>
      {series.map((one, i) => (
        <fieldset key={i} className={css['group']}>
          <legend>{m.seriesOf(i + 1)}</legend>
          <OneSeries series={one} onSeries={(next) => set(series.with(i, next))} />
          {series.length < 2 ? null : (
            <Button kind="quiet" aria-label={m.remove(i + 1)} onClick={() => set(series.toSpliced(i, 1))}>
              ✕
            </Button>
          )}
        </fieldset>
      ))}
      {series.length >= MOST_SERIES ? null : (
        <Button kind="quiet" onClick={() => set([...series, { metric: 'deposits' }])}>
          {m.add}
        </Button>
      )}
      {series.length < 2 ? null : (
        <label>
          <input
            type="checkbox"
            checked={ratio !== undefined}
            onChange={({ target }) => onQuery({ ...query, ratio: target.checked ? [0, 1] : undefined })}
          />{' '}
          {m.ratio}
        </label>
      )}
    </>
  );
}

/** A figure of the dictionary, or of an event. */
export function OneSeries({ series, onSeries }: { series: Series; onSeries: (series: Series) => void }) {
  const metrics = useMetrics().data?.data ?? [];
  const metric = 'metric' in series ? series.metric : undefined;
  const entry = metrics.find(({ name }) => name === metric);
  return (
    <>
      <Field label={m.metric} hint={entry?.text}>
        {(control) => (
          <select
            {...control}
            value={metric ?? OF_EVENT}
            onChange={({ target }) =>
              onSeries(
                target.value === OF_EVENT
                  ? { event: 'login', aggregate: 'count' }
                  : { metric: target.value as Metric },
              )
            }
          >
            {metric === undefined || entry !== undefined ? null : <option value={metric}>{metric}</option>}
            {UNITS.map((unit) => (
              <optgroup key={unit} label={m.units[unit]}>
                {metrics
                  .filter((one) => one.unit === unit)
                  .map(({ name, label }) => (
                    <option key={name} value={name}>
                      {label}
                    </option>
                  ))}
              </optgroup>
            ))}
            <option value={OF_EVENT}>{m.ofEvent}</option>
          </select>
        )}
      </Field>
      {'event' in series ? <OfEvent series={series} onSeries={onSeries} /> : null}
    </>
  );
}

/** The name of an event: one of the catalogue, or one of the operator's own. */
export function EventName({ event, onEvent }: { event: string; onEvent: (event: string) => void }) {
  const list = useId();
  const events = useEvents();
  return (
    <>
      <Late label={m.event} value={event} list={list} onText={onEvent} />
      <datalist id={list}>
        {events.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

const needsProperty = (aggregate: Aggregate) => aggregate !== 'count' && aggregate !== 'players';

function OfEvent({ series, onSeries }: { series: EventSeries; onSeries: (series: EventSeries) => void }) {
  const list = useId();
  const { event, aggregate = 'count', property, where } = series;
  const properties = useEvents().find(({ name }) => name === event)?.properties ?? [];
  return (
    <>
      <EventName event={event} onEvent={(next) => onSeries({ event: next, aggregate: 'count' })} />
      <Field label={m.aggregate}>
        {(control) => (
          <select
            {...control}
            value={aggregate}
            onChange={({ target }) => {
              const next = oneOf(AGGREGATES, target.value) ?? 'count';
              const of = property ?? properties[0]?.name ?? 'amount';
              onSeries({ event, where, aggregate: next, ...(needsProperty(next) ? { property: of } : {}) });
            }}
          >
            {AGGREGATES.map((one) => (
              <option key={one} value={one}>
                {m.aggregates[one]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {needsProperty(aggregate) ? (
        <>
          <Late
            label={m.property}
            value={property ?? ''}
            list={list}
            onText={(text) => onSeries({ ...series, property: text })}
          />
          <datalist id={list}>
            {properties.map(({ name }) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      ) : null}
      {where === undefined || where.length === 0 ? null : (
        <p className={css['soft']}>{m.where(where.length)}</p>
      )}
    </>
  );
}
