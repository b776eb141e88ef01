import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import { listOf } from '../../http/keyset-page.ts';
import { sendResource } from '../messaging/schema.ts';
import { sendResourceOf } from '../messaging/send-row.ts';
import { refOf } from '../../http/record.ts';
import { isUuid } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { conversionStatsOf } from './conversion-stats.ts';
import type { CampaignRef } from './queries.ts';
import { CAMPAIGN, findCampaign } from './read.ts';
import { countSends, listRecipients } from './stats-queries.ts';
import {
  campaignStats,
  conversionStats,
  filterOf,
  recipientsQuery,
  type RecipientsQuery,
} from './stats-schema.ts';
import { statsOf } from './campaign-json.ts';

/** The statistics and recipients of campaigns (spec part 4). */
export function campaignStatsEndpoints(deps: Platform): AnyEndpoint[] {
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    errors: ['CAMPAIGN_NOT_FOUND'],
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/stats',
      load: 'slow',
      summary: 'Counts the messages by stage; a message counts in every stage that it reached',
      response: campaignStats,
      handle: async ({ caller, params }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        const campaign = await findCampaign(deps.postgres, ref);
        const [counted] = await deps.postgres.countAsTenant(ref.tenant_id, (tx) => countSends(tx, ref));
        if (counted === undefined) throw new Error('an aggregate gave no row');
        return envelope(statsOf(campaign, counted));
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
