import { createContext, use, useState, type ReactNode } from 'react';
import { formatAgo, formatTime } from './time.ts';

/** Whose clock the pages show: UTC, the operator's, or the browser's. */
export const ZONES = ['utc', 'operator', 'browser'] as const;
export type ZoneChoice = (typeof ZONES)[number];

interface Zone {
  choice: ZoneChoice;
  /** IANA name. */
  name: string;
  choose: (choice: ZoneChoice) => void;
}

const KEY = 'console.zone';
const ZoneContext = createContext<Zone>({ choice: 'utc', name: 'UTC', choose: () => undefined });

/** Gives the pages inside the time zone that the user chose; `operator` is the operator's IANA zone. */
export function ZoneProvider({ operator, children }: { operator: string; children: ReactNode }) {
  const [choice, setChoice] = useState<ZoneChoice>(() => {
    const kept = localStorage.getItem(KEY);
    return ZONES.find((zone) => zone === kept) ?? 'utc';
  });
  const names = { utc: 'UTC', operator, browser: Intl.DateTimeFormat().resolvedOptions().timeZone };
  const choose = (next: ZoneChoice) => {
    localStorage.setItem(KEY, next);
    setChoice(next);
  };
  return <ZoneContext value={{ choice, name: names[choice], choose }}>{children}</ZoneContext>;
}

export function useZone(): Zone {
  return use(ZoneContext);
}

/** A time in the chosen zone, with the zone; within a day also how long ago. `zone` overrides the chosen one. */
export function Time({
  at,
  zone,
  ago = false,
}: {
  at: string | null | undefined;
  zone?: string;
  ago?: boolean;
}) {
  const { name } = useZone();
  if (at === null || at === undefined) return <>—</>;
  const absolute = formatTime(at, zone ?? name);
  const shown = ago ? (formatAgo(at, Date.now()) ?? absolute) : absolute;
  return (
    <time dateTime={at} title={absolute}>
      {shown}
    </time>
  );
}
