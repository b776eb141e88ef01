import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState, type SyntheticEvent } from 'react';
import { useMoney } from '../../api/currencies.ts';
import { writeExactly } from '../../api/json.ts';
import { formatInt, formatPercent, formatPoints } from '../../format/number.ts';
import { formatDay, fromLocalField, fromUtcField } from '../../format/time.ts';
import { Time, useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Field } from '../../ui/field.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { useBacktest, type Backtested, type Past, type SegmentRecord } from './queries.ts';
import css from './segments.module.css';

const route = getRouteApi('/segments/$id');
const m = t.backtest;
const DAY_MS = 86_400_000;
/** What the service takes. */
const MOST_DAYS = { ago: 800, after: 365 };
/** A month of which all days are over. */
const FIRST_DAYS = { ago: 31, after: 30 };

/** Who would have been in the segment at a time of the past, and what they did after it. The address has the question. */
export function Backtest({ segment }: { segment: SegmentRecord }) {
  const { as_of, days } = route.useSearch();
  const past = pastOf(as_of, days);
  return (
    <>
      <p className={css['soft']}>{m.help}</p>
      <Question segment_id={segment.id} past={past} />
      {past === undefined ? null : <Result json={writeExactly(segment.definition)} past={past} />}
      <details>
        <summary>{m.how}</summary>
        <ul>
          {m.howText.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** The question of the address; undefined: it has none, or one that cannot be asked. */
function pastOf(as_of: string | undefined, days: string | undefined): Past | undefined {
  const at = fromUtcField(as_of);
  const horizon_days = Number(days ?? FIRST_DAYS.after);
  const is_asked = at !== undefined && Number.isInteger(horizon_days) && horizon_days >= 1;
  return is_asked && horizon_days <= MOST_DAYS.after ? { as_of: at, horizon_days } : undefined;
}

function Question({ segment_id, past }: { segment_id: string; past: Past | undefined }) {
  const navigate = useNavigate();
  const { name: zone } = useZone();
  const [now_ms] = useState(Date.now);
  const dayAgo = (days: number) => formatDay(now_ms - days * DAY_MS, zone);
  const asked = {
    day: formatDay(past?.as_of ?? now_ms - FIRST_DAYS.ago * DAY_MS, zone),
    days: String(past?.horizon_days ?? FIRST_DAYS.after),
  };
  const [shown, setShown] = useState(asked);
  const [typed, setTyped] = useState(asked);
  // The address has changed, or the zone.
  if (shown.day !== asked.day || shown.days !== asked.days) {
    setShown(asked);
    setTyped(asked);
  }
  const ask = (event: SyntheticEvent) => {
    event.preventDefault();
    const as_of = fromLocalField(`${typed.day}T00:00`, zone);
    const search = { tab: 'backtest', as_of, days: typed.days };
    void navigate({
      to: '/segments/$id',
      params: { id: segment_id },
      search: (before) => ({ ...before, ...search }),
    });
  };
  return (
    <form onSubmit={ask}>
      <search>
        <Field label={m.asOf} hint={m.asOfHint(MOST_DAYS.ago, zone)}>
          {(control) => (
            <input
              {...control}
              type="date"
              required
              min={dayAgo(MOST_DAYS.ago - 1)}
              max={dayAgo(0)}
              value={typed.day}
              onChange={({ target }) => setTyped({ ...typed, day: target.value })}
            />
          )}
        </Field>
        <Field label={m.days} hint={m.daysHint(MOST_DAYS.after)}>
          {(control) => (
            <input
              {...control}
              type="number"
              required
              min={1}
              max={MOST_DAYS.after}
              value={typed.days}
              onChange={({ target }) => setTyped({ ...typed, days: target.value })}
            />
          )}
        </Field>
        <Button type="submit" kind="primary">
          {m.run}
        </Button>
      </search>
    </form>
  );
}

function Result({ json, past }: { json: string; past: Past }) {
  return (
    <Answered asked={useBacktest(json, past)} what={m.loading}>
      {({ data }) => (
        <section className={css['part']} aria-label={m.result}>
          {data.members === 0 ? (
            <Empty title={m.nobody}>
              <p>{m.nobodyHelp}</p>
            </Empty>
          ) : (
            <>
              <p role="status">{m.found(data.members)}</p>
              <Outcome result={data} />
            </>
          )}
          <NotHistoric fields={data.not_historic} />
        </section>
      )}
    </Answered>
  );
}

function Outcome({ result }: { result: Backtested }) {
  const { as_of, horizon_days, is_over, members, base_rate, ngr_per_head, smallest_visible_effect } = result;
  const money = useMoney();
  const ends = new Date(Date.parse(as_of) + horizon_days * DAY_MS).toISOString();
  const perHead = (ngr: bigint) => money.base(BigInt(Math.round(Number(ngr) / members)));
  const rateOf = (count: number) =>
    m.ofMembers(formatPercent(count / members), formatInt(count), formatInt(members));
  return (
    <>
      <Facts
        label={m.result}
        large
        facts={[
          [m.members, formatInt(members)],
          [m.rate(horizon_days), base_rate === null ? '—' : rateOf(base_rate.numerator)],
          [m.perHead, ngr_per_head === null ? '—' : perHead(ngr_per_head.numerator)],
        ]}
      />
      <Facts
        label={m.title}
        facts={[
          [m.tested, <Time key="tested" at={as_of} />],
          [m.ends, <Time key="ends" at={ends} />],
          ...(ngr_per_head === null ? [] : [[m.ngr, money.base(ngr_per_head.numerator)] as const]),
        ]}
      />
      {is_over ? (
        <>
          <h2>{m.effect}</h2>
          {smallest_visible_effect.length === 0 ? (
            <p>{m.noEffect}</p>
          ) : (
            <>
              <p>{m.effectHelp}</p>
              <Facts
                label={m.effect}
                facts={smallest_visible_effect.map(({ held_out_percent, points }) => [
                  m.heldOut(formatPercent(held_out_percent / 100)),
                  t.effect.points(formatPoints(points / 100)),
                ])}
              />
            </>
          )}
        </>
      ) : (
        <p>{m.notOver}</p>
      )}
    </>
  );
}

/** Which parts of the definition were read as they are today, and what that means. */
function NotHistoric({ fields }: { fields: readonly string[] }) {
  if (fields.length === 0) return <p className={css['soft']}>{m.allThen}</p>;
  return (
    <>
      <h2>{m.now}</h2>
      <p>{m.nowHelp}</p>
      <ul className={css['names']}>
        {fields.map((field) => (
          <li key={field}>
            <bdi>{field === 'list_id' ? m.list : t.segments.words.fields(field)}</bdi>
          </li>
        ))}
      </ul>
      <p className={css['soft']}>{m.nowHint}</p>
    </>
  );
}
