import { auditOf, type AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { requireChannelFields } from './channel-fields.ts';
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
