import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../../http/endpoint.ts';
import { envelope } from '../../../http/envelope.ts';
import { nameSchemas, trimmedText } from '../../../http/field-schemas.ts';
import type { Platform } from '../../../platform/platform.ts';
import { harmWarning, segmentResource } from '../../../segments/schema.ts';
import { segmentResourceOf } from '../../../segments/segment-json.ts';
import { projectRefOf } from '../../../tenants/project-ref.ts';
import { queryBody, writtenCell } from '../kinds.ts';
import type { InsightRunner } from '../runner.ts';
import { SAVED_AS, saveSegment } from './save.ts';

/** `POST /v1/insights/segment`. */
const saveBody = z.strictObject({
  query: queryBody,
  cell: writtenCell.default({}),
  name: trimmedText(1, 200),
  as: z
    .enum(SAVED_AS)
    .describe(
      '`live`: a realtime segment whose definition says who they are; `frozen`: a list of the players as they are now',
    ),
});

/** The new segment. */
const savedSegment = segmentResource.extend({
  warnings: z
    .array(harmWarning)
    .describe('By which signs of gambling harm it selects the players; nothing is refused for it'),
});

nameSchemas({ InsightSegmentBody: saveBody, InsightSegment: savedSegment });

/** Saving the players of a figure as a segment. */
export function savingEndpoints(deps: Platform & { runner: InsightRunner }): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/insights/segment',
      load: 'elsewhere',
      summary: 'Creates a segment of the players of a figure; a list is written soon after',
      access: { mode: 'session', role: 'editor', scope: 'project' },
      audit: { resource: 'segment', action: 'create' },
      body: saveBody,
      status: 201,
      response: savedSegment,
      errors: [
        'SEGMENT_NOT_FOUND',
        'SEGMENT_DEFINITION_INVALID',
        'INSIGHT_NOT_A_SEGMENT',
        'INSIGHT_TOO_EXPENSIVE',
        'RATE_LIMITED',
        'SERVICE_UNAVAILABLE',
      ],
      handle: async ({ caller, body, audit }) => {
        const project = projectRefOf(caller);
        const { row, warnings } = await saveSegment({ ...deps, audit }, project, body);
        return envelope({ ...segmentResourceOf(row, project, deps.clock.now_ms()), warnings });
      },
    }),
  ];
}
