import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import { refOf } from '../../http/record.ts';
import { resourceEndpoints } from '../../http/resource-endpoints.ts';
import type { Platform } from '../../platform/platform.ts';
import { campaignAudienceEndpoints } from './audience-routes.ts';
import { campaignResourceOf, variantResourceOf } from './campaign-json.ts';
import { changeCampaign, createCampaign, deleteCampaign } from './change.ts';
import { listCampaigns, selectLiveVariants } from './queries.ts';
import { CAMPAIGN, findCampaign } from './read.ts';
import { campaignReportEndpoints } from './report-routes.ts';
import {
  CAMPAIGN_FILTERS,
  campaignResource,
  COMPUTED_FIELDS,
  COMPUTED_VARIANT_FIELDS,
  createCampaignBody,
  createVariantBody,
  patchCampaignBody,
  patchVariantBody,
  variantResource,
} from './schema.ts';
import type { VariantRef } from './variant-queries.ts';
import { changeVariant, createVariant, deleteVariant } from './variants.ts';

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;

/** Campaigns and their variants (spec part 4), whom they would reach, and what their reports show. */
export function campaignEndpoints(deps: Platform): AnyEndpoint[] {
  return [
    ...ownEndpoints(deps),
    ...variantEndpoints(deps),
    ...campaignAudienceEndpoints(deps),
    ...campaignReportEndpoints(deps),
  ];
}

function ownEndpoints(deps: Platform): AnyEndpoint[] {
  return resourceEndpoints(deps, {
    collection: 'campaigns',
    kind: CAMPAIGN,
    audited: 'campaign',
    writer: 'editor',
    response: campaignResource,
    toJson: campaignResourceOf,
    image: campaignResourceOf,
    filters: CAMPAIGN_FILTERS,
    list: listCampaigns,
    find: ({ postgres }, ref) => findCampaign(postgres, ref),
    create: {
      summary: 'Creates a draft of a campaign; with a time in `schedule_at` it is scheduled',
      body: createCampaignBody,
      read_only: COMPUTED_FIELDS,
      run: createCampaign,
    },
    change: {
      summary: 'Changes a draft or scheduled campaign; `schedule_at` null makes it a draft again',
      body: patchCampaignBody,
      read_only: COMPUTED_FIELDS,
      errors: ['CAMPAIGN_INVALID_STATUS'],
      run: changeCampaign,
    },
    remove: {
      summary: 'Soft delete of a draft or scheduled campaign',
      errors: ['CAMPAIGN_INVALID_STATUS'],
      run: deleteCampaign,
    },
  });
}

function variantEndpoints(deps: Platform): AnyEndpoint[] {
  const path = '/v1/campaigns/:id/variants';
  const one = { path: `${path}/:variantId`, access: write, response: variantResource } as const;
  const unknown = ['CAMPAIGN_NOT_FOUND', 'VARIANT_NOT_FOUND'] as const;
  return [
    endpoint({
      method: 'GET',
      path,
      summary:
        'The variants of a campaign by sort_order; a campaign without variants of its own has `default`',
      access: read,
      response: z.array(variantResource),
      errors: ['CAMPAIGN_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        const { campaign_id } = await findCampaign(deps.postgres, ref);
        const rows = await deps.postgres.readAsTenant(ref.tenant_id, (tx) => selectLiveVariants(tx, ref));
        return envelope(rows.map((row) => variantResourceOf(campaign_id, row)));
      },
    }),
    endpoint({
      method: 'POST',
      path,
      summary: 'Adds a variant to a draft or scheduled campaign; the first one replaces the default variant',
      audit: { resource: 'campaign_variant', action: 'create' },
      access: write,
      body: createVariantBody,
      refuse: refuseUnwritable(COMPUTED_VARIANT_FIELDS),
      status: 201,
      response: variantResource,
      errors: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_INVALID_STATUS', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        return envelope(
          variantResourceOf(ref.campaign_id, await createVariant({ ...deps, audit }, ref, body)),
        );
      },
    }),
    endpoint({
      ...one,
      method: 'PATCH',
      summary: 'Changes a variant before the campaign is sent; later only the weight, for new messages',
      audit: { resource: 'campaign_variant', action: 'update' },
      body: patchVariantBody,
      refuse: refuseUnwritable(COMPUTED_VARIANT_FIELDS),
      errors: [...unknown, 'CAMPAIGN_INVALID_STATUS', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = variantRefOf(caller, params);
        return envelope(
          variantResourceOf(ref.campaign_id, await changeVariant({ ...deps, audit }, ref, body)),
        );
      },
    }),
    endpoint({
      ...one,
      method: 'DELETE',
      summary: 'Deletes a variant; after the last one the default variant returns, which cannot be deleted',
      audit: { resource: 'campaign_variant', action: 'delete' },
      errors: [...unknown, 'CAMPAIGN_INVALID_STATUS', 'CONFLICT'],
      handle: async ({ caller, params, audit }) => {
        const ref = variantRefOf(caller, params);
        return envelope(variantResourceOf(ref.campaign_id, await deleteVariant({ ...deps, audit }, ref)));
      },
    }),
  ];
}

function variantRefOf(caller: ProjectSession, params: Readonly<Record<string, string>>): VariantRef {
  return { ...refOf(CAMPAIGN, caller, params['id']), variant_id: params['variantId'] ?? '' };
}
