import { validationError, type Issue } from '../../errors.ts';
import { auditOf, type AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import {
  insertTemplate,
  lockTemplate,
  selectTemplate,
  softDeleteTemplate,
  updateTemplate,
  type TemplateRef,
  type TemplateRow,
} from './queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { TEMPLATE } from './read.ts';
import { readsBonus } from './bonus-message.ts';
import { checkTemplate, type CompiledTemplate, type TemplateSource } from './render.ts';
import { templateResourceOf } from './template-json.ts';
import type { CreateTemplateBody, PatchTemplateBody } from './schema.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  audit: AuditChange;
}

/** Creates a template (spec part 4). Rejects with TEMPLATE_INVALID or VALIDATION_ERROR. */
export async function createTemplate(
  { postgres, clock, audit }: Deps,
  project: ProjectRef,
  body: CreateTemplateBody,
): Promise<TemplateRow> {
  const reads_bonus = readsBonus(requireUsable(body));
  const now = new Date(clock.now_ms());
  const row = {
    ...body,
    reads_bonus,
    template_id: newId(),
    created_at: now,
    updated_at: now,
    deleted_at: null,
  };
  await postgres.asTenant(project.tenant_id, (tx) =>
    Promise.all([insertTemplate(tx, project, row), auditTemplate(audit, tx, project, null, row)]),
  );
  return row;
}

/** Changes a template. Rejects with TEMPLATE_NOT_FOUND, TEMPLATE_INVALID or VALIDATION_ERROR. */
export async function changeTemplate(
  { postgres, clock, audit }: Deps,
  ref: TemplateRef,
  patch: PatchTemplateBody,
): Promise<TemplateRow> {
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(TEMPLATE, ref, await lockTemplate(tx, ref));
    const asked: TemplateRow = { ...row, ...given, updated_at: now };
    const changed = { ...asked, reads_bonus: readsBonus(requireUsable(asked)) };
    await Promise.all([updateTemplate(tx, ref, changed), auditTemplate(audit, tx, ref, row, changed)]);
    return changed;
  });
}

/**
 * Soft delete: messages of campaigns that refer to it are skipped from now on. Idempotent. Rejects with
 * TEMPLATE_NOT_FOUND.
 */
export async function deleteTemplate(
  { postgres, clock, audit }: Deps,
  ref: TemplateRef,
): Promise<TemplateRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const live = await lockTemplate(tx, ref);
    await softDeleteTemplate(tx, ref, now);
    const [row] = await selectTemplate(tx, ref);
    const deleted = requireRow(TEMPLATE, ref, row);
    if (live !== undefined) await auditTemplate(audit, tx, ref, live, deleted);
    return deleted;
  });
}

const auditTemplate = auditOf(TEMPLATE, templateResourceOf);

/** The parsed template. Throws VALIDATION_ERROR or TEMPLATE_INVALID unless it can be rendered. */
function requireUsable(source: TemplateSource): CompiledTemplate {
  requireChannelFields(source);
  return checkTemplate(source);
}

/** Keys of push data that the push service reserves. */
const RESERVED_DATA = /^(?:from|message_type|collapse_key|notification|google\.?.*|gcm\.?.*)$/;

/**
 * Throws VALIDATION_ERROR unless the template has the fields of its channel. Email: subject and body, optionally a
 * preheader; SMS: only a body; push: a body, optionally a subject (the title) and data.
 */
function requireChannelFields({ channel, subject, preheader, body, data }: TemplateSource): void {
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
