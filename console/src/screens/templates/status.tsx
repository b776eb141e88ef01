import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import type { TemplateStatus } from './queries.ts';

const TONES: Readonly<Record<TemplateStatus, Tone>> = {
  draft: 'neutral',
  active: 'good',
  archived: 'warn',
};

/** The status of a template. */
export function Status({ status }: { status: TemplateStatus }) {
  return <Badge tone={TONES[status]}>{t.templates.statuses[status]}</Badge>;
}
