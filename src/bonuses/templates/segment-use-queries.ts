import type { FindReferences } from '../../segments/references.ts';

/** The bonus templates of which only members of the segment get grants, the newest first. */
export const bonusTemplatesOfSegment: FindReferences = async (
  postgres,
  { tenant_id, project_id, segment_id },
  limit,
) => {
  const rows = await postgres.readAsTenant(
    tenant_id,
    (tx) => tx<{ id: string; name: string; status: string }[]>`
      select template_id as id, name, status from bonus_templates
      where tenant_id = ${tenant_id} and project_id = ${project_id} and created_at > '-infinity'
        and eligible_segment_id = ${segment_id} and deleted_at is null
      order by created_at desc, template_id desc limit ${limit}`,
  );
  return rows.map((row) => ({ type: 'bonus_template', ...row }));
};
