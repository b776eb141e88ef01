import { auditNothing } from '../../../src/http/audit.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { restateOnce } from '../../../processors/fx-restater/index.ts';
import { readLedger } from '../../../src/ledger/fold/read-queries.ts';
import { applyRateChange } from '../../../src/ledger/fx/restate.ts';
import type { Db } from '../../../src/platform/postgres/port.ts';
import { createProject } from '../../../src/tenants/provision.ts';
import { openFoldFixture, type FoldFixture } from '../fold/fold-fixture.ts';
import {
  adjustmentsOf,
  AT,
  changesOf,
  correctedOf,
  deposit,
  depositedBy,
  foldAll,
  HOUR_MS,
  insertRate,
  ledgerOf,
  placed,
  restaterOn,
  reversed,
  settled,
  totalsOf,
} from './restate-fixture.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';

let fixture: FoldFixture;
let sql: Db;
let project: ProjectRef;
beforeAll(async () => {
  fixture = await openFoldFixture();
  sql = fixture.sql;
});
afterAll(() => fixture.close());
beforeEach(async () => {
  project = await fixture.newTenant();
});

const restate = () => restateOnce(restaterOn(sql));

async function firstChange() {
  const [change] = await changesOf(sql, project);
  if (change === undefined) throw new Error('no change was noted');
  return change;
}

describe('restated amounts', () => {
  it('replace the former ones, which are kept as adjustments', async () => {
    await foldAll(fixture, project, [deposit('a', 't', 1_000, 'SEK')]);
    await insertRate(sql, project, 'EUR/SEK', '11', AT - 2 * HOUR_MS);
    await restate();
    // The first conversion replaces no values, so it makes no adjustment.
    expect(await ledgerOf(sql, project)).toMatchObject([{ base_amount: 91n, rate: '11' }]);
    expect(await adjustmentsOf(sql, project)).toEqual([]);
    const of = (base_amount: bigint, rate: string) => ({
      reference: 't',
      event: 'deposit_confirmed',
      base_amount,
      base_payout: null,
      rate,
    });
    // In turn: a later rate of the same pair, a direct rate although it is older, its correction, and its deletion.
    await insertRate(sql, project, 'EUR/SEK', '10', AT);
    await restate();
    await insertRate(sql, project, 'SEK/EUR', '0.2', AT - 9 * HOUR_MS);
    await restate();
    await sql`update fx_rates set rate = 0.3 where tenant_id = ${project.tenant_id} and base = 'SEK'`;
    await restate();
    expect(await adjustmentsOf(sql, project)).toEqual([of(91n, '11'), of(100n, '10'), of(200n, '0.2')]);
    await sql`delete from fx_rates where tenant_id = ${project.tenant_id}`;
    await restate();
    expect((await adjustmentsOf(sql, project)).slice(3)).toEqual([of(300n, '0.3')]);
    expect(await ledgerOf(sql, project)).toMatchObject([{ base_amount: null, rate: null }]);
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 0n, pending: 1n });
  });

  it('follow a rate from its time on, to the millisecond, until the next rate', async () => {
    const late = AT + 2 * HOUR_MS;
    await foldAll(fixture, project, [
      deposit('a', '1 before', 100, 'USD', AT - 1),
      deposit('a', '2 at it', 100, 'USD', AT),
      deposit('a', '3 until', 100, 'USD', late - 1),
      deposit('a', '4 next', 100, 'USD', late),
    ]);
    await insertRate(sql, project, 'USD/EUR', '0.5', AT);
    await insertRate(sql, project, 'USD/EUR', '0.6', late);
    await restate();
    expect((await ledgerOf(sql, project)).map(({ base_amount }) => base_amount)).toEqual([
      null,
      50n,
      50n,
      60n,
    ]);
    await sql`update fx_rates set ts = ts - interval '1 millisecond' where tenant_id = ${project.tenant_id}`;
    await restate();
    expect((await ledgerOf(sql, project)).map(({ base_amount }) => base_amount)).toEqual([
      50n,
      50n,
      60n,
      60n,
    ]);
  });

  it('follow a rate even in the distant past', async () => {
    await foldAll(fixture, project, [deposit('a', 't', 1_000, 'SEK')]);
    await sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${project.tenant_id}, 'SEK', 'EUR', '0001-01-01 00:00+00', 0.1),
        (${project.tenant_id}, 'EUR', 'SEK', '4700-01-01 00:00+00 BC', 5)`;
    await restate();
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 100n, pending: 0n });
    // Rows folded later already use the rate, so the restater has nothing to do.
    await foldAll(fixture, project, [deposit('a', 't-2', 1_000, 'SEK')]);
    await sql`delete from fx_rates where tenant_id = ${project.tenant_id} and base = 'SEK'`;
    await restate();
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 400n, pending: 0n });
    expect(await adjustmentsOf(sql, project)).toMatchObject([{ base_amount: 100n }, { base_amount: 100n }]);
  });
});

describe('a deposit with reversals', () => {
  it('is restated by what is left of it, with the counted amounts of its reversals', async () => {
    await foldAll(fixture, project, [
      deposit('a', 'part', 105, 'SEK'),
      // Of another player and at a time with another rate: it takes back at the rate of the deposit.
      reversed('b', 'part', 50, 'SEK', AT + 2 * HOUR_MS),
      deposit('a', 'whole', 1_000, 'SEK'),
      reversed('a', 'whole', 1_000, 'SEK'),
    ]);
    // Of what was reversed to 0 nothing waits for a rate.
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 0n, pending: 1n });
    await insertRate(sql, project, 'SEK/EUR', '0.7', AT + HOUR_MS);
    await restate();
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 0n, pending: 1n });
    await insertRate(sql, project, 'SEK/EUR', '0.1', AT - HOUR_MS);
    await restate();
    // 55 × 0.1 is a tie.
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 6n, pending: 0n });
    // The fold reads the converted deposit, and converts what is left of it anew: 85 × 0.1 is a tie, too.
    await foldAll(fixture, project, [reversed('b', 'part', 20, 'SEK', AT + 3 * HOUR_MS)]);
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 8n, pending: 0n });
    await foldAll(fixture, project, [reversed('b', 'part', 50, 'SEK', AT + 4 * HOUR_MS)]);
    await sql`delete from event_corrections where tenant_id = ${project.tenant_id}`;
    await sql`update fx_rates set rate = 0.3 where tenant_id = ${project.tenant_id} and rate = 0.1`;
    await restate();
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 16n, pending: 0n });
    expect(await totalsOf(sql, project, 'b')).toMatchObject({ deposited: 0n, pending: 0n });
    // The reversal of the other time keeps its base amount, and takes back another.
    expect(await correctedOf(sql, project)).toEqual([
      { reference: 'part', event: 'deposit_confirmed' },
      { reference: 'part', event: 'deposit_reversed' },
      { reference: 'whole', event: 'deposit_confirmed' },
      { reference: 'whole', event: 'deposit_reversed' },
    ]);
    await sql`delete from fx_rates where tenant_id = ${project.tenant_id} and rate = 0.3`;
    await restate();
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 0n, pending: 1n });
  });
});

describe('the bonus parts of a bet', () => {
  it('are restated with the amounts that they are parts of, and kept in adjustments', async () => {
    const [stake, payout] = [placed('a', 'b', 1_000, 'SEK'), settled('a', 'b', 1_000, 3_000, 'SEK')];
    Object.assign(stake.properties ?? {}, { bonus_stake: 333 });
    Object.assign(payout.properties ?? {}, { bonus_stake: 1_000, bonus_payout: 500 });
    await foldAll(fixture, project, [stake, payout]);
    const totals = () => totalsOf(sql, project, 'a');
    expect(await totals()).toMatchObject({ wagered: 0n, bonus_wagered: 0n, bonus_won: 0n, pending: 2n });
    await insertRate(sql, project, 'SEK/EUR', '0.1', AT);
    await restate();
    const by_a_tenth = { wagered: 100n, won: 300n, bonus_wagered: 33n, bonus_won: 50n, pending: 0n };
    expect(await totals()).toMatchObject(by_a_tenth);
    await sql`update fx_rates set rate = 0.9 where tenant_id = ${project.tenant_id}`;
    await restate();
    expect(await totals()).toMatchObject({
      wagered: 900n,
      won: 2_700n,
      bonus_wagered: 300n,
      bonus_won: 450n,
    });
    const adjusted = await sql`
      select base_amount, base_payout, base_bonus_stake, base_bonus_payout from ledger_adjustments
      where tenant_id = ${project.tenant_id} order by adjustment_id`;
    expect(adjusted).toHaveLength(2);
    expect([...adjusted]).toEqual(
      expect.arrayContaining([
        { base_amount: 100n, base_payout: null, base_bonus_stake: 33n, base_bonus_payout: null },
        { base_amount: 100n, base_payout: 300n, base_bonus_stake: 100n, base_bonus_payout: 50n },
      ]),
    );
    await sql`delete from fx_rates where tenant_id = ${project.tenant_id}`;
    await restate();
    expect(await totals()).toMatchObject({ wagered: 0n, bonus_wagered: 0n, bonus_won: 0n, pending: 2n });
  });
});

describe('a bet of two players', () => {
  it('is restated for each of them separately', async () => {
    await foldAll(fixture, project, [
      placed('stakes', 'both', 1_000, 'SEK'),
      settled('paid', 'both', 1_000, 3_000, 'SEK'),
      placed('stakes', 'one', 500, 'SEK'),
      settled('paid', 'one', 500, 700, 'EUR'),
    ]);
    const expectTotals = async (staked: object, paid: object) => {
      expect(await totalsOf(sql, project, 'stakes')).toMatchObject({ won: 0n, bets: 2n, ...staked });
      expect(await totalsOf(sql, project, 'paid')).toMatchObject({ wagered: 0n, bets: 0n, ...paid });
    };
    await expectTotals({ wagered: 0n, pending: 2n }, { won: 700n, pending: 1n });
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    await restate();
    await expectTotals({ wagered: 150n, pending: 0n }, { won: 1_000n, pending: 0n });
    await sql`update fx_rates set rate = 0.2 where tenant_id = ${project.tenant_id}`;
    await restate();
    await expectTotals({ wagered: 300n, pending: 0n }, { won: 1_300n, pending: 0n });
  });
});

describe('a rate in the distant past', () => {
  it.each(['0044-03-15T00:00:00Z', '0001-01-01T00:00:00Z'])('of %s is read as it was written', async (ts) => {
    await foldAll(fixture, project, [deposit('a', 't', 1_000, 'SEK')]);
    await insertRate(sql, project, 'SEK/EUR', '0.1', Date.parse(ts));
    await restate();
    const rows = await readLedger(sql, [{ ...project, reference: 't' }]);
    expect([...rows.values()].flat()).toMatchObject([
      { base_amount: 100n, rate: { rate: '0.1', ts_ms: Date.parse(ts) } },
    ]);
  });
});

describe('many rows', () => {
  const ROWS = 2_000;
  const events = Array.from({ length: ROWS }, (_, i) => deposit(`p-${i % 70}`, `t-${i}`, 10 * i, 'SEK'));
  const SUM = ROWS * (ROWS - 1) * 5;

  it('at one time are all restated, page by page', async () => {
    await foldAll(fixture, project, events);
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    const restater = restaterOn(sql);
    await restateOnce(restater);
    expect(await depositedBy(sql, project)).toEqual({ deposited: String(SUM / 10), pending: '0' });
    // The first deposit has amount 0, which needs no rate.
    expect((await restater.metrics.rowsRestated.get()).values[0]?.value).toBe(ROWS - 1);
    await insertRate(sql, project, 'SEK/EUR', '0.3', AT - 1);
    await restate();
    expect(await adjustmentsOf(sql, project)).toEqual([]);
  });

  it('of which most are right already are examined in parts', async () => {
    await foldAll(fixture, project, events.slice(0, 200));
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    await restate();
    await sql`update fx_rates set rate = 0.2 where tenant_id = ${project.tenant_id}`;
    await sql`update fx_rates set rate = 0.1 where tenant_id = ${project.tenant_id}`;
    const change = await firstChange();
    for (const examined of [7, 1, 1_000]) {
      // A few rows are made stale: the first, some in the middle, and the last.
      await sql`
        update ledger set rate = 0.9, base_amount = amount * 9 / 10
        where project_no in (select project_no from projects where tenant_id = ${project.tenant_id})
          and reference in ('t-1', 't-99', 't-100', 't-199')`;
      await applyRateChange(restaterOn(sql), change, undefined, examined);
      const rates = (await ledgerOf(sql, project)).map(({ rate }) => rate);
      expect(rates.filter((rate) => rate !== '0.1')).toEqual([null]);
    }
    await restate();
  });

  it('that Postgres refuses to restate hold up no other tenant', async () => {
    const other = await fixture.newTenant();
    for (const of of [project, other]) {
      await foldAll(fixture, of, [deposit('a', 't', 1_000, 'SEK')]);
      await insertRate(sql, of, 'SEK/EUR', '0.1');
    }
    const restater = restaterOn(sql);
    // The first statement of the first change reaches its time limit.
    let is_first = true;
    const slow = new Proxy(sql, {
      get(target, name) {
        if (name !== 'begin' || !is_first) return Reflect.get(target, name) as unknown;
        is_first = false;
        return () =>
          target.begin((tx) =>
            tx`select set_config('statement_timeout', '5', true), pg_sleep(0)`.then(
              () => tx`select pg_sleep(5)`,
            ),
          );
      },
    });
    await expect(restateOnce({ ...restater, postgres: { service: slow } })).rejects.toThrow(
      'statement timeout',
    );
    expect(await changesOf(sql, other)).toEqual([]);
    expect(await depositedBy(sql, other)).toEqual({ deposited: '100', pending: '0' });
    expect(await changesOf(sql, project)).toHaveLength(1);
    await restate();
    expect(await depositedBy(sql, project)).toEqual({ deposited: '100', pending: '0' });
  });

  it('are continued with after the process died half-way', async () => {
    await foldAll(fixture, project, events);
    for (const [round, rate] of ['0.1', '0.2'].entries()) {
      if (round === 0) await insertRate(sql, project, 'SEK/EUR', rate);
      else await sql`update fx_rates set rate = ${rate} where tenant_id = ${project.tenant_id}`;
      const change = await firstChange();
      await expect(applyRateChange(restaterOn(dyingAfter(sql, 2)), change)).rejects.toThrow('died');
      const rows = await ledgerOf(sql, project);
      expect(rows.filter((row) => row.rate === rate)).toHaveLength(1_000);
      expect(await changesOf(sql, project)).toEqual([change]);
      await restate();
      expect(await changesOf(sql, project)).toEqual([]);
      const deposited = String((SUM / 10) * (round + 1));
      expect(await depositedBy(sql, project)).toEqual({ deposited, pending: '0' });
    }
    const adjusted = (await adjustmentsOf(sql, project)).map(({ reference }) => reference);
    expect(adjusted).toHaveLength(ROWS - 1);
    expect(new Set(adjusted).size).toBe(ROWS - 1);
  });

  it('are continued with after the process was stopped half-way', async () => {
    await foldAll(fixture, project, events);
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    const stop = new AbortController();
    const restater = restaterOn(sql);
    // The restater reads the clock once per page.
    const clock = { now_ms: () => (stop.abort(), restater.clock.now_ms()) };
    await restateOnce({ ...restater, clock }, stop.signal);
    expect((await ledgerOf(sql, project)).filter((row) => row.rate === '0.1')).toHaveLength(500);
    expect(await changesOf(sql, project)).toHaveLength(1);
    await restate();
    expect(await changesOf(sql, project)).toEqual([]);
    expect(await depositedBy(sql, project)).toEqual({ deposited: String(SUM / 10), pending: '0' });
  });

  it('are restated except one that would make a total too large, which is counted', async () => {
    const many = Array.from({ length: 60 }, (_, i) => deposit(`p-${i % 9}`, `t-${i}`, 100, 'SEK'));
    await foldAll(fixture, project, [
      deposit('rich', 'euros', '9223372036854775800', 'EUR'),
      ...many.slice(0, 37),
      deposit('rich', 't-small', 70, 'SEK'),
      deposit('rich', 't-large', 100, 'SEK'),
      placed('rich', 'bet', 100, 'SEK'),
      ...many.slice(37),
    ]);
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    const restater = restaterOn(sql);
    await restateOnce(restater);
    expect(await totalsOf(sql, project, 'rich')).toMatchObject({ wagered: 10n, pending: 1n });
    const refused = (await ledgerOf(sql, project)).filter(({ base_amount }) => base_amount === null);
    expect(refused).toMatchObject([{ reference: expect.stringMatching(/^t-(small|large)$/) as string }]);
    expect((await restater.metrics.restatementsRefused.get()).values[0]?.value).toBe(1);
    expect((await restater.metrics.rowsRestated.get()).values[0]?.value).toBe(many.length + 2);
    for (let i = 0; i < 9; i++) expect(await totalsOf(sql, project, `p-${i}`)).toMatchObject({ pending: 0n });
    expect(await changesOf(sql, project)).toEqual([]);
    // With a smaller rate both totals fit.
    await sql`update fx_rates set rate = 0.02 where tenant_id = ${project.tenant_id}`;
    await restate();
    expect(await totalsOf(sql, project, 'rich')).toMatchObject({
      deposited: 9223372036854775803n,
      pending: 0n,
    });
  });
});

describe('nothing is restated for', () => {
  it('a pair without the base currency', async () => {
    await foldAll(fixture, project, [deposit('a', 't', 1_000, 'SEK'), deposit('a', 'u', 1_000, 'USD')]);
    await insertRate(sql, project, 'SEK/USD', '0.1');
    await insertRate(sql, project, 'USD/SEK', '10');
    expect(await restate()).toBe(2);
    expect(await changesOf(sql, project)).toEqual([]);
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 0n, pending: 2n });
  });

  it('an update that leaves the rate unchanged', async () => {
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    await restate();
    const { tenant_id } = project;
    await sql`update fx_rates set rate = rate where tenant_id = ${tenant_id}`;
    await sql`update fx_rates set rate = 0.100, source = 'ledger' where tenant_id = ${tenant_id}`;
    await sql`
      insert into fx_rates (tenant_id, base, quote, ts, rate) values (${tenant_id}, 'SEK', 'EUR', ${new Date(AT)}, 0.1)
      on conflict (tenant_id, base, quote, ts) do update set rate = excluded.rate`;
    expect(await changesOf(sql, project)).toEqual([]);
    await sql`update fx_rates set rate = 0.2 where tenant_id = ${tenant_id}`;
    expect(await changesOf(sql, project)).toHaveLength(1);
    await sql`update fx_rates set ts = ts + interval '1 second' where tenant_id = ${tenant_id}`;
    expect(await changesOf(sql, project)).toHaveLength(3);
    await sql`delete from fx_rates where tenant_id = ${tenant_id}`;
    expect(await changesOf(sql, project)).toHaveLength(4);
    expect(await restate()).toBe(4);
  });

  it('a rate that cannot convert: the table refuses it', async () => {
    for (const rate of ['0', '-1', 'NaN', 'Infinity'])
      await expect(insertRate(sql, project, 'SEK/EUR', rate), rate).rejects.toThrow('check');
    await expect(insertRate(sql, project, 'SEK/SEK', '1')).rejects.toThrow('check');
    await expect(insertRate(sql, project, 'SEK/XXX', '1')).rejects.toThrow('foreign key');
  });

  it('another tenant; a second project of the same tenant is restated', async () => {
    const other = await fixture.newTenant();
    const second = {
      ...project,
      ...(await createProject(sql, auditNothing, { ...project, name: 'Sportsbook' })),
    };
    const events = [
      deposit('a', 't', 1_000, 'SEK'),
      placed('a', 'b', 200, 'SEK'),
      settled('a', 'b', 200, 500, 'SEK'),
    ];
    for (const somewhere of [project, second, other]) await foldAll(fixture, somewhere, events);
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    await restate();
    for (const own of [project, second]) {
      expect(await totalsOf(sql, own, 'a')).toEqual({
        deposited: 100n,
        wagered: 20n,
        won: 50n,
        bonus_wagered: 0n,
        bonus_won: 0n,
        bets: 1n,
        pending: 0n,
      });
    }
    // Each of the bet's two rows counts as one pending conversion.
    expect(await totalsOf(sql, other, 'a')).toMatchObject({
      deposited: 0n,
      wagered: 0n,
      won: 0n,
      pending: 3n,
    });
    expect((await ledgerOf(sql, other)).map(({ base_amount }) => base_amount)).toEqual([null, null, null]);
  });
});

/** The pool of a process that dies when it begins more than this number of transactions. */
function dyingAfter(db: Db, transactions: number): Db {
  let left = transactions;
  return new Proxy(db, {
    get(target, name) {
      if (name === 'begin' && left-- === 0) throw new Error('the process died');
      return Reflect.get(target, name) as unknown;
    },
  });
}
