import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';

const m = t.bonuses;
const TONES: Readonly<Record<string, Tone>> = {
  pending: 'warn',
  active: 'accent',
  completed: 'good',
  failed: 'bad',
  cancelled: 'bad',
  paused: 'warn',
  scheduled: 'accent',
  issuing: 'warn',
  issued: 'good',
};

/** The status of a bonus template. */
export function TemplateStatus({ status }: { status: string }) {
  const tone = status === 'active' ? 'good' : 'warn';
  return <Badge tone={tone}>{m.template.statuses[status] ?? status}</Badge>;
}

/** The status of a grant. */
export function GrantStatus({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? 'neutral'}>{m.grant.statuses[status] ?? status}</Badge>;
}

/** The status of a bonus campaign. */
export function CampaignStatus({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? 'neutral'}>{m.campaign.statuses[status] ?? status}</Badge>;
}
