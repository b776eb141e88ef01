import fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { tableExportEndpoints } from '../analytics/export/routes.ts';
import { activeAdapterSecrets, reencryptAdapterSecrets } from '../adapters/secrets.ts';
import type { Platforms } from '../adapters/platforms.ts';
import { adapterEndpoints } from '../adapters/routes.ts';
import { bonusCampaignEndpoints } from '../bonuses/campaigns/routes.ts';
import { bonusGrantEndpoints } from '../bonuses/grants/routes.ts';
import { bonusEventsEndpoint } from '../bonuses/grants/webhook.ts';
import { reencryptClientSecrets } from '../tenants/api-keys/reencrypt.ts';
import { apiKeyEndpoints } from '../tenants/api-keys/routes.ts';
import type { Authenticators } from '../http/auth/authenticators.ts';
import { bonusReconcileEndpoints } from '../bonuses/reconcile/routes.ts';
import { warningsJob } from '../bonuses/templates/warnings-job.ts';
import type { OnLicenseChange } from '../tenants/config/change.ts';
import type { ReferenceLookUps } from '../engage/journeys/graph/reference-queries.ts';
import { offerFaults } from '../bonuses/templates/offers.ts';
import { grantableTemplates } from '../bonuses/templates/read.ts';
import { bonusTemplateEndpoints } from '../bonuses/templates/routes.ts';
import { wageringEndpoints } from '../bonuses/wagering/routes.ts';
import { journeyEndpoints } from '../engage/journeys/routes.ts';
import { journeyStatsEndpoints } from '../engage/journeys/stats-routes.ts';
import { journeyRunEndpoints } from '../engage/journeys/runs/routes.ts';
import { simulationEndpoints } from '../engage/journeys/simulation/routes.ts';
import { reencryptWebhookSecrets } from '../engage/webhooks/reencrypt.ts';
import { reencryptWebhookHeaders } from '../engage/webhooks/sealing.ts';
import { eventSubscriptionEndpoints } from '../engage/subscriptions/routes.ts';
import { webhookDeliveryEndpoints } from '../engage/webhooks/routes.ts';
import { countSecrets } from '../engage/webhooks/secret-queries.ts';
import { webhookSecretEndpoints } from '../engage/webhooks/secret-routes.ts';
import { calendarEndpoints } from '../engage/calendar/routes.ts';
import { campaignEndpoints } from '../engage/campaigns/routes.ts';
import type { Config } from '../config.ts';
import { consoleRoutes } from '../console/routes.ts';
import { redirectBrowsers } from '../console/static.ts';
import { complianceEndpoints } from '../console/compliance/routes.ts';
import { eventEndpoints } from '../console/events/routes.ts';
import { experimentEndpoints } from '../engage/experiments/routes.ts';
import { Effects } from '../engage/experiments/uplift.ts';
import { EngineTurns } from '../analytics/engine-turns.ts';
import { overviewEndpoints } from '../console/overview/routes.ts';
import { searchEndpoints } from '../console/search/routes.ts';
import { insightExportEndpoints } from '../analytics/insights/exports/routes.ts';
import { alertEndpoints } from '../analytics/insights/alerts/routes.ts';
import { reportEndpoints } from '../analytics/insights/reports/routes.ts';
import { savedInsightEndpoints } from '../analytics/insights/saved/routes.ts';
import { insightEndpoints } from '../analytics/insights/routes.ts';
import { InsightRunner } from '../analytics/insights/runner.ts';
import { savingEndpoints } from '../analytics/insights/saving/routes.ts';
import { systemEndpoints } from '../console/system/routes.ts';
import { readTenantBacklogs } from './backlogs.ts';
import { isEventName } from '../ingest/events/validate.ts';
import { rejectedEventEndpoints } from '../ingest/rejected/routes.ts';
import { deadLetterEndpoints } from '../ingest/dead-letters/routes.ts';
import { fetchRatesOfNewTenant } from '../ledger/fx/fetch-job.ts';
import { fxEndpoints } from '../ledger/fx/routes.ts';
import { erasureEndpoints } from '../players/erasure/routes.ts';
import { exportEndpoints } from '../players/export/routes.ts';
import { identityEndpoints } from '../players/identity/routes.ts';
import { callbackEndpoints } from '../engage/messaging/callbacks/routes.ts';
import { readReach } from '../engage/messaging/reachability/read.ts';
import { suppressionEndpoints } from '../engage/messaging/suppressions/routes.ts';
import { playerMessageEndpoints } from '../engage/messaging/routes.ts';
import { testMessageEndpoints } from '../engage/messaging/test-messages/routes.ts';
import { unsubscribeEndpoints } from '../engage/messaging/unsubscribe/routes.ts';
import { notifyQueuesOf } from '../engage/messaging/wake-queries.ts';
import { reencryptEndpoints } from '../engage/providers/reencrypt-routes.ts';
import { messagingProviderEndpoints } from '../engage/providers/routes.ts';
import { kycEndpoints } from '../players/kyc/routes.ts';
import { playerHistoryEndpoints } from '../players/history/routes.ts';
import { retierUnderOtherLicense } from '../players/tiers/change.ts';
import { tierEndpoints } from '../players/tiers/routes.ts';
import { playerEndpoints } from '../players/profile/routes.ts';
import { reconcileEndpoints } from '../reconcile/routes.ts';
import { scoreEndpoints } from '../players/scores/routes.ts';
import { backtestEndpoints } from '../segments/backtest/routes.ts';
import { segmentReadingEndpoints } from '../segments/reading-routes.ts';
import { segmentEndpoints } from '../segments/routes.ts';
import { SEGMENT_REFERENCES } from './segment-references.ts';
import { templateEndpoints } from '../engage/templates/routes.ts';
import { auditLogEndpoints } from '../tenants/audit/routes.ts';
import { createAuditWriter } from '../tenants/audit/write.ts';
import { tenantConfigEndpoints } from '../tenants/config/routes.ts';
import { consoleSessionEndpoints } from '../tenants/console-sessions/routes.ts';
import { invitationEndpoints, memberEndpoints } from '../tenants/members/routes.ts';
import { sessionEndpoints } from '../tenants/session/routes.ts';
import type { TenantCapabilityCache } from '../tenants/config/capability-cache.ts';
import { tenantEndpoints } from '../tenants/routes.ts';
import { packageVersion } from '../package-root.ts';
import type { Platform } from '../platform/platform.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { EncryptionKeys } from '../platform/encryption.ts';
import { endpoint, type AnyEndpoint, type DocumentedEndpoint } from '../http/endpoint.ts';
import { installAnswerHeaders, serverOptions } from '../http/server-options.ts';
import { installCors } from '../http/cors.ts';
import { installErrorHandling } from '../http/error-handler.ts';
import { installLoadShedding } from '../http/load-shedding.ts';
import { installRequestMetrics } from '../http/request-metrics.ts';
import { healthEndpoints } from '../http/health.ts';
import { PLAYER_DEPENDENTS } from './player-dependents.ts';
import { INGESTION_DOCS } from './ingestion-docs.ts';
import { installJsonBody } from '../http/json-body.ts';
import { openApiDocument } from '../http/openapi.ts';
import { readExamples } from '../http/openapi-examples.ts';
import { PreparedAnswer } from '../http/prepared-answer.ts';
import type { Readiness } from '../http/readiness.ts';
import { registerEndpoints } from '../http/register.ts';

/** The dependencies of the API host in addition to the platform. */
export interface ApiDeps {
  auth: Authenticators;
  notifications: Notifications;
  capabilities: TenantCapabilityCache;
  /** The keys that encrypt the credentials of messaging providers. */
  credentials_keys: EncryptionKeys;
  /** The key that signs unsubscribe links. */
  link_key: Buffer;
  /** The key under which protections of erased people are kept. */
  erasure_key: Buffer;
  /** What `/readyz` answers. */
  readiness: Readiness;
  /** The platforms that bonuses are issued through. */
  platforms: Platforms;
}

/** What follows from other licence rules: who may have a tier with a host, and what bonus templates break. */
function underOtherRules(platform: Platform): OnLicenseChange {
  const retier = retierUnderOtherLicense(platform);
  return async (tx, tenant_id) => {
    await retier(tx, tenant_id);
    await platform.jobs.add(tx, warningsJob(tenant_id));
  };
}

function journeyLookUps({ clock }: Platform): ReferenceLookUps {
  return {
    hasWebhookSecret: async (tx, project) =>
      (await countSecrets(tx, project)) > 0 || (await activeAdapterSecrets(tx, [project])).length > 0,
    bonusTemplates: grantableTemplates,
    offerFaults: (tx, project, offers) => offerFaults(tx, project, offers, new Date(clock.now_ms())),
  };
}

/** Insights and effects share the turns and the seconds of ClickHouse. */
function withEffects(platform: Platform) {
  const turns = new EngineTurns(platform);
  return { ...platform, turns, effects: new Effects({ ...platform, turns }) };
}

/** What else is encrypted with the key of the messaging providers' credentials. */
const REENCRYPTED = [
  reencryptWebhookSecrets,
  reencryptWebhookHeaders,
  reencryptAdapterSecrets,
  reencryptClientSecrets,
];

/** Every endpoint of the API host, for the app itself, its documentation and its tests. */
export function apiEndpoints(platform: Platform, config: Config, deps: ApiDeps): AnyEndpoint[] {
  const { auth, notifications, capabilities, credentials_keys, link_key, erasure_key } = deps;
  const messaging = { ...platform, credentials_keys, link_key, public_url: config.public_url };
  const of_effects = withEffects(platform);
  const endpoints = [
    ...healthEndpoints(platform, deps.readiness),
    ...tenantEndpoints({
      ...platform,
      notifications,
      auth,
      onTenantCreated: fetchRatesOfNewTenant(platform.jobs),
    }),
    ...sessionEndpoints({ ...platform, service_env: config.service_env }),
    ...settingsEndpoints(platform, deps),
    ...tenantConfigEndpoints({
      ...platform,
      notifications,
      capabilities,
      onLicenseChange: underOtherRules(platform),
      isEventName,
    }),
    ...apiKeyEndpoints({ ...messaging, notifications, auth, service_env: config.service_env }),
    ...identityEndpoints({ ...platform, dependents: PLAYER_DEPENDENTS, erasure_key }),
    ...playerEndpoints({ ...platform, dependents: PLAYER_DEPENDENTS, erasure_key }),
    ...erasureEndpoints(platform),
    ...exportEndpoints({ ...platform, credentials_keys }),
    ...insightExportEndpoints({ ...platform, credentials_keys }),
    ...kycEndpoints({ ...platform, credentials_keys, platforms: deps.platforms }),
    ...playerHistoryEndpoints(platform),
    ...tierEndpoints({ ...platform, notifications }),
    ...backtestEndpoints(platform),
    ...segmentReadingEndpoints({ ...platform, references: SEGMENT_REFERENCES }),
    ...segmentEndpoints({
      ...platform,
      readReach: (project, player_ids) => readReach(platform, project, player_ids),
    }),
    ...scoreEndpoints(platform),
    ...campaignEndpoints(of_effects),
    ...experimentEndpoints(of_effects),
    ...calendarEndpoints(platform),
    ...journeyEndpoints({ ...messaging, look_ups: journeyLookUps(platform) }),
    ...journeyStatsEndpoints(of_effects),
    ...journeyRunEndpoints(platform),
    ...simulationEndpoints(messaging),
    ...playerMessageEndpoints(platform),
    ...templateEndpoints(messaging),
    ...testMessageEndpoints({ ...messaging, erasure_key }),
    ...bonusTemplateEndpoints(platform),
    ...bonusGrantEndpoints({ ...platform, platforms: deps.platforms }),
    ...bonusCampaignEndpoints({ ...of_effects, platforms: deps.platforms }),
    bonusEventsEndpoint(messaging),
    ...wageringEndpoints(platform),
    ...messagingProviderEndpoints({ ...messaging, wakeQueuesOf: notifyQueuesOf }),
    ...reencryptEndpoints({ ...messaging, further: REENCRYPTED }),
    ...webhookSecretEndpoints(messaging),
    ...webhookDeliveryEndpoints(platform),
    ...eventSubscriptionEndpoints(messaging),
    ...adapterEndpoints({ ...messaging, platforms: deps.platforms }),
    ...callbackEndpoints(messaging),
    ...unsubscribeEndpoints(messaging),
    ...fxEndpoints(platform, { urls: config.fx, notifications, capabilities }),
    ...reconcileEndpoints(platform),
    ...tableExportEndpoints({ ...platform, auth }),
    ...bonusReconcileEndpoints({ ...platform, platforms: deps.platforms }),
    ...consoleEndpoints(of_effects, config, auth),
  ];
  const ingest_url = `http://localhost:${config.ingest_port}`;
  const document = documentEndpoint(() => [...endpoints, document, ...INGESTION_DOCS], ingest_url);
  return [...endpoints, document];
}

/** What was made for the console, and serves others as well. */
function consoleEndpoints(
  effects: Platform & { turns: EngineTurns },
  { service_env, public_url }: Pick<Config, 'service_env' | 'public_url'>,
  { access_changes }: Authenticators,
): AnyEndpoint[] {
  const platform = { ...effects, service_env, public_url };
  const of_insights = { ...platform, runner: new InsightRunner(platform, platform.turns) };
  return [
    ...deadLetterEndpoints(platform),
    ...rejectedEventEndpoints(platform),
    ...eventEndpoints({ ...platform, access_changes }),
    ...overviewEndpoints(platform),
    ...insightEndpoints(of_insights),
    ...savingEndpoints(of_insights),
    ...savedInsightEndpoints(platform),
    ...alertEndpoints(of_insights),
    ...reportEndpoints(of_insights),
    ...complianceEndpoints(platform),
    ...searchEndpoints(platform),
  ];
}

/** What the screens Settings and System need in addition to the configuration, which is a slice of its own. */
function settingsEndpoints(platform: Platform, { auth, notifications }: ApiDeps): AnyEndpoint[] {
  const members = { ...platform, notifications, evict: (user_id: string) => auth.sessions.evict(user_id) };
  return [
    ...memberEndpoints(members),
    ...invitationEndpoints(members),
    ...consoleSessionEndpoints(auth),
    ...auditLogEndpoints(platform),
    ...suppressionEndpoints(platform),
    ...systemEndpoints({
      platform,
      service_version: packageVersion,
      readBacklogs: (tenant_id) => readTenantBacklogs(platform, tenant_id),
    }),
  ];
}

/** The document is made at its first request: that takes as long as a quarter of a start, and few processes are asked. */
function documentEndpoint(documented: () => readonly DocumentedEndpoint[], ingest_url: string): AnyEndpoint {
  const prepared = new PreparedAnswer(async () => {
    return JSON.stringify(openApiDocument(documented(), ingest_url, await readExamples()));
  });
  return endpoint({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    access: { mode: 'public' },
    response: z.record(z.string(), z.unknown()),
    shape: 'raw',
    handle: () => prepared,
  });
}

/**
 * The API host: every endpoint except event intake, for which it answers 404 (spec part 4), and, when operations have an
 * address of their own, except those of {@link buildOpsApp}.
 */
export function buildApiApp(platform: Platform, config: Config, deps: ApiDeps): FastifyInstance {
  const all = apiEndpoints(platform, config, deps);
  const app = buildHost(platform, config, deps, {
    endpoints: config.ops === undefined ? all : all.filter((one) => !isForOperators(one)),
    sheds_load: true,
  });
  const { auth, credentials_keys } = deps;
  void app.register(consoleRoutes({ ...platform, auth, credentials_keys, config }));
  return app;
}

/** Health, metrics and the internal endpoints alone, for an address that only operators reach. */
export function buildOpsApp(platform: Platform, config: Config, deps: ApiDeps): FastifyInstance {
  const endpoints = apiEndpoints(platform, config, deps).filter(isForOperators);
  return buildHost(platform, config, deps, { endpoints, sheds_load: false });
}

function isForOperators({ path, load }: AnyEndpoint): boolean {
  return load === 'vital' || path.startsWith('/v1/internal/');
}

function buildHost(
  platform: Platform,
  config: Config,
  deps: ApiDeps,
  { endpoints, sheds_load }: { endpoints: readonly AnyEndpoint[]; sheds_load: boolean },
): FastifyInstance {
  const { logger, workWatch } = platform;
  const app = fastify(serverOptions(logger, config.trusted_proxies));
  app.addHook('onResponse', ({ method }, _reply, done) => {
    // The request may have written work for a loop.
    if (method !== 'GET') workWatch.wake();
    done();
  });
  installRequestMetrics(app, platform.metrics);
  installAnswerHeaders(app);
  installCors(app);
  if (sheds_load) redirectBrowsers(app);
  installErrorHandling(app, logger);
  installJsonBody(app);
  if (sheds_load) {
    const vital = endpoints.filter(({ load }) => load === 'vital');
    installLoadShedding(
      app,
      vital.map(({ path }) => path),
    );
  }
  registerEndpoints(app, endpoints, {
    auth: deps.auth,
    rate_limiter: platform.rateLimiter,
    rates: config.rates,
    idempotency: platform,
    writeAuditRows: createAuditWriter(platform.clock),
  });
  return app;
}
