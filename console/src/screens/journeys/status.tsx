import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import type { ListedJourney, RunStatus } from './queries.ts';

const m = t.journeys;
const TONES: Readonly<Record<keyof typeof m.statuses, Tone>> = {
  draft: 'neutral',
  active: 'good',
  paused: 'warn',
  held: 'warn',
  deleted: 'bad',
};
const RUN_TONES: Readonly<Record<RunStatus, Tone>> = {
  running: 'accent',
  completed: 'good',
  failed: 'bad',
  cancelled: 'neutral',
};

/** The status of a journey; a paused one whose runs stand still is held. */
export function Status({ journey: { status, hold, deleted_at } }: { journey: ListedJourney }) {
  const shown = deleted_at !== null ? 'deleted' : status === 'paused' && hold ? 'held' : status;
  return <Badge tone={TONES[shown]}>{m.statuses[shown]}</Badge>;
}

export function RunState({ status }: { status: RunStatus }) {
  return <Badge tone={RUN_TONES[status]}>{m.runStatuses[status]}</Badge>;
}
