import { array, assert, asyncProperty, constantFrom, oneof, string } from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { groupedSql, PERSONAL_GROUP } from '../../../src/analytics/insights/sql/groups.ts';
import { maskPersonal } from '../../../src/players/masking.ts';
import { accept, newPlayer } from '../../console/events/event-client.ts';
import { runs } from '../../engines/effort.ts';
import { call, internally } from '../../engines/http-client.ts';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { ask, column, insights } from './insight-client.ts';

let service: TestService;
let tenant: TestTenant;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
});
afterAll(() => service.close());

const PART = oneof(
  string({ unit: 'binary', maxLength: 4 }),
  constantFrom(
    'ann',
    '@',
    '.',
    'x.io',
    '"',
    ' ',
    '\u00a0',
    '(',
    ')',
    '-',
    '/',
    '+',
    '＋',
    '00',
    '0',
    '35',
    '９9',
    '6991',
    '2345',
    'é',
    '😀',
    ',',
    '_',
    'Z',
    '\\',
    '\n',
  ),
);
const TEXT = array(PART, { maxLength: 14 }).map((parts) => parts.join('').toWellFormed());

async function groupsOf(texts: readonly string[]): Promise<string[]> {
  const rows = await service.platform.clickhouse.query<{ g: string }>(
    `select ${groupedSql('t')} as g
    from (select arrayJoin(arrayEnumerate({texts:Array(String)})) as n, {texts:Array(String)}[n] as t) order by n`,
    { texts },
  );
  return rows.map(({ g }) => g);
}

it('no text has a group of its own that would be masked elsewhere', async () => {
  await assert(
    asyncProperty(array(TEXT, { minLength: 40, maxLength: 40 }), async (texts) => {
      const groups = await groupsOf(texts);
      for (const [i, text] of texts.entries()) {
        const group = groups[i];
        if (group !== PERSONAL_GROUP)
          expect(maskPersonal(JSON.stringify([text]))).toBe(JSON.stringify([text]));
        if (group !== PERSONAL_GROUP) expect(group).toBe(text);
      }
      const objects = texts.map((text) => JSON.stringify({ [text]: [text] }));
      for (const group of await groupsOf(objects))
        if (group !== PERSONAL_GROUP) expect(maskPersonal(group)).toBe(group);
    }),
    { numRuns: runs(25) },
  );
});

it('other texts keep their groups', async () => {
  const texts = ['@', 'a @ b', 'jane@localhost', '2026-01-01T00:00:00+02:00', '1e+210', '000356991234'];
  texts.push('100356991234', '0.00356991234', '4e5f0a52-5a0d-4b7e-9d3a-001234567890', 'Grand Hotel', '');
  expect(await groupsOf(texts)).toEqual(texts);
  expect(await groupsOf(['["slots","live"]', '{"hotel":1}', '{"a":{"phone":1}}'])).toEqual([
    '["slots","live"]',
    PERSONAL_GROUP,
    PERSONAL_GROUP,
  ]);
});

it('addresses and numbers of a breakdown are one group, also in files, and its players can be asked', async () => {
  const ids = await Promise.all(
    ['ann', 'ben', 'eve'].map((external_id) => newPlayer(service, tenant, { external_id })),
  );
  const secrets = ['ann@example.com', 'ben@example.com', '99123456'];
  const event = (n: number, properties: object) => ({
    event: 'custom_asked',
    player_id: ids[n],
    timestamp: '2026-07-01T10:00:00Z',
    properties,
  });
  await accept(
    service,
    tenant,
    event(0, { email: secrets[0], tag: `to ${secrets[0]}`, phone: 99_123_456 }),
    event(1, { email: secrets[1], tag: { to: secrets[1] }, phone: secrets[2] }),
    event(2, { tag: 'vip', phone: true }),
  );
  await counted(service.platform);
  const user_id = `viewer-${tenant.tenant_id}`;
  await internally(service, 'memberships', { tenant_id: tenant.tenant_id, user_id, role: 'viewer' });
  const { data } = await internally(service, 'dev-sessions', { user_id });
  const viewer = { session_token: String(data['session_token']) };
  const range = { from: '2026-07-01T00:00:00Z', to: '2026-07-02T00:00:00Z' };
  const of_events = { kind: 'trend', range, series: [{ event: 'custom_asked' }] };
  const of_steps = {
    kind: 'funnel',
    range,
    steps: [{ event: 'custom_asked' }, { event: 'login' }],
    within: { days: 1 },
  };
  for (const [property, left] of [
    ['email', ''],
    ['tag', 'vip'],
    ['phone', 'true'],
  ] as const) {
    for (const query of [of_events, of_steps]) {
      const asked = { ...query, breakdown: { by: 'property', property } };
      const answer = await ask(service, viewer, asked);
      const text = JSON.stringify(answer);
      for (const secret of secrets) expect(text).not.toContain(secret);
      const groups = new Set(column(answer, answer.rows, 'group'));
      expect([...groups], property).toEqual([PERSONAL_GROUP, left]);
      const listed = await insights(service, viewer, '/players', {
        query: asked,
        cell: { group: PERSONAL_GROUP },
      });
      const found = listed.data as unknown as { id: string }[];
      expect(found.map(({ id }) => id).toSorted(), listed.text).toEqual(ids.slice(0, 2).toSorted());
    }
  }
  const query = { ...of_events, breakdown: { by: 'property', property: 'email' } };
  const made = await call(`${service.base_url}/v1/exports`, viewer.session_token, {
    body: { query, format: 'csv' },
  });
  expect(made.status, made.text).toBe(202);
  const path = `${service.base_url}/v1/exports/${String(made.data['id'])}`;
  const get = { method: 'GET' };
  await until(async () => (await call(path, viewer.session_token, get)).data['status'] === 'ready');
  const file = await fetch(`${path}/file`, { headers: { authorization: `Bearer ${viewer.session_token}` } });
  const csv = await file.text();
  expect(csv).toContain(PERSONAL_GROUP);
  for (const secret of secrets) expect(csv).not.toContain(secret);
});
