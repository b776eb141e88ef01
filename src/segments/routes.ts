import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../http/endpoint.ts';
import { envelope } from '../http/envelope.ts';
import { readPage, TIME_AND_ID } from '../http/keyset-page.ts';
import { refuseUnwritable } from '../http/not-writable.ts';
import type { Listed, TimePosition } from '../platform/postgres/keyset.ts';
import { projectRefOf, type ProjectRef } from '../tenants/project-ref.ts';
import type { Platform } from '../wiring/platform.ts';
import { changeSegment, createSegment, deleteSegment, requireReferences } from './change.ts';
import { readDefinition } from './language/definition.ts';
import { EVERYTHING, readOfEvent } from './dependencies.ts';
import { countMembers } from './evaluation-queries.ts';
import { explainMembership } from './explain.ts';
import { sampleMembers } from './membership-queries.ts';
import { refreshPlayerSegments } from './player-segments.ts';
import { listSegments, type SegmentRef, type SegmentRow } from './queries.ts';
import { findSegment, requireSegment } from './read.ts';
import { refreshSegment } from './refresh.ts';
import {
  COMPUTED_FIELDS,
  createSegmentBody,
  explainQuery,
  explanation,
  listSegmentsQuery,
  patchSegmentBody,
  playerRefreshResult,
  previewBody,
  previewResult,
  recomputeBody,
  recomputeResult,
  refreshResult,
  sampleQuery,
  segmentResource,
  type ListSegmentsQuery,
} from './schema.ts';
import { segmentResourceOf } from './segment-json.ts';
import { compileMembers } from './sql/compile.ts';
import { insertDirtyPlayers } from './dirty-player-queries.ts';
import { dirtyPlayersOf } from './dirty-players.ts';

const PREVIEW_SAMPLE = 10;

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;

/** Segments (spec part 4), with preview and explanation beyond it. */
export function segmentEndpoints(deps: Platform): AnyEndpoint[] {
  return [
    ...definitionEndpoints(deps),
    previewEndpoint(deps),
    ...membershipEndpoints(deps),
    recomputeEndpoint(deps),
  ];
}

function definitionEndpoints(deps: Platform): AnyEndpoint[] {
  const one = { path: '/v1/segments/:id', status: 200, response: segmentResource } as const;
  const show = (project: ProjectRef, row: SegmentRow) => segmentResourceOf(project, row, deps.clock.now_ms());
  return [
    endpoint({
      method: 'GET',
      path: '/v1/segments',
      summary: 'Lists segments that are not deleted, the newest first',
      access: read,
      query: listSegmentsQuery,
      status: 200,
      response: z.array(segmentResource),
      shape: 'list',
      errors: [],
      handle: ({ caller, query }) => listPage(deps, caller, query),
    }),
    endpoint({
      ...one,
      method: 'GET',
      summary: 'One segment, also a deleted one',
      access: read,
      errors: ['SEGMENT_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        return envelope(show(ref, await findSegment(deps.postgres, ref)));
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/segments',
      summary: 'Makes a segment; realtime and scheduled ones are computed soon after',
      access: write,
      body: createSegmentBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      status: 201,
      response: segmentResource,
      errors: ['SEGMENT_DEFINITION_INVALID', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, body }) => {
        const project = projectRefOf(caller);
        return envelope(show(project, await createSegment(deps, project, body)));
      },
    }),
    endpoint({
      ...one,
      method: 'PATCH',
      summary: 'Changes a segment; a new definition has it computed again, unless it is refreshed by hand',
      access: write,
      body: patchSegmentBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      errors: ['SEGMENT_NOT_FOUND', 'SEGMENT_DEFINITION_INVALID', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body }) => {
        const ref = refOf(caller, params);
        return envelope(show(ref, await changeSegment(deps, ref, body)));
      },
    }),
    endpoint({
      ...one,
      method: 'DELETE',
      summary: 'Soft delete: nobody is in it from now on. Refused while another segment refers to it',
      access: write,
      errors: ['SEGMENT_NOT_FOUND', 'CONFLICT'],
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        return envelope(show(ref, await deleteSegment(deps, ref)));
      },
    }),
  ];
}

function previewEndpoint(deps: Platform): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/segments/preview',
    summary: 'The size of a definition and some of its players; nothing is saved',
    access: read,
    body: previewBody,
    status: 200,
    response: previewResult,
    errors: ['SEGMENT_DEFINITION_INVALID', 'SEGMENT_TOO_EXPENSIVE'],
    handle: async ({ caller, body }) => {
      const project = projectRefOf(caller);
      const definition = readDefinition(body.definition);
      await requireReferences(deps.postgres, project, definition);
      const question = { ...project, now_ms: deps.clock.now_ms() };
      const query = compileMembers(definition);
      const { size, player_ids } = await countMembers(deps.clickhouse, question, query, PREVIEW_SAMPLE);
      return envelope({ estimated_size: size, sample: player_ids, compiled_query: query.sql });
    },
  });
}

function membershipEndpoints(deps: Platform): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/segments/:id/refresh',
      summary: 'Computes who is in the segment now, after the segments it refers to',
      access: write,
      status: 200,
      response: refreshResult,
      errors: ['SEGMENT_NOT_FOUND', 'SEGMENT_TOO_EXPENSIVE'],
      handle: async ({ caller, params }) => {
        const { matched, added, removed, duration_ms } = await refreshSegment(deps, refOf(caller, params));
        return envelope({ matched, added, removed, duration_ms });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/segments/:id/sample',
      summary: 'Random members of the segment',
      access: read,
      query: sampleQuery,
      status: 200,
      response: z.array(z.uuid()),
      errors: ['SEGMENT_NOT_FOUND'],
      handle: async ({ caller, params, query }) => {
        const ref = refOf(caller, params);
        await requireSegment(deps.postgres, ref);
        const members = await deps.postgres.readAsTenant(ref.tenant_id, (tx) =>
          sampleMembers(tx, ref, query.limit),
        );
        return envelope(members.map(({ player_id }) => player_id));
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/segments/:id/explain',
      summary: 'Why a player is or is not in the segment, condition by condition',
      access: read,
      query: explainQuery,
      status: 200,
      response: explanation,
      errors: ['SEGMENT_NOT_FOUND', 'PLAYER_NOT_FOUND', 'SEGMENT_TOO_EXPENSIVE'],
      handle: async ({ caller, params, query }) =>
        envelope(await explainMembership(deps, refOf(caller, params), query.player_id)),
    }),
    endpoint({
      method: 'POST',
      path: '/v1/players/:id/refresh-segments',
      summary: 'Evaluates every segment of the project for one player',
      access: write,
      status: 200,
      response: playerRefreshResult,
      errors: ['PLAYER_NOT_FOUND'],
      handle: async ({ caller, params }) =>
        envelope(
          await refreshPlayerSegments(deps, { ...projectRefOf(caller), player_id: params['id'] ?? '' }),
        ),
    }),
  ];
}

function recomputeEndpoint({ postgres, clock }: Platform): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/internal/recompute-player-segments',
    summary: 'Has realtime segments look at players again: those that read one of `events`, or all',
    access: { mode: 'internal' },
    body: recomputeBody,
    status: 200,
    response: recomputeResult,
    errors: [],
    handle: async ({ body: { tenant_id, project_id, player_ids, events } }) => {
      const reads = events?.map(readOfEvent) ?? [EVERYTHING];
      const entries = dirtyPlayersOf({ tenant_id, project_id }, reads, player_ids);
      await insertDirtyPlayers(postgres.service, entries, new Date(clock.now_ms()));
      return envelope({ queued: player_ids.length });
    },
  });
}

function refOf(caller: ProjectSession, params: Readonly<Record<string, string>>): SegmentRef {
  return { ...projectRefOf(caller), segment_id: params['id'] ?? '' };
}

async function listPage(
  { postgres, clock }: Platform,
  caller: ProjectSession,
  query: ListSegmentsQuery,
): Promise<string> {
  const project = projectRefOf(caller);
  const { rows, next_cursor } = await readPage<Listed<SegmentRow>, TimePosition>(
    {
      scope: { kind: 'segments', project_id: project.project_id, filters: {} },
      shape: TIME_AND_ID,
      positionOf: (row) => [String(row.created_us), row.segment_id],
      select: (after, count) =>
        postgres.readAsTenant(project.tenant_id, (tx) => listSegments(tx, project, after, count)),
    },
    query,
  );
  return envelope(
    rows.map((row) => segmentResourceOf(project, row, clock.now_ms())),
    { next_cursor },
  );
}
