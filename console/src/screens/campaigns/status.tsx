import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

const TONES: Readonly<Record<string, Tone>> = {
  scheduled: 'accent',
  sending: 'warn',
  sent: 'good',
  cancelled: 'bad',
};

/** The status of a campaign. */
export function Status({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? 'neutral'}>{t.campaigns.statuses[status] ?? status}</Badge>;
}
