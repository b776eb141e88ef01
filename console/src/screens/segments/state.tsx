import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import type { SegmentRecord } from './queries.ts';

type State = keyof typeof t.segments.status;

/** A schedule may be late by so much before a list warns. */
const LATE_S = 120;

const TONES: Readonly<Record<State, Tone>> = {
  good: 'good',
  never: 'neutral',
  late: 'warn',
  failing: 'bad',
  running: 'accent',
  deleted: 'neutral',
};

function stateOf(segment: SegmentRecord): State {
  if (segment.deleted_at !== null) return 'deleted';
  if (segment.last_error !== null) return 'failing';
  if (segment.refresh_progress !== null) return 'running';
  if (segment.last_computed_at === null) return 'never';
  return (segment.refresh_lag_seconds ?? 0) >= LATE_S ? 'late' : 'good';
}

/** How well a segment is kept up to date. */
export function State({ segment }: { segment: SegmentRecord }) {
  const state = stateOf(segment);
  return <Badge tone={TONES[state]}>{t.segments.status[state]}</Badge>;
}

/** How a segment is kept up to date, with the time between evaluations by schedule. */
export function strategyText({ refresh_strategy, refresh_interval_minutes }: SegmentRecord): string {
  const name = t.segments.strategies[refresh_strategy] ?? refresh_strategy;
  return refresh_interval_minutes === null
    ? name
    : `${name}, ${t.segments.everyMinutes(refresh_interval_minutes)}`;
}

/** How long an evaluation is overdue. */
export function lagText({ refresh_lag_seconds }: SegmentRecord): string {
  return refresh_lag_seconds === null ? '—' : t.segments.lag(refresh_lag_seconds);
}
