import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeExpiredInsightExports } from '../../../src/analytics/insights/exports/job.ts';
import { accept, newPlayer } from '../../console/events/event-client.ts';
import { call, internally } from '../../engines/http-client.ts';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';

let service: TestService;
let tenant: TestTenant;
let ids: string[];
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
  ids = [
    await newPlayer(service, tenant, {
      external_id: '=HYPERLINK("x")',
      traits: { email: 'ann@example.com' },
    }),
    await newPlayer(service, tenant, { external_id: 'ben', traits: { phone: '+35621234567' } }),
  ];
  const event = (n: number, name: string, properties: object) => ({
    event: name,
    player_id: ids[n],
    timestamp: '2026-07-01T10:00:00Z',
    properties: { currency: 'EUR', ...properties },
  });
  const bet = { game_id: 'book', game_category: 'slots', outcome: 'won' };
  await accept(
    service,
    tenant,
    event(0, 'bet_settled', { ...bet, bet_id: 'a', amount: 100, payout: 900 }),
    event(1, 'bet_settled', { ...bet, bet_id: 'b', amount: 300, payout: 50 }),
  );
  await counted(service.platform);
});
afterAll(() => service.close());

const query = {
  kind: 'trend',
  range: { from: '2026-07-01T00:00:00Z', to: '2026-07-02T00:00:00Z' },
  series: [{ metric: 'ggr' }, { metric: 'hold' }],
};
const cell = { series: 0 };

/** A session of a member with the role. */
async function sessionOf(role: string): Promise<string> {
  const { tenant_id } = tenant;
  const user_id = `${role}-${tenant_id}`;
  await internally(service, 'memberships', { tenant_id, user_id, role });
  return String((await internally(service, 'dev-sessions', { user_id })).data['session_token']);
}

const request = (body: object, session = tenant.session_token) =>
  call(`${service.base_url}/v1/exports`, session, { body: { query, ...body } });
const get = (path: string, session = tenant.session_token) =>
  call(`${service.base_url}/v1/exports/${path}`, session, { method: 'GET' });

/** The bytes of the file of an export that is made. */
async function fileOf(body: object): Promise<Buffer> {
  const asked = await request(body);
  expect(asked.status, asked.text).toBe(202);
  const id = String(asked.data['id']);
  await until(async () => (await get(id)).data['status'] === 'ready');
  const response = await fetch(`${service.base_url}/v1/exports/${id}/file`, {
    headers: { authorization: `Bearer ${tenant.session_token}` },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-disposition')).toContain(`insights-${id}.`);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect((await get(id)).data['bytes']).toBe(bytes.length);
  return bytes;
}

describe('the file has', () => {
  it('figures as CSV', async () => {
    expect(String(await fileOf({ format: 'csv' }))).toBe(
      'at,is_complete,ggr,hold.numerator,hold.denominator\r\n' +
        '2026-07-01T00:00:00.000Z,true,-550,-550,400\r\n',
    );
  });

  it('players as CSV, with text that is no formula and numbers that are numbers', async () => {
    const lines = String(await fileOf({ format: 'csv', cell }))
      .trim()
      .split('\n');
    expect(lines).toEqual([
      '"player_id","external_id","value"',
      ...[`"${ids[0]}","'=HYPERLINK(""x"")",-800`, `"${ids[1]}","ben",250`].toSorted(),
    ]);
  });

  it('addresses for compliance with a reason', async () => {
    const text = String(
      await fileOf({ format: 'csv', cell, contact: ['email', 'phone'], reason: 'a complaint' }),
    );
    expect(text).toContain('"ann@example.com"');
    expect(text).toContain(`"'+35621234567"`);
  });

  it.each([
    ['figures', {}, 'ggr', 'Decimal(38, 0)'],
    ['players', { cell }, 'value', 'Decimal(38, 0)'],
  ])('%s as Parquet with decimals of 38 digits', async (_what, of, column, type) => {
    const bytes = await fileOf({ format: 'parquet', ...of });
    expect(bytes.subarray(0, 4).toString()).toBe('PAR1');
    const rows = await service.platform.clickhouse.query<Record<string, string>>(
      `select toTypeName(assumeNotNull(${column})) as type, sum(${column}) over () as total
      from format(Parquet, base64Decode({file:String}))`,
      { file: bytes.toString('base64') },
    );
    expect(rows[0]?.['type']).toBe(type);
    expect(Number(rows[0]?.['total'])).toBe(-550);
  });
});

it('each role has what it may have', async () => {
  const sessions = await Promise.all(['viewer', 'editor', 'compliance'].map(sessionOf));
  const statuses = async (body: object) =>
    Promise.all(sessions.map(async (session) => (await request(body, session)).status));
  expect(await statuses({ format: 'csv' })).toEqual([202, 202, 202]);
  expect(await statuses({ format: 'csv', cell })).toEqual([403, 202, 403]);
  const contact = { format: 'csv', cell, contact: ['email'] };
  expect(await statuses({ ...contact, reason: 'a complaint' })).toEqual([403, 403, 202]);
  expect((await request(contact)).status).toBe(422);
  expect((await request({ ...contact, cell: undefined, reason: 'why' })).status).toBe(422);
  const made = await request({ format: 'csv', cell });
  const [viewer = ''] = sessions;
  expect((await get(String(made.data['id']), viewer)).status).toBe(403);
  expect((await get(`${String(made.data['id'])}/file`, viewer)).status).toBe(403);
});

it('the audit log has who took which players and why, and no address', async () => {
  const clause = { property: 'game_id', op: 'neq', value: 'ann@example.com' };
  const trait = { type: 'trait', field: 'email', op: 'neq', value: 'ann@example.com' };
  const filter = { definition: { operator: 'AND', conditions: [trait] }, where: [clause] };
  const breakdown = { by: 'property', property: 'game_id' };
  const asked = await request({
    format: 'csv',
    query: { ...query, filter, breakdown },
    cell: { ...cell, group: 'ann@example.com' },
    contact: ['email'],
    reason: 'a complaint',
  });
  const id = String(asked.data['id']);
  await until(async () => (await get(id)).data['status'] === 'ready');
  await get(`${id}/file`);
  const { text, data } = await call(
    `${service.base_url}/v1/audit-log?resource_id=${id}`,
    tenant.session_token,
    { method: 'GET' },
  );
  const rows = data as unknown as { action: string; after: Record<string, unknown> }[];
  expect(rows.map(({ after }) => String(after['status'])).toSorted()).toEqual(['downloaded', 'queued']);
  expect(rows[0]?.after).toMatchObject({
    contact: ['email'],
    reason: 'a complaint',
    query: {
      kind: 'trend',
      series: query.series,
      filter: { definition: { conditions: [{ field: 'email' }] }, where: [{ property: 'game_id' }] },
      breakdown,
    },
  });
  expect(text).not.toContain('ann@example.com');
});

it('what cannot be asked is refused at once, and what fails later says why', async () => {
  const wrong = await request({ format: 'csv', cell: { series: 7 } });
  expect([wrong.status, wrong.code]).toEqual([422, 'VALIDATION_ERROR']);
  const definition = { operator: 'AND', conditions: [{ type: 'random', percent: 50, salt: 'x' }] };
  const made = await call(`${service.base_url}/v1/segments`, tenant.session_token, {
    body: { name: 'gone', definition },
  });
  const segment_id = String(made.data['id']);
  const asked = await request({ format: 'csv', query: { ...query, filter: { segment_id } } });
  expect(asked.status, asked.text).toBe(202);
  for (const path of ['00000000-0000-4000-8000-000000000000', 'x', 'x/file']) {
    const { status: missing, code } = await get(path);
    expect([missing, code]).toEqual([404, 'EXPORT_NOT_FOUND']);
  }
});

it('another tenant sees nothing of it, and files end with their time', async () => {
  const asked = await request({ format: 'csv' });
  const id = String(asked.data['id']);
  await until(async () => (await get(id)).data['status'] === 'ready');
  const other = await service.newTenant();
  expect((await get(id, other.session_token)).status).toBe(404);
  const { postgres, clock } = service.platform;
  const later = { now_ms: () => clock.now_ms() + 86_400_000 + 1 };
  await removeExpiredInsightExports({ postgres, clock: later });
  expect((await get(id)).status).toBe(404);
  const left =
    await postgres.service`select from insight_export_chunks where tenant_id = ${tenant.tenant_id}`;
  expect(left).toHaveLength(0);
});
