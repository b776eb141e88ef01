import { savedNamingSegment } from '../analytics/insights/saved/segment-use-queries.ts';
import { bonusCampaignsOfSegment } from '../bonuses/campaigns/segment-use-queries.ts';
import { bonusTemplatesOfSegment } from '../bonuses/templates/segment-use-queries.ts';
import { campaignsOfSegment } from '../engage/campaigns/queries.ts';
import { journeysOfSegment } from '../engage/journeys/segment-use.ts';
import type { FindReferences } from '../segments/references.ts';

/** The rooms that have records which use segments, each with the function that finds them. */
export const SEGMENT_REFERENCES: readonly FindReferences[] = [
  campaignsOfSegment,
  journeysOfSegment,
  bonusCampaignsOfSegment,
  bonusTemplatesOfSegment,
  ...savedNamingSegment,
];
