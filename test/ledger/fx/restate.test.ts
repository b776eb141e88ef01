import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rewriteOnce } from '../../../processors/event-rewriter/index.ts';
import { packageRoot } from '../../../src/package-root.ts';
import { call, internally } from '../../engines/http-client.ts';
import { folded, startTestService, sunk, type TestService, type TestTenant } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';

const HOUR_MS = 3_600_000;

let service: TestService;
let tenant: TestTenant;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());
beforeEach(async () => {
  tenant = await service.newTenant();
});

type Fields = Record<string, unknown>;

async function post(url: string, body: unknown): Promise<Fields> {
  const { data } = await call(url, tenant.api_key, { body });
  expect(data, url).toBeDefined();
  return data;
}

const identify = (body: Fields) => post(`${service.base_url}/v1/players/identify`, body);

/** Sends a deposit of `anonymous_id`; its transaction_id is the amount and the currency. */
async function deposit(anonymous_id: string, amount: number, currency: string, at_ms: number): Promise<void> {
  const properties = { amount, currency, transaction_id: `${amount} ${currency}`, payment_method: 'card' };
  const timestamp = new Date(at_ms).toISOString();
  await post(`${service.ingest_url}/v1/events`, {
    event: 'deposit_confirmed',
    anonymous_id,
    timestamp,
    properties,
  });
}

async function get<T = Fields>(path: string): Promise<T> {
  return (await call<T>(service.base_url + path, tenant.session_token)).data;
}

/** Resolves when the API shows these values for the player. */
async function shows(player_id: string, values: Fields): Promise<void> {
  await until(`the player shows ${JSON.stringify(values)}`, async (saw) => {
    const player = saw(await get<Fields>(`/v1/players/${player_id}`));
    return Object.entries(values).every(([field, value]) => player[field] === value);
  });
}

async function differences(): Promise<unknown> {
  const response = await internally<{ listed: unknown }>(service, 'reconcile', {
    tenant_id: tenant.tenant_id,
  });
  return response.data.listed;
}

/** Runs as an operator: the database's user, who changes to the service role as docs/operating.md says. */
async function asOperator<T>(work: (sql: Awaited<ReturnType<typeof reserve>>) => Promise<T>): Promise<T> {
  const sql = await reserve();
  try {
    await sql`set role none`;
    return await work(sql);
  } finally {
    await sql`reset role`;
    sql.release();
  }
}

const reserve = () => service.platform.postgres.service.reserve();

describe('rates that an operator writes', () => {
  it('convert, correct and revert amounts, by the statements in docs/operating.md', async () => {
    const page = await readFile(join(packageRoot, 'docs', 'operating.md'), 'utf8');
    const [, block = ''] = /### Manual rates[\s\S]*?```sql\n([\s\S]*?)```/.exec(page) ?? [];
    const [role = '', insert = '', correct = '', remove = ''] = block
      .replaceAll('<tenant_id>', tenant.tenant_id)
      .split(';')
      .map((statement) => statement.trim());
    const id = String((await identify({ anonymous_id: 'a' }))['player_id']);
    await deposit('a', 112_50, 'SEK', Date.parse('2026-03-01T09:30:00Z'));
    await deposit('a', 1_000, 'SEK', Date.parse('2026-03-01T09:29:59.999Z'));
    await shows(id, { total_deposited: 0, pending_conversions: 2 });
    await asOperator(async (sql) => {
      await sql.unsafe(role);
      await sql.unsafe(insert);
      await shows(id, { total_deposited: 10_00, pending_conversions: 1 });
      await sql.unsafe(correct);
      await shows(id, { total_deposited: 9_99, pending_conversions: 1 });
      await sql.unsafe(remove);
      await shows(id, { total_deposited: 0, pending_conversions: 2 });
      const adjusted = await sql`
        select base_amount, rate::text, rate_is_inverse from ledger_adjustments
        where tenant_id = ${tenant.tenant_id} order by adjustment_id`;
      expect([...adjusted]).toEqual([
        { base_amount: 10_00n, rate: '11.25', rate_is_inverse: true },
        { base_amount: 9_99n, rate: '11.26', rate_is_inverse: true },
      ]);
    });
    expect(await differences()).toEqual([]);
  });

  it('block nothing while their transaction is open, and convert amounts once it is committed', async () => {
    const id = String((await identify({ anonymous_id: 'a' }))['player_id']);
    const at_ms = Date.now() - HOUR_MS;
    await deposit('a', 100, 'SEK', at_ms);
    await folded(service.platform);
    await asOperator(async (sql) => {
      await sql`begin`;
      await sql`set local role engagement_service`;
      await sql`
        insert into fx_rates (tenant_id, base, quote, ts, rate)
        values (${tenant.tenant_id}, 'SEK', 'EUR', ${new Date(at_ms)}, 0.1)`;
      for (let i = 1; i <= 20; i++) {
        await deposit('a', 1_000 + i, 'SEK', at_ms + i);
        await deposit('a', i, 'EUR', at_ms);
      }
      await folded(service.platform);
      expect(await get(`/v1/players/${id}`)).toMatchObject({ total_deposited: 210, pending_conversions: 21 });
      await sql`commit`;
    });
    // 1,001 … 1,020 times 0.1 gives 100 five times (1,005 is a tie), 101 nine times, 102 six times (1,015 is a tie).
    await shows(id, { pending_conversions: 0, total_deposited: 210 + 10 + 5 * 100 + 9 * 101 + 6 * 102 });
    expect(await differences()).toEqual([]);
  });

  it('belong to one tenant', async () => {
    const other = await service.newTenant();
    const insertFor = ({ tenant_id }: TestTenant) =>
      service.platform.postgres.asTenant(
        tenant.tenant_id,
        (tx) =>
          tx`insert into fx_rates (tenant_id, base, quote, rate) values (${tenant_id}, 'SEK', 'EUR', 0.1)`,
      );
    const id = String((await identify({ anonymous_id: 'a' }))['player_id']);
    await insertFor(tenant);
    await deposit('a', 1_000, 'SEK', Date.now());
    await shows(id, { total_deposited: 100 });
    await expect(insertFor(other)).rejects.toThrow('row-level security');
  });
});

describe('every view of the money', () => {
  it('shows restated amounts, also for a player merged since', async () => {
    const { tenant_id } = tenant;
    const { service: sql } = service.platform.postgres;
    const now_ms = Date.now();
    const id = String((await identify({ anonymous_id: 'a-1' }))['player_id']);
    await deposit('a-1', 1_000, 'SEK', now_ms);
    await deposit('a-2', 500, 'EUR', now_ms);
    await sunk(service.platform);
    const rate = (pair: [string, string], value: string) => sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${tenant_id}, ${pair[0]}, ${pair[1]}, ${new Date(now_ms - HOUR_MS)}, ${value})`;
    await rate(['EUR', 'SEK'], '10');
    await shows(id, { total_deposited: 100 });
    await identify({ anonymous_id: 'a-2', external_id: 'x' });
    const merged = await identify({ anonymous_id: 'a-1', external_id: 'x' });
    expect(merged['merged_player_ids']).toEqual([id]);
    const survivor = String(merged['player_id']);
    await rate(['SEK', 'EUR'], '0.2');
    const expectAll = async (deposited: number) => {
      await shows(survivor, { total_deposited: deposited, pending_conversions: 0 });
      expect(await differences()).toEqual([]);
      expect(await get(`/v1/players/${id}`)).toMatchObject({ id: survivor, anonymous_ids: ['a-1', 'a-2'] });
      const days = await get<Fields[]>(`/v1/players/${survivor}/deposits-daily`);
      expect(days.reduce((sum, { amount }) => sum + Number(amount), 0)).toBe(deposited);
      expect(await get<Fields[]>(`/v1/players/${id}/timeline`)).toHaveLength(2);
    };
    await expectAll(700);
    // Rows of the merged player get the survivor's id in ClickHouse; restating must go on as before.
    await until('the merge is worked into ClickHouse', async (saw) => {
      await rewriteOnce(service.platform, 0);
      const rows = saw(
        await sql`select from player_merges where tenant_id = ${tenant_id} and rewritten_at is null`,
      );
      return rows.length === 0;
    });
    await expectAll(700);
    await sql`update fx_rates set rate = 0.3 where tenant_id = ${tenant_id} and base = 'SEK'`;
    await expectAll(800);
  });
});
