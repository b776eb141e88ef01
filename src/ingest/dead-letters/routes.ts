import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import type { Platform } from '../../platform/platform.ts';
import { listLetters } from './list.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { listOwnLetters, replayOwnLetters } from './own-letters.ts';
import { listOwnQuery, ownReplayBody, ownReplayReport } from './own-schema.ts';
import { replayLetters } from './replay.ts';
import { letterResource, listLettersQuery, replayBody, replayReport } from './schema.ts';

/** Lists the events that the fold rejected and replays them: for operators (`npm run dlq`), and for a project its own. */
export function deadLetterEndpoints(platform: Platform): AnyEndpoint[] {
  const access = { mode: 'internal' } as const;
  const own_access = { mode: 'session', role: 'admin', scope: 'project' } as const;
  return [
    endpoint({
      method: 'GET',
      path: '/v1/internal/dead-letters',
      summary: 'Events that could not be folded, the oldest first, with the reason',
      access,
      query: listLettersQuery,
      response: z.array(letterResource),
      shape: 'list',
      errors: ['SERVICE_UNAVAILABLE'],
      handle: async ({ query }) => {
        const { letters, next_cursor } = await listLetters(platform, query);
        return envelope(letters, { next_cursor });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/internal/dead-letters/replay',
      audit: { resource: 'dead_letters', action: 'replay' },
      summary: 'Sends dead letters through the fold again, each once unless forced',
      access,
      body: replayBody,
      response: replayReport,
      errors: ['SERVICE_UNAVAILABLE'],
      handle: async ({ body, audit }) => envelope(await replayLetters(platform, body, audit)),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/dead-letters',
      summary: "The project's events that could not be folded, the newest first, with the reason",
      access: own_access,
      query: listOwnQuery,
      response: z.array(letterResource),
      shape: 'list',
      errors: ['SERVICE_UNAVAILABLE'],
      load: 'slow',
      handle: async ({ caller, query }) => {
        const { letters, next_cursor } = await listOwnLetters(platform, projectRefOf(caller), query);
        return envelope(letters, { next_cursor });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/dead-letters/replay',
      audit: { resource: 'dead_letters', action: 'replay' },
      summary: 'Sends dead letters of the project through the fold again, each once unless forced',
      access: own_access,
      body: ownReplayBody,
      response: ownReplayReport,
      errors: ['SERVICE_UNAVAILABLE'],
      load: 'slow',
      handle: async ({ caller, body, audit }) =>
        envelope(await replayOwnLetters(platform, projectRefOf(caller), body, audit)),
    }),
  ];
}
