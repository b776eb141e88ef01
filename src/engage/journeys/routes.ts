import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf, PAGE_QUERY } from '../../http/keyset-page.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import { refOf } from '../../http/record.ts';
import { resourceEndpoints } from '../../http/resource-endpoints.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import type { Platform } from '../../platform/platform.ts';
import { findWithWarnings } from './check.ts';
import {
  activateJourney,
  changeJourney,
  createJourney,
  deleteJourney,
  pauseJourney,
  publishVersion,
  versionNotFound,
  versionOf,
} from './change.ts';
import { journeyResourceOf, versionResourceOf, type ShownJourney } from './graph/journey-json.ts';
import { listJourneys } from './graph/queries.ts';
import { findJourney, JOURNEY } from './graph/read.ts';
import type { ReferenceLookUps } from './graph/reference-queries.ts';
import {
  activateBody,
  COMPUTED_FIELDS,
  createJourneyBody,
  JOURNEY_FILTERS,
  journeyResource,
  listedJourney,
  journeyVersion,
  listedVersion,
  migrateBody,
  migrateResult,
  patchJourneyBody,
  patchJourneyQuery,
  pauseBody,
} from './graph/schema.ts';
import { listVersions, selectVersion } from './graph/version-queries.ts';
import { migrateRuns } from './migrate.ts';
import { LARGE_BODY_BYTES } from '../../http/server-options.ts';

interface Deps extends Platform {
  look_ups: ReferenceLookUps;
  credentials_keys: EncryptionKeys;
}

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;
const VERSION = [(text: string) => /^\d{1,10}$/.test(text)] as const;

/** Journeys, their versions and what changes their status (spec part 4). */
export function journeyEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    ...ownEndpoints(deps),
    changeEndpoint(deps),
    ...statusEndpoints(deps),
    ...versionEndpoints(deps),
    ...publishEndpoints(deps),
  ];
}

function ownEndpoints(deps: Deps): AnyEndpoint[] {
  return resourceEndpoints(deps, {
    collection: 'journeys',
    kind: JOURNEY,
    audited: 'journey',
    writer: 'editor',
    max_body_bytes: LARGE_BODY_BYTES,
    response: journeyResource,
    listed: listedJourney,
    toJson: (row: ShownJourney, owner) => journeyResourceOf(row, owner),
    image: (row, owner) => journeyResourceOf(row, owner),
    filters: JOURNEY_FILTERS,
    list: listJourneys,
    find: findWithWarnings,
    create: {
      summary:
        'Creates a draft of a journey; all faults of its trigger, graph and settings are reported at once',
      body: createJourneyBody,
      read_only: COMPUTED_FIELDS,
      errors: ['JOURNEY_GRAPH_INVALID'],
      run: createJourney,
    },
    remove: {
      summary: 'Soft delete: no new runs start, and running ones are cancelled soon after',
      run: deleteJourney,
    },
  });
}

function changeEndpoint(deps: Deps): AnyEndpoint {
  return endpoint({
    method: 'PATCH',
    path: '/v1/journeys/:id',
    versioned: true,
    summary:
      'Changes a journey; an active journey publishes the change as its next version for new runs, unless `draft` is true. Parts that are not in the body are those of the live version, and an earlier draft is overwritten',
    audit: { resource: 'journey', action: 'update' },
    access: write,
    query: patchJourneyQuery,
    body: patchJourneyBody,
    max_body_bytes: LARGE_BODY_BYTES,
    refuse: refuseUnwritable(COMPUTED_FIELDS),
    response: journeyResource,
    errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_GRAPH_INVALID', 'FIELD_NOT_WRITABLE'],
    handle: async ({ caller, params, query, body, audit, sendVersion }) => {
      const ref = refOf(JOURNEY, caller, params['id']);
      const how = { is_draft: query.draft === 'true', user_id: caller.user_id };
      const shown = journeyResourceOf(await changeJourney({ ...deps, audit }, ref, body, how), ref);
      sendVersion(shown);
      return envelope(shown);
    },
  });
}

function statusEndpoints(deps: Deps): AnyEndpoint[] {
  const one = { method: 'POST', access: write, response: journeyResource } as const;
  return [
    endpoint({
      ...one,
      path: '/v1/journeys/:id/activate',
      summary:
        'Activates a draft or paused journey: what was saved last is published, and held runs continue',
      audit: { resource: 'journey', action: 'activate' },
      body: activateBody,
      errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_INVALID_STATUS', 'JOURNEY_GRAPH_INVALID'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = refOf(JOURNEY, caller, params['id']);
        const how = { resume: body?.resume ?? 'run', user_id: caller.user_id };
        return envelope(journeyResourceOf(await activateJourney({ ...deps, audit }, ref, how), ref));
      },
    }),
    endpoint({
      ...one,
      path: '/v1/journeys/:id/pause',
      summary: 'Pauses an active journey: no new runs start; running ones continue, unless `hold` is true',
      audit: { resource: 'journey', action: 'pause' },
      body: pauseBody,
      errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_INVALID_STATUS'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = refOf(JOURNEY, caller, params['id']);
        const how = { hold: body?.hold ?? false };
        return envelope(journeyResourceOf(await pauseJourney({ ...deps, audit }, ref, how), ref));
      },
    }),
  ];
}

function versionEndpoints(deps: Deps): AnyEndpoint[] {
  const { postgres } = deps;
  const path = '/v1/journeys/:id/versions';
  return [
    endpoint({
      method: 'GET',
      path,
      summary: 'The versions of a journey, the newest first',
      access: read,
      query: z.strictObject(PAGE_QUERY),
      response: z.array(listedVersion),
      shape: 'list',
      errors: ['JOURNEY_NOT_FOUND'],
      handle: async ({ caller, params, query }) => {
        const ref = refOf(JOURNEY, caller, params['id']);
        await findJourney(postgres, ref);
        return listOf(postgres, ref, query, {
          kind: 'journey-versions',
          bound: { id: ref.journey_id },
          shape: VERSION,
          select: (tx, after, limit) => listVersions(tx, ref, after && Number(after[0]), limit),
          positionOf: ({ version }) => [version],
          show: (row) => row,
        });
      },
    }),
    endpoint({
      method: 'GET',
      path: `${path}/:version`,
      summary: 'One version of a journey, as it was published',
      access: read,
      response: journeyVersion,
      errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_VERSION_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const ref = refOf(JOURNEY, caller, params['id']);
        await findJourney(postgres, ref);
        const version = versionOf(params['version'] ?? '');
        const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectVersion(tx, ref, version));
        if (row === undefined) throw versionNotFound(version);
        return envelope(versionResourceOf(row));
      },
    }),
  ];
}

function publishEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/journeys/:id/versions/:version/publish',
      summary: 'Publishes an earlier version again, or what was saved last, as the next version',
      audit: { resource: 'journey', action: 'publish' },
      access: write,
      response: journeyResource,
      errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_VERSION_NOT_FOUND', 'JOURNEY_GRAPH_INVALID'],
      handle: async ({ caller, params, audit }) => {
        const ref = refOf(JOURNEY, caller, params['id']);
        const shown = await publishVersion({ ...deps, audit }, ref, params['version'] ?? '', caller);
        return envelope(journeyResourceOf(shown, ref));
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/journeys/:id/migrate-runs',
      load: 'slow',
      summary: 'Moves the running runs of one version to another; `dry_run` only counts the outcomes',
      audit: { resource: 'journey', action: 'migrate' },
      access: write,
      body: migrateBody,
      response: migrateResult,
      errors: ['JOURNEY_NOT_FOUND', 'JOURNEY_VERSION_NOT_FOUND'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = refOf(JOURNEY, caller, params['id']);
        return envelope(await migrateRuns({ ...deps, audit }, ref, body));
      },
    }),
  ];
}
