import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { rewriteOnce } from '../../processors/event-rewriter/index.ts';
import {
  deleteCorrections,
  playersToCorrect,
  queueCorrections,
  queueRecount,
  readCorrections,
} from '../../src/analytics/correction-queries.ts';
import { ROLES } from '../../src/config.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';
import { call } from '../engines/http-client.ts';
import { startTestService, sunk, type TestService, type TestTenant } from '../engines/service.ts';

let service: TestService;
let tenant: TestTenant;
beforeAll(async () => {
  // The tests call the rewriter.
  service = await startTestService({ roles: new Set(ROLES.filter((role) => role !== 'event-rewriter')) });
});
afterAll(() => service.close());
beforeEach(async () => {
  tenant = await service.newTenant();
});

const ANYBODY = '00000000-0000-4000-8000-000000000000';

interface Sent {
  event: string;
  timestamp: string;
  properties: Record<string, unknown>;
}

async function send(sent: readonly Sent[]): Promise<void> {
  const events = sent.map((event) => ({ ...event, anonymous_id: 'a' }));
  const { data } = await call(`${service.ingest_url}/v1/events/batch`, tenant.api_key, { body: { events } });
  expect(data).toMatchObject({ accepted: sent.length });
  await sunk(service.platform);
}

const now = '2026-03-01T12:00:00.000Z';
const of = (event: string, properties: Sent['properties']): Sent => ({
  event,
  timestamp: now,
  properties: { currency: 'EUR', ...properties },
});
const bet = (event: string, properties: Sent['properties']) =>
  of(event, { bet_id: 'b', game_id: 'g', game_category: 'slots', ...properties });
const deposit = (amount: number) =>
  of('deposit_confirmed', { amount, transaction_id: 'd', payment_method: 'card' });

async function rewriteAll(): Promise<void> {
  while (await rewriteOnce(service.platform));
  const { service: sql } = service.platform.postgres;
  expect(await sql`select from event_corrections where tenant_id = ${tenant.tenant_id}`).toHaveLength(0);
}

/** What each event counts, by its name and movement, in both tables. */
async function countedInClickHouse(): Promise<string[]> {
  const read = async (table: string) => {
    const rows = await service.platform.clickhouse.query<{ line: string }>(
      `select concat(event, ' ', JSONExtractString(properties, 'movement_id'), ' ', toString(stake_counted), ' ',
          toString(payout_counted), ' ', toString(bonus_stake_counted), ' ', toString(bonus_payout_counted)) as line
      from ${table} final where tenant_id = {tenant_id:UUID} order by line`,
      { tenant_id: tenant.tenant_id },
    );
    return rows.map(({ line }) => line);
  };
  const [events, by_player] = [await read('events'), await read('events_by_player')];
  expect(by_player).toEqual(events);
  return events;
}

const movements = [
  bet('bet_placed', { amount: 300, movement_id: 'a', bonus_stake: 100 }),
  bet('bet_won', { payout: 200, movement_id: 'b', bonus_payout: 50 }),
  bet('bet_won', { payout: 70, movement_id: 'c' }),
];

it('writes what older events count when a later one changes it', async () => {
  await send(movements);
  await rewriteAll();
  expect(await countedInClickHouse()).toEqual([
    'bet_placed a 300 0 100 0',
    'bet_won b 0 200 0 50',
    'bet_won c 0 70 0 0',
  ]);
  const reversal = (amount: number) =>
    of('deposit_reversed', { transaction_id: 'd', reversal_id: 'r', amount });
  // The reversal comes before its deposit, of which it takes back no more than all.
  await send([bet('bet_voided', { movement_id: 'b' }), reversal(1_500)]);
  await send([deposit(1_000)]);
  await rewriteAll();
  expect(await countedInClickHouse()).toEqual([
    'bet_placed a 300 0 100 0',
    'bet_voided b 0 0 0 0',
    'bet_won b 0 0 0 0',
    'bet_won c 0 70 0 0',
    'deposit_confirmed  1000 0 0 0',
    'deposit_reversed  1000 0 0 0',
  ]);
});

it('counts the history of before an upgrade page by page, and then no more', async () => {
  const { service: sql } = service.platform.postgres;
  await send([...movements, deposit(1_000)]);
  await rewriteAll();
  const counted = await countedInClickHouse();
  // As an older version left them.
  await service.platform.clickhouse.command(
    `insert into events select * replace (revision + 1 as revision, 0 as stake_counted, 0 as payout_counted,
      0 as bonus_stake_counted, 0 as bonus_payout_counted)
    from events final where tenant_id = {tenant_id:UUID}`,
    { tenant_id: tenant.tenant_id },
  );
  expect(await countedInClickHouse()).not.toEqual(counted);
  await sql`insert into recounts (tenant_id, project_id) values (${tenant.tenant_id}, ${tenant.project_id})`;
  const behind = () =>
    service.platform.postgres.readAsTenant(tenant.tenant_id, (tx) => playersToCorrect(tx, tenant, [ANYBODY]));
  // What needs the figures of the history waits for it.
  expect(await behind()).toHaveLength(1);
  const queued: number[] = [];
  while (await sql.begin((tx) => queueRecount(tx, 3)))
    queued.push((await sql`select from event_corrections`).length);
  // A page, the rest and the end of the project.
  expect(queued).toEqual([3, 4]);
  await rewriteAll();
  expect(await countedInClickHouse()).toEqual(counted);
  expect(await behind()).toHaveLength(0);
  expect(await sql`select from recounts where tenant_id = ${tenant.tenant_id}`).toHaveLength(0);
});

it('corrects the events of every tenant in one turn, however many another one has', async () => {
  const { service: sql } = service.platform.postgres;
  const others = [tenant, await service.newTenant(), await service.newTenant()];
  await sql.begin(async (tx) => {
    for (const [i, { tenant_id, project_id }] of others.entries()) {
      const ordinals = Array.from({ length: i === 0 ? 50 : 3 }, (_, ordinal) => ordinal);
      await queueCorrections(
        tx,
        ordinals.map((ordinal) => ({ tenant_id, project_id, reference: 'r', ordinal })),
      );
    }
    const read = async (limit: number, after?: string) => {
      const all = await readCorrections(tx, limit, after);
      return others.map(({ tenant_id }) => all.filter((one) => one.tenant_id === tenant_id).length);
    };
    expect(await read(30)).toEqual([10, 3, 3]);
    // Fewer places than tenants: those behind the last one have the next turn, and then the first again.
    const order = others.map(({ tenant_id }) => tenant_id).toSorted();
    for (const [i, tenant_id] of order.entries()) {
      const [first] = await readCorrections(tx, 1, order[i - 1]);
      expect(first?.tenant_id).toBe(tenant_id);
    }
    expect((await readCorrections(tx, 1, order.at(-1)))[0]?.tenant_id).toBe(order[0]);
    await deleteCorrections(
      tx,
      (await readCorrections(tx, 1_000)).map(({ correction_id }) => correction_id),
    );
  });
});

it('finds what waits for a player under the ids that were merged into it, however long ago', async () => {
  const { service: sql } = service.platform.postgres;
  await send(movements);
  await rewriteAll();
  await send([bet('bet_voided', { movement_id: 'b' })]);
  const [bettor] = await sql<{ player_id: string }[]>`
    select player_id from players where tenant_id = ${tenant.tenant_id}`;
  const player_id = bettor?.player_id ?? '';
  const survivor = randomUUID();
  await sql`
    insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at, aliased_at, rewritten_at)
    select ${tenant.tenant_id}, ${tenant.project_id}, ${player_id}, ${survivor}, at, at, at
    from (select now() - interval '1 day' as at) a`;
  const asked = [survivor, player_id, ANYBODY];
  const behind = await service.platform.postgres.readAsTenant(tenant.tenant_id, (tx) =>
    playersToCorrect(tx, tenant, asked),
  );
  expect(behind.map((one) => one.player_id)).toEqual([survivor, player_id]);
  await rewriteAll();
});

it('lets no project wait for the corrections of another one, and everybody of one with too many', async () => {
  const { service: sql } = service.platform.postgres;
  const { tenant_id } = tenant;
  const other: ProjectRef = { tenant_id, project_id: randomUUID() };
  await sql.begin(async (tx) => {
    const queue = ({ project_id }: ProjectRef, rows: number) => tx`
      insert into event_corrections (tenant_id, project_id, reference, ordinal)
      select ${tenant_id}, ${project_id}, 'r', n from generate_series(1, ${rows}::integer) n`;
    const behind = async (project: ProjectRef) =>
      (await playersToCorrect(tx, project, [ANYBODY])).map(({ player_id }) => player_id);
    await queue(other, 5_000);
    await queue(tenant, 4_999);
    expect(await behind(other)).toEqual([ANYBODY]);
    expect(await behind(tenant)).toEqual([]);
    await queue(tenant, 1);
    expect(await behind(tenant)).toEqual([ANYBODY]);
    await tx`delete from event_corrections where tenant_id = ${tenant_id}`;
  });
});
