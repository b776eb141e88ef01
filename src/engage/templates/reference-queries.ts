import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import type { TemplateRef } from './queries.ts';

/** What uses a template. */
export interface TemplateUser {
  id: string;
  name: string;
  status: string;
}

/** Campaigns that use the template themselves or by a variant, the newest first. A project has few, so all are read. */
export function selectCampaignsOfTemplate(
  tx: Tx,
  { tenant_id, project_id, template_id }: TemplateRef,
  limit: number,
): PendingQuery<TemplateUser[]> {
  return tx<TemplateUser[]>`
    select c.campaign_id as id, c.name, c.status
    from campaigns c
    where c.tenant_id = ${tenant_id} and c.project_id = ${project_id} and c.deleted_at is null
      and (c.template_id = ${template_id} or exists (
        select from campaign_variants v
        where v.tenant_id = c.tenant_id and v.project_id = c.project_id and v.campaign_id = c.campaign_id
          and v.template_id = ${template_id} and v.deleted_at is null))
    order by c.created_at desc, c.campaign_id desc
    limit ${limit}`;
}

/** Journeys that send the template, as saved last or in their live version, the newest first. */
export function selectJourneysOfTemplate(
  tx: Tx,
  { tenant_id, project_id, template_id }: TemplateRef,
  limit: number,
): PendingQuery<TemplateUser[]> {
  const sends = (graph: 'j.graph' | 'v.graph') => tx`jsonb_path_exists(${tx.unsafe(graph)},
    '$.**.template_id ? (@ == $id)', jsonb_build_object('id', ${template_id}::text))`;
  return tx<TemplateUser[]>`
    select j.journey_id as id, j.name, j.status
    from journeys j
    left join journey_versions v using (tenant_id, project_id, journey_id, version)
    where j.tenant_id = ${tenant_id} and j.project_id = ${project_id} and j.deleted_at is null
      and (${sends('j.graph')} or ${sends('v.graph')})
    order by j.created_at desc, j.journey_id desc
    limit ${limit}`;
}
