import type { TemplateRow } from './queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** The template resource (spec part 2). */
export function templateResourceOf(
  { template_id, ...row }: TemplateRow,
  { tenant_id, project_id }: ProjectRef,
): Record<string, unknown> {
  return {
    id: template_id,
    tenant_id,
    project_id,
    name: row.name,
    channel: row.channel,
    status: row.status,
    subject: row.subject,
    preheader: row.preheader,
    body: row.body,
    data: row.data,
    bonus_product: row.bonus_product,
    purpose: row.purpose,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deleted_at: row.deleted_at,
  };
}
