import { endpoint, type AnyEndpoint } from '../../../http/endpoint.ts';
import { envelope } from '../../../http/envelope.ts';
import { refOf } from '../../../http/record.ts';
import { JOURNEY } from '../graph/read.ts';
import { EMPTY_BODY, simulateBody, simulateResult } from './schema.ts';
import { simulateJourney, type SimulateDeps } from './simulate.ts';

/** What a journey would do for a player. */
export function simulationEndpoints(deps: SimulateDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/journeys/:id/simulate',
      // It asks ClickHouse and renders for seconds.
      load: 'slow',
      audit: { none: 'it changes nothing' },
      summary:
        'Simulates a run of the journey as saved last, on a virtual clock: its steps, its messages and its end',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      body: simulateBody,
      response: simulateResult,
      errors: [
        'JOURNEY_NOT_FOUND',
        'PLAYER_NOT_FOUND',
        'VALIDATION_ERROR',
        'JOURNEY_GRAPH_INVALID',
        'SEGMENT_TOO_EXPENSIVE',
      ],
      handle: async ({ caller, params, body }) =>
        envelope(await simulateJourney(deps, refOf(JOURNEY, caller, params['id']), body ?? EMPTY_BODY)),
    }),
  ];
}
