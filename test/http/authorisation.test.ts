import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiEndpoints, buildApiApp } from '../../src/app/api-app.ts';
import { INTERNAL_SECRET, openFixture, type Fixture, type Tenant } from './api-fixture.ts';

/** Endpoints whose bodies are forms, not JSON. */
const FORMS = ['POST /v1/messaging-webhooks/twilio', 'POST /v1/unsubscribe'];

/** The required access of each endpoint, written by hand. An endpoint that is missing here fails the first test. */
const CASES: Record<
  string,
  | 'public'
  | 'link'
  | 'webhook'
  | 'internal'
  | 'api_key'
  | 'viewer'
  | 'compliance'
  | 'personal data'
  | 'editor'
  | 'admin'
  | 'editor or internal'
  | 'adapter'
> = {
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  'GET /metrics': 'public',
  'GET /openapi.json': 'public',
  'POST /v1/internal/tenants': 'internal',
  'POST /v1/internal/projects': 'internal',
  'POST /v1/internal/memberships': 'internal',
  'DELETE /v1/internal/memberships': 'internal',
  'POST /v1/internal/dev-sessions': 'internal',
  'POST /v1/internal/dev-sign-ins': 'internal',
  'POST /v1/internal/reencrypt-credentials': 'internal',
  'POST /v1/internal/reconcile': 'internal',
  'GET /v1/internal/table-export': 'internal',
  'POST /v1/internal/table-export': 'internal',
  'POST /v1/internal/recompute-tier': 'internal',
  'POST /v1/internal/bonus-reconcile': 'internal',
  'POST /v1/internal/fx-fetch': 'internal',
  'POST /v1/internal/fx-rates': 'internal',
  'GET /v1/internal/dead-letters': 'internal',
  'POST /v1/internal/dead-letters/replay': 'internal',
  'GET /v1/overview': 'viewer',
  'GET /v1/series': 'viewer',
  'POST /v1/insights/query': 'viewer',
  'POST /v1/insights/players': 'viewer',
  'GET /v1/insights/metrics': 'viewer',
  'GET /v1/insights': 'viewer',
  'POST /v1/insights': 'editor',
  'GET /v1/insights/:id': 'viewer',
  'PATCH /v1/insights/:id': 'editor',
  'DELETE /v1/insights/:id': 'editor',
  'GET /v1/dashboards': 'viewer',
  'POST /v1/dashboards': 'editor',
  'GET /v1/dashboards/:id': 'viewer',
  'PATCH /v1/dashboards/:id': 'editor',
  'DELETE /v1/dashboards/:id': 'editor',
  'GET /v1/alerts': 'viewer',
  'POST /v1/alerts': 'editor',
  'POST /v1/alerts/preview': 'viewer',
  'GET /v1/alerts/:id': 'viewer',
  'PATCH /v1/alerts/:id': 'editor',
  'DELETE /v1/alerts/:id': 'editor',
  'GET /v1/reports': 'viewer',
  'POST /v1/reports': 'editor',
  'POST /v1/reports/preview': 'viewer',
  'GET /v1/reports/:id': 'viewer',
  'PATCH /v1/reports/:id': 'editor',
  'DELETE /v1/reports/:id': 'editor',
  'GET /v1/event-stream': 'viewer',
  'GET /v1/campaigns/:id/uplift': 'viewer',
  'GET /v1/journeys/:id/uplift': 'viewer',
  'GET /v1/bonus-campaigns/:id/uplift': 'viewer',
  'GET /v1/experiments/global': 'viewer',
  'PUT /v1/experiments/global': 'admin',
  'POST /v1/test-events': 'editor',
  'GET /v1/event-search': 'viewer',
  'GET /v1/event-trace/:ingestion_id/:index': 'viewer',
  'GET /v1/rejected-events': 'viewer',
  'GET /v1/dead-letters': 'admin',
  'POST /v1/dead-letters/replay': 'admin',
  'POST /v1/internal/recompute-player-segments': 'internal',
  'POST /v1/internal/bonus-progress': 'internal',
  'POST /v1/messaging-webhooks/sendgrid': 'webhook',
  'POST /v1/messaging-webhooks/twilio': 'webhook',
  'GET /v1/unsubscribe': 'link',
  'POST /v1/unsubscribe': 'link',
  'GET /v1/me': 'api_key',
  'POST /v1/players/identify': 'api_key',
  'POST /v1/scores': 'api_key',
  'GET /v1/models': 'viewer',
  'POST /v1/segments/backtest': 'viewer',
  'GET /v1/projects/:projectId/api-keys': 'admin',
  'POST /v1/projects/:projectId/api-keys': 'admin',
  'PATCH /v1/projects/:projectId/api-keys/:id': 'admin',
  'DELETE /v1/projects/:projectId/api-keys/:id': 'admin',
  'GET /v1/session': 'viewer',
  'GET /v1/invitations': 'viewer',
  'POST /v1/invitations/:tenant_id/accept': 'viewer',
  'DELETE /v1/invitations/:tenant_id': 'viewer',
  'GET /v1/projects': 'viewer',
  'GET /v1/audit-log': 'compliance',
  'GET /v1/tenant/config': 'admin',
  'PATCH /v1/tenant/config': 'admin',
  'GET /v1/players': 'viewer',
  'GET /v1/players/search': 'viewer',
  'GET /v1/compliance/exclusions': 'viewer',
  'GET /v1/compliance/exclusions/:player_id/proof': 'viewer',
  'POST /v1/compliance/exclusions': 'compliance',
  'POST /v1/compliance/exclusions/:player_id/lift': 'compliance',
  'GET /v1/compliance/period-proof': 'viewer',
  'GET /v1/search': 'viewer',
  'GET /v1/players/names': 'viewer',
  'GET /v1/compliance/blocked-sends': 'viewer',
  'GET /v1/compliance/conflicts': 'viewer',
  'GET /v1/compliance/kyc-queue': 'viewer',
  'GET /v1/compliance/licence': 'viewer',
  'POST /v1/compliance/conflicts/:id/resolve': 'compliance',
  'POST /v1/players/:id/reveal': 'personal data',
  'POST /v1/players/:id/erase': 'admin',
  'GET /v1/erasures': 'compliance',
  'POST /v1/players/:id/export': 'admin',
  'GET /v1/players/:id/exports/:exportId': 'admin',
  'GET /v1/players/:id/exports/:exportId/file': 'admin',
  'POST /v1/insights/segment': 'editor',
  'POST /v1/exports': 'viewer',
  'GET /v1/exports/:id': 'viewer',
  'GET /v1/exports/:id/file': 'viewer',
  'GET /v1/players/:id/reachability': 'viewer',
  'GET /v1/players/:id/ledger': 'viewer',
  'GET /v1/players/:id/audit': 'viewer',
  'GET /v1/players/:id/segments': 'viewer',
  'GET /v1/segments/fields': 'viewer',
  'GET /v1/segments/:id/members': 'viewer',
  'GET /v1/segments/:id/history': 'viewer',
  'GET /v1/segments/:id/references': 'viewer',
  'GET /v1/players/:id': 'viewer',
  'PATCH /v1/players/:id': 'editor',
  'GET /v1/players/:id/tier': 'viewer',
  'POST /v1/players/:id/tier': 'editor',
  'GET /v1/vip-tiers': 'viewer',
  'GET /v1/vip-tiers/:id': 'viewer',
  'GET /v1/tier-changes': 'viewer',
  'POST /v1/vip-tiers': 'editor',
  'PATCH /v1/vip-tiers/:id': 'editor',
  'DELETE /v1/players/:id': 'editor',
  'GET /v1/players/:id/timeline': 'viewer',
  'GET /v1/players/:id/deposits-daily': 'viewer',
  'POST /v1/players/:id/refresh-segments': 'editor',
  'GET /v1/segments': 'viewer',
  'GET /v1/segments/:id': 'viewer',
  'POST /v1/segments': 'editor',
  'PATCH /v1/segments/:id': 'editor',
  'DELETE /v1/segments/:id': 'editor',
  'POST /v1/segments/preview': 'viewer',
  'POST /v1/segments/:id/refresh': 'editor',
  'GET /v1/segments/:id/sample': 'viewer',
  'GET /v1/segments/:id/explain': 'viewer',
  'GET /v1/journeys': 'viewer',
  'GET /v1/journeys/:id': 'viewer',
  'POST /v1/journeys': 'editor',
  'PATCH /v1/journeys/:id': 'editor',
  'DELETE /v1/journeys/:id': 'editor',
  'POST /v1/journeys/:id/activate': 'editor',
  'POST /v1/journeys/:id/pause': 'editor',
  'GET /v1/journeys/:id/versions': 'viewer',
  'GET /v1/journeys/:id/versions/:version': 'viewer',
  'GET /v1/journeys/:id/stats': 'viewer',
  'POST /v1/journeys/:id/versions/:version/publish': 'editor',
  'POST /v1/journeys/:id/migrate-runs': 'editor',
  'POST /v1/journeys/:id/simulate': 'viewer',
  'GET /v1/campaigns': 'viewer',
  'POST /v1/campaigns/:id/audience': 'viewer',
  'GET /v1/campaigns/:id/series': 'viewer',
  'GET /v1/campaigns/:id/failures': 'viewer',
  'GET /v1/calendar': 'viewer',
  'GET /v1/templates/:id/preview-frame': 'viewer',
  'GET /v1/templates/:id/references': 'viewer',
  'GET /v1/campaigns/:id': 'viewer',
  'POST /v1/campaigns': 'editor',
  'PATCH /v1/campaigns/:id': 'editor',
  'DELETE /v1/campaigns/:id': 'editor',
  'GET /v1/campaigns/:id/variants': 'viewer',
  'POST /v1/campaigns/:id/variants': 'editor',
  'PATCH /v1/campaigns/:id/variants/:variantId': 'editor',
  'DELETE /v1/campaigns/:id/variants/:variantId': 'editor',
  'POST /v1/campaigns/:id/send': 'editor',
  'POST /v1/campaigns/:id/retry-failed': 'editor',
  'POST /v1/campaigns/:id/duplicate': 'editor',
  'POST /v1/campaigns/:id/cancel': 'editor',
  'GET /v1/campaigns/:id/stats': 'viewer',
  'GET /v1/campaigns/:id/recipients': 'viewer',
  'GET /v1/campaigns/:id/conversion-stats': 'viewer',
  'GET /v1/players/:id/messages': 'viewer',
  'GET /v1/players/:id/journeys': 'viewer',
  'POST /v1/journeys/:id/trigger': 'editor',
  'GET /v1/journeys/:id/runs': 'viewer',
  'POST /v1/journeys/:id/runs/cancel': 'editor',
  'GET /v1/journeys/:id/runs/:runId': 'viewer',
  'POST /v1/journeys/:id/runs/:runId/cancel': 'editor',
  'GET /v1/templates': 'viewer',
  'GET /v1/templates/:id': 'viewer',
  'POST /v1/templates': 'editor',
  'PATCH /v1/templates/:id': 'editor',
  'DELETE /v1/templates/:id': 'editor',
  'POST /v1/templates/:id/preview': 'viewer',
  'POST /v1/templates/:id/send-test': 'editor',
  'GET /v1/bonus-templates': 'viewer',
  'GET /v1/bonus-templates/:id': 'viewer',
  'POST /v1/bonus-templates': 'editor',
  'PATCH /v1/bonus-templates/:id': 'editor',
  'DELETE /v1/bonus-templates/:id': 'editor',
  'GET /v1/bonus-campaigns': 'viewer',
  'GET /v1/bonus-campaigns/:id': 'viewer',
  'POST /v1/bonus-campaigns': 'editor',
  'PATCH /v1/bonus-campaigns/:id': 'editor',
  'POST /v1/bonus-campaigns/:id/issue': 'editor',
  'POST /v1/internal/bonus-grant': 'internal',
  'GET /v1/bonus-grants': 'viewer',
  'GET /v1/bonus-grants/:id': 'viewer',
  'POST /v1/bonus-grants': 'editor or internal',
  'POST /v1/bonus-grants/:id/cancel': 'editor',
  'POST /v1/adapters/:slug/webhooks/bonus-events': 'adapter',
  'GET /v1/messaging-providers': 'viewer',
  'GET /v1/messaging-providers/:id': 'viewer',
  'GET /v1/messaging-providers/:id/messages': 'viewer',
  'POST /v1/messaging-providers': 'admin',
  'PATCH /v1/messaging-providers/:id': 'admin',
  'DELETE /v1/messaging-providers/:id': 'admin',
  'GET /v1/webhook-secrets': 'admin',
  'POST /v1/webhook-secrets': 'admin',
  'DELETE /v1/webhook-secrets/:id': 'admin',
  'GET /v1/event-subscriptions': 'admin',
  'POST /v1/event-subscriptions': 'admin',
  'GET /v1/event-subscriptions/:id': 'admin',
  'PATCH /v1/event-subscriptions/:id': 'admin',
  'DELETE /v1/event-subscriptions/:id': 'admin',
  'GET /v1/event-subscriptions/:id/deliveries': 'admin',
  'POST /v1/event-subscriptions/:id/pause': 'admin',
  'POST /v1/event-subscriptions/:id/enable': 'admin',
  'POST /v1/event-subscriptions/:id/rotate-secret': 'admin',
  'POST /v1/event-subscriptions/:id/test': 'admin',
  'POST /v1/event-subscriptions/:id/replay': 'admin',
  'GET /v1/journeys/:id/deliveries': 'viewer',
  'POST /v1/journeys/:id/deliveries/:eventId/retry': 'editor',
  'GET /v1/players/:id/kyc': 'viewer',
  'POST /v1/players/:id/kyc/request': 'editor',
  'POST /v1/players/:id/kyc/approve': 'editor',
  'POST /v1/players/:id/kyc/revoke': 'editor',
  'POST /v1/adapters/:slug/webhooks/kyc-events': 'adapter',
  'GET /v1/adapters': 'admin',
  'POST /v1/adapters': 'admin',
  'GET /v1/adapters/:id': 'admin',
  'PATCH /v1/adapters/:id': 'admin',
  'POST /v1/adapters/:id/rotate-secret': 'admin',
  'GET /v1/adapters/:id/bonuses': 'viewer',
  'GET /v1/currencies': 'viewer',
  'POST /v1/currencies': 'admin',
  'PATCH /v1/currencies/:code': 'admin',
  'GET /v1/currencies/fx': 'viewer',
  'GET /v1/currencies/rates': 'viewer',
  'POST /v1/currencies/rates': 'admin',
  'GET /v1/suppressions': 'editor',
  'POST /v1/suppressions': 'editor',
  'DELETE /v1/suppressions/:id': 'admin',
  'GET /v1/members': 'admin',
  'POST /v1/members': 'admin',
  'PATCH /v1/members': 'admin',
  'DELETE /v1/members': 'admin',
  'GET /v1/console-sessions': 'viewer',
  'DELETE /v1/console-sessions/:id': 'viewer',
  'GET /v1/system': 'admin',
  'GET /v1/webhook-deliveries': 'admin',
};
/** The routes of the console that are not API. */
const OF_CONSOLE = [
  ['GET', '/console'],
  ['GET', '/console/*'],
  ['GET', '/console/auth/options'],
  ['POST', '/console/auth/dev'],
  ['POST', '/console/auth/logout'],
] as const;
/** What an identity provider adds; the development sign-in is gone then. */
const OF_PROVIDER = [
  ['GET', '/console/auth/login'],
  ['GET', '/console/auth/callback'],
  ['POST', '/console/auth/backchannel-logout'],
] as const;
const ROLES = ['viewer', 'compliance', 'editor', 'admin', 'owner'] as const;
/** Who is admitted, written by hand: compliance officers stand beside the other roles. */
const ADMITTED: Readonly<Record<string, readonly (typeof ROLES)[number][]>> = {
  viewer: ROLES,
  compliance: ['compliance', 'admin', 'owner'],
  'personal data': ['compliance', 'editor', 'admin', 'owner'],
  editor: ['editor', 'admin', 'owner'],
  admin: ['admin', 'owner'],
};
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000';

let fixture: Fixture;
let tenant: Tenant;
const sessions: Record<string, string> = {};

beforeAll(async () => {
  // Each role calls as fast as it can; the limit has tests of its own.
  fixture = await openFixture({ RATE_ADMIN_PER_SECOND: '100000' });
  tenant = await fixture.makeTenant();
  // Otherwise KYC is not decided here, and everybody gets 403.
  const kyc_model = 'dual';
  await fixture.as(tenant.session, '/v1/tenant/config', { method: 'PATCH', body: { kyc_model } });
  for (const role of ROLES) sessions[role] = await fixture.member(tenant.tenant_id, role);
});
afterAll(() => fixture.close());

async function status(name: string, headers: Record<string, string>): Promise<number> {
  const [method = '', path = ''] = name.split(' ');
  // A stream is answered when it is over.
  const url = path.replace(/:\w+/g, UNKNOWN_ID) + (path === '/v1/event-stream' ? '?max_s=1' : '');
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  if (FORMS.includes(name))
    return (await fixture.call(url, { method, raw: 'a=b', headers: { ...headers, ...form } })).status;
  const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
  return (await fixture.call(url, { method, headers, ...body })).status;
}

test('every endpoint of the app has an authorisation case', () => {
  const declared = apiEndpoints(fixture.platform, fixture.config, fixture.deps);
  expect(declared.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(CASES).sort());
  // The app serves only the declared endpoints, and the console: see test/console.
  const served = fixture.app.printRoutes({ commonPrefix: false }).match(/\(([A-Z, ]+)\)/g) ?? [];
  const methods = served.flatMap((group) => group.slice(1, -1).split(', '));
  for (const [method, url] of OF_CONSOLE) expect(fixture.app.hasRoute({ method, url })).toBe(true);
  const preflights = declared.filter(({ from_pages }) => from_pages === true);
  expect(methods.length).toBe(declared.length + OF_CONSOLE.length + preflights.length);
});

test('an identity provider adds its routes of the console, and takes the development sign-in away', async () => {
  const console_provider = { issuer: 'https://id.example', client_id: 'console', client_secret: undefined };
  const app = buildApiApp(fixture.platform, { ...fixture.config, console_provider }, fixture.deps);
  await app.ready();
  for (const [method, url] of OF_PROVIDER) {
    expect(app.hasRoute({ method, url })).toBe(true);
    expect(fixture.app.hasRoute({ method, url })).toBe(false);
  }
  expect(app.hasRoute({ method: 'POST', url: '/console/auth/dev' })).toBe(false);
  await app.close();
});

describe.each(Object.entries(CASES))('%s', (name, needed) => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  test('refuses every credential of another kind', async () => {
    const wrong: Record<string, string>[] = [{}, bearer('nonsense'), { authorization: 'Basic YTpi' }];
    if (needed !== 'internal' && needed !== 'editor or internal')
      wrong.push({ 'x-internal-secret': INTERNAL_SECRET });
    else wrong.push({ 'x-internal-secret': `${INTERNAL_SECRET}x` }, { 'x-internal-secret': '' });
    if (needed !== 'api_key') wrong.push(bearer(tenant.api_key));
    if (needed === 'api_key' || needed === 'internal') wrong.push(bearer(tenant.session));
    for (const headers of wrong) {
      const got = await status(name, headers);
      if (needed === 'public') expect(got).toBe(200);
      // Only the token in the link gives access; without it every request is 404.
      else if (needed === 'link' || needed === 'adapter') expect(got).toBe(404);
      else expect(got, JSON.stringify(headers)).toBe(401);
    }
  });

  test('admits every caller with the required access, and no member with a lower role', async () => {
    // Webhooks and links have tests of their own.
    if (['public', 'link', 'webhook', 'adapter'].includes(needed)) return;
    if (needed === 'internal')
      expect([200, 422]).toContain(await status(name, { 'x-internal-secret': INTERNAL_SECRET }));
    else if (needed === 'api_key') expect([200, 422]).toContain(await status(name, bearer(tenant.api_key)));
    else {
      const by_secret = { 'x-tenant-id': tenant.tenant_id, 'x-project-id': tenant.project_id };
      if (needed === 'editor or internal')
        expect(await status(name, { 'x-internal-secret': INTERNAL_SECRET, ...by_secret })).toBe(422);
      const admitted = ADMITTED[needed === 'editor or internal' ? 'editor' : needed] ?? [];
      for (const role of ROLES) {
        const got = await status(name, bearer(sessions[role] ?? ''));
        if (admitted.includes(role)) expect([200, 201, 202, 404, 422], role).toContain(got);
        else expect(got, role).toBe(403);
      }
    }
  });
});
