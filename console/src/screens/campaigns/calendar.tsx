import { getRouteApi, Link } from '@tanstack/react-router';
import { formatDay, formatTime } from '../../format/time.ts';
import { useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Answered, Empty } from '../../ui/states.tsx';
import css from './campaigns.module.css';
import { useCalendar, type CalendarEntry } from './queries.ts';

const route = getRouteApi('/campaigns');
const m = t.campaigns.calendar;
const DAY_MS = 86_400_000;
const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: 'UTC' });
const monthName = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** What is sent on which day of a month, in the chosen zone. */
export function Calendar() {
  const { month: asked } = route.useSearch();
  const { name: zone } = useZone();
  const month = /^\d{4}-(0[1-9]|1[0-2])$/.test(asked ?? '')
    ? (asked ?? '')
    : formatDay(Date.now(), zone).slice(0, 7);
  // A month of any zone begins and ends within a day of that of UTC.
  const from_ms = Date.parse(`${month}-01T00:00:00Z`);
  const to_ms = Date.parse(`${monthAfter(month, 1)}-01T00:00:00Z`);
  const asked_entries = useCalendar(
    new Date(from_ms - DAY_MS).toISOString(),
    new Date(to_ms + DAY_MS).toISOString(),
  );
  return (
    <>
      <nav className={css['months']} aria-label={month}>
        <Link to="/campaigns" search={(before) => ({ ...before, month: monthAfter(month, -1) })}>
          {m.previous}
        </Link>
        <h2>{monthName.format(from_ms)}</h2>
        <Link to="/campaigns" search={(before) => ({ ...before, month: monthAfter(month, 1) })}>
          {m.next}
        </Link>
      </nav>
      <Answered asked={asked_entries} what={t.campaigns.views.calendar}>
        {({ data: { entries, is_complete } }) => {
          const shown = entries.filter(({ at }) => formatDay(at, zone).startsWith(month));
          return (
            <>
              <p className={css['soft']}>
                {m.zone(zone)} {is_complete ? null : m.partial}
              </p>
              {shown.length === 0 ? (
                <Empty title={m.empty} />
              ) : (
                <Days month={month} entries={shown} zone={zone} />
              )}
            </>
          );
        }}
      </Answered>
    </>
  );
}

function Days({ month, entries, zone }: { month: string; entries: readonly CalendarEntry[]; zone: string }) {
  const days = daysOf(month);
  const today = formatDay(Date.now(), zone);
  // Monday first.
  const first = (new Date(`${month}-01T00:00:00Z`).getUTCDay() + 6) % 7;
  return (
    <>
      <div className={css['weekdays']} aria-hidden="true">
        {days.slice(0, 7).map((_, i) => (
          // The first Monday of the year 2024 was its first day.
          <span key={i}>{weekday.format(Date.UTC(2024, 0, 1 + i))}</span>
        ))}
      </div>
      <ol className={css['month']}>
        {days.map((day, i) => {
          const of_day = entries.filter(({ at }) => formatDay(at, zone) === day);
          return (
            <li
              key={day}
              aria-current={day === today ? 'date' : undefined}
              className={of_day.length === 0 && day !== today ? css['free'] : undefined}
              style={i === 0 ? { gridColumnStart: first + 1 } : undefined}
            >
              <time dateTime={day}>
                <span className={css['weekday']}>{weekday.format(Date.parse(day))} </span>
                {Number(day.slice(8))}
              </time>
              {day === today ? <strong> {m.today}</strong> : null}
              <ul>
                {of_day.map((entry) => (
                  <li key={`${entry.id} ${entry.at}`}>
                    {formatTime(entry.at, zone).slice(11, 16)} <Entry entry={entry} />
                  </li>
                ))}
              </ul>
            </li>
          );
        })}
      </ol>
    </>
  );
}

function Entry({ entry: { kind, id, name, status } }: { entry: CalendarEntry }) {
  if (kind === 'journey') return <bdi>{m.journey(name)}</bdi>;
  return (
    <Link to="/campaigns/$id" params={{ id }}>
      <bdi>{m.campaign(name, t.campaigns.statuses[status] ?? status)}</bdi>
    </Link>
  );
}

/** The month that many months later: `2026-03`. */
function monthAfter(month: string, by: number): string {
  const at = new Date(`${month}-01T00:00:00Z`);
  at.setUTCMonth(at.getUTCMonth() + by);
  return at.toISOString().slice(0, 7);
}

function daysOf(month: string): string[] {
  const length = (Date.parse(`${monthAfter(month, 1)}-01`) - Date.parse(`${month}-01`)) / DAY_MS;
  return Array.from({ length }, (_, i) => `${month}-${String(i + 1).padStart(2, '0')}`);
}
