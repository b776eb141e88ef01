import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { refOf } from '../../http/record.ts';
import type { Platform } from '../../platform/platform.ts';
import { campaignResourceOf } from './campaign-json.ts';
import { CAMPAIGN, requireCampaign } from './read.ts';
import { campaignResource } from './schema.ts';
import { retryFailed } from './retry-failed.ts';
import { countUnavailable } from './retry-failed-queries.ts';
import { cancelCampaign, sendCampaign } from './send.ts';

const write = { mode: 'session', role: 'editor', scope: 'project' } as const;

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
export function campaignSendEndpoints(deps: Platform): AnyEndpoint[] {
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
