import type { Example } from '../../format/example.ts';
import { t } from '../../messages/t.ts';

const m = t.examples.journeys;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What a journey is created with, as people write it. */
export interface JourneyBody {
  name: string;
  trigger: Record<string, unknown>;
  settings: Record<string, unknown>;
  graph: Record<string, unknown>;
}

const DEPOSIT = 'deposit_confirmed';

/** After an event: a wait, if there is one, then a wait for a deposit. */
function bodyOf(name: string, event: string, first_ms: number, timeout_ms: number): JourneyBody {
  const answer = {
    id: 'answer',
    type: 'wait_for_event',
    event: DEPOSIT,
    timeout_ms,
    next: 'end',
    timeout_next: 'end',
  };
  const wait = { id: 'wait', type: 'wait', duration_ms: first_ms, next: 'answer' };
  const end = { id: 'end', type: 'end' };
  return {
    name,
    trigger: { kind: 'event', event },
    settings: { re_entry: { mode: event === 'deposit_failed' ? 'after_exit' : 'once' } },
    graph:
      first_ms === 0
        ? { start_node_id: 'answer', nodes: [answer, end] }
        : { start_node_id: 'wait', nodes: [wait, answer, end] },
  };
}

/** Three journeys to begin with, as drafts that send nothing yet. */
export const EXAMPLES: readonly Example<JourneyBody>[] = [
  { ...m.second, body: bodyOf(m.second.title, DEPOSIT, 2 * DAY_MS, 3 * DAY_MS) },
  { ...m.welcome, body: bodyOf(m.welcome.title, 'signup', DAY_MS, 3 * DAY_MS) },
  { ...m.failed, body: bodyOf(m.failed.title, 'deposit_failed', 0, HOUR_MS) },
];
