import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import { refOf } from '../../http/record.ts';
import { resourceEndpoints } from '../../http/resource-endpoints.ts';
import { isOverLimits } from '../../platform/clickhouse/port.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  campaignResourceOf,
  variantResourceOf,
  statsOf,
  CAMPAIGN,
  findCampaign,
  requireCampaign,
} from './read.ts';
import { changeCampaign, createCampaign, deleteCampaign } from './change.ts';
import { duplicateCampaign } from './duplicate.ts';
import { listCampaigns, selectLiveVariants, type CampaignRef } from './queries.ts';
import {
  CAMPAIGN_FILTERS,
  campaignResource,
  COMPUTED_FIELDS,
  COMPUTED_VARIANT_FIELDS,
  createCampaignBody,
  createVariantBody,
  duplicateCampaignBody,
  patchCampaignBody,
  patchVariantBody,
  variantResource,
} from './schema.ts';
import type { VariantRef } from './variant-queries.ts';
import { changeVariant, createVariant, deleteVariant } from './variants.ts';
import { nameSchemas } from '../../http/field-schemas.ts';
import { retryFailed } from './retry-failed.ts';
import { countUnavailable } from './retry-failed-queries.ts';
import { cancelCampaign, sendCampaign } from './send.ts';
import { ApiError } from '../../errors.ts';
import { FAILURE_CODES, SKIP_CODES, sendResourceOf } from '../messaging/send-row.ts';
import { audienceOf } from './audience.ts';
import { listOf } from '../../http/keyset-page.ts';
import { sendResource } from '../messaging/schema.ts';
import { RecentAnswers } from '../../analytics/recent-answers.ts';
import { isUuid } from '../../platform/ids.ts';
import { conversionStatsOf } from './conversion-stats.ts';
import { CampaignCounts } from './counts.ts';
import { listRecipients } from './stats-queries.ts';
import {
  campaignStats,
  conversionStats,
  filterOf,
  recipientsQuery,
  type RecipientsQuery,
  campaignFailures,
  campaignSeries,
  seriesQuery,
} from './stats-schema.ts';
import { upliftEndpoint } from '../experiments/uplift-endpoint.ts';
import type { Effects } from '../experiments/uplift.ts';
import { comparisonOfCampaign, upliftQuery } from './uplift.ts';
import { visibleEffectOf } from './visible-effect.ts';
import { seriesOf } from './series.ts';

const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;

/** What reports share: they ask the same at once. */
type Reports = Platform & { counts: CampaignCounts; answers: RecentAnswers };

/** Campaigns and their variants (spec part 4), whom they would reach, sending them, and what their reports show. */
export function campaignEndpoints(deps: Platform & { effects: Effects }): AnyEndpoint[] {
  const reports = {
    ...deps,
    counts: new CampaignCounts(deps),
    answers: new RecentAnswers(deps, { only_dear: true }),
  };
  return [
    ...ownEndpoints(deps),
    duplicateEndpoint(deps),
    ...variantEndpoints(deps),
    ...audienceEndpoints(deps),
    ...reportEndpoints(reports),
    ...sendEndpoints(deps),
    ...statsEndpoints(reports),
    upliftEndpoint(deps, {
      collection: 'campaigns',
      not_found: 'CAMPAIGN_NOT_FOUND',
      query: upliftQuery,
      of: async (caller, id, query) => {
        const ref = refOf(CAMPAIGN, caller, id);
        return comparisonOfCampaign(deps.postgres, ref, await findCampaign(deps.postgres, ref), query);
      },
    }),
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

function duplicateEndpoint(deps: Platform): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/campaigns/:id/duplicate',
    summary: 'Creates a draft with the audience, the content, the variants and the goal of a campaign',
    audit: { resource: 'campaign', action: 'create' },
    access: write,
    body: duplicateCampaignBody,
    status: 201,
    response: campaignResource,
    errors: ['CAMPAIGN_NOT_FOUND'],
    handle: async ({ caller, params, body, audit }) => {
      const ref = refOf(CAMPAIGN, caller, params['id']);
      return envelope(campaignResourceOf(await duplicateCampaign({ ...deps, audit }, ref, body?.name), ref));
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

const sendResult = z.object({
  campaign_id: z.uuid(),
  recipients_total: z.int(),
  enqueued: z.int(),
  no_recipient: z.int(),
  enqueued_at: z.iso.datetime(),
});

const retryResult = z.object({
  campaign_id: z.uuid(),
  queued: z.int(),
  enqueued_at: z.iso.datetime(),
});
nameSchemas({ CampaignSendResult: sendResult, CampaignRetryResult: retryResult });

/** Sending and cancelling campaigns (spec part 4). */
function sendEndpoints(deps: Platform): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/campaigns/:id/send',
      load: 'slow',
      audit: { resource: 'campaign', action: 'send' },
      summary:
        'Sends the campaign to the members of its segment; a large segment continues in the background',
      access: write,
      response: sendResult,
      idempotent: true,
      errors: [
        'CAMPAIGN_NOT_FOUND',
        'CAMPAIGN_INVALID_STATUS',
        'TEMPLATE_NOT_ACTIVE',
        'PROVIDER_NOT_CONFIGURED',
        'VALIDATION_ERROR',
      ],
      handle: ({ caller, params, once, audit }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        return sendCampaign({ ...deps, audit }, ref, (start) =>
          once(ref.tenant_id, async (tx) => envelope(await start(tx))),
        );
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/campaigns/:id/retry-failed',
      load: 'slow',
      audit: { resource: 'campaign', action: 'retry_failed' },
      summary:
        'Queues the messages with PROVIDER_UNAVAILABLE again; the campaign is sending until they are decided',
      access: write,
      response: retryResult,
      idempotent: true,
      errors: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_INVALID_STATUS', 'PROVIDER_NOT_CONFIGURED'],
      handle: async ({ caller, params, once, audit }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        const now = new Date(deps.clock.now_ms());
        const unavailable = await countUnavailable(deps.postgres, ref);
        return once(ref.tenant_id, async (tx) =>
          envelope(await retryFailed(tx, ref, unavailable, now, { ...deps, audit })),
        );
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/campaigns/:id/cancel',
      audit: { resource: 'campaign', action: 'cancel' },
      summary:
        'Cancels the campaign: messages that a provider already has are delivered, all others are skipped',
      access: write,
      response: campaignResource,
      errors: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_INVALID_STATUS'],
      handle: async ({ caller, params, audit }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        await cancelCampaign({ ...deps, audit }, ref);
        return envelope(campaignResourceOf(await requireCampaign(deps.postgres, ref), ref));
      },
    }),
  ];
}

/** `POST /v1/campaigns/:id/audience`. */
const audienceBody = z
  .strictObject({
    exact: z
      .boolean()
      .default(false)
      .describe('Ask the gate about every member, which takes seconds for a million; else about 10,000'),
  })
  .optional();

const counter = z.int().min(0);

/** Whom a campaign would reach now. */
const audienceResult = z.object({
  members: counter.describe('Of the segment; 0 for a triggered campaign, whose recipients events find later'),
  sendable: counter.describe('Those to whom a message may go out now'),
  by_code: z
    .partialRecord(z.enum(SKIP_CODES), counter)
    .describe('The others, by the first reason that the gate finds'),
  exact: z.boolean().describe('False: estimated from `counted` members'),
  counted: counter,
  send_time: z
    .object({ own_hour: counter, plain: counter })
    .nullable()
    .describe('The sendable; null: all at once'),
  effect: z
    .object({
      held_out: counter.describe('How many of the sendable are held out, on average'),
      base_rate: z
        .number()
        .describe('The share of members with the goal event in the last `goal_attribution_days`'),
      smallest_effect: z
        .number()
        .nullable()
        .describe('The smallest difference of rates that can be expected to show: 0.025 is 2.5 points'),
      power: z.number().nullable().describe('In which share of such campaigns this difference is found'),
    })
    .nullable()
    .describe('Null without a holdout or a goal, and for a triggered campaign'),
});

nameSchemas({ CampaignAudience: audienceResult, CampaignAudienceBody: audienceBody });

/** Whom a campaign would reach, as the gate sees it before anything is sent. */
function audienceEndpoints(deps: Platform): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/campaigns/:id/audience',
      load: 'slow',
      audit: { none: 'it changes nothing' },
      summary:
        'Counts whom the campaign would reach now, and why it would not reach the others; sends nothing',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      body: audienceBody,
      response: audienceResult,
      errors: ['CAMPAIGN_NOT_FOUND'],
      handle: async ({ caller, params, body, leaves }) => {
        const left = leaves();
        const ref = refOf(CAMPAIGN, caller, params['id']);
        const campaign = await requireCampaign(deps.postgres, ref);
        const now = new Date(deps.clock.now_ms());
        const exact = body?.exact === true;
        const found = audienceOf(deps, ref, campaign, { now, exact, leaves: left });
        const whole = found.then(async (audience) => {
          const effect = visibleEffectOf(deps, ref, campaign, audience).catch((error: unknown) => {
            if (!isOverLimits(error)) throw error;
            return null;
          });
          return { ...audience, effect: await effect };
        });
        return whole.then(envelope, (cause: unknown) => {
          // A count that is cancelled because nobody waits for it is not a fault of the service.
          throw left.aborted ? new ApiError('SERVICE_UNAVAILABLE', 'the caller has left', { cause }) : cause;
        });
      },
    }),
  ];
}

/** The statistics and recipients of campaigns (spec part 4). */
function statsEndpoints(deps: Reports): AnyEndpoint[] {
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    errors: ['CAMPAIGN_NOT_FOUND'],
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/stats',
      summary: 'Counts the messages by stage; a message counts in every stage that it reached',
      response: campaignStats,
      handle: async ({ caller, params }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        const campaign = await findCampaign(deps.postgres, ref);
        return envelope(statsOf(campaign, await deps.counts.of(ref, campaign)));
      },
    }),
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/recipients',
      summary: 'The messages of a campaign, including skipped ones, by player',
      query: recipientsQuery,
      response: z.array(sendResource),
      shape: 'list',
      handle: ({ caller, params, query }) =>
        recipientsPage(deps, refOf(CAMPAIGN, caller, params['id']), query),
    }),
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/conversion-stats',
      load: 'elsewhere',
      summary:
        'Counts per variant the players who got a message, and those of them who converted within the attribution window',
      response: conversionStats,
      handle: async ({ caller, params }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        const campaign = await findCampaign(deps.postgres, ref);
        return envelopeOfText(await conversionStatsOf(deps, ref, campaign));
      },
    }),
  ];
}

async function recipientsPage(
  { postgres }: Platform,
  ref: CampaignRef,
  query: RecipientsQuery,
): Promise<string> {
  await findCampaign(postgres, ref);
  return listOf(postgres, ref, query, {
    kind: 'recipients',
    bound: { campaign_id: ref.campaign_id },
    shape: [isUuid, isUuid],
    select: (tx, after, limit, { status }) => listRecipients(tx, ref, filterOf(status), after, limit),
    positionOf: (row) => [row.player_id, row.send_id],
    show: sendResourceOf,
  });
}

/** What a report of a campaign shows besides its statistics: what happened when, and why messages were not sent. */
function reportEndpoints(deps: Reports): AnyEndpoint[] {
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    errors: ['CAMPAIGN_NOT_FOUND'],
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/failures',
      summary: 'Counts the skipped and failed messages by code',
      response: campaignFailures,
      handle: async ({ caller, params }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        const campaign = await findCampaign(deps.postgres, ref);
        const counts = await deps.counts.of(ref, campaign);
        const by_code = Object.fromEntries(
          [...SKIP_CODES, ...FAILURE_CODES].flatMap((code) => (counts[code] ? [[code, counts[code]]] : [])),
        );
        return envelope({ by_code });
      },
    }),
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/series',
      load: 'elsewhere',
      summary: 'The outcomes of the messages over time, by hour or day',
      query: seriesQuery,
      response: campaignSeries,
      handle: async ({ caller, params, query }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        const campaign = await findCampaign(deps.postgres, ref);
        return envelope(await seriesOf(deps, ref, campaign, query.interval));
      },
    }),
  ];
}
