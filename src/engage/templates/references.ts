import type { Postgres } from '../../platform/postgres/port.ts';
import type { TemplateRef } from './queries.ts';
import {
  selectCampaignsOfTemplate,
  selectJourneysOfTemplate,
  type TemplateUser,
} from './reference-queries.ts';

const MAX_USERS = 100;

/** The campaigns and journeys that use a template. */
export async function referencesOf(
  postgres: Postgres,
  ref: TemplateRef,
): Promise<{ campaigns: TemplateUser[]; journeys: TemplateUser[] }> {
  const lower = { ...ref, template_id: ref.template_id.toLowerCase() };
  const [campaigns, journeys] = await Promise.all([
    postgres.readAsTenant(ref.tenant_id, (tx) => selectCampaignsOfTemplate(tx, lower, MAX_USERS)),
    postgres.readAsTenant(ref.tenant_id, (tx) => selectJourneysOfTemplate(tx, lower, MAX_USERS)),
  ]);
  return { campaigns, journeys };
}
