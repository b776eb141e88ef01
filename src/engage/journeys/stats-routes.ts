import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { refOf } from '../../http/record.ts';
import type { Platform } from '../../platform/platform.ts';
import { JOURNEY } from './graph/read.ts';
import { upliftEndpoint } from '../experiments/uplift-endpoint.ts';
import type { Effects } from '../experiments/uplift.ts';
import { statsOfJourney } from './stats.ts';
import { experimentOfJourney } from './uplift.ts';

const counter = z.int().min(0);

const journeyStatsQuery = z.strictObject({
  version: z.coerce
    .number()
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .describe('Only runs of this version; a run counts for the one that it is on'),
});

/** `GET /v1/journeys/:id/stats`. */
const journeyStats = z.object({
  runs: z.object({ running: counter, completed: counter, failed: counter, cancelled: counter }),
  nodes: z.array(
    z.object({
      node_id: z.string(),
      entered: counter.describe(
        'Runs that have come to the node: those that wait there, and those that are done',
      ),
      waiting: counter,
      completed: counter.describe('Runs that went on, or ended at the end of the journey'),
      failed: counter,
      exited: counter.describe('Runs that left the journey at this node, or were cancelled'),
      sends: z
        .object({
          recipients_total: counter,
          sent: counter,
          delivered: counter,
          opened: counter,
          clicked: counter,
          bounced: counter,
          failed: counter,
          capped: counter,
        })
        .nullable()
        .describe(
          'The messages of a `send_message` node without those that are still queued; null: another node',
        ),
    }),
  ),
  goal: z
    .object({
      runs: counter.describe('Runs that were not held out'),
      reached: counter.describe(
        'Those whose player had the event within `window_days` after the start of the run',
      ),
      held_out_runs: counter,
      held_out_reached: counter,
    })
    .nullable()
    .describe('Null: the version has no goal'),
});
nameSchemas({ JourneyStats: journeyStats });

/** The numbers of journeys. */
export function journeyStatsEndpoints(deps: Platform & { effects: Effects }): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/journeys/:id/stats',
      load: 'slow',
      summary: 'Counts the runs by node and outcome, the messages by stage, and the goals',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: journeyStatsQuery,
      response: journeyStats,
      errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_VERSION_NOT_FOUND'],
      handle: async ({ caller, params, query }) =>
        envelope(await statsOfJourney(deps, refOf(JOURNEY, caller, params['id']), query.version)),
    }),
    upliftEndpoint(deps, {
      collection: 'journeys',
      not_found: 'JOURNEY_NOT_FOUND',
      of: (caller, id) => experimentOfJourney(deps, refOf(JOURNEY, caller, id)),
    }),
  ];
}
