import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BUDGET_PERIOD_S, BUDGET_S } from '../../../src/analytics/engine-turns.ts';
import * as limits from '../../../src/analytics/insights/limits.ts';
import { packageRoot } from '../../../src/package-root.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// The examples of the pages about insights are sent as they are written; only ids are those of records that exist.

let fixture: Fixture;
let tenant: Tenant;
let page: string;
let kinds: string;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  const read = (name: string) => readFile(join(packageRoot, 'docs', name), 'utf8');
  [page, kinds] = await Promise.all([read('insights.md'), read('insight-kinds.md')]);
});
afterAll(() => fixture.close());

type Json = Record<string, unknown>;

/** The JSON of a section of a page, or of all of it. */
function examplesOf(of: string, section?: string): Json[] {
  const text = section === undefined ? of : (of.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '');
  const found = [...text.matchAll(/^```json\n([\s\S]*?)^```$/gm)];
  return found.map(([, json = '']) => JSON.parse(json) as Json);
}

async function post(path: string, body: Json, status: number): Promise<Json> {
  const answer = await fixture.as(tenant.session, path, { method: 'POST', body });
  expect(answer.status, answer.text).toBe(status);
  return answer.data;
}

it('queries of all kinds are answered', async () => {
  const queries = [...examplesOf(page, 'A query'), ...examplesOf(kinds)];
  expect(new Set(queries.map(({ kind }) => kind)).size).toBe(6);
  for (const query of queries) await post('/v1/insights/query', query, 200);
});

it('insights and dashboards are saved, reports of them and alerts are previewed and created', async () => {
  const [insight = {}, dashboard = {}] = examplesOf(page, 'Saved insights and dashboards');
  const { id: insight_id } = await post('/v1/insights', insight, 201);
  const tiles = (dashboard['tiles'] as Json[]).map((tile) => ({ ...tile, insight_id }));
  const { id: dashboard_id } = await post('/v1/dashboards', { ...dashboard, tiles }, 201);
  const [alert = {}] = examplesOf(page, 'Alerts');
  const [report = {}] = examplesOf(page, 'Reports');
  for (const [path, body] of [
    ['/v1/alerts', alert],
    ['/v1/reports', { ...report, dashboard_id }],
  ] as const) {
    await post(`${path}/preview`, body, 200);
    await post(path, body, 201);
  }
});

it('the limits are those of the code', () => {
  const written = page.split('\n## Limits\n')[1] ?? '';
  const { MAX_DAYS, MAX_POINTS, MAX_COHORTS, MAX_ROWS_READ } = limits;
  for (const words of [
    `${MAX_DAYS} days, ${MAX_POINTS.toLocaleString('en')} intervals; ${MAX_COHORTS} cohorts`,
    `${MAX_ROWS_READ / 1_000_000} million rows, ${limits.STATEMENT_LIMIT_S} s, ${limits.STATEMENT_LIMIT_BYTES / 1e9} GB`,
    `of exports and frozen segments ${limits.BACKGROUND_LIMIT_S} s`,
    `${BUDGET_S} in ${BUDGET_PERIOD_S / 60} minutes`,
  ])
    expect(written).toContain(words);
});
