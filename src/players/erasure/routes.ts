import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf } from '../../http/keyset-page.ts';
import { playerRefOf } from '../player-ref.ts';
import { listErasures } from './queries.ts';
import { erasureJson, requestErasure } from './request.ts';
import { erasePlayerBody, erasure, erasureAnswer, listErasuresQuery } from './schema.ts';
import type { Platform } from '../../platform/platform.ts';

type Deps = Pick<Platform, 'postgres' | 'clock' | 'jobs'>;

/** Forgetting a person, and the proof of it. */
export function erasureEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/players/:id/erase',
      summary: 'Erases the data of a person, in two calls: the second one has the token of the first answer',
      audit: { resource: 'player', action: 'erase' },
      access: { mode: 'session', role: 'admin', scope: 'project' },
      body: erasePlayerBody,
      status: 202,
      response: erasureAnswer,
      errors: ['PLAYER_NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = playerRefOf(caller, params);
        return envelope(await requestErasure({ ...deps, audit }, ref, body, caller.user_id));
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/erasures',
      summary: 'Lists erasures with actor, reason and progress, the newest first',
      access: { mode: 'session', role: 'compliance', scope: 'tenant' },
      query: listErasuresQuery,
      response: z.array(erasure),
      shape: 'list',
      handle: ({ caller: { tenant_id }, query }) => {
        const now = new Date(deps.clock.now_ms());
        return listOf(deps.postgres, { tenant_id }, query, {
          kind: 'erasures',
          select: (tx, after, limit, filters) =>
            listErasures(tx, tenant_id, { ...filters, now }, after, limit),
          positionOf: (row) => [row.created_us, row.erasure_id],
          show: erasureJson,
        });
      },
    }),
  ];
}
