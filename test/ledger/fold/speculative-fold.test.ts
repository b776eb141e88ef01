import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  startFolding,
  type Folding,
  foldBatch,
  type FoldContext,
} from '../../../src/ledger/fold/fold-batch.ts';
import type { LogBatch } from '../../../src/platform/event-log/port.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';
import { openTransaction } from '../fx/restate-fixture.ts';
import { batchOf, deposit, openFoldFixture, totalsOf, type FoldFixture, type Given } from './fold-fixture.ts';

let fixture: FoldFixture;
let project: ProjectRef;
let topic: string;
let fold: ReturnType<FoldFixture['newFold']>;
beforeAll(async () => {
  fixture = await openFoldFixture();
});
afterAll(() => fixture.close());
beforeEach(async () => {
  project = await fixture.newTenant();
  topic = `events-${project.project_id}`;
  fold = fixture.newFold();
  // From here on the fold knows its position.
  await foldBatch(fold, batchOf(project, [deposit('a', 'first', 1)], { topic }));
});

const bet = (event: string, amounts: Record<string, number>): Given => ({
  event,
  anonymous_id: 'a',
  properties: { currency: 'EUR', bet_id: 'b', game_id: 'g', ...amounts },
});
const PLACED = bet('bet_placed', { amount: 100 });
const SETTLED = bet('bet_settled', { amount: 100, payout: 250 });

/** Two parts, one after the other; the second is started as soon as the first is decided. */
async function startBoth(
  context: FoldContext,
  first: LogBatch,
  second: LogBatch,
): Promise<[Folding, Folding]> {
  const emitted = () => first.from;
  const one = startFolding(context, first, emitted, {
    preceding: undefined,
    applied_preceding: Promise.resolve(),
  });
  const preceding = await one.decided;
  return [one, startFolding(context, second, emitted, { preceding, applied_preceding: one.applied })];
}

const partsOf = (...parts: Given[][]) =>
  parts.map((events, i) =>
    batchOf(project, events, { topic, first: 1n + BigInt(parts.slice(0, i).flat().length) }),
  ) as [LogBatch, LogBatch];

it('decides a part on the effects of the part before, whose transaction is still open', async () => {
  const [first, second] = partsOf([PLACED], [SETTLED, deposit('new', 'second', 5)]);
  // The first part waits for this lock after it was decided; the second one is read and decided meanwhile.
  const lock = await openTransaction(fixture.sql, (tx) => tx`lock table ledger in exclusive mode`);
  const [one, two] = await startBoth(fold, first, second);
  await fixture.someoneWaits();
  const decided = await two.decided;
  expect(decided?.effects.ledger_rows.map(({ reference, ordinal }) => [reference, ordinal])).toEqual([
    ['b', 1],
    ['second', 0],
  ]);
  await lock.commit();
  expect((await one.applied).events).toHaveLength(1);
  expect((await two.applied).events).toHaveLength(2);
  expect(fold.conflicts).toEqual([]);
  expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({
    total_deposited: 1n,
    total_wagered: 100n,
    total_won: 250n,
    bet_count: 1n,
  });
});

it('starts a part over when the part before turns out different', async () => {
  const [first, second] = partsOf([PLACED, deposit('a', 'b', 7)], [SETTLED]);
  // Another process has claimed the reference, too, and commits while the first part waits to write its row.
  const rival = await openTransaction(
    fixture.sql,
    (tx) => tx`
      insert into ledger (project_no, reference, ordinal, event, player_id, occurred_at, ingestion_id, event_index,
        log_partition, log_offset)
      select p.project_no, 'b', 0, 'withdrawal_failed', i.player_id, now(), gen_random_uuid(), 0, 9, 0
      from projects p join player_identities i using (tenant_id, project_id)
      where p.project_id = ${project.project_id}`,
  );
  const [one, two] = await startBoth(fold, first, second);
  await fixture.someoneWaits();
  expect(await two.decided).toBeDefined();
  await rival.commit();
  await Promise.all([one.applied, two.applied]);
  expect(fold.conflicts.length).toBeGreaterThanOrEqual(2);
  const rows = await fixture.sql`
    select l.ordinal, l.event from ledger l join projects p using (project_no)
    where p.project_id = ${project.project_id} and l.reference = 'b' order by l.ordinal`;
  expect(rows.map(({ event }) => String(event))).toEqual([
    'withdrawal_failed',
    'bet_placed',
    'deposit_confirmed',
    'bet_settled',
  ]);
  expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({
    total_deposited: 8n,
    total_wagered: 100n,
    total_won: 250n,
    bet_count: 1n,
  });
});

it('applies the part after a record that can never be applied', async () => {
  // More than 64 bits in all: Postgres refuses the second deposit.
  const most = '9223372036854775000';
  const [first, second] = partsOf(
    [deposit('rich', 't-1', most), deposit('rich', 't-2', most), PLACED],
    [SETTLED, deposit('rich', 't-3', 5)],
  );
  const [one, two] = await startBoth(fold, first, second);
  const [emission, after] = await Promise.all([one.applied, two.applied]);
  expect(emission.rejections.map(({ reason }) => reason)).toEqual(['POISON_RECORD']);
  expect(after.events).toHaveLength(2);
  expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ total_won: 250n, bet_count: 1n });
  expect(await totalsOf(fixture.sql, project, 'rich')).toMatchObject({ total_deposited: BigInt(most) + 5n });
});

it('applies nothing of a part after one that fails', async () => {
  const [first, second] = partsOf([PLACED], [SETTLED]);
  const failing: FoldContext = {
    ...fold,
    thresholds: Object.assign(Object.create(fold.thresholds) as FoldContext['thresholds'], {
      of: () => Promise.reject(new Error('the thresholds cannot be read')),
    }),
  };
  const one = startFolding(failing, first, () => first.from, {
    preceding: undefined,
    applied_preceding: Promise.resolve(),
  });
  expect(await one.decided).toBeUndefined();
  const two = startFolding(fold, second, () => first.from, {
    preceding: undefined,
    applied_preceding: one.applied,
  });
  await expect(one.applied).rejects.toThrow('the thresholds cannot be read');
  await expect(two.applied).rejects.toThrow();
  expect(await totalsOf(fixture.sql, project, 'a')).toMatchObject({ bet_count: 0n });
});
