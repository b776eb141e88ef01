import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PLAYER_DEPENDENTS } from '../../../src/app/player-dependents.ts';
import { grantPlayerColumns, type GrantPlayer } from '../../../src/bonuses/grants/issue-queries.ts';
import { foldBatch } from '../../../src/ledger/fold/fold-batch.ts';
import { endHistory, readLedgerPage } from '../../../src/ledger/licence-history/queries.ts';
import { mergePlayer } from '../../../src/players/identity/merge-queries.ts';
import { retryConflicts } from '../../../src/platform/postgres/retry.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';
import { runs, SEED } from '../../engines/effort.ts';
import { batchOf, openFoldFixture, type FoldFixture, type Given } from '../fold/fold-fixture.ts';

// Late and repeated withdrawals and limits, merges, and an installation from before, in any order.

const PEOPLE = 3;
const BEGIN_MS = Date.UTC(2026, 0, 1);

let fixture: FoldFixture;
beforeAll(async () => {
  fixture = await openFoldFixture();
});
afterAll(() => fixture?.close());

type Sent =
  | { kind: 'requested' | 'confirmed' | 'failed' | 'reversed'; transaction: number; hour: number }
  | { kind: 'limit'; person: number; hour: number; amount: number; period: string | null };
type Step =
  | { kind: 'fold'; events: Sent[]; looks: boolean }
  | { kind: 'merge'; from: number; into: number; looks: boolean };

const sent: fc.Arbitrary<Sent> = fc.oneof(
  fc.record({
    kind: fc.constantFrom(
      'requested' as const,
      'requested' as const,
      'confirmed' as const,
      'failed' as const,
      'reversed' as const,
    ),
    // A transaction is always of the same person.
    transaction: fc.nat(11),
    hour: fc.nat(500),
  }),
  fc.record({
    kind: fc.constant('limit' as const),
    person: fc.nat(PEOPLE - 1),
    hour: fc.nat(6),
    amount: fc.nat(3),
    period: fc.constantFrom('daily', 'weekly', null),
  }),
);
const looks = fc.boolean();
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('fold' as const),
      events: fc.array(sent, { minLength: 1, maxLength: 6 }),
      looks,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('merge' as const),
      from: fc.nat(PEOPLE - 1),
      into: fc.nat(PEOPLE - 1),
      looks,
    }),
  },
);

const personOf = (event: Sent) => (event.kind === 'limit' ? event.person : event.transaction % PEOPLE);

function eventOf(event: Sent, at: number): Given {
  const anonymous_id = `a-${personOf(event)}`;
  const timestamp = new Date(BEGIN_MS + event.hour * 3_600_000).toISOString();
  if (event.kind === 'limit') {
    const { amount, period } = event;
    const properties = {
      amount: at % 2 === 0 ? amount : String(amount),
      ...(period === null ? {} : { period }),
    };
    return { event: 'deposit_limit_set', anonymous_id, timestamp, properties };
  }
  const money = { transaction_id: `t-${event.transaction}`, amount: 500, currency: 'EUR' };
  const properties = event.kind === 'reversed' ? { ...money, reversal_id: `r-${at}` } : money;
  return { event: `withdrawal_${event.kind}`, anonymous_id, timestamp, properties };
}

/** Who each person is now, and what is known of all of their ids. */
class Oracle {
  readonly survivors = new Map<number, number>();
  readonly #kinds = new Map<number, Set<string>>();
  readonly #limits: Extract<Sent, { kind: 'limit' }>[] = [];

  survivorOf(person: number): number {
    const next = this.survivors.get(person);
    return next === undefined ? person : this.survivorOf(next);
  }

  take(event: Sent): void {
    if (event.kind === 'limit') return void this.#limits.push(event);
    const kinds = this.#kinds.get(event.transaction) ?? new Set();
    this.#kinds.set(event.transaction, kinds.add(event.kind));
  }

  hasOpen(person: number): boolean {
    return [...this.#kinds].some(
      ([transaction, kinds]) =>
        this.survivorOf(transaction % PEOPLE) === person &&
        kinds.has('requested') &&
        !kinds.has('confirmed') &&
        !kinds.has('failed'),
    );
  }

  raisedAt(person: number): number | null {
    const hours = this.#limits.flatMap((limit) => {
      if (this.survivorOf(limit.person) !== person) return [];
      // The limits that were there just before: the latest ones, of them the highest.
      const before = this.#limits.filter(
        (one) =>
          this.survivorOf(one.person) === person &&
          one.period === limit.period &&
          (one.hour < limit.hour || (one.hour === limit.hour && one.amount < limit.amount)),
      );
      const last = before.reduce<(typeof before)[number] | undefined>(
        (a, b) => (a === undefined || b.hour > a.hour || (b.hour === a.hour && b.amount > a.amount) ? b : a),
        undefined,
      );
      return last !== undefined && last.amount < limit.amount ? [limit.hour] : [];
    });
    return hours.length === 0 ? null : BEGIN_MS + Math.max(...hours) * 3_600_000;
  }
}

async function playerOf(
  { tenant_id, project_id }: ProjectRef,
  person: number,
): Promise<GrantPlayer | undefined> {
  const { sql } = fixture;
  const [row] = await sql<GrantPlayer[]>`
    select ${grantPlayerColumns(sql)} from player_identities i
    join players p using (tenant_id, project_id, player_id)
    where i.tenant_id = ${tenant_id} and i.project_id = ${project_id} and i.anonymous_id = ${`a-${person}`}`;
  return row;
}

async function play(steps: readonly Step[], upgrade_at: number, topic: string): Promise<void> {
  const project = await fixture.newTenant();
  const { tenant_id, project_id } = project;
  const oracle = new Oracle();
  const fold = fixture.newFold();
  let first = 0n;
  let is_through = true;
  const check = async () => {
    for (let person = 0; person < PEOPLE; person++) {
      const player = await playerOf(project, person);
      if (player === undefined) continue;
      const survivor = oracle.survivorOf(person);
      const is_open = oracle.hasOpen(survivor);
      const found = player.has_pending_withdrawal;
      if (is_through || found !== null) expect(found).toBe(is_open);
      expect(player.limit_raised_at?.getTime() ?? null).toBe(oracle.raisedAt(survivor));
    }
  };
  for (const [at, one] of steps.entries()) {
    if (at === upgrade_at) {
      // As the migration of an installation leaves it.
      await fixture.sql`delete from open_withdrawals where project_id = ${project_id}`;
      await fixture.sql`insert into licence_history (tenant_id, project_id) values (${tenant_id}, ${project_id})`;
      is_through = false;
    }
    const looking = one.looks
      ? retryConflicts(() => fixture.sql.begin((tx) => readLedgerPage(tx, 3)))
      : undefined;
    if (one.kind === 'fold') {
      const events = one.events.map((event, n) => eventOf(event, at * 100 + n));
      await foldBatch(fold, batchOf(project, events, { topic, first }));
      first += BigInt(one.events.length);
      for (const event of one.events) oracle.take(event);
    } else {
      const [from, into] = [oracle.survivorOf(one.from), oracle.survivorOf(one.into)];
      const [gone, stays] = await Promise.all([playerOf(project, from), playerOf(project, into)]);
      if (gone !== undefined && stays !== undefined && gone.player_id !== stays.player_id) {
        const pair = { ...project, player_id: gone.player_id, into_player_id: stays.player_id };
        await retryConflicts(() =>
          fixture.sql.begin((tx) => mergePlayer(tx, pair, new Date(), PLAYER_DEPENDENTS)),
        );
        oracle.survivors.set(from, into);
      }
    }
    await looking;
    await check();
  }
  const page = () => retryConflicts(() => fixture.sql.begin((tx) => readLedgerPage(tx, 3)));
  while (await page());
  await endHistory(fixture.sql, project);
  is_through = true;
  await check();
}

const COUNT = runs(100);

it(
  'withdrawals are open and limits are raised as all events of a person say, also after an upgrade',
  async () => {
    const cases = fc.sample(fc.tuple(fc.array(step, { minLength: 3, maxLength: 14 }), fc.nat(20)), {
      numRuns: COUNT,
      seed: SEED,
    });
    for (const [n, [steps, upgrade_at]] of cases.entries())
      await play(steps, upgrade_at, `licence-facts-${n}`).catch((error: unknown) => {
        throw new Error(JSON.stringify({ upgrade_at, steps }), { cause: error });
      });
  },
  60_000 + COUNT * 2_000,
);
