import { ApiError } from '../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { Identifier } from './identify.ts';
import type { NewcomerDeps } from './newcomers.ts';
import { identifyBody, identifyResult } from './schema.ts';

/** Links a caller's ids to a player (spec part 4, "Players"). */
export function identityEndpoints(deps: NewcomerDeps): AnyEndpoint[] {
  const identifier = new Identifier(deps);
  return [
    endpoint({
      method: 'POST',
      path: '/v1/players/identify',
      summary: 'Finds or creates the player of the given ids, links the ids, and merges traits and players',
      access: { mode: 'api_key', rate: 'identify' },
      load: 'grouped',
      body: identifyBody,
      from_pages: true,
      response: identifyResult,
      errors: ['IDENTITY_REQUIRED', 'PLAYER_NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, body }) => {
        if (
          body.anonymous_id === undefined &&
          body.external_id === undefined &&
          body.player_id === undefined
        ) {
          throw new ApiError('IDENTITY_REQUIRED', 'give anonymous_id, external_id or player_id');
        }
        return envelope(await identifier.identify(caller, body));
      },
    }),
  ];
}
