import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { requirePlayer } from '../../players/profile/read.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectPlayerMessages } from './queries.ts';
import { readReachability } from './reachability/read.ts';
import { playerMessagesQuery, reachabilityQuery, reachabilityResource, sendResource } from './schema.ts';
import { sendResourceOf } from './send-row.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
}

/** Messages of players (spec part 4), and whether they could get one. */
export function playerMessageEndpoints({ postgres, clock }: Deps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/players/:id/reachability',
      summary: 'Whether a message to the player would be sent now, by channel, and every reason why not',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: reachabilityQuery,
      response: z.array(reachabilityResource),
      errors: ['PLAYER_NOT_FOUND'],
      handle: async ({ caller: { tenant_id, project_id }, params, query }) => {
        const ref = { tenant_id, project_id, player_id: params['id'] ?? '' };
        return envelope(await readReachability({ postgres, clock }, ref, query.bonus_product ?? null));
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/players/:id/messages',
      summary: 'The last messages of a player, including skipped ones, the newest first',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: playerMessagesQuery,
      response: z.array(sendResource),
      errors: ['PLAYER_NOT_FOUND'],
      handle: async ({ caller: { tenant_id, project_id }, params, query }) => {
        const named = { tenant_id, project_id, player_id: params['id'] ?? '' };
        const { player_id } = await requirePlayer(postgres, named);
        const rows = await postgres.readAsTenant(tenant_id, (tx) =>
          selectPlayerMessages(tx, { ...named, player_id }, query.limit),
        );
        return envelope(rows.map(sendResourceOf));
      },
    }),
  ];
}
