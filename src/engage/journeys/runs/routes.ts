import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../../http/endpoint.ts';
import { envelope } from '../../../http/envelope.ts';
import { listOf, type PageQuery } from '../../../http/keyset-page.ts';
import { notFound, refOf } from '../../../http/record.ts';
import { isUuid } from '../../../platform/ids.ts';
import { requirePlayer, withListedPlayer } from '../../../players/profile/read.ts';
import type { Platform } from '../../../platform/platform.ts';
import { cancelRun, cancelRunsOf } from './cancel.ts';
import { Definitions } from './definitions.ts';
import { listRuns, listRunsOfPlayer } from './read-queries.ts';
import { JOURNEY, readRun, requireJourney, requireReadable, RUN, type RunKey } from './read.ts';
import { runResourceOf } from './run-json.ts';
import {
  cancelRunsBody,
  listRunsQuery,
  playerRunResource,
  playerRunsQuery,
  runResource,
  runWithHistory,
  triggerBody,
  type ListRunsQuery,
} from './schema.ts';
import { startsOfTrigger, triggerRun } from './trigger-run.ts';

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;

/** Runs of journeys (spec part 4): starting, reading and cancelling them. */
export function journeyRunEndpoints(deps: Platform): AnyEndpoint[] {
  return [triggerEndpoint(deps), ...readingEndpoints(deps), ...cancelEndpoints(deps)];
}

function triggerEndpoint(deps: Platform): AnyEndpoint {
  const { clock } = deps;
  const definitions = new Definitions();
  return endpoint({
    method: 'POST',
    path: '/v1/journeys/:id/trigger',
    audit: { resource: 'journey_run', action: 'create' },
    summary: 'Starts a run of an active journey for one player, without its rules about entering',
    access: write,
    body: triggerBody,
    status: 201,
    response: runResource,
    idempotent: true,
    errors: [
      'JOURNEY_NOT_FOUND',
      'JOURNEY_INVALID_STATUS',
      'PLAYER_NOT_FOUND',
      'VALIDATION_ERROR',
      'INGESTION_UNAVAILABLE',
    ],
    handle: async ({ caller, params, body, once, audit }) => {
      const ref = refOf(JOURNEY, caller, params['id']);
      const starts = await startsOfTrigger(deps, ref);
      return once(ref.tenant_id, async (tx) =>
        envelope(await triggerRun(tx, { definitions, clock, audit, starts }, ref, body)),
      );
    },
  });
}

function readingEndpoints(deps: Platform): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/journeys/:id/runs',
      summary: 'Lists the runs of a journey, the newest first',
      access: read,
      query: listRunsQuery,
      response: z.array(runResource),
      shape: 'list',
      errors: ['JOURNEY_NOT_FOUND'],
      handle: ({ caller, params, query }) => listPage(deps, caller, params['id'], query),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/journeys/:id/runs/:runId',
      summary: 'One run with its steps; the last step is at the current node',
      access: read,
      response: runWithHistory,
      errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_RUN_NOT_FOUND'],
      handle: async ({ caller, params }) => envelope(await readRun(deps, runKeyOf(caller, params))),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/players/:id/journeys',
      summary: 'Lists the runs of a player in all journeys, the newest first',
      access: read,
      query: playerRunsQuery,
      response: z.array(playerRunResource),
      shape: 'list',
      errors: ['PLAYER_NOT_FOUND'],
      handle: ({ caller, params, query }) => playerPage(deps, caller, params['id'] ?? '', query),
    }),
  ];
}

function cancelEndpoints(deps: Platform): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/journeys/:id/runs/:runId/cancel',
      audit: { resource: 'journey_run', action: 'cancel' },
      summary: 'Cancels a run with its queued messages; cancelling it again changes nothing',
      access: write,
      response: runResource,
      errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_RUN_NOT_FOUND', 'JOURNEY_RUN_INVALID_STATUS'],
      handle: async ({ caller, params, audit }) =>
        envelope(await cancelRun({ ...deps, audit }, runKeyOf(caller, params), caller.user_id)),
    }),
    endpoint({
      method: 'POST',
      path: '/v1/journeys/:id/runs/cancel',
      load: 'slow',
      audit: { resource: 'journey', action: 'cancel' },
      summary: 'Cancels the running runs of a journey: all, those of one version, or those at one node',
      access: write,
      body: cancelRunsBody.prefault({}),
      response: z.object({ cancelled: z.int() }),
      errors: ['JOURNEY_NOT_FOUND'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = refOf(JOURNEY, caller, params['id']);
        await requireJourney(deps.postgres, ref);
        return envelope({ cancelled: await cancelRunsOf({ ...deps, audit }, ref, body, caller.user_id) });
      },
    }),
  ];
}

function runKeyOf(caller: ProjectSession, params: Readonly<Record<string, string>>): RunKey {
  const run_id = params['runId'] ?? '';
  if (!isUuid(run_id)) throw notFound(RUN, run_id);
  return { ...refOf(JOURNEY, caller, params['id']), run_id: run_id.toLowerCase() };
}

async function listPage(
  { postgres }: Platform,
  caller: ProjectSession,
  id: string | undefined,
  query: ListRunsQuery,
): Promise<string> {
  const ref = refOf(JOURNEY, caller, id);
  await requireReadable(postgres, ref);
  // Cursors are bound to the filters as asked: the player may be merged between two pages.
  const filters = await withListedPlayer(postgres, ref, query);
  return listOf(postgres, ref, query, {
    kind: 'journey-runs',
    bound: { journey_id: ref.journey_id },
    select: (tx, after, limit) => listRuns(tx, ref, filters, after, limit),
    positionOf: (row) => [row.started_us, row.run_id],
    show: (row) => runResourceOf(row),
  });
}

async function playerPage(
  { postgres }: Platform,
  { tenant_id, project_id }: ProjectSession,
  id: string,
  page: PageQuery,
): Promise<string> {
  const { player_id } = await requirePlayer(postgres, { tenant_id, project_id, player_id: id });
  const ref = { tenant_id, project_id, player_id };
  return listOf(postgres, ref, page, {
    kind: 'player-journeys',
    bound: { player_id },
    select: (tx, after, limit) => listRunsOfPlayer(tx, ref, after, limit),
    positionOf: (row) => [row.started_us, row.run_id],
    show: (row) => ({ ...runResourceOf(row), journey_name: row.journey_name }),
  });
}
