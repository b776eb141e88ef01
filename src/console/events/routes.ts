import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Authenticators } from '../../http/auth/authenticators.ts';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { EVENT_STREAM } from '../../http/event-stream.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import { requirePlayer } from '../../players/profile/read.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { LiveStreams } from './live.ts';
import { selectAnonymousIds } from './queries.ts';
import { eventTrace, foundEvent, liveQuery, liveStream, searchQuery, sentTestEvent } from './schema.ts';
import { searchPage } from './search.ts';
import { sendTestEvent } from './test-event.ts';
import { EventTail } from './tail.ts';
import { traceEvent } from './trace.ts';

type Deps = Platform & Pick<Authenticators, 'access_changes'> & Pick<Config, 'service_env'>;

/** The events of a project: as they come in, searched, and the way of one through the service. */
export function eventEndpoints(platform: Deps): AnyEndpoint[] {
  const shared = { method: 'GET' } as const;
  const access = { mode: 'session', role: 'viewer', scope: 'project' } as const;
  return [
    streamEndpoint(platform),
    testEndpoint(platform),
    endpoint({
      ...shared,
      path: '/v1/event-search',
      summary: 'Events of the last day, or of up to 90 days, the newest first by event time',
      access,
      query: searchQuery,
      response: z.array(foundEvent),
      shape: 'list',
      errors: ['SERVICE_UNAVAILABLE'],
      handle: ({ caller, query }) => searchPage(platform, caller, query),
    }),
    endpoint({
      ...shared,
      path: '/v1/event-trace/:ingestion_id/:index',
      summary: 'The path of one event: accepted, folded, in ClickHouse, segments entered since',
      access,
      response: eventTrace,
      errors: ['EVENT_NOT_FOUND', 'SERVICE_UNAVAILABLE'],
      load: 'slow',
      handle: async ({ caller, params }) => {
        const { ingestion_id = '', index = '' } = params;
        return envelopeOfText(await traceEvent(platform, projectRefOf(caller), { ingestion_id, index }));
      },
    }),
  ];
}

function testEndpoint(platform: Deps): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/test-events',
    summary: 'Sends one event of a made-up visitor, whose path then shows that events are processed',
    audit: { none: 'it is an event, and changes no record' },
    access: { mode: 'session', role: 'editor', scope: 'project' },
    status: 202,
    response: sentTestEvent,
    errors: ['INGESTION_UNAVAILABLE'],
    handle: async ({ caller }) =>
      envelope(await sendTestEvent(platform, projectRefOf(caller), platform.service_env)),
  });
}

function streamEndpoint(platform: Deps): AnyEndpoint {
  const streams = new LiveStreams(new EventTail(platform), platform.access_changes, platform.metrics);
  return endpoint({
    method: 'GET',
    path: '/v1/event-stream',
    summary: 'The events of the project as they are accepted, at most 50 a second',
    access: { mode: 'session', role: 'viewer', scope: 'project', named_in: 'query' },
    query: liveQuery,
    response: liveStream,
    shape: 'raw',
    content_type: EVENT_STREAM,
    errors: ['PLAYER_NOT_FOUND'],
    load: 'elsewhere',
    handle: async ({ caller, query, headers, recheck }) => {
      const { event, player_id, max_s } = query;
      const player_ids = player_id === undefined ? undefined : await namesOf(platform, caller, player_id);
      const last_id = headers['last-event-id'];
      return streams.stream({
        ...projectRefOf(caller),
        user_id: caller.user_id,
        event,
        player_ids,
        last_id: typeof last_id === 'string' ? last_id : undefined,
        max_s,
        recheck,
      });
    },
  });
}

/** All ids by which events name a player: its own, those of players merged into it, its anonymous ids. */
async function namesOf(
  { postgres }: Platform,
  { tenant_id, project_id }: ProjectSession,
  player_id: string,
): Promise<ReadonlySet<string>> {
  const found = await requirePlayer(postgres, { tenant_id, project_id, player_id });
  const player = { tenant_id, project_id, player_id: found.player_id };
  const rows = await postgres.readAsTenant(tenant_id, (tx) => selectAnonymousIds(tx, player));
  return new Set([...found.event_player_ids, ...rows.flatMap(({ anonymous_ids }) => anonymous_ids)]);
}
