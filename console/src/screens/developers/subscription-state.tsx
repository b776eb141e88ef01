import { wordsOf } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import type { Subscription } from './queries.ts';

const m = t.developers.subscription;
const TONES: Readonly<Record<Subscription['delivery']['state'], Tone>> = {
  idle: 'good',
  delivering: 'accent',
  failing: 'bad',
  paused: 'neutral',
};

/** Whether its events arrive. */
export function DeliveryState({ of: { delivery } }: { of: Subscription }) {
  return <Badge tone={TONES[delivery.state]}>{m.states[delivery.state]}</Badge>;
}

/** What went wrong last, in words. */
export function lastErrorOf({ last_error }: Subscription['delivery']): string {
  if (last_error === null) return '—';
  return `${wordsOf(last_error.code)}${last_error.status === null ? '' : ` (${last_error.status})`}`;
}
