import { ANY_ALERT, ANY_QUERY, ANY_REPORT } from './filled-insights.ts';
import { referring, type FilledProject } from './filled-project.ts';

/** The ids of a project that an attack may use. */
export type IdField = Exclude<keyof FilledProject, 'markers' | 'session' | 'api_key'>;

/** The attack surface of an endpoint. A new endpoint needs one line here, or the first test fails. */
export interface Case {
  /** The kind of id of each path parameter. */
  path?: Readonly<Record<string, IdField>>;
  /** A body that would be valid if all ids belonged together; `at` is the project under attack. */
  body?: (at: FilledProject) => object;
  /** A query that would be valid. */
  query?: string | ((at: FilledProject) => string);
  /** It changes nothing although it is no GET, so viewers may call it. */
  reads?: true;
  /** It shows data of every project of the tenant, so another project of the tenant is not foreign. */
  of_tenant?: true;
  /** It is about the user of the session, whichever tenants the headers name. */
  of_user?: true;
  /** The statuses for callers without a valid signature or link; form bodies are not sent here. */
  strangers?: number[];
}

const player = { path: { id: 'player_id' } } as const;
const tier = { path: { id: 'tier_id' } } as const;
const segment = { path: { id: 'segment_id' } } as const;
const campaign = { path: { id: 'campaign_id' } } as const;
const variant = { path: { id: 'campaign_id', variantId: 'variant_id' } } as const;
const bonus_campaign = { path: { id: 'bonus_campaign_id' } } as const;
const grant = { path: { id: 'grant_id' } } as const;
const journey = { path: { id: 'journey_id' } } as const;
const version = { path: { id: 'journey_id', version: 'journey_version' } } as const;
const run = { path: { id: 'run_journey_id', runId: 'run_id' } } as const;
const template = { path: { id: 'template_id' } } as const;
const bonus_template = { path: { id: 'bonus_template_id' } } as const;
const provider = { path: { id: 'provider_id' } } as const;
const adapter = { path: { id: 'adapter_id' } } as const;
const subscription = { path: { id: 'event_subscription_id' } } as const;
const insight = { path: { id: 'insight_id' } } as const;
const dashboard = { path: { id: 'dashboard_id' } } as const;
const alert = { path: { id: 'alert_id' } } as const;
const report = { path: { id: 'report_id' } } as const;
const key = { path: { projectId: 'project_id', id: 'key_id' } } as const;
/** A query of insights about the members of a segment. */
const figures = ({ segment_id }: FilledProject) => ({
  kind: 'trend',
  range: { last: { days: 2 } },
  series: [{ event: 'login' }],
  filter: { segment_id },
});
/** The cases by method and path. */
export const CASES: Record<string, Case> = {
  'GET /healthz': {},
  'GET /readyz': {},
  'GET /metrics': {},
  'GET /openapi.json': {},
  'POST /v1/internal/tenants': {
    body: () => ({ name: 'T', base_currency: 'EUR', project_name: 'P', admin_user_id: 'thief' }),
  },
  'POST /v1/internal/projects': { body: ({ tenant_id }) => ({ tenant_id, name: 'stolen' }) },
  'POST /v1/internal/memberships': {
    body: ({ tenant_id }) => ({ tenant_id, user_id: 'thief', role: 'owner' }),
  },
  'DELETE /v1/internal/memberships': {
    query: ({ tenant_id }) => `?tenant_id=${tenant_id}&user_id=guest`,
  },
  'POST /v1/internal/dev-sessions': { body: () => ({ user_id: 'owner-2' }) },
  'POST /v1/internal/dev-sign-ins': { body: () => ({ user_id: 'owner-2' }) },
  'POST /v1/internal/reencrypt-credentials': { body: () => ({}) },
  'GET /v1/internal/table-export': {
    query: ({ tenant_id, project_id }) => `?tenant_id=${tenant_id}&project_id=${project_id}&table=players`,
  },
  'POST /v1/internal/table-export': {
    body: ({ tenant_id, project_id }) => ({ tenant_id, project_id, table: 'segment_members' }),
  },
  'POST /v1/internal/reconcile': { body: ({ tenant_id }) => ({ tenant_id }) },
  'POST /v1/internal/bonus-reconcile': { body: ({ tenant_id }) => ({ tenant_id }) },
  'POST /v1/internal/bonus-grant': {
    body: ({ tenant_id, bonus_campaign_id, player_id }) => ({
      tenant_id,
      campaign_id: bonus_campaign_id,
      player_id,
    }),
  },
  'POST /v1/internal/fx-fetch': { body: () => ({}) },
  'POST /v1/internal/fx-rates': { body: ({ tenant_id }) => ({ tenant_id, rates: [{}] }) },
  'GET /v1/internal/dead-letters': {},
  'POST /v1/internal/dead-letters/replay': { body: () => ({ all: true }) },
  'GET /v1/dead-letters': {},
  'POST /v1/dead-letters/replay': { body: () => ({ all: true }) },
  'GET /v1/rejected-events': {},
  'GET /v1/overview': {},
  'GET /v1/series': { query: '?metric=events' },
  'POST /v1/test-events': {},
  'POST /v1/insights/query': {
    body: ({ segment_id }) => ({ ...ANY_QUERY, filter: { segment_id } }),
    reads: true,
  },
  'POST /v1/insights/players': {
    body: ({ segment_id }) => ({ query: { ...ANY_QUERY, filter: { segment_id } } }),
    reads: true,
  },
  'GET /v1/insights/metrics': {},
  'GET /v1/insights': {},
  'POST /v1/insights': { body: () => ({ name: 'stolen', query: ANY_QUERY }) },
  'GET /v1/insights/:id': insight,
  'PATCH /v1/insights/:id': { ...insight, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/insights/:id': insight,
  'GET /v1/dashboards': {},
  'POST /v1/dashboards': {
    body: ({ segment_id, insight_id }) => ({ name: 'stolen', segment_id, tiles: [{ insight_id }] }),
  },
  'GET /v1/dashboards/:id': dashboard,
  'PATCH /v1/dashboards/:id': { ...dashboard, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/dashboards/:id': dashboard,
  'GET /v1/alerts': {},
  'POST /v1/alerts': { body: () => ({ ...ANY_ALERT, name: 'stolen' }) },
  'POST /v1/alerts/preview': {
    body: ({ segment_id }) => ({
      query: { ...ANY_ALERT.query, filter: { segment_id } },
      interval: ANY_ALERT.interval,
      condition: ANY_ALERT.condition,
    }),
    reads: true,
  },
  'GET /v1/alerts/:id': alert,
  'PATCH /v1/alerts/:id': { ...alert, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/alerts/:id': alert,
  'GET /v1/reports': {},
  'POST /v1/reports': { body: ({ dashboard_id }) => ({ ...ANY_REPORT, name: 'stolen', dashboard_id }) },
  'POST /v1/reports/preview': {
    body: ({ dashboard_id }) => ({ name: 'stolen', dashboard_id, schedule: ANY_REPORT.schedule }),
    reads: true,
  },
  'GET /v1/reports/:id': report,
  'PATCH /v1/reports/:id': { ...report, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/reports/:id': report,
  'GET /v1/event-search': {},
  // Events have no ids among those of a project: test/console/events has the real ones.
  'GET /v1/event-trace/:ingestion_id/:index': {
    path: { ingestion_id: 'player_id', index: 'journey_version' },
  },
  'GET /v1/event-stream': { query: '?max_s=1' },
  'POST /v1/internal/recompute-player-segments': {
    body: ({ tenant_id, project_id, player_id }) => ({ tenant_id, project_id, player_ids: [player_id] }),
  },
  'POST /v1/internal/bonus-progress': {
    body: ({ tenant_id, project_id, player_id }) => ({
      tenant_id,
      project_id,
      bets: [
        {
          player_id,
          kind: 'casino',
          bet_id: 'stolen',
          state: 'placed',
          stake: 1,
          currency: 'EUR',
          occurred_at: new Date().toISOString(),
          revision: 1,
        },
      ],
    }),
  },
  'POST /v1/messaging-webhooks/sendgrid': { body: () => [], query: '?provider_id=x', strangers: [401] },
  'POST /v1/messaging-webhooks/twilio': { body: () => ({}), strangers: [415] },
  'GET /v1/unsubscribe': { query: '?token=x', strangers: [404] },
  'POST /v1/unsubscribe': { strangers: [404] },
  'GET /v1/me': {},
  'POST /v1/players/identify': { body: ({ player_id }) => ({ player_id, traits: { email: 'a@b.c' } }) },
  'POST /v1/events': { body: ({ player_id }) => ({ event: 'custom_x', player_id }) },
  'POST /v1/events/batch': { body: ({ player_id }) => ({ events: [{ event: 'custom_x', player_id }] }) },
  'GET /v1/projects/:projectId/api-keys': { path: { projectId: 'project_id' } },
  'POST /v1/projects/:projectId/api-keys': {
    path: { projectId: 'project_id' },
    body: () => ({ name: 'stolen' }),
  },
  'PATCH /v1/projects/:projectId/api-keys/:id': { ...key, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/projects/:projectId/api-keys/:id': key,
  'GET /v1/session': { of_tenant: true, of_user: true },
  'GET /v1/invitations': { of_tenant: true, of_user: true },
  'POST /v1/invitations/:tenant_id/accept': { path: { tenant_id: 'tenant_id' }, of_tenant: true },
  'DELETE /v1/invitations/:tenant_id': { path: { tenant_id: 'tenant_id' }, of_tenant: true },
  'GET /v1/projects': { of_tenant: true },
  'GET /v1/audit-log': { of_tenant: true },
  'GET /v1/tenant/config': {},
  'PATCH /v1/tenant/config': { body: () => ({ verticals: [] }) },
  'GET /v1/players': {},
  'GET /v1/players/search': { query: ({ email }) => `?q=${encodeURIComponent(email)}` },
  'GET /v1/compliance/exclusions': { query: ({ player_id }) => `?player_id=${player_id}` },
  'GET /v1/compliance/exclusions/:player_id/proof': { path: { player_id: 'player_id' } },
  'POST /v1/compliance/exclusions': {
    body: ({ player_id }) => ({ player_id, kind: 'self_exclusion', reason: 'stolen' }),
  },
  'POST /v1/compliance/exclusions/:player_id/lift': {
    path: { player_id: 'player_id' },
    body: () => ({ reason: 'stolen' }),
  },
  'GET /v1/compliance/period-proof': { query: '?from=2026-01-01T00:00:00Z&to=2026-12-31T00:00:00Z' },
  'GET /v1/search': { query: '?q=e' },
  'GET /v1/players/names': { query: ({ player_id }) => `?ids=${player_id}` },
  'GET /v1/compliance/blocked-sends': { query: ({ player_id }) => `?player_id=${player_id}` },
  'GET /v1/compliance/conflicts': {},
  'GET /v1/compliance/kyc-queue': {},
  'GET /v1/compliance/licence': { of_tenant: true },
  'POST /v1/compliance/conflicts/:id/resolve': { ...player, body: () => ({ note: 'stolen' }) },
  'POST /v1/players/:id/reveal': { ...player, body: () => ({}) },
  'POST /v1/players/:id/erase': { ...player, body: () => ({ reason: 'stolen', basis: 'none' }) },
  'POST /v1/players/:id/export': player,
  'GET /v1/players/:id/exports/:exportId': { path: { id: 'player_id', exportId: 'key_id' } },
  'GET /v1/players/:id/exports/:exportId/file': { path: { id: 'player_id', exportId: 'key_id' } },
  'POST /v1/insights/segment': {
    body: (at) => ({ query: figures(at), cell: {}, name: 'stolen', as: 'live' }),
  },
  'POST /v1/exports': { body: (at) => ({ query: figures(at), format: 'csv' }), reads: true },
  'GET /v1/exports/:id': { path: { id: 'key_id' } },
  'GET /v1/exports/:id/file': { path: { id: 'key_id' } },
  'GET /v1/erasures': { query: ({ player_id }) => `?player_id=${player_id}` },
  'GET /v1/players/:id/reachability': player,
  'GET /v1/players/:id/ledger': player,
  'GET /v1/players/:id/audit': player,
  'GET /v1/players/:id/segments': player,
  'GET /v1/segments/fields': {},
  'GET /v1/segments/:id/members': segment,
  'GET /v1/segments/:id/history': segment,
  'GET /v1/segments/:id/references': segment,
  'GET /v1/players/:id': player,
  'PATCH /v1/players/:id': { ...player, body: () => ({ email: 'stolen@example.com', status: 'banned' }) },
  'DELETE /v1/players/:id': player,
  'GET /v1/players/:id/timeline': player,
  'GET /v1/players/:id/deposits-daily': player,
  'POST /v1/players/:id/refresh-segments': player,
  'GET /v1/players/:id/kyc': player,
  'POST /v1/players/:id/kyc/request': { ...player, body: () => ({}) },
  'POST /v1/players/:id/kyc/approve': { ...player, body: () => ({ level: 3 }) },
  'POST /v1/players/:id/kyc/revoke': { ...player, body: () => ({ reason: 'stolen' }) },
  'POST /v1/adapters/:slug/webhooks/kyc-events': {
    path: { slug: 'adapter_slug' },
    body: ({ external_id }) => ({
      event: 'kyc.approved',
      event_id: '018f0000-0000-7000-8000-00000000000c',
      ts: new Date().toISOString(),
      player_external_id: external_id,
      level: 1,
    }),
    strangers: [401, 404],
  },
  'GET /v1/players/:id/tier': player,
  'POST /v1/players/:id/tier': { ...player, body: () => ({ to_code: 'base_mi', reason: 'stolen' }) },
  'POST /v1/internal/recompute-tier': {
    body: ({ tenant_id, player_id }) => ({ tenant_id, player_id, trigger: 'auto' }),
  },
  'GET /v1/vip-tiers': {},
  'GET /v1/vip-tiers/:id': tier,
  'GET /v1/tier-changes': {},
  // Not active: an active one would be given to the players of all projects of the tenant.
  'POST /v1/vip-tiers': { body: () => ({ code: 'mine_too', name: 'mine too', rank: 77, is_active: false }) },
  'PATCH /v1/vip-tiers/:id': { ...tier, body: () => ({ name: 'stolen' }) },
  'POST /v1/scores': {
    body: ({ player_id }) => ({
      model: 'churn-7',
      as_of: '2026-01-01T00:00:00Z',
      scores: [{ player_id, churn_score: 0.5 }],
    }),
  },
  'GET /v1/models': {},
  'GET /v1/segments': {},
  'POST /v1/segments': {
    body: ({ segment_id }) => ({ name: 'stolen', definition: referring(segment_id) }),
  },
  'POST /v1/segments/preview': {
    body: ({ segment_id }) => ({ definition: referring(segment_id), per_condition: true, reach: true }),
    reads: true,
  },
  'POST /v1/segments/backtest': {
    body: ({ segment_id }) => ({
      definition: referring(segment_id),
      as_of: new Date(Date.now() - 40 * 86_400_000).toISOString(),
      horizon_days: 30,
    }),
    reads: true,
  },
  'GET /v1/segments/:id': segment,
  'PATCH /v1/segments/:id': { ...segment, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/segments/:id': segment,
  'POST /v1/segments/:id/refresh': segment,
  'GET /v1/segments/:id/sample': segment,
  'GET /v1/segments/:id/explain': { ...segment, query: ({ player_id }) => `?player_id=${player_id}` },
  'GET /v1/players/:id/messages': player,
  'GET /v1/players/:id/journeys': player,
  'POST /v1/journeys/:id/trigger': { ...journey, body: ({ player_id }) => ({ player_id }) },
  'GET /v1/journeys/:id/runs': journey,
  'POST /v1/journeys/:id/runs/cancel': { ...journey, body: () => ({}) },
  'GET /v1/journeys/:id/runs/:runId': run,
  'POST /v1/journeys/:id/runs/:runId/cancel': run,
  'GET /v1/campaigns': {},
  'POST /v1/campaigns/:id/audience': { ...campaign, body: () => ({ exact: true }), reads: true },
  'GET /v1/campaigns/:id/series': campaign,
  'GET /v1/campaigns/:id/failures': campaign,
  'GET /v1/calendar': { query: '?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z' },
  'GET /v1/templates/:id/preview-frame': template,
  'GET /v1/templates/:id/references': template,
  'GET /v1/campaigns/:id': campaign,
  'POST /v1/campaigns': {
    body: ({ segment_id, template_id }) => ({ name: 'stolen', channel: 'email', segment_id, template_id }),
  },
  'PATCH /v1/campaigns/:id': { ...campaign, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/campaigns/:id': campaign,
  'POST /v1/campaigns/:id/duplicate': campaign,
  'GET /v1/campaigns/:id/variants': campaign,
  'POST /v1/campaigns/:id/variants': {
    ...campaign,
    body: ({ template_id }) => ({ name: 'stolen', template_id, weight: 1 }),
  },
  'PATCH /v1/campaigns/:id/variants/:variantId': { ...variant, body: () => ({ weight: 1 }) },
  'DELETE /v1/campaigns/:id/variants/:variantId': variant,
  'POST /v1/campaigns/:id/send': campaign,
  'POST /v1/campaigns/:id/retry-failed': campaign,
  'POST /v1/campaigns/:id/cancel': campaign,
  'GET /v1/campaigns/:id/stats': campaign,
  'GET /v1/campaigns/:id/recipients': campaign,
  'GET /v1/campaigns/:id/conversion-stats': campaign,
  'GET /v1/campaigns/:id/uplift': campaign,
  'GET /v1/journeys/:id/uplift': journey,
  'GET /v1/bonus-campaigns/:id/uplift': bonus_campaign,
  'GET /v1/experiments/global': {},
  'PUT /v1/experiments/global': { body: () => ({ holdout_percent: 5 }) },
  'GET /v1/journeys': {},
  'GET /v1/journeys/:id': journey,
  'POST /v1/journeys': {
    body: ({ segment_id }) => ({
      name: 'stolen',
      trigger: { kind: 'segment_entered', segment_id },
      graph: { start_node_id: 'end', nodes: [{ id: 'end', type: 'end' }] },
    }),
  },
  'PATCH /v1/journeys/:id': { ...journey, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/journeys/:id': journey,
  'POST /v1/journeys/:id/activate': journey,
  'POST /v1/journeys/:id/pause': journey,
  'GET /v1/journeys/:id/versions': journey,
  'GET /v1/journeys/:id/versions/:version': version,
  'GET /v1/journeys/:id/stats': journey,
  'POST /v1/journeys/:id/versions/:version/publish': version,
  'POST /v1/journeys/:id/migrate-runs': {
    ...journey,
    body: () => ({ from_version: 1, to_version: 2, unmapped: 'exit', dry_run: false }),
  },
  'POST /v1/journeys/:id/simulate': { ...journey, body: ({ player_id }) => ({ player_id }), reads: true },
  'GET /v1/templates': {},
  'POST /v1/templates': { body: () => ({ name: 'mine too', channel: 'sms', body: 'x' }) },
  'GET /v1/templates/:id': template,
  'PATCH /v1/templates/:id': { ...template, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/templates/:id': template,
  'POST /v1/templates/:id/preview': {
    ...template,
    body: ({ player_id }) => ({ player_id }),
    reads: true,
  },
  'POST /v1/templates/:id/send-test': {
    ...template,
    body: ({ player_id, provider_id }) => ({ recipient: 'thief@example.com', player_id, provider_id }),
  },
  'GET /v1/bonus-templates': {},
  'POST /v1/bonus-templates': {
    body: ({ segment_id }) => ({
      name: 'stolen',
      type: 'no_deposit',
      config: { amount: 1, currency: 'EUR' },
      eligible_segment_id: segment_id,
    }),
  },
  'GET /v1/bonus-templates/:id': bonus_template,
  'PATCH /v1/bonus-templates/:id': { ...bonus_template, body: () => ({ name: 'stolen' }) },
  'DELETE /v1/bonus-templates/:id': bonus_template,
  'GET /v1/bonus-campaigns': {},
  'POST /v1/bonus-campaigns': {
    body: ({ bonus_template_id, segment_id }) => ({
      name: 'stolen',
      template_id: bonus_template_id,
      segment_id,
    }),
  },
  'GET /v1/bonus-campaigns/:id': bonus_campaign,
  'PATCH /v1/bonus-campaigns/:id': { ...bonus_campaign, body: () => ({ name: 'stolen' }) },
  'POST /v1/bonus-campaigns/:id/issue': bonus_campaign,
  'GET /v1/bonus-grants': { query: ({ player_id }) => `?player_id=${player_id}` },
  'GET /v1/bonus-grants/:id': grant,
  'POST /v1/bonus-grants': {
    body: ({ bonus_template_id, player_id }) => ({
      template_id: bonus_template_id,
      player_id,
      granted_by_kind: 'api',
      granted_by_id: null,
    }),
  },
  'POST /v1/bonus-grants/:id/cancel': grant,
  'POST /v1/adapters/:slug/webhooks/bonus-events': {
    path: { slug: 'adapter_slug' },
    body: () => ({}),
    strangers: [401, 404],
  },
  'GET /v1/messaging-providers': {},
  'POST /v1/messaging-providers': { body: () => ({ name: 'mine too', channel: 'sms' }) },
  'GET /v1/messaging-providers/:id': provider,
  'PATCH /v1/messaging-providers/:id': { ...provider, body: () => ({ status: 'paused' }) },
  'DELETE /v1/messaging-providers/:id': provider,
  'GET /v1/messaging-providers/:id/messages': provider,
  'GET /v1/adapters': {},
  'POST /v1/adapters': { body: () => ({ slug: 'stolen', kind: 'sandbox', is_active: false }) },
  'GET /v1/adapters/:id': adapter,
  'PATCH /v1/adapters/:id': { ...adapter, body: () => ({ is_active: false }) },
  'POST /v1/adapters/:id/rotate-secret': adapter,
  'GET /v1/adapters/:id/bonuses': adapter,
  'GET /v1/webhook-secrets': {},
  'POST /v1/webhook-secrets': {},
  'DELETE /v1/webhook-secrets/:id': { path: { id: 'webhook_secret_id' } },
  'GET /v1/event-subscriptions': {},
  'POST /v1/event-subscriptions': {
    body: ({ segment_id }) => ({
      name: 'stolen',
      url: 'https://example.com/',
      events: ['segment.entered'],
      segment_ids: [segment_id],
    }),
  },
  'GET /v1/event-subscriptions/:id': subscription,
  'PATCH /v1/event-subscriptions/:id': {
    ...subscription,
    body: ({ segment_id }) => ({ segment_ids: [segment_id] }),
  },
  'DELETE /v1/event-subscriptions/:id': subscription,
  'GET /v1/event-subscriptions/:id/deliveries': subscription,
  'POST /v1/event-subscriptions/:id/pause': subscription,
  'POST /v1/event-subscriptions/:id/enable': subscription,
  'POST /v1/event-subscriptions/:id/rotate-secret': subscription,
  'POST /v1/event-subscriptions/:id/test': subscription,
  'POST /v1/event-subscriptions/:id/replay': {
    ...subscription,
    body: () => ({ from: new Date().toISOString() }),
  },
  'GET /v1/journeys/:id/deliveries': { path: { id: 'webhook_journey_id' } },
  'POST /v1/journeys/:id/deliveries/:eventId/retry': {
    path: { id: 'webhook_journey_id', eventId: 'webhook_event_id' },
  },
  'GET /v1/webhook-deliveries': {},
  'GET /v1/currencies/rates': { query: '?base=EUR&quote=USD' },
  'POST /v1/currencies/rates': { body: () => ({ base: 'EUR', quote: 'SEK', rate: '11.25' }) },
  'GET /v1/suppressions': {},
  'POST /v1/suppressions': { body: ({ email }) => ({ channel: 'email', address: email }) },
  // Nobody has a suppression of this id: test/engage/messaging/suppressions.test.ts has real ones.
  'DELETE /v1/suppressions/:id': { path: { id: 'player_id' } },
  'GET /v1/members': { of_tenant: true },
  'POST /v1/members': { body: () => ({ user_id: 'thief', role: 'viewer' }) },
  'PATCH /v1/members': { body: () => ({ user_id: 'guest', role: 'viewer' }) },
  'DELETE /v1/members': { query: '?user_id=guest' },
  // Sessions have no ids among those of a project: test/tenants/members.test.ts has real ones.
  'GET /v1/console-sessions': {},
  'DELETE /v1/console-sessions/:id': { path: { id: 'player_id' } },
  'GET /v1/system': { of_tenant: true },
  'GET /v1/currencies': {},
  'POST /v1/currencies': {
    body: () => ({ code: 'XTS', kind: 'fiat', scale: 2, symbol: 'X', display_name: 'Test currency' }),
  },
  // The codes of all tenants are alike: nobody has this one.
  'PATCH /v1/currencies/:code': { path: { code: 'player_id' }, body: () => ({ symbol: 'X' }) },
  'GET /v1/currencies/fx': { query: '?base=EUR&quote=USD' },
};
