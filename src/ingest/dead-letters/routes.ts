import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import type { Platform } from '../../wiring/platform.ts';
import { listLetters } from './list.ts';
import { replayLetters } from './replay.ts';
import { letterResource, listLettersQuery, replayBody, replayReport } from './schema.ts';

/** Lists the events that the fold rejected and replays them; `npm run dlq` calls these endpoints. */
export function deadLetterEndpoints(platform: Platform): AnyEndpoint[] {
  const access = { mode: 'internal' } as const;
  return [
    endpoint({
      method: 'GET',
      path: '/v1/internal/dead-letters',
      summary: 'Events that could not be folded, the oldest first, with the reason',
      access,
      query: listLettersQuery,
      status: 200,
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
      status: 200,
      response: replayReport,
      errors: ['SERVICE_UNAVAILABLE'],
      handle: async ({ body, audit }) => envelope(await replayLetters(platform, body, audit)),
    }),
  ];
}
