import type { AlertFiring, CreateAlertBody } from '@player-engagement/client/admin';
import { useBaseCurrency, useMoney } from '../../api/currencies.ts';
import { useRead } from '../../api/queries.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Answered } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import type { AlertDraft } from './alert-draft.ts';
import { DuePreview } from './due-editor.tsx';
import { figureOf, type Unit } from './figures.ts';
import css from './insights.module.css';
import { useMetrics } from './queries.ts';

const m = t.alerts;
/** Firings of a preview that are shown. */
const SHOWN = 20;

/** In which intervals an alert has fired. */
export function Firings({
  of: { firings },
  query,
}: {
  of: { firings: readonly AlertFiring[] };
  query: AlertDraft['query'];
}) {
  const { title, none } = m.firings;
  return (
    <section className={css['part']} aria-label={title}>
      <h2>{title}</h2>
      {firings.length === 0 ? (
        <p className={css['soft']}>{none}</p>
      ) : (
        <FiringTable label={title} firings={firings} query={query} />
      )}
    </section>
  );
}

/** In which intervals of the last 90 days an alert would have fired. */
export function AlertPreview({ body }: { body: CreateAlertBody | undefined }) {
  return (
    <DuePreview kind="alert" body={body}>
      {(asked) => <Previewed body={asked} />}
    </DuePreview>
  );
}

function Previewed({ body: { query, interval, condition } }: { body: CreateAlertBody }) {
  const asked = useRead('alerts.preview', [{ query, interval, condition }]);
  return (
    <Answered asked={asked} what={m.previewLoading}>
      {({ data: { fired, intervals, undecided, firings } }) => (
        <>
          <p role="status">
            {m.wouldFire(fired, intervals)} {m.undecided(undecided)}
          </p>
          {firings.length === 0 ? null : (
            <FiringTable label={m.previewTitle} firings={firings.slice(0, SHOWN)} query={query} />
          )}
        </>
      )}
    </Answered>
  );
}

function FiringTable({
  label,
  firings,
  query,
}: {
  label: string;
  firings: readonly AlertFiring[];
  query: AlertDraft['query'];
}) {
  const unit = useUnit(query);
  const writer = { money: useMoney(), base: useBaseCurrency() };
  const textOf = (value: AlertFiring['value']) => figureOf(value, unit, writer)?.text ?? '—';
  const limitOf = (value: number) => (unit === 'money' ? textOf(BigInt(Math.round(value))) : String(value));
  const { from, value, before, usual, between } = m.firings;
  return (
    <Table
      label={label}
      head={[from, value, before, usual]}
      rows={firings.map((one) => ({
        key: one.from,
        cells: [
          <Time key="from" at={one.from} />,
          textOf(one.value),
          textOf(one.before),
          one.low === null || one.high === null ? '—' : between(limitOf(one.low), limitOf(one.high)),
        ],
      }))}
    />
  );
}

/** In what the values of a query are written: a ratio as the quotient that it is. */
function useUnit({ series, ratio }: AlertDraft['query']): Unit {
  const metrics = useMetrics().data?.data ?? [];
  const [first] = series;
  if (ratio !== undefined || first === undefined || !('metric' in first)) return 'number';
  const unit = metrics.find(({ name }) => name === first.metric)?.unit;
  if (unit === 'rate') return first.metric === 'arpu' ? 'money' : 'share';
  return unit ?? 'number';
}
