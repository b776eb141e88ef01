import { requireLiveRow, requireRow } from '../../http/record.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectTemplate, type TemplateRef, type TemplateRow } from './queries.ts';

/** The names of templates in paths, ids and errors. */
export const TEMPLATE = {
  scope: 'project',
  noun: 'template',
  id: 'template_id',
  not_found: 'TEMPLATE_NOT_FOUND',
} as const;

/** The template that the id names, deleted or not. Rejects with TEMPLATE_NOT_FOUND. */
export async function findTemplate(postgres: Postgres, ref: TemplateRef): Promise<TemplateRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectTemplate(tx, ref));
  return requireRow(TEMPLATE, ref, row);
}

/** The template that the id names. Rejects with TEMPLATE_NOT_FOUND, also when it is deleted. */
export async function requireTemplate(postgres: Postgres, ref: TemplateRef): Promise<TemplateRow> {
  return requireLiveRow(TEMPLATE, ref, await findTemplate(postgres, ref));
}
