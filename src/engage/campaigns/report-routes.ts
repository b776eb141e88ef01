import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { refOf } from '../../http/record.ts';
import type { Platform } from '../../platform/platform.ts';
import { CAMPAIGN, findCampaign } from './read.ts';
import { seriesOf } from './series.ts';
import { countCodes } from './stats-queries.ts';
import { campaignFailures, campaignSeries, seriesQuery } from './stats-schema.ts';

/** What a report of a campaign shows besides its statistics: what happened when, and why messages were not sent. */
export function campaignReportEndpoints(deps: Platform): AnyEndpoint[] {
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    errors: ['CAMPAIGN_NOT_FOUND'],
  } as const;
  return [
    endpoint({
      ...shared,
      path: '/v1/campaigns/:id/failures',
      load: 'slow',
      summary: 'Counts the skipped and failed messages by code',
      response: campaignFailures,
      handle: async ({ caller, params }) => {
        const ref = refOf(CAMPAIGN, caller, params['id']);
        await findCampaign(deps.postgres, ref);
        const rows = await deps.postgres.countAsTenant(ref.tenant_id, (tx) => countCodes(tx, ref));
        const by_code = Object.fromEntries(
          rows.map(({ error_code, messages }) => [error_code, Number(messages)]),
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
