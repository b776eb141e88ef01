import type { FindReferences } from '../../segments/references.ts';
import type { StoredContent } from './graph/queries.ts';
import { readJourney } from './graph/read-journey.ts';
import { referencesOf } from './graph/references.ts';
import { selectMentioningJourneys } from './graph/segment-use-queries.ts';

/** The journeys that use the segment in what was saved last or in what is live, the newest first. */
export const journeysOfSegment: FindReferences = async (postgres, ref, limit) => {
  const { tenant_id, segment_id } = ref;
  const journeys = await postgres.readAsTenant(tenant_id, (tx) =>
    selectMentioningJourneys(tx, ref, segment_id, limit),
  );
  return journeys
    .filter(({ saved, live }) => uses(saved, segment_id) || (live !== null && uses(live, segment_id)))
    .map(({ journey_id: id, name, status }) => ({ type: 'journey', id, name, status }));
};

/** A content that this version cannot read has the id somewhere: it is taken to use the segment. */
function uses(content: StoredContent, segment_id: string): boolean {
  try {
    return referencesOf(readJourney(content)).segments.some(({ id }) => id.toLowerCase() === segment_id);
  } catch {
    return true;
  }
}
