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
import { parseTemplate, type TemplateSource } from './render.ts';
import type { CreateTemplateBody, PatchTemplateBody } from './schema.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

/** Makes a template (spec part 4). Rejects with TEMPLATE_INVALID or VALIDATION_ERROR. */
export async function createTemplate(
  { postgres, clock }: Deps,
  project: ProjectRef,
  body: CreateTemplateBody,
): Promise<TemplateRow> {
  requireUsable(body);
  const now = new Date(clock.now_ms());
  const row = { ...body, template_id: newId(), created_at: now, updated_at: now, deleted_at: null };
  await postgres.asTenant(project.tenant_id, (tx) => insertTemplate(tx, project, row));
  return row;
}

/** Changes a template. Rejects with TEMPLATE_NOT_FOUND, TEMPLATE_INVALID or VALIDATION_ERROR. */
export async function changeTemplate(
  { postgres, clock }: Deps,
  ref: TemplateRef,
  patch: PatchTemplateBody,
): Promise<TemplateRow> {
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(TEMPLATE, ref, await lockTemplate(tx, ref));
    const changed: TemplateRow = { ...row, ...given, updated_at: now };
    requireUsable(changed);
    await updateTemplate(tx, ref, changed);
    return changed;
  });
}

/** Soft delete: whoever refers to it fails from now on. Repeating it answers the same. Rejects with TEMPLATE_NOT_FOUND. */
export async function deleteTemplate({ postgres, clock }: Deps, ref: TemplateRef): Promise<TemplateRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    await softDeleteTemplate(tx, ref, now);
    const [row] = await selectTemplate(tx, ref);
    return requireRow(TEMPLATE, ref, row);
  });
}

function requireUsable(source: TemplateSource): void {
  requireChannelFields(source);
  parseTemplate(source);
}
