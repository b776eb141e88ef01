import { namingSegment } from '../../segments/reference-queries.ts';

/** The bonus campaigns for the members of the segment, the newest first. */
export const bonusCampaignsOfSegment = namingSegment('bonus_campaign', {
  table: 'bonus_campaigns',
  id: 'campaign_id',
  segment_id: 'segment_id',
});
