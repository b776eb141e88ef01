import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { maskText } from '../../players/masking.ts';
import { selectPlayerNames } from './name-queries.ts';
import { searchRecords } from './queries.ts';
import { foundRecord, playerName, playerNamesQuery, searchQuery } from './schema.ts';

/** Records of a type in one answer. */
const MAX_OF_TYPE = 5;

/** Finds what people have made in a project (players: `GET /v1/players/search`), and says what players are called by. */
export function searchEndpoints({ postgres }: Pick<Platform, 'postgres'>): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/search',
      summary: `Finds up to ${MAX_OF_TYPE} segments, campaigns, journeys and templates each, by name or id`,
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: searchQuery,
      response: z.array(foundRecord),
      handle: async ({ caller, query: { q } }) => {
        const project = projectRefOf(caller);
        const sought = {
          words: q.toLowerCase().split(/\s+/),
          id: isUuid(q) ? q.toLowerCase() : undefined,
        };
        const found = await postgres.readAsTenant(project.tenant_id, (tx) =>
          searchRecords(tx, project, sought, MAX_OF_TYPE),
        );
        return envelope(found);
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/players/names',
      summary: 'What players are called by: external id, masked email and status, of ids that a list shows',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      query: playerNamesQuery,
      response: z.array(playerName),
      handle: async ({ caller, query: { ids } }) => {
        const project = projectRefOf(caller);
        const rows = await postgres.readAsTenant(project.tenant_id, (tx) =>
          selectPlayerNames(tx, project, ids),
        );
        return envelope(
          rows.map(({ email, ...row }) => ({
            ...row,
            masked_email: email === null ? null : maskText(email),
          })),
        );
      },
    }),
  ];
}
