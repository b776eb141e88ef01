import { requireLiveRow, requireRow } from '../../http/record.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import {
  selectBonusTemplate,
  selectGrantable,
  type BonusTemplateRef,
  type BonusTemplateRow,
} from './queries.ts';

/** The names of bonus templates in paths, ids and errors. */
export const BONUS_TEMPLATE = {
  scope: 'project',
  noun: 'bonus template',
  id: 'template_id',
  not_found: 'BONUS_TEMPLATE_NOT_FOUND',
} as const;

/** The template that the id names, deleted or not. Rejects with BONUS_TEMPLATE_NOT_FOUND. */
export async function findBonusTemplate(
  postgres: Postgres,
  ref: BonusTemplateRef,
): Promise<BonusTemplateRow> {
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectBonusTemplate(tx, ref));
  return requireRow(BONUS_TEMPLATE, ref, row);
}

/**
 * The template that the id names, active or paused; `termsOf` makes its terms. Rejects with BONUS_TEMPLATE_NOT_FOUND,
 * also when it is deleted or the id is not a UUID.
 */
export async function readTemplate(
  tx: Tx,
  project: ProjectRef,
  template_id: string,
): Promise<BonusTemplateRow> {
  const ref = { ...project, template_id };
  const [row] = isUuid(template_id) ? await selectBonusTemplate(tx, ref) : [];
  return requireLiveRow(BONUS_TEMPLATE, ref, row);
}

/** Those of these templates from which can be granted: active and not deleted. Every id must be a UUID. */
export function grantableTemplates(
  tx: Tx,
  project: ProjectRef,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  return selectGrantable(tx, project, ids);
}
