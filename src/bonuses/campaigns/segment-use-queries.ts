import type { FindReferences } from '../../segments/references.ts';

/** The bonus campaigns for the members of the segment, the newest first. */
export const bonusCampaignsOfSegment: FindReferences = async (
  postgres,
  { tenant_id, project_id, segment_id },
  limit,
) => {
  const rows = await postgres.readAsTenant(
    tenant_id,
    (tx) => tx<{ id: string; name: string; status: string }[]>`
      select campaign_id as id, name, status from bonus_campaigns
      where tenant_id = ${tenant_id} and project_id = ${project_id} and created_at > '-infinity'
        and segment_id = ${segment_id}
      order by created_at desc, campaign_id desc limit ${limit}`,
  );
  return rows.map((row) => ({ type: 'bonus_campaign', ...row }));
};
