import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { restateOnce } from '../../../processors/fx-restater/index.ts';
import { readRateChanges, type RateChange } from '../../../src/ledger/fx/restate-queries.ts';
import { applyRateChange } from '../../../src/ledger/fx/restate.ts';
import { foldBatch } from '../../../src/ledger/fold/fold-batch.ts';
import { PLAYER_DEPENDENTS } from '../../../src/app/player-dependents.ts';
import { mergePlayer } from '../../../src/players/identity/merge-queries.ts';
import type { MergePair } from '../../../src/players/player-ref.ts';
import type { Db, Tx } from '../../../src/platform/postgres/port.ts';
import { refusingCommits } from '../../engines/refused-commit.ts';
import { until } from '../../engines/until.ts';
import { batchOf, openFoldFixture, type FoldFixture } from '../fold/fold-fixture.ts';
import {
  adjustmentsOf,
  changesOf,
  deposit,
  endTransactions,
  foldAll,
  insertRate,
  ledgerOf,
  openTransaction,
  placed,
  restaterOn,
  settled,
  stopWriters,
  totalsOf,
} from './restate-fixture.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';

let fixture: FoldFixture;
let sql: Db;
let project: ProjectRef;
let topic: string;
beforeAll(async () => {
  fixture = await openFoldFixture({ own_postgres: true });
  sql = fixture.sql;
});
afterAll(() => fixture.close());
beforeEach(async () => {
  project = await fixture.newTenant();
  topic = project.project_id;
});
afterEach(endTransactions);

/** Wraps the pool and counts the queries for the oldest running transaction. */
function countingHorizons(db: Db): { counted: Db; horizons: () => number } {
  let horizons = 0;
  const counted = new Proxy(db, {
    apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
      if (args[0].join('').includes('pg_snapshot_xmin')) horizons++;
      return Reflect.apply(target as (...all: unknown[]) => unknown, self, args);
    },
  });
  return { counted, horizons: () => horizons };
}

describe('a rate that is committed while a fold that did not see it is running', () => {
  it.each([
    ['began before the fold', true],
    ['began after the fold had read', false],
  ])('restates the rows of that fold when the rate’s transaction %s', async (_when, began_before) => {
    const early = began_before
      ? await openTransaction(sql, (tx) => insertRate(tx, project, 'SEK/EUR', '0.1'))
      : undefined;
    // The fold has read its snapshot and waits before its first write.
    const writers = await stopWriters(sql, 'fold_positions');
    const folding = foldBatch(
      fixture.newFold(),
      batchOf(project, [deposit('a', 't', 500, 'SEK')], { topic }),
    );
    await fixture.someoneWaits();
    if (early === undefined) await insertRate(sql, project, 'SEK/EUR', '0.1');
    else await early.commit();
    const { counted, horizons } = countingHorizons(sql);
    const restating = restateOnce(restaterOn(counted));
    await until('the restater waits for the fold', async (saw) => saw(horizons()) > 2);
    await writers.commit();
    await folding;
    expect(await restating).toBe(1);
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 50n, pending: 0n });
    expect(await changesOf(sql, project)).toEqual([]);
  });

  it('does not block the fold while its transaction is open', async () => {
    const rate = await openTransaction(sql, (tx) => insertRate(tx, project, 'SEK/EUR', '0.1'));
    await foldAll(fixture, project, [deposit('a', 't-1', 500, 'SEK'), deposit('a', 't-2', 7, 'EUR')]);
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 7n, pending: 1n });
    expect(await restateOnce(restaterOn(sql))).toBe(0);
    await rate.commit();
    expect(await restateOnce(restaterOn(sql))).toBe(1);
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 57n, pending: 0n });
  });

  it('reads the oldest running transaction only after the changes', async () => {
    const asked: string[] = [];
    let answer = (_rows: unknown[]) => undefined as void;
    const changes = new Promise((resolve) => (answer = resolve));
    const statement = (texts: TemplateStringsArray) => {
      asked.push(texts.join('?'));
      return asked.length === 1 ? changes : Promise.resolve([{ xid: '7' }]);
    };
    const reading = readRateChanges(statement as unknown as Tx, 0n, 10);
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked.map((text) => text.includes('from fx_rate_changes'))).toEqual([true]);
    const change: RateChange = { ...project, change_id: 1n, base: 'SEK', quote: 'EUR', ts: '' };
    answer([change]);
    expect(await reading).toEqual({ changes: [change], until_xid: '7' });
  });
});

describe('a bet that is restated while the fold settles it', () => {
  async function waitingChange(): Promise<RateChange> {
    await foldAll(fixture, project, [placed('a', 'b', 1_000, 'SEK'), placed('a', 'c', 500, 'SEK')]);
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ wagered: 0n, bets: 2n, pending: 2n });
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    const [change] = await changesOf(sql, project);
    if (change === undefined) throw new Error('no change was noted');
    return change;
  }
  const settlement = () => batchOf(project, [settled('a', 'b', 1_000, 2_500, 'SEK')], { topic });
  const EXPECTED = { wagered: 150n, won: 250n, bets: 2n, pending: 0n };

  it('counts once when the restater is first: the fold reads again', async () => {
    await waitingChange();
    const writers = await stopWriters(sql, 'ledger');
    const restating = restateOnce(restaterOn(sql));
    await fixture.someoneWaits();
    const fold = fixture.newFold();
    const folding = foldBatch(fold, settlement());
    await fixture.someoneWaits(2);
    await writers.commit();
    await Promise.all([restating, folding]);
    expect(fold.conflicts).toHaveLength(1);
    expect(await totalsOf(sql, project, 'a')).toMatchObject(EXPECTED);
  });

  it('counts once when the fold is first: the restater reads the bet that the fold wrote', async () => {
    const change = await waitingChange();
    const writers = await stopWriters(sql, 'ledger');
    const folding = foldBatch(fixture.newFold(), settlement());
    await fixture.someoneWaits();
    const restating = applyRateChange(restaterOn(sql), change);
    await fixture.someoneWaits(2);
    await writers.commit();
    await Promise.all([restating, folding]);
    expect(await totalsOf(sql, project, 'a')).toMatchObject(EXPECTED);
    expect(await ledgerOf(sql, project)).toMatchObject([
      { reference: 'b', event: 'bet_placed', base_amount: 100n },
      { reference: 'b', event: 'bet_settled', base_amount: 100n, base_payout: 250n },
      { reference: 'c', event: 'bet_placed', base_amount: 50n },
    ]);
  });
});

describe('a player who is merged while rows are restated', () => {
  async function twoPlayers(): Promise<{ pair: MergePair; change: RateChange }> {
    await foldAll(fixture, project, [
      deposit('gone', 't-1', 500, 'SEK'),
      placed('gone', 'b', 300, 'SEK'),
      deposit('stays', 't-2', 900, 'SEK'),
    ]);
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    const rows = await sql<{ anonymous_id: string; player_id: string }[]>`
      select anonymous_id, player_id from player_identities where tenant_id = ${project.tenant_id}`;
    const ids = new Map(rows.map(({ anonymous_id, player_id }) => [anonymous_id, player_id]));
    const [change] = await changesOf(sql, project);
    if (change === undefined) throw new Error('no change was noted');
    return {
      pair: { ...project, player_id: ids.get('gone') ?? '', into_player_id: ids.get('stays') ?? '' },
      change,
    };
  }
  const EXPECTED = { deposited: 140n, wagered: 30n, bets: 1n, pending: 0n };

  it('credits the survivor when the merge is first', async () => {
    const { pair, change } = await twoPlayers();
    const merge = await openTransaction(sql, (tx) => mergePlayer(tx, pair, new Date(), PLAYER_DEPENDENTS));
    const restating = applyRateChange(restaterOn(sql), change);
    await fixture.someoneWaits();
    await merge.commit();
    await restating;
    expect(await totalsOf(sql, project, 'gone')).toMatchObject(EXPECTED);
    expect(await totalsOf(sql, project, 'stays')).toMatchObject(EXPECTED);
    expect(await changesOf(sql, project)).toEqual([]);
  });

  it('credits the survivor when the restater is first', async () => {
    const { pair, change } = await twoPlayers();
    const writers = await stopWriters(sql, 'ledger');
    const restating = applyRateChange(restaterOn(sql), change);
    await fixture.someoneWaits();
    const merging = sql.begin((tx) => mergePlayer(tx, pair, new Date(), PLAYER_DEPENDENTS));
    await fixture.someoneWaits(2);
    await writers.commit();
    await Promise.all([restating, merging]);
    expect(await totalsOf(sql, project, 'stays')).toMatchObject(EXPECTED);
  });

  it('restates rows of a player merged earlier for the survivor', async () => {
    const { pair, change } = await twoPlayers();
    await sql.begin((tx) => mergePlayer(tx, pair, new Date(), PLAYER_DEPENDENTS));
    await applyRateChange(restaterOn(sql), change);
    expect(await totalsOf(sql, project, 'stays')).toMatchObject(EXPECTED);
    expect(await changesOf(sql, project)).toEqual([]);
    await sql`update fx_rates set rate = 0.2 where tenant_id = ${project.tenant_id}`;
    expect(await restateOnce(restaterOn(sql))).toBe(1);
    expect(await totalsOf(sql, project, 'stays')).toMatchObject({ deposited: 280n, wagered: 60n });
  });
});

it('rows of a page whose commit is refused are counted once, when it is committed', async () => {
  await foldAll(fixture, project, [deposit('a', 't-1', 500, 'SEK'), deposit('a', 't-2', 700, 'SEK')]);
  await insertRate(sql, project, 'SEK/EUR', '0.1');
  const refusing = refusingCommits(sql, async (tx) => {
    const restated = await ledgerOf(tx, project);
    return refusing.refused() < 2 && restated.some(({ base_amount }) => base_amount !== null);
  });
  const restater = restaterOn(refusing.db);
  await restateOnce(restater);
  expect(refusing.refused()).toBe(2);
  expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 120n, pending: 0n });
  expect((await restater.metrics.rowsRestated.get()).values[0]?.value).toBe(2);
});

describe('two concurrent restaters', () => {
  it('leave the newest rate, even if the one that read the older rate writes last', async () => {
    await foldAll(fixture, project, [deposit('a', 't', 500, 'SEK')]);
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    const totals = await stopWriters(sql, 'player_totals');
    const first = restateOnce(restaterOn(sql));
    await fixture.someoneWaits();
    await sql`update fx_rates set rate = 0.2 where tenant_id = ${project.tenant_id}`;
    const { counted, horizons } = countingHorizons(sql);
    const second = restateOnce(restaterOn(counted));
    await until('the second waits for the first', async (saw) => saw(horizons()) > 2);
    await totals.commit();
    await Promise.all([first, second]);
    expect(await totalsOf(sql, project, 'a')).toMatchObject({ deposited: 100n, pending: 0n });
    expect(await adjustmentsOf(sql, project)).toMatchObject([{ base_amount: 50n }]);
  });

  it('restate each row once', async () => {
    const events = Array.from({ length: 600 }, (_, i) => deposit(`p-${i % 40}`, `t-${i}`, 100, 'SEK'));
    await foldAll(fixture, project, events);
    const restaters = [restaterOn(sql), restaterOn(sql), restaterOn(sql)];
    const restated = async () => {
      const counts = await Promise.all(restaters.map(({ metrics }) => metrics.rowsRestated.get()));
      return counts.reduce((sum, { values }) => sum + (values[0]?.value ?? 0), 0);
    };
    await insertRate(sql, project, 'SEK/EUR', '0.1');
    await Promise.all(restaters.map((restater) => restateOnce(restater)));
    expect(await totalsOf(sql, project, 'p-0')).toMatchObject({ deposited: 150n, pending: 0n });
    expect(await restated()).toBe(600);
    await sql`update fx_rates set rate = 0.2 where tenant_id = ${project.tenant_id}`;
    await Promise.all(restaters.map((restater) => restateOnce(restater)));
    expect(await totalsOf(sql, project, 'p-39')).toMatchObject({ deposited: 300n, pending: 0n });
    expect(await restated()).toBe(1_200);
    expect(await adjustmentsOf(sql, project)).toHaveLength(600);
  });
});
