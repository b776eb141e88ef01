import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { refOf } from '../../http/record.ts';
import { resourceEndpoints } from '../../http/resource-endpoints.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { changeTemplate, createTemplate, deleteTemplate } from './change.ts';
import { previewTemplate } from './preview.ts';
import { listTemplates } from './queries.ts';
import { findTemplate, requireTemplate, TEMPLATE } from './read.ts';
import {
  COMPUTED_FIELDS,
  createTemplateBody,
  FIXED_FIELDS,
  patchTemplateBody,
  previewBody,
  previewFrameQuery,
  previewResult,
  templateReferences,
  TEMPLATE_FILTERS,
  templateResource,
} from './schema.ts';
import { framedHtml, FRAME_HEADERS } from './preview-frame.ts';
import { referencesOf } from './references.ts';
import { templateResourceOf } from './template-json.ts';
import { LARGE_BODY_BYTES } from '../../http/server-options.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  /** The base URL of unsubscribe links in previews. */
  public_url: string;
}

/** Templates of messages (spec part 4). */
export function templateEndpoints(deps: Deps): AnyEndpoint[] {
  return [...ownEndpoints(deps), previewEndpoint(deps), frameEndpoint(deps), referencesEndpoint(deps)];
}

function ownEndpoints(deps: Deps): AnyEndpoint[] {
  return resourceEndpoints(deps, {
    collection: 'templates',
    kind: TEMPLATE,
    audited: 'template',
    writer: 'editor',
    max_body_bytes: LARGE_BODY_BYTES,
    response: templateResource,
    toJson: templateResourceOf,
    image: templateResourceOf,
    filters: TEMPLATE_FILTERS,
    list: listTemplates,
    find: ({ postgres }, ref) => findTemplate(postgres, ref),
    create: {
      summary: 'Creates a template; the default status is draft',
      body: createTemplateBody,
      read_only: COMPUTED_FIELDS,
      errors: ['TEMPLATE_INVALID'],
      run: createTemplate,
    },
    change: {
      summary: 'Changes a template, except its channel',
      body: patchTemplateBody,
      read_only: FIXED_FIELDS,
      errors: ['TEMPLATE_INVALID'],
      run: changeTemplate,
    },
    remove: {
      summary: 'Soft delete: campaigns that refer to it fail at their next send',
      run: deleteTemplate,
    },
  });
}

function previewEndpoint(deps: Deps): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/templates/:id/preview',
    audit: { none: 'it changes nothing' },
    summary: 'Renders the template for a player; without a player_id, for a sample player',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    body: previewBody.prefault({}),
    response: previewResult,
    errors: ['TEMPLATE_NOT_FOUND', 'PLAYER_NOT_FOUND', 'TEMPLATE_INVALID'],
    handle: async ({ caller, params, body }) => {
      const ref = refOf(TEMPLATE, caller, params['id']);
      return envelope(await previewTemplate(deps, ref, body.player_id ?? undefined));
    },
  });
}

/** For a sandboxed frame of the console: no script of a template runs, and nothing is loaded. */
function frameEndpoint(deps: Deps): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: '/v1/templates/:id/preview-frame',
    summary: 'The rendered body as a page for a frame, in which no script runs and nothing is loaded',
    access: { mode: 'session', role: 'viewer', scope: 'project', named_in: 'query' },
    query: previewFrameQuery,
    response: z.string(),
    shape: 'raw',
    content_type: 'text/html; charset=utf-8',
    headers: FRAME_HEADERS,
    errors: ['TEMPLATE_NOT_FOUND', 'PLAYER_NOT_FOUND', 'TEMPLATE_INVALID'],
    handle: async ({ caller, params, query }) => {
      const ref = refOf(TEMPLATE, caller, params['id']);
      const { channel } = await requireTemplate(deps.postgres, ref);
      return framedHtml(channel, await previewTemplate(deps, ref, query.player_id));
    },
  });
}

function referencesEndpoint({ postgres }: Deps): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: '/v1/templates/:id/references',
    summary: 'The campaigns and journeys that use the template, at most 100 of each',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    response: templateReferences,
    errors: ['TEMPLATE_NOT_FOUND'],
    handle: async ({ caller, params }) => {
      const ref = refOf(TEMPLATE, caller, params['id']);
      await findTemplate(postgres, ref);
      return envelope(await referencesOf(postgres, ref));
    },
  });
}
