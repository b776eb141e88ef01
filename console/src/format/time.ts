const DAY_MS = 86_400_000;

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  const known =
    formatters.get(key) ?? new Intl.DateTimeFormat('en-CA', { timeZone: zone, hourCycle: 'h23', ...options });
  formatters.set(key, known);
  return known;
}

function parts(at: Date, zone: string, options: Intl.DateTimeFormatOptions): Record<string, string> {
  return Object.fromEntries(
    formatter(zone, options)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
}

/** A time with its zone: `2026-03-01 20:15:07 UTC`, to the second. `zone` is an IANA name. */
export function formatTime(iso: string | number, zone: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return String(iso);
  const p = parts(at, zone, {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  });
  return `${dayOf(p)} ${p['hour']}:${p['minute']}:${p['second']} ${p['timeZoneName']}`;
}

/** Years have four digits, as `Date.parse` reads them. */
function dayOf({ year = '', month, day }: Record<string, string>): string {
  return `${year.padStart(4, '0')}-${month}-${day}`;
}

/** The day of a time in the zone: `2026-03-01`. */
export function formatDay(iso: string | number, zone: string): string {
  return dayOf(parts(new Date(iso), zone, { year: 'numeric', month: '2-digit', day: '2-digit' }));
}

/** A time as it is below a chart: its day without the year, `03-01`, or its hour, `20:00`. */
export function dateBelow(iso: string, zone: string, is_hour: boolean): string {
  const p = parts(new Date(iso), zone, {
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  return is_hour ? `${p['hour']}:${p['minute']}` : `${p['month']}-${p['day']}`;
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

/** How long ago a time is, when that is less than a day: `3 min. ago`; undefined otherwise. */
export function formatAgo(iso: string | number, now_ms: number): string | undefined {
  const ago_ms = now_ms - new Date(iso).getTime();
  if (Math.abs(ago_ms) >= DAY_MS) return undefined;
  const seconds = Math.round(-ago_ms / 1_000);
  if (Math.abs(seconds) < 60) return relative.format(seconds, 'second');
  const minutes = Math.round(seconds / 60);
  return Math.abs(minutes) < 60
    ? relative.format(minutes, 'minute')
    : relative.format(Math.round(minutes / 60), 'hour');
}

/** A time as a field for date and time has it: `2026-03-01T20:15` in the zone. */
export function toLocalField(iso: string, zone: string): string {
  const [day = '', time = ''] = formatTime(iso, zone).split(' ');
  return `${day}T${time.slice(0, 5)}`;
}

/**
 * The moment of a field for date and time in the zone; undefined when it is not a time. For an hour that clocks skip or
 * repeat, one of the moments around it.
 */
export function fromLocalField(text: string, zone: string): string | undefined {
  const wanted_ms = Date.parse(`${text}Z`);
  if (Number.isNaN(wanted_ms)) return undefined;
  let at_ms = wanted_ms;
  // The offset at the first guess may be that of the other side of a clock change.
  for (let i = 0; i < 2; i++) {
    const shown_ms = Date.parse(`${toLocalField(new Date(at_ms).toISOString(), zone)}Z`);
    if (Number.isNaN(shown_ms)) return undefined;
    at_ms += wanted_ms - shown_ms;
  }
  return new Date(at_ms).toISOString();
}

/** The moment of a field for date and time in UTC; undefined when it is not a time, as the address of a page may have it. */
export function fromUtcField(text: string | undefined): string | undefined {
  const at_ms =
    text === undefined ? Number.NaN : Date.parse(/Z$|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(at_ms) ? undefined : new Date(at_ms).toISOString();
}
