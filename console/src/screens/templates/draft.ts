import type { CreateTemplateBody, PatchTemplateBody } from '@player-engagement/client/admin';
import type { ApiError } from '@player-engagement/client/admin';
import { type Channel } from '../../api/choices.ts';
import type { CodeIssue } from '../../ui/code.tsx';
import type { TemplateRecord, TemplateStatus } from './queries.ts';

/** A template as it is being written. */
export interface Draft {
  name: string;
  channel: Channel;
  status: TemplateStatus;
  subject: string;
  preheader: string;
  body: string;
  bonus_product: TemplateRecord['bonus_product'];
}

export const NEW: Draft = {
  name: '',
  channel: 'email',
  status: 'draft',
  subject: '',
  preheader: '',
  body: '',
  bonus_product: null,
};

export function draftOf(record: TemplateRecord): Draft {
  const { name, channel, status, subject, preheader, body, bonus_product } = record;
  return { name, channel, status, subject: subject ?? '', preheader: preheader ?? '', body, bonus_product };
}

/** The fields of a change as the API takes them; those that the channel does not have are absent, and it stays. */
export function bodyOf(changes: Partial<Draft>, channel: Channel): PatchTemplateBody {
  // A template stays on the channel that it was made for.
  const kept = Object.entries(changes).filter(([field]) => field !== 'channel');
  const { subject, preheader, ...rest } = Object.fromEntries(kept) as Partial<Omit<Draft, 'channel'>>;
  const orNull = (text: string) => (text === '' ? null : text);
  return {
    ...rest,
    ...(subject === undefined || channel === 'sms' ? {} : { subject: orNull(subject) }),
    ...(preheader === undefined || channel !== 'email' ? {} : { preheader: orNull(preheader) }),
  };
}

/** A new template as the API takes it. */
export function creationOf(draft: Draft): CreateTemplateBody {
  const { channel, name, body } = draft;
  return { ...bodyOf(draft, channel), channel, name, body };
}

/** Whether all that is wrong with the template is shown at the fields of the editor. */
export function isShownAtFields(error: ApiError | null): boolean {
  if (error?.code !== 'TEMPLATE_INVALID' || error.issues.length === 0) return false;
  return error.issues.every(({ path }) => path === 'subject' || path === 'preheader' || path === 'body');
}

/** What the API says is wrong in a field, with its place in the text. */
export function issuesOf(error: ApiError | null, field: string): CodeIssue[] {
  const found = (error?.issues ?? []) as { path: string; message: string; line?: number; column?: number }[];
  return found
    .filter(({ path }) => path === field)
    .map(({ message, line, column }) => ({ message, line: line ?? null, column: column ?? null }));
}
