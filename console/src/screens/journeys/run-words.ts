import { wordsOf } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import type { RunRecord, StepRecord } from './queries.ts';

const m = t.journeys.runs;

/** Why a run ended, or has failed. */
export function whyOf({ error_code, cancelled_by, outcome }: RunRecord): string {
  if (error_code !== null) return wordsOf(error_code);
  if (cancelled_by !== null) return m.cancelledBy(cancelled_by);
  return outcome === null ? '—' : (m.outcomes[outcome] ?? outcome);
}

/** Why a step ended as it did. */
export function reasonOf({
  outcome,
  error_code,
  message_status,
}: Pick<StepRecord, 'outcome' | 'error_code' | 'message_status'>): string {
  const said =
    outcome === null
      ? []
      : [outcome.startsWith('branch:') ? m.branch(outcome.slice(7)) : (m.outcomes[outcome] ?? outcome)];
  const message = message_status === undefined ? [] : [m.message(message_status)];
  const code = error_code === null ? [] : [wordsOf(error_code)];
  return [...said, ...message, ...code].join('; ') || '—';
}
