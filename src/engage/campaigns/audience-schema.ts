import { z } from 'zod';
import { nameSchemas } from '../../http/schema-names.ts';
import { SKIP_CODES } from '../messaging/send-row.ts';

/** `POST /v1/campaigns/:id/audience`. */
export const audienceBody = z
  .strictObject({
    exact: z
      .boolean()
      .default(false)
      .describe('Ask the gate about every member, which takes seconds for a million; else about 10,000'),
  })
  .optional();

const counter = z.int().min(0);

/** Whom a campaign would reach now. */
export const audienceResult = z.object({
  members: counter.describe('Of the segment; 0 for a triggered campaign, whose recipients events find later'),
  sendable: counter.describe('Those to whom a message may go out now'),
  by_code: z
    .partialRecord(z.enum(SKIP_CODES), counter)
    .describe('The others, by the first reason that the gate finds'),
  exact: z.boolean().describe('False: estimated from `counted` members'),
  counted: counter,
});

nameSchemas({ CampaignAudience: audienceResult, CampaignAudienceBody: audienceBody });
