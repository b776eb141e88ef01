import moment from 'moment-timezone';
import { expect, it } from 'vitest';
import { isOldRelease, isTimeZone, timeZoneRelease, TimeZone } from '../../src/platform/time-zone.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import { CHANGED_ZONES, NODE_ZONES } from '../engines/time-zones.ts';
import { openTestPostgres } from '../engines/wiring.ts';

const DAY_MS = 86_400_000;
const FROM = Date.UTC(2026, 10, 1);
const TO = Date.UTC(2028, 11, 1);

/** The offsets of a zone on each day, in minutes, by the service. */
function offsetsOf(name: string): number[] {
  const zone = TimeZone.named(name);
  const offsets: number[] = [];
  for (let at_ms = FROM; at_ms < TO; at_ms += DAY_MS) offsets.push(zone?.offset(at_ms) ?? NaN);
  return offsets;
}

it('has the clocks of Node in every zone that has not changed since, for two years', () => {
  for (const name of NODE_ZONES) {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
    const asked = (at_ms: number) => {
      const text = format.formatToParts(at_ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
      const [, sign = '+', hours = '0', minutes = '0'] = /([+-])(\d+):(\d+)/.exec(text) ?? [];
      return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) + 0;
    };
    // Node needs 20 µs for each answer: every third day, and 26 hours around every change.
    const zone = TimeZone.named(name);
    const times: number[] = [];
    for (let at_ms = FROM; at_ms < TO; at_ms += 3 * DAY_MS) times.push(at_ms);
    for (
      let at_ms = zone?.changeBetween(FROM, TO);
      at_ms !== undefined;
      at_ms = zone?.changeBetween(at_ms, TO)
    ) {
      times.push(at_ms - 1, at_ms);
    }
    for (const at_ms of times) {
      if (zone?.offset(at_ms) !== asked(at_ms)) expect.fail(`${name} at ${new Date(at_ms).toISOString()}`);
    }
  }
  expect(NODE_ZONES.length).toBeGreaterThan(400);
});

it('has the clocks of Postgres in every zone that has not changed since, for two years', async () => {
  const server = await openTestPostgres({ prepared: true });
  const sql = connectPool(server.url);
  try {
    const rows = await sql<{ name: string; offsets: string }[]>`
      select z.name, string_agg(((extract(epoch from (d at time zone z.name) - (d at time zone 'UTC')) / 60)::int)::text, ',' order by d)
          as offsets
      from pg_timezone_names z
      cross join generate_series(${new Date(FROM)}::timestamptz, ${new Date(TO - DAY_MS)}::timestamptz, interval '1 day') d
      where z.name not like 'posix%' and z.name <> 'Factory'
        -- Postgres takes these for abbreviations, without summer time.
        and z.name not in ('CET', 'MET', 'WET')
      group by z.name`;
    const changed = new Set(CHANGED_ZONES.map((name) => offsetsOf(name).join()));
    const unlike = rows.filter(({ name, offsets }) => {
      const own = offsetsOf(name).join();
      return own !== offsets && !changed.has(own);
    });
    expect(unlike.map(({ name }) => name)).toEqual([]);
    expect(rows.length).toBeGreaterThan(550);
  } finally {
    await sql.end({ timeout: 5 });
    await server.close();
  }
}, 60_000);

it.each([
  ['America/Vancouver', '2026-12-24T12:00:00Z', -420],
  ['America/Edmonton', '2026-12-24T12:00:00Z', -360],
  ['America/Yellowknife', '2027-01-24T12:00:00Z', -360],
  ['Africa/Casablanca', '2026-12-24T12:00:00Z', 0],
  ['Europe/Malta', '2026-12-24T12:00:00Z', 60],
])('knows the laws of 2026: %s at %s', (name, at, minutes) => {
  expect(TimeZone.named(name)?.offset(Date.parse(at))).toBe(minutes);
});

it('knows names in any letter case, and nothing that is no name', () => {
  expect(
    ['Europe/Malta', 'europe/MALTA', 'UTC', 'US/Eastern', 'Etc/GMT+12', 'EST5EDT'].map(isTimeZone),
  ).toEqual(Array(6).fill(true));
  const others = [
    '',
    '+02:00',
    'Europe',
    'Europe_Malta',
    'europe/malta ',
    'Mars/Base',
    '__proto__',
    'constructor',
  ];
  expect(others.map(isTimeZone)).toEqual(Array(others.length).fill(false));
  expect(moment.tz.names().filter((name) => !isTimeZone(name))).toEqual([]);
});

it('names its release, and says when it may be older than a year', () => {
  expect(timeZoneRelease()).toMatch(/^20\d\d[a-z]$/);
  expect(isOldRelease('2026f', Date.UTC(2027, 9, 1))).toBe(false);
  expect(isOldRelease('2026f', Date.UTC(2027, 10, 2))).toBe(true);
  expect(isOldRelease('2026a', Date.UTC(2027, 0, 2))).toBe(true);
});
