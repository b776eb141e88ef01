import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../http/endpoint.ts';
import { envelope } from '../http/envelope.ts';
import { listOf, type PageQuery } from '../http/keyset-page.ts';
import { refOf } from '../http/record.ts';
import { isUuid } from '../platform/ids.ts';
import { requirePlayer } from '../players/profile/read.ts';
import type { Platform } from '../platform/platform.ts';
import { vocabulary } from './language/vocabulary.ts';
import type { SegmentRef } from './queries.ts';
import { requireSegment, SEGMENT } from './read.ts';
import { listMembers, listPlayerSegments } from './reading-queries.ts';
import {
  historyQuery,
  pageQuery,
  playerSegment,
  segmentMember,
  segmentReference,
  segmentVocabulary,
  sizePoint,
} from './reading-schema.ts';
import { referringSegments, type FindReferences } from './references.ts';
import { readSizes } from './sizes.ts';

/** Records of each type that are shown. */
const MAX_REFERENCES = 100;

interface Deps extends Pick<Platform, 'postgres' | 'clock'> {
  /** Those of the rooms that use segments. */
  references: readonly FindReferences[];
}

/** What is shown of segments in addition to their definitions: members, sizes, users, and what a definition may say. */
export function segmentReadingEndpoints(deps: Deps): AnyEndpoint[] {
  return [vocabularyEndpoint(), ...pageEndpoints(deps), ...overviewEndpoints(deps)];
}

const shared = {
  method: 'GET',
  access: { mode: 'session', role: 'viewer', scope: 'project' },
} as const;

function vocabularyEndpoint(): AnyEndpoint {
  // It depends on the version of the service only.
  const answer = envelope(vocabulary());
  return endpoint({
    ...shared,
    path: '/v1/segments/fields',
    summary: 'What a definition can contain: fields, events with their properties, operators and limits',
    response: segmentVocabulary,
    handle: () => answer,
  });
}

function pageEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    endpoint({
      ...shared,
      path: '/v1/segments/:id/members',
      summary: 'Lists the members of the segment by player id',
      query: pageQuery,
      response: z.array(segmentMember),
      shape: 'list',
      errors: ['SEGMENT_NOT_FOUND'],
      handle: ({ caller, params, query }) => memberPage(deps, refOf(SEGMENT, caller, params['id']), query),
    }),
    endpoint({
      ...shared,
      path: '/v1/players/:id/segments',
      summary: 'Lists the segments of the player, the last entered first',
      query: pageQuery,
      response: z.array(playerSegment),
      shape: 'list',
      errors: ['PLAYER_NOT_FOUND'],
      handle: ({ caller, params, query }) => playerPage(deps, caller, params['id'] ?? '', query),
    }),
  ];
}

function overviewEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    endpoint({
      ...shared,
      path: '/v1/segments/:id/history',
      summary: 'The sizes of the segment at full hours of the last month, and at midnight (UTC) before that',
      query: historyQuery,
      response: z.array(sizePoint),
      errors: ['SEGMENT_NOT_FOUND'],
      handle: async ({ caller, params, query }) => {
        const ref = refOf(SEGMENT, caller, params['id']);
        const { estimated_size } = await requireSegment(deps.postgres, ref);
        return envelope(await readSizes(deps, ref, estimated_size, query.days));
      },
    }),
    endpoint({
      ...shared,
      path: '/v1/segments/:id/references',
      summary: `What uses the segment and is not deleted: up to ${MAX_REFERENCES} of each type`,
      response: z.array(segmentReference),
      errors: ['SEGMENT_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const ref = refOf(SEGMENT, caller, params['id']);
        await requireSegment(deps.postgres, ref);
        const found = await Promise.all(
          [referringSegments, ...deps.references].map((find) => find(deps.postgres, ref, MAX_REFERENCES)),
        );
        return envelope(found.flat());
      },
    }),
  ];
}

async function memberPage({ postgres }: Deps, ref: SegmentRef, page: PageQuery): Promise<string> {
  await requireSegment(postgres, ref);
  return listOf(postgres, ref, page, {
    kind: 'segment-members',
    bound: { segment_id: ref.segment_id },
    shape: [isUuid],
    select: (tx, after, limit) => listMembers(tx, ref, after?.[0], limit),
    positionOf: (row) => [row.player_id],
    show: (row) => row,
  });
}

async function playerPage(
  { postgres }: Deps,
  { tenant_id, project_id }: ProjectSession,
  id: string,
  page: PageQuery,
): Promise<string> {
  const { player_id } = await requirePlayer(postgres, { tenant_id, project_id, player_id: id });
  const ref = { tenant_id, project_id, player_id };
  return listOf(postgres, ref, page, {
    kind: 'player-segments',
    bound: { player_id },
    select: (tx, after, limit) => listPlayerSegments(tx, ref, after, limit),
    positionOf: (row) => [row.entered_us, row.segment_id],
    show: ({ entered_us: _entered_us, ...row }) => row,
  });
}
