import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { readPage, TIME_AND_ID } from '../../http/keyset-page.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Jobs } from '../../platform/jobs/port.ts';
import type { Listed, TimePosition } from '../../platform/postgres/keyset.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { listErasures, type ErasureRow } from './queries.ts';
import { erasureJson, requestErasure } from './request.ts';
import {
  erasePlayerBody,
  erasure,
  erasureAnswer,
  listErasuresQuery,
  type ListErasuresQuery,
} from './schema.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  jobs: Jobs;
}

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
        const { tenant_id, project_id, user_id } = caller;
        const ref = { tenant_id, project_id, player_id: params['id'] ?? '' };
        return envelope(await requestErasure({ ...deps, audit }, ref, body, user_id));
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/erasures',
      summary: 'Lists erasures with actor, reason and progress, the newest first',
      access: { mode: 'session', role: 'compliance', scope: 'tenant' },
      query: listErasuresQuery,
      status: 200,
      response: z.array(erasure),
      shape: 'list',
      errors: [],
      handle: ({ caller, query }) => erasurePage(deps, caller.tenant_id, query),
    }),
  ];
}

async function erasurePage(
  { postgres, clock }: Deps,
  tenant_id: string,
  { cursor, limit, ...filters }: ListErasuresQuery,
): Promise<string> {
  const now = new Date(clock.now_ms());
  const { rows, next_cursor } = await readPage<Listed<ErasureRow>, TimePosition>(
    {
      // The list belongs to the tenant: the cursor is bound to the tenant's id instead of a project's.
      scope: { kind: 'erasures', project_id: tenant_id, filters },
      shape: TIME_AND_ID,
      positionOf: (row) => [String(row.created_us), row.erasure_id],
      select: (after, count) =>
        postgres.readAsTenant(tenant_id, (tx) =>
          listErasures(tx, tenant_id, { ...filters, now }, after, count),
        ),
    },
    { cursor, limit },
  );
  return envelope(rows.map(erasureJson), { next_cursor });
}
