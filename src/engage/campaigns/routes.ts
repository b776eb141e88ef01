import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { readPage, TIME_AND_ID } from '../../http/keyset-page.ts';
import { refuseUnwritable } from '../../http/not-writable.ts';
import type { Listed, TimePosition } from '../../platform/postgres/keyset.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import type { Platform } from '../../wiring/platform.ts';
import { campaignResourceOf, variantResourceOf } from './campaign-json.ts';
import { changeCampaign, createCampaign, deleteCampaign } from './change.ts';
import { listCampaigns, selectLiveVariants, type CampaignRef, type CampaignRow } from './queries.ts';
import { findCampaign } from './read.ts';
import {
  campaignResource,
  COMPUTED_FIELDS,
  COMPUTED_VARIANT_FIELDS,
  createCampaignBody,
  createVariantBody,
  listCampaignsQuery,
  patchCampaignBody,
  patchVariantBody,
  variantResource,
  type ListCampaignsQuery,
} from './schema.ts';
import type { VariantRef } from './variant-queries.ts';
import { changeVariant, createVariant, deleteVariant } from './variants.ts';

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;

/** Campaigns and their variants (spec part 4). */
export function campaignEndpoints(deps: Platform): AnyEndpoint[] {
  return [...ownEndpoints(deps), ...variantEndpoints(deps)];
}

function ownEndpoints(deps: Platform): AnyEndpoint[] {
  const one = { path: '/v1/campaigns/:id', status: 200, response: campaignResource } as const;
  return [
    endpoint({
      method: 'GET',
      path: '/v1/campaigns',
      summary: 'Lists campaigns that are not deleted, the newest first',
      access: read,
      query: listCampaignsQuery,
      status: 200,
      response: z.array(campaignResource),
      shape: 'list',
      errors: [],
      handle: ({ caller, query }) => listPage(deps, caller, query),
    }),
    endpoint({
      ...one,
      method: 'GET',
      summary: 'One campaign, also a deleted one',
      access: read,
      errors: ['CAMPAIGN_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        return envelope(campaignResourceOf(ref, await findCampaign(deps.postgres, ref)));
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/campaigns',
      summary: 'Makes a draft of a campaign; one with a time in `schedule_at` is scheduled for then',
      access: write,
      body: createCampaignBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      status: 201,
      response: campaignResource,
      errors: ['FIELD_NOT_WRITABLE'],
      handle: async ({ caller, body }) => {
        const project = projectRefOf(caller);
        return envelope(campaignResourceOf(project, await createCampaign(deps, project, body)));
      },
    }),
    endpoint({
      ...one,
      method: 'PATCH',
      summary: 'Changes a draft or scheduled campaign; `schedule_at` null makes it a draft again',
      access: write,
      body: patchCampaignBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      errors: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_INVALID_STATUS', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body }) => {
        const ref = refOf(caller, params);
        return envelope(campaignResourceOf(ref, await changeCampaign(deps, ref, body)));
      },
    }),
    endpoint({
      ...one,
      method: 'DELETE',
      summary: 'Soft delete of a draft or scheduled campaign',
      access: write,
      errors: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_INVALID_STATUS'],
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        return envelope(campaignResourceOf(ref, await deleteCampaign(deps, ref)));
      },
    }),
  ];
}

function variantEndpoints(deps: Platform): AnyEndpoint[] {
  const path = '/v1/campaigns/:id/variants';
  const one = { path: `${path}/:variantId`, access: write, status: 200, response: variantResource } as const;
  const unknown = ['CAMPAIGN_NOT_FOUND', 'VARIANT_NOT_FOUND'] as const;
  return [
    endpoint({
      method: 'GET',
      path,
      summary:
        'The variants of a campaign by sort_order; at least one, which is `default` unless others were made',
      access: read,
      status: 200,
      response: z.array(variantResource),
      errors: ['CAMPAIGN_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        const { campaign_id } = await findCampaign(deps.postgres, ref);
        const rows = await deps.postgres.readAsTenant(ref.tenant_id, (tx) => selectLiveVariants(tx, ref));
        return envelope(rows.map((row) => variantResourceOf(campaign_id, row)));
      },
    }),
    endpoint({
      method: 'POST',
      path,
      summary:
        'Adds a variant to a draft or scheduled campaign; the first takes the place of the default one',
      access: write,
      body: createVariantBody,
      refuse: refuseUnwritable(COMPUTED_VARIANT_FIELDS),
      status: 201,
      response: variantResource,
      errors: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_INVALID_STATUS', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body }) => {
        const ref = refOf(caller, params);
        return envelope(variantResourceOf(ref.campaign_id, await createVariant(deps, ref, body)));
      },
    }),
    endpoint({
      ...one,
      method: 'PATCH',
      summary:
        'Changes a variant before the campaign is sent; the weight also later, for what is sent afterwards',
      body: patchVariantBody,
      refuse: refuseUnwritable(COMPUTED_VARIANT_FIELDS),
      errors: [...unknown, 'CAMPAIGN_INVALID_STATUS', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body }) => {
        const ref = variantRefOf(caller, params);
        return envelope(variantResourceOf(ref.campaign_id, await changeVariant(deps, ref, body)));
      },
    }),
    endpoint({
      ...one,
      method: 'DELETE',
      summary:
        'Takes a variant away; after the last one the default variant is back, which cannot be deleted',
      errors: [...unknown, 'CAMPAIGN_INVALID_STATUS', 'CONFLICT'],
      handle: async ({ caller, params }) => {
        const ref = variantRefOf(caller, params);
        return envelope(variantResourceOf(ref.campaign_id, await deleteVariant(deps, ref)));
      },
    }),
  ];
}

/** The id in lower case, as Postgres writes it. */
function refOf(caller: ProjectSession, params: Readonly<Record<string, string>>): CampaignRef {
  return { ...projectRefOf(caller), campaign_id: (params['id'] ?? '').toLowerCase() };
}

function variantRefOf(caller: ProjectSession, params: Readonly<Record<string, string>>): VariantRef {
  return { ...refOf(caller, params), variant_id: params['variantId'] ?? '' };
}

async function listPage(
  { postgres }: Platform,
  caller: ProjectSession,
  { cursor, limit, status }: ListCampaignsQuery,
): Promise<string> {
  const project = projectRefOf(caller);
  const { rows, next_cursor } = await readPage<Listed<CampaignRow>, TimePosition>(
    {
      scope: { kind: 'campaigns', project_id: project.project_id, filters: { status } },
      shape: TIME_AND_ID,
      positionOf: (row) => [String(row.created_us), row.campaign_id],
      select: (after, count) =>
        postgres.readAsTenant(project.tenant_id, (tx) => listCampaigns(tx, project, status, after, count)),
    },
    { cursor, limit },
  );
  return envelope(
    rows.map((row) => campaignResourceOf(project, row)),
    { next_cursor },
  );
}
