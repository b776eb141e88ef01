import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../http/endpoint.ts';
import { envelope } from '../http/envelope.ts';
import { refOf } from '../http/record.ts';
import { resourceEndpoints } from '../http/resource-endpoints.ts';
import { projectRefOf } from '../tenants/project-ref.ts';
import type { Platform } from '../platform/platform.ts';
import { changeSegment, createSegment, deleteSegment } from './change.ts';
import { EVERYTHING, readOfEvent } from './dependencies.ts';
import { explainMembership } from './explain.ts';
import { sampleMembers } from './membership-queries.ts';
import { refreshPlayerSegments } from './player-segments.ts';
import { preview, type PreviewDeps } from './preview.ts';
import { listSegments } from './queries.ts';
import { REQUEST_WAIT_MS } from './lock-queries.ts';
import { findSegment, requireSegment, SEGMENT } from './read.ts';
import { refreshSegment } from './refresh.ts';
import { TenantBulkhead } from './tenant-bulkhead.ts';
import {
  COMPUTED_FIELDS,
  createSegmentBody,
  explainQuery,
  explanation,
  patchSegmentBody,
  playerRefreshResult,
  previewBody,
  previewResult,
  recomputeBody,
  recomputeResult,
  refreshResult,
  sampleQuery,
  segmentResource,
} from './schema.ts';
import { segmentAuditOf, segmentResourceOf } from './segment-json.ts';
import { insertDirtyPlayers } from './dirty-player-queries.ts';
import { dirtyPlayersOf } from './dirty-players.ts';
import { LARGE_BODY_BYTES } from '../http/server-options.ts';

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;

type Deps = Platform & Pick<PreviewDeps, 'readReach'>;

/** Segments (spec part 4), with preview and explanation beyond it. */
export function segmentEndpoints(deps: Deps): AnyEndpoint[] {
  const turns = new TenantBulkhead();
  return [
    ...definitionEndpoints(deps),
    previewEndpoint(deps),
    ...membershipEndpoints(deps, turns),
    playerRefreshEndpoint(deps, turns),
    recomputeEndpoint(deps),
  ];
}

function definitionEndpoints(deps: Platform): AnyEndpoint[] {
  return resourceEndpoints(deps, {
    collection: 'segments',
    kind: SEGMENT,
    audited: 'segment',
    writer: 'editor',
    max_body_bytes: LARGE_BODY_BYTES,
    response: segmentResource,
    toJson: segmentResourceOf,
    image: segmentAuditOf,
    filters: {},
    list: (tx, project, _filters, after, limit) => listSegments(tx, project, after, limit),
    find: ({ postgres }, ref) => findSegment(postgres, ref),
    create: {
      summary: 'Creates a segment; realtime and scheduled segments are computed soon after',
      body: createSegmentBody,
      read_only: COMPUTED_FIELDS,
      errors: ['SEGMENT_DEFINITION_INVALID'],
      run: createSegment,
    },
    change: {
      summary: 'Changes a segment; a new definition is computed, unless the strategy is manual',
      body: patchSegmentBody,
      read_only: COMPUTED_FIELDS,
      errors: ['SEGMENT_DEFINITION_INVALID'],
      run: changeSegment,
    },
    remove: {
      summary:
        'Soft delete: the segment has no members from now on. Refused while another segment refers to it',
      errors: ['CONFLICT'],
      run: deleteSegment,
    },
  });
}

function previewEndpoint(deps: Deps): AnyEndpoint {
  const turns = new TenantBulkhead('ask for a reach');
  return endpoint({
    method: 'POST',
    path: '/v1/segments/preview',
    load: 'elsewhere',
    summary: 'The size of a definition and some of its players; nothing is saved',
    audit: { none: 'it changes nothing' },
    access: read,
    body: previewBody,
    max_body_bytes: LARGE_BODY_BYTES,
    response: previewResult,
    errors: ['SEGMENT_DEFINITION_INVALID', 'SEGMENT_TOO_EXPENSIVE'],
    handle: async ({ caller, body }) => envelope(await preview(deps, turns, projectRefOf(caller), body)),
  });
}

function membershipEndpoints(deps: Platform, turns: TenantBulkhead): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/segments/:id/refresh',
      load: 'elsewhere',
      summary: 'Computes the members of the segment now, after those of the segments it refers to',
      audit: { resource: 'segment', action: 'refresh' },
      access: write,
      response: refreshResult,
      errors: ['SEGMENT_NOT_FOUND', 'SEGMENT_TOO_EXPENSIVE'],
      handle: async ({ caller, params, audit }) => {
        const ref = refOf(SEGMENT, caller, params['id']);
        const { matched, added, removed, duration_ms } = await turns.run(ref.tenant_id, () =>
          refreshSegment(deps, ref, audit, { lock_wait_ms: REQUEST_WAIT_MS }),
        );
        return envelope({ matched, added, removed, duration_ms });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/segments/:id/sample',
      load: 'slow',
      summary: 'Random members of the segment',
      access: read,
      query: sampleQuery,
      response: z.array(z.uuid()),
      errors: ['SEGMENT_NOT_FOUND'],
      handle: async ({ caller, params, query }) => {
        const ref = refOf(SEGMENT, caller, params['id']);
        await requireSegment(deps.postgres, ref);
        const members = await deps.postgres.countAsTenant(ref.tenant_id, (tx) =>
          sampleMembers(tx, ref, query.limit),
        );
        return envelope(members.map(({ player_id }) => player_id));
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/segments/:id/explain',
      load: 'elsewhere',
      summary: 'Why a player is or is not in the segment, condition by condition',
      access: read,
      query: explainQuery,
      response: explanation,
      errors: ['SEGMENT_NOT_FOUND', 'PLAYER_NOT_FOUND', 'SEGMENT_TOO_EXPENSIVE'],
      handle: async ({ caller, params, query }) =>
        envelope(await explainMembership(deps, refOf(SEGMENT, caller, params['id']), query.player_id)),
    }),
  ];
}

function playerRefreshEndpoint(deps: Platform, turns: TenantBulkhead): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/players/:id/refresh-segments',
    load: 'elsewhere',
    summary: 'Evaluates every segment of the project for one player',
    audit: { resource: 'player', action: 'refresh' },
    access: write,
    response: playerRefreshResult,
    errors: ['PLAYER_NOT_FOUND'],
    handle: async ({ caller, params, audit }) => {
      const ref = { ...projectRefOf(caller), player_id: params['id'] ?? '' };
      return envelope(await turns.run(ref.tenant_id, () => refreshPlayerSegments(deps, ref, audit)));
    },
  });
}

function recomputeEndpoint({ postgres, clock }: Platform): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/internal/recompute-player-segments',
    summary: 'Evaluates players again in the realtime segments that read one of `events`, or in all',
    audit: { none: 'processors call it for events; members follow from the definitions, which stay' },
    access: { mode: 'internal' },
    body: recomputeBody,
    response: recomputeResult,
    handle: async ({ body: { tenant_id, project_id, player_ids, events } }) => {
      const reads = events?.map(readOfEvent) ?? [EVERYTHING];
      const entries = dirtyPlayersOf({ tenant_id, project_id }, reads, player_ids);
      await insertDirtyPlayers(postgres.service, entries, new Date(clock.now_ms()));
      return envelope({ queued: player_ids.length });
    },
  });
}
