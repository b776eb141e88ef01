import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { readPage, TIME_AND_ID } from '../../http/keyset-page.ts';
import { refuseUnwritable } from '../../http/not-writable.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { Listed, TimePosition } from '../../platform/postgres/keyset.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { changeTemplate, createTemplate, deleteTemplate } from './change.ts';
import { previewTemplate } from './preview.ts';
import { listTemplates, type TemplateRef, type TemplateRow } from './queries.ts';
import { findTemplate } from './read.ts';
import {
  COMPUTED_FIELDS,
  createTemplateBody,
  FIXED_FIELDS,
  listTemplatesQuery,
  patchTemplateBody,
  previewBody,
  previewResult,
  templateResource,
  type ListTemplatesQuery,
} from './schema.ts';
import { templateResourceOf } from './template-json.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  /** Where unsubscribe links in previews lead. */
  public_url: string;
}

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;

/** Templates of messages (spec part 4). */
export function templateEndpoints(deps: Deps): AnyEndpoint[] {
  return [...readEndpoints(deps), ...writeEndpoints(deps), ...previewEndpoints(deps)];
}

const one = { path: '/v1/templates/:id', status: 200, response: templateResource } as const;

function readEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/templates',
      summary: 'Lists templates that are not deleted, the newest first',
      access: read,
      query: listTemplatesQuery,
      status: 200,
      response: z.array(templateResource),
      shape: 'list',
      errors: [],
      handle: ({ caller, query }) => listPage(deps, caller, query),
    }),
    endpoint({
      ...one,
      method: 'GET',
      summary: 'One template, also a deleted one',
      access: read,
      errors: ['TEMPLATE_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        return envelope(templateResourceOf(ref, await findTemplate(deps.postgres, ref)));
      },
    }),
  ];
}

function writeEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/templates',
      summary: 'Makes a template; it is a draft unless it says otherwise',
      access: write,
      body: createTemplateBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      status: 201,
      response: templateResource,
      errors: ['TEMPLATE_INVALID', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, body }) => {
        const project = projectRefOf(caller);
        return envelope(templateResourceOf(project, await createTemplate(deps, project, body)));
      },
    }),
    endpoint({
      ...one,
      method: 'PATCH',
      summary: 'Changes a template; the channel stays',
      access: write,
      body: patchTemplateBody,
      refuse: refuseUnwritable(FIXED_FIELDS),
      errors: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_INVALID', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body }) => {
        const ref = refOf(caller, params);
        return envelope(templateResourceOf(ref, await changeTemplate(deps, ref, body)));
      },
    }),
    endpoint({
      ...one,
      method: 'DELETE',
      summary: 'Soft delete: campaigns that refer to it fail at their next send',
      access: write,
      errors: ['TEMPLATE_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        return envelope(templateResourceOf(ref, await deleteTemplate(deps, ref)));
      },
    }),
  ];
}

function previewEndpoints(deps: Deps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/templates/:id/preview',
      summary: 'The template as a player would get it; as a synthetic one would, when none is named',
      access: read,
      body: previewBody,
      status: 200,
      response: previewResult,
      errors: ['TEMPLATE_NOT_FOUND', 'PLAYER_NOT_FOUND', 'TEMPLATE_INVALID'],
      handle: async ({ caller, params, body }) =>
        envelope(await previewTemplate(deps, refOf(caller, params), body.player_id ?? undefined)),
    }),
  ];
}

function refOf(caller: ProjectSession, params: Readonly<Record<string, string>>): TemplateRef {
  return { ...projectRefOf(caller), template_id: params['id'] ?? '' };
}

async function listPage(
  { postgres }: Deps,
  caller: ProjectSession,
  { cursor, limit, ...filters }: ListTemplatesQuery,
): Promise<string> {
  const project = projectRefOf(caller);
  const { rows, next_cursor } = await readPage<Listed<TemplateRow>, TimePosition>(
    {
      scope: { kind: 'templates', project_id: project.project_id, filters },
      shape: TIME_AND_ID,
      positionOf: (row) => [String(row.created_us), row.template_id],
      select: (after, count) =>
        postgres.readAsTenant(project.tenant_id, (tx) => listTemplates(tx, project, filters, after, count)),
    },
    { cursor, limit },
  );
  return envelope(
    rows.map((row) => templateResourceOf(project, row)),
    { next_cursor },
  );
}
