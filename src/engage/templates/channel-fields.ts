import { validationError, type Issue } from '../../errors.ts';
import type { TemplateSource } from './render.ts';

/** Keys of push data that the push service reserves. */
const RESERVED_DATA = /^(?:from|message_type|collapse_key|notification|google\.?.*|gcm\.?.*)$/;

/**
 * Throws VALIDATION_ERROR unless the template has the fields of its channel. Email: subject and body, optionally a
 * preheader; SMS: only a body; push: a body, optionally a subject (the title) and data.
 */
export function requireChannelFields({ channel, subject, preheader, body, data }: TemplateSource): void {
  const issues: Issue[] = [];
  const wrong = (path: string, message: string) => issues.push({ path, message });
  if (channel === 'email' && (subject ?? '').trim() === '') wrong('subject', 'is required for email');
  if (channel === 'sms' && subject !== null) wrong('subject', 'does not belong to sms');
  if (channel !== 'email' && preheader !== null) wrong('preheader', `does not belong to ${channel}`);
  if (body.trim() === '') wrong('body', 'must not be blank');
  const names = Object.keys(data);
  if (channel !== 'push' && names.length > 0) wrong('data', `does not belong to ${channel}`);
  for (const name of names) {
    if (RESERVED_DATA.test(name)) wrong(`data.${name}`, 'is reserved by the push service');
  }
  if (issues.length > 0) throw validationError(issues);
}
