import { ApiError } from '../../errors.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectTemplate, type TemplateRef, type TemplateRow } from './queries.ts';

/** The template that the id names, deleted or not. Rejects with TEMPLATE_NOT_FOUND. */
export async function findTemplate(postgres: Postgres, ref: TemplateRef): Promise<TemplateRow> {
  if (!isUuid(ref.template_id)) throw templateNotFound(ref.template_id);
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectTemplate(tx, ref));
  if (row === undefined) throw templateNotFound(ref.template_id);
  return row;
}

/** The template that the id names. Rejects with TEMPLATE_NOT_FOUND, also when it is deleted. */
export async function requireTemplate(postgres: Postgres, ref: TemplateRef): Promise<TemplateRow> {
  const row = await findTemplate(postgres, ref);
  if (row.deleted_at !== null) throw templateNotFound(ref.template_id);
  return row;
}

/** TEMPLATE_NOT_FOUND; the message names the id (spec part 7). */
export function templateNotFound(template_id: string): ApiError {
  return new ApiError('TEMPLATE_NOT_FOUND', `template ${template_id.slice(0, 64)} does not exist`);
}
