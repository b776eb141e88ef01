import { namingSegment } from '../../segments/reference-queries.ts';

/** The bonus templates of which only members of the segment get grants, the newest first. */
export const bonusTemplatesOfSegment = namingSegment('bonus_template', {
  table: 'bonus_templates',
  id: 'template_id',
  segment_id: 'eligible_segment_id',
  counts: (tx) => tx`deleted_at is null`,
});
