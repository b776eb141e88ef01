import type { Model } from '@player-engagement/client/admin';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';

const m = t.models;
const TONES = { on: 'good', off: 'warn', waiting: 'neutral' } as const;

/** Whether a model is on, and why or why not. */
export function ModelState({ status, why }: { status: Model['status']; why: string }) {
  return (
    <p>
      <Badge tone={TONES[status]}>{m.states[status]}</Badge> {why}
    </p>
  );
}
