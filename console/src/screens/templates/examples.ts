import type { CreateTemplateBody } from '@player-engagement/client/admin';
import type { Example } from '../../format/example.ts';
import { t } from '../../messages/t.ts';

const m = t.examples.templates;

/** Three templates to begin with, as drafts. */
export const EXAMPLES: readonly Example<CreateTemplateBody>[] = [
  ...[m.welcome, m.miss].map(({ title, text, subject, body }) => ({
    title,
    text,
    body: { name: title, channel: 'email' as const, status: 'draft' as const, subject, body },
  })),
  {
    title: m.reminder.title,
    text: m.reminder.text,
    body: { name: m.reminder.title, channel: 'sms', status: 'draft', body: m.reminder.body },
  },
];
