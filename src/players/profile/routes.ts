import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import { listOf } from '../../http/keyset-page.ts';
import { JsonText } from '../../platform/exact-json.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { PlayerDependent } from '../dependents.ts';
import { changePlayer, deletePlayer } from './change.ts';
import { playerJson, playerVersionOf, type PlayerRow } from './player-json.ts';
import { playerRefOf, type PlayerRef } from '../player-ref.ts';
import { listPlayers, selectPlayer } from './queries.ts';
import { revealPlayer } from './reveal.ts';
import { withSurvivor } from './read.ts';
import {
  foundPlayer,
  listPlayersQuery,
  patchPlayerBody,
  revealPlayerBody,
  revealedPlayer,
  playerResource,
  searchPlayersQuery,
  type ListPlayersQuery,
} from './schema.ts';
import { searchPlayers } from './search-queries.ts';
import { soughtIds } from './search.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import type { Platform } from '../../platform/platform.ts';

/** Players that a search answers. */
const MAX_FOUND = 20;

interface Deps extends Pick<Platform, 'postgres' | 'clock'> {
  dependents: readonly PlayerDependent[];
  erasure_key: Buffer;
}

/** Players (spec part 4). */
export function playerEndpoints(deps: Deps): AnyEndpoint[] {
  const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
  const write = { mode: 'session', role: 'editor', scope: 'project' } as const;
  const one = { path: '/v1/players/:id', response: playerResource };
  return [
    searchEndpoint(deps.postgres),
    endpoint({
      method: 'GET',
      path: '/v1/players',
      summary: 'Lists players, the last seen first; deleted ones only with status=deleted',
      access: read,
      query: listPlayersQuery,
      response: z.array(playerResource),
      shape: 'list',
      handle: ({ caller, query }) => listPage(deps.postgres, caller, query),
    }),
    endpoint({
      ...one,
      method: 'GET',
      summary: 'One player, also a deleted one',
      access: read,
      versioned: true,
      errors: ['PLAYER_NOT_FOUND'],
      handle: async ({ caller, params, sendVersion }) => {
        const ref = playerRefOf(caller, params);
        const player = await withSurvivor(deps.postgres, ref, async (one) => {
          const [row] = await deps.postgres.readAsTenant(one.tenant_id, (tx) => selectPlayer(tx, one));
          return row;
        });
        sendVersion(playerVersionOf(player));
        return answer(ref, player);
      },
    }),
    endpoint({
      ...one,
      method: 'PATCH',
      summary: 'Changes profile fields; custom attributes are merged, null removes one',
      audit: { resource: 'player', action: 'update' },
      access: write,
      body: patchPlayerBody,
      refuse: refuseComputedFields,
      versioned: true,
      errors: ['PLAYER_NOT_FOUND', 'FIELD_NOT_WRITABLE', 'CONFLICT'],
      handle: async ({ caller, params, body, audit, sendVersion }) => {
        const ref = playerRefOf(caller, params);
        const player = await changePlayer({ ...deps, audit, role: caller.role }, ref, body);
        sendVersion(playerVersionOf(player));
        return answer(ref, player);
      },
    }),
    endpoint({
      ...one,
      method: 'DELETE',
      summary: 'Soft delete; a repetition gets the same answer',
      audit: { resource: 'player', action: 'delete' },
      access: write,
      errors: ['PLAYER_NOT_FOUND'],
      handle: async ({ caller, params, audit }) => {
        const ref = playerRefOf(caller, params);
        return answer(ref, await deletePlayer({ ...deps, audit }, ref));
      },
    }),
    revealEndpoint(deps.postgres),
  ];
}

function searchEndpoint(postgres: Postgres): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: '/v1/players/search',
    summary: `Finds up to ${MAX_FOUND} players by an id of any kind, or by its beginning`,
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    query: searchPlayersQuery,
    response: z.array(foundPlayer),
    handle: async ({ caller: { tenant_id, project_id }, query: { q } }) => {
      const found = await postgres.readAsTenant(tenant_id, (tx) =>
        searchPlayers(tx, { tenant_id, project_id }, soughtIds(q), MAX_FOUND),
      );
      return envelope(found.map(({ player_id: id, ...rest }) => ({ id, ...rest })));
    },
  });
}

/** Not among the reads: it leaves an entry in the audit log. */
function revealEndpoint(postgres: Postgres): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/players/:id/reveal',
    summary: 'The email and phone of a player; the audit log records who asked and why',
    audit: { resource: 'player', action: 'reveal' },
    access: { mode: 'session', role: 'personal_data', scope: 'project' },
    body: revealPlayerBody.prefault({}),
    response: revealedPlayer,
    errors: ['PLAYER_NOT_FOUND'],
    handle: async ({ caller, params, body, audit }) => {
      return envelope(
        await revealPlayer({ postgres, audit }, playerRefOf(caller, params), body.reason ?? null),
      );
    },
  });
}

function answer({ tenant_id, project_id }: PlayerRef, player: PlayerRow): string {
  return envelopeOfText(playerJson(tenant_id, project_id, player));
}

function listPage(
  postgres: Postgres,
  { tenant_id, project_id }: ProjectSession,
  query: ListPlayersQuery,
): Promise<string> {
  const project = { tenant_id, project_id };
  return listOf(postgres, project, query, {
    kind: 'players',
    select: (tx, after, limit, filters) => listPlayers(tx, project, { ...filters, limit }, after),
    positionOf: (row) => [row.last_seen_us, row.player_id],
    show: (player) => new JsonText(playerJson(tenant_id, project_id, player)),
  });
}

const WRITABLE = new Set(Object.keys(patchPlayerBody.shape));
const COMPUTED = new Set(Object.keys(playerResource.shape).filter((field) => !WRITABLE.has(field)));

/** Throws FIELD_NOT_WRITABLE with each field in the body that callers may not set on a player (spec part 2). */
const refuseComputedFields = refuseUnwritable(COMPUTED);
