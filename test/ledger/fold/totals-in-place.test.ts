import { afterAll, beforeAll, expect, it } from 'vitest';
import { LAST_SEEN_SQL, LISTED_WITHIN_MS } from '../../../src/analytics/mirrored-columns.ts';
import { foldBatch } from '../../../src/ledger/fold/fold-batch.ts';
import { until } from '../../engines/until.ts';
import { batchOf, deposit, openFoldFixture, type FoldFixture } from './fold-fixture.ts';

let fixture: FoldFixture;
beforeAll(async () => {
  // Postgres gives no room of old rows free while an older transaction runs, also one of another database of the server.
  fixture = await openFoldFixture({ own_postgres: true });
});
afterAll(() => fixture.close());

const PLAYERS = 400;
/** A batch has events of some of the players that share a page. */
const BATCHES = 5;
const START_MS = Date.parse('2026-03-01T20:00:00Z');

/** How many rows of the totals were updated, and how many of them in place. */
async function updates(): Promise<{ all: number; in_place: number }> {
  const [row] = await fixture.sql<{ all: number; in_place: number }[]>`
    select n_tup_upd::integer as all, n_tup_hot_upd::integer as in_place
    from pg_stat_user_tables where relname = 'player_totals'`;
  return row ?? { all: 0, in_place: 0 };
}

it('adds to totals without a write of an index, but once in a while for the list of players', async () => {
  const project = await fixture.newTenant();
  const topic = `events-${project.project_id}`;
  const fold = fixture.newFold();
  let first = 0n;
  const playAt = async (at_ms: number, batches = BATCHES) => {
    const events = Array.from({ length: PLAYERS }, (_, i) => ({
      ...deposit(`p-${i}`, `t-${at_ms}-${i}`, 100),
      timestamp: new Date(at_ms).toISOString(),
    }));
    for (let n = 0; n < batches; n++) {
      const some = events.filter((_, i) => i % batches === n);
      await foldBatch(fold, batchOf(project, some, { topic, first }));
      first += BigInt(some.length);
    }
  };
  const listed = async () => {
    const rows = await fixture.sql<{ listed_at: Date; seen_at: Date; deposited: bigint }[]>`
      select distinct listed_at, ${fixture.sql.unsafe(LAST_SEEN_SQL)} as seen_at, total_deposited as deposited
      from player_totals t where project_id = ${project.project_id}`;
    return rows.map((row) => [row.listed_at.getTime(), row.seen_at.getTime(), row.deposited]);
  };
  await playAt(START_MS, 1);
  const before = await updates();
  const last_ms = START_MS + LISTED_WITHIN_MS - 1;
  for (const at_ms of [START_MS + 1, last_ms, START_MS - 1, last_ms - 1]) await playAt(at_ms);
  const after = await until(async (saw) => {
    const { all, in_place } = saw(await updates());
    return all >= before.all + 4 * PLAYERS && { all: all - before.all, in_place: in_place - before.in_place };
  });
  expect(after.all).toBe(4 * PLAYERS);
  expect(after.in_place / after.all).toBeGreaterThanOrEqual(0.99);
  expect(await listed()).toEqual([[START_MS, last_ms, 500n]]);
  await playAt(START_MS + LISTED_WITHIN_MS);
  expect(await listed()).toEqual([[START_MS + LISTED_WITHIN_MS, START_MS + LISTED_WITHIN_MS, 600n]]);
});
