import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { nameSchemas } from '../../http/field-schemas.ts';
import { refOf } from '../../http/record.ts';
import { SKIP_CODES } from '../messaging/send-row.ts';
import type { Platform } from '../../platform/platform.ts';
import { audienceOf } from './audience.ts';
import { CAMPAIGN, requireCampaign } from './read.ts';

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
});

nameSchemas({ CampaignAudience: audienceResult, CampaignAudienceBody: audienceBody });

/** Whom a campaign would reach, as the gate sees it before anything is sent. */
export function campaignAudienceEndpoints(deps: Platform): AnyEndpoint[] {
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
        return audienceOf(deps.postgres, ref, campaign, { now, exact, leaves: left }).then(
          envelope,
          (cause: unknown) => {
            // A count that is cancelled because nobody waits for it is not a fault of the service.
            throw left.aborted
              ? new ApiError('SERVICE_UNAVAILABLE', 'the caller has left', { cause })
              : cause;
          },
        );
      },
    }),
  ];
}
