import { z } from 'zod';
import { decodeCursor, encodeCursor, type CursorScope } from '../http/cursor.ts';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../http/endpoint.ts';
import { envelope, envelopeOfText } from '../http/envelope.ts';
import { sendResource } from '../messaging/schema.ts';
import { sendResourceOf } from '../messaging/send.ts';
import { isUuid } from '../platform/ids.ts';
import type { Platform } from '../wiring/platform.ts';
import { conversionStatsOf } from './conversion-stats.ts';
import type { CampaignRef } from './queries.ts';
import { findCampaign } from './read.ts';
import { countSends, listRecipients } from './stats-queries.ts';
import {
  campaignStats,
  conversionStats,
  filterOf,
  recipientsQuery,
  type RecipientsQuery,
} from './stats-schema.ts';
import { statsOf } from './stats.ts';

/** What became of campaigns (spec part 4). */
export function campaignStatsEndpoints(deps: Platform): AnyEndpoint[] {
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    status: 200,
    errors: ['CAMPAIGN_NOT_FOUND'],
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/stats',
      summary: 'How far the messages have come; each counts for every stage it has been through',
      response: campaignStats,
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        const campaign = await findCampaign(deps.postgres, ref);
        const [counted] = await deps.postgres.readAsTenant(ref.tenant_id, (tx) => countSends(tx, ref));
        if (counted === undefined) throw new Error('an aggregate gave no row');
        return envelope(statsOf(campaign, counted));
      },
    }),
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/recipients',
      summary: 'The messages of a campaign, also those that were skipped, by player',
      query: recipientsQuery,
      response: z.array(sendResource),
      shape: 'list',
      handle: ({ caller, params, query }) => recipientsPage(deps, refOf(caller, params), query),
    }),
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/conversion-stats',
      summary: 'Per variant: who was sent a message, and who of them came to the goal in time',
      response: conversionStats,
      handle: async ({ caller, params }) => {
        const ref = refOf(caller, params);
        const campaign = await findCampaign(deps.postgres, ref);
        return envelopeOfText(await conversionStatsOf(deps, ref, campaign));
      },
    }),
  ];
}

/** The id in lower case, as Postgres writes it. */
function refOf(
  { tenant_id, project_id }: ProjectSession,
  params: Readonly<Record<string, string>>,
): CampaignRef {
  return { tenant_id, project_id, campaign_id: (params['id'] ?? '').toLowerCase() };
}

/** The player, then the send row. */
const CURSOR_SHAPE = [isUuid, isUuid];

async function recipientsPage(
  { postgres }: Platform,
  ref: CampaignRef,
  { cursor, limit, status }: RecipientsQuery,
): Promise<string> {
  const { project_id, campaign_id } = ref;
  const scope: CursorScope = { kind: 'recipients', project_id, filters: { campaign_id, status } };
  const [player_id, send_id] = cursor === undefined ? [] : decodeCursor(scope, cursor, CURSOR_SHAPE);
  const after = player_id && send_id ? { player_id, send_id } : undefined;
  await findCampaign(postgres, ref);
  const found = await postgres.readAsTenant(ref.tenant_id, (tx) =>
    listRecipients(tx, ref, filterOf(status), after, limit + 1),
  );
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  const next_cursor = last === undefined ? null : encodeCursor(scope, [last.player_id, last.send_id]);
  return envelope(page.map(sendResourceOf), { next_cursor });
}
