import type { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import type { Experiment } from './experiment.ts';
import { upliftReport } from './report-json.ts';
import type { Effects } from './uplift.ts';

/** What an effect is read of: `of` rejects with the error of a resource that does not exist. */
interface Subject<Query> {
  collection: 'campaigns' | 'journeys' | 'bonus-campaigns';
  not_found: ErrorCode;
  /** What may be chosen; absent: nothing. */
  query?: z.ZodType<Query>;
  of: (caller: ProjectSession, id: string | undefined, query: Query) => Promise<Experiment>;
}

/** `GET /v1/<collection>/:id/uplift`. */
export function upliftEndpoint<Query = undefined>(
  { effects }: { effects: Effects },
  { collection, not_found, query, of }: Subject<Query>,
): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: `/v1/${collection}/:id/uplift`,
    load: 'elsewhere',
    summary: 'What it has brought, compared with the players who are held out, and the harm in each arm',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    ...(query && { query }),
    response: upliftReport,
    errors: [not_found],
    handle: async ({ caller, params, query: chosen }) =>
      envelopeOfText(await effects.of(await of(caller, params['id'], chosen))),
  });
}
