import type { CreateReportBody, NoticeReceiver, ReportSchedule } from '@player-engagement/client/admin';
import { oneOf } from '../../api/choices.ts';
import type { RowOf } from '../../api/queries.ts';
import type { TextIssue } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';

const m = t.reports;
const EVERY = ['day', 'week', 'month'] as const;

export type ReportRecord = RowOf<'reports.list'>;

/** A report as its form has it. */
export interface ReportDraft {
  name: string;
  dashboard_id: string | null;
  /** How often: the texts of the schedule's fields, also of those that it does not have. */
  'schedule.every': string;
  'schedule.weekday': string;
  'schedule.day': string;
  'schedule.hour': string;
  is_enabled: string;
  receivers: readonly NoticeReceiver[];
}

/** A report that is not saved yet: of the figures of the week before, on Monday, by mail. */
export const newReport = (user_id: string): ReportDraft => ({
  name: '',
  dashboard_id: null,
  'schedule.every': 'week',
  'schedule.weekday': '1',
  'schedule.day': '1',
  'schedule.hour': '7',
  is_enabled: 'true',
  receivers: [{ kind: 'email', user_id, address: '' }],
});

/** A saved report. */
export function draftOf({ name, dashboard_id, schedule, is_enabled, receivers }: ReportRecord): ReportDraft {
  const written = schedule as Readonly<Record<string, string | number | undefined>>;
  const text = (field: string, none: string) => String(written[field] ?? none);
  return {
    name,
    dashboard_id,
    'schedule.every': text('every', 'day'),
    'schedule.weekday': text('weekday', '1'),
    'schedule.day': text('day', '1'),
    'schedule.hour': text('hour', '7'),
    is_enabled: String(is_enabled),
    receivers,
  };
}

/** What a form says as the API takes it, and which of its fields are no values. */
export function bodyOf(draft: ReportDraft): { body: CreateReportBody; issues: TextIssue[] } {
  const issues: TextIssue[] = [];
  const number = (path: 'schedule.weekday' | 'schedule.day' | 'schedule.hour') => {
    const text = draft[path].trim();
    if (!/^\d{1,3}$/.test(text)) issues.push({ path, message: m.whole });
    return Number(text);
  };
  const schedule = scheduleOf(oneOf(EVERY, draft['schedule.every']) ?? 'day', number);
  const { name, dashboard_id, receivers } = draft;
  const body = {
    name: name.trim(),
    dashboard_id: dashboard_id ?? '',
    schedule,
    receivers: [...receivers],
    is_enabled: draft.is_enabled === 'true',
  };
  return { body, issues };
}

function scheduleOf(
  every: (typeof EVERY)[number],
  number: (path: 'schedule.weekday' | 'schedule.day' | 'schedule.hour') => number,
): ReportSchedule {
  const hour = number('schedule.hour');
  if (every === 'week') return { every, weekday: number('schedule.weekday'), hour };
  return every === 'month' ? { every, day: number('schedule.day'), hour } : { every, hour };
}

/** A schedule as it is read. */
export function scheduleWords(schedule: ReportRecord['schedule']): string {
  const [hour, weekday, day] = ['hour', 'weekday', 'day'].map((field) => Number(schedule[field]));
  if (schedule['every'] === 'week') return m.weekly(m.weekdays[String(weekday)] ?? '', hour ?? 0);
  return schedule['every'] === 'month' ? m.monthly(day ?? 1, hour ?? 0) : m.daily(hour ?? 0);
}
