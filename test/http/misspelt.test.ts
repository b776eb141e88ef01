import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Answer } from '../engines/http-client.ts';
import type { Fixture, Tenant } from './api-fixture.ts';
import { sharedFixture } from './shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

const trend = { kind: 'trend', range: { last: { days: 7 } }, series: [{ metric: 'ggr' }] };
const alert = {
  name: 'a',
  query: { kind: 'trend', series: [{ metric: 'ggr' }] },
  interval: 'day',
  condition: { kind: 'threshold', op: 'gt', value: 1 },
  receivers: [],
};

it.each<[string, object, string, string]>([
  [
    '/v1/insights/query',
    { ...trend, kind: 'trendd' },
    'kind',
    'must be one of trend, funnel, retention, lifecycle, distribution, bonuses, not "trendd"; the nearest is trend',
  ],
  [
    '/v1/insights/query',
    { ...trend, series: [{ metric: 'ggrr' }] },
    'series.0.metric',
    'must be one of deposits, … not "ggrr"; the nearest is ggr',
  ],
  [
    '/v1/insights/query',
    { ...trend, series: [{ event: 'deposit_confirmd' }] },
    'series.0.event',
    'must be a name of the event catalogue, or begin with custom_, not "deposit_confirmd"; the nearest is deposit_confirmed',
  ],
  [
    '/v1/insights/query',
    { ...trend, breakdown: { by: 'prodcut' } },
    'breakdown.by',
    'must be one of product, … not "prodcut"; the nearest is product',
  ],
  [
    '/v1/insights/players',
    { query: { ...trend, interval: 'dayy' }, cell: {} },
    'query.interval',
    'must be one of hour, day, week, month, not "dayy"; the nearest is day',
  ],
  [
    '/v1/insights',
    { name: 'a', query: { ...trend, compare: 'yaer' } },
    'query.compare',
    'must be one of previous, week, year, not "yaer"',
  ],
  [
    '/v1/alerts',
    { ...alert, condition: { kind: 'treshold', op: 'gt', value: 1 } },
    'condition.kind',
    'must be one of threshold, change, unusual, not "treshold"; the nearest is threshold',
  ],
  [
    '/v1/alerts/preview',
    {
      query: { kind: 'trend', series: [{ metric: 'Deposits' }] },
      interval: 'day',
      condition: alert.condition,
    },
    'query.series.0.metric',
    'must be one of deposits, … not "Deposits"; the nearest are deposits, deposits_reversed, net_deposits',
  ],
  [
    '/v1/bonus-templates',
    { name: 'a', type: 'free_spin' },
    'type',
    'must be one of … not "free_spin"; the nearest is free_spins',
  ],
])('%s says what a misspelt name may be: %o', async (path, body, at, message) => {
  const answer = await fixture.as(tenant.session, path, { method: 'POST', body });
  expect([answer.status, answer.body.error.code], answer.text).toEqual([422, 'VALIDATION_ERROR']);
  expectWords(answer, at, message);
});

it.each<[string, object, string, string]>([
  [
    '/v1/segments/preview',
    { definition: { operator: 'AND', conditions: [{ type: 'traits' }] } },
    'definition.conditions.0.type',
    '"traits" is not a valid type of condition; it must be one of … the nearest is trait',
  ],
  [
    '/v1/journeys',
    { name: 'a', trigger: { kind: 'evnt' }, graph: { start_node_id: 'a', nodes: [] } },
    'trigger.kind',
    'must be one of event, … not "evnt"; the nearest is event',
  ],
])('%s says the same in its own language: %o', async (path, body, at, message) => {
  const answer = await fixture.as(tenant.session, path, { method: 'POST', body });
  expect(answer.status, answer.text).toBe(422);
  expectWords(answer, at, message);
});

/** The issue at a path begins and ends as the message, which has `…` for what is between. */
function expectWords({ body, text }: Answer, at: string, message: string): void {
  const { issues } = body.error.details as { issues: { path: string; message: string }[] };
  const found = issues.find((issue) => issue.path === at)?.message ?? text;
  const [begin = '', end = ''] = message.split('…').map((part) => part.trim());
  expect(found.startsWith(begin) && found.endsWith(end), `${found} is not ${message}`).toBe(true);
}
