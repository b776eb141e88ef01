import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runFirstDepositsJob } from '../../src/analytics/first-deposit-job.ts';
import { countFirstDeposits } from '../../src/analytics/first-deposit-queries.ts';
import { PLAYER_DEPENDENTS } from '../../src/app/player-dependents.ts';
import { foldBatch } from '../../src/ledger/fold/fold-batch.ts';
import { mergePlayer } from '../../src/players/identity/merge-queries.ts';
import { retryConflicts } from '../../src/platform/postgres/retry.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';
import { runs, SEED } from '../engines/effort.ts';
import { until } from '../engines/until.ts';
import { batchOf, openFoldFixture, type FoldFixture, type Given } from '../ledger/fold/fold-fixture.ts';

// Late, repeated and reversed deposits, merges, and an installation from before, in any order.

const PEOPLE = 4;
const BEGIN_MS = Date.UTC(2026, 0, 1);

let fixture: FoldFixture;
beforeAll(async () => {
  fixture = await openFoldFixture();
});
afterAll(() => fixture?.close());

interface Sent {
  kind: 'deposit' | 'reversal' | 'session';
  /** A transaction is always of the same person. */
  transaction: number;
  hour: number;
}
type Step =
  | { kind: 'fold'; events: Sent[]; counts: boolean }
  | { kind: 'merge'; from: number; into: number; counts: boolean };

const sent: fc.Arbitrary<Sent> = fc.record({
  kind: fc.constantFrom('deposit' as const, 'deposit' as const, 'reversal' as const, 'session' as const),
  transaction: fc.nat(15),
  hour: fc.nat(500),
});
const counts = fc.boolean();
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('fold' as const),
      events: fc.array(sent, { minLength: 1, maxLength: 6 }),
      counts,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('merge' as const),
      from: fc.nat(PEOPLE - 1),
      into: fc.nat(PEOPLE - 1),
      counts,
    }),
  },
);

const nameOf = (transaction: number) => `a-${transaction % PEOPLE}`;

function eventOf({ kind, transaction, hour }: Sent, at: number): Given {
  const anonymous_id = nameOf(transaction);
  const timestamp = new Date(BEGIN_MS + hour * 3_600_000).toISOString();
  const transaction_id = `t-${transaction}`;
  const money = { transaction_id, amount: 500, currency: 'EUR' };
  if (kind === 'session') return { event: 'session_start', anonymous_id, timestamp, properties: {} };
  if (kind === 'reversal')
    return {
      event: 'deposit_reversed',
      anonymous_id,
      timestamp,
      properties: { ...money, reversal_id: `r-${at}` },
    };
  return {
    event: 'deposit_confirmed',
    anonymous_id,
    timestamp,
    properties: { ...money, payment_method: 'card' },
  };
}

/** Who each name is now, and when each name first deposited: of a transaction the first event counts, whatever is reversed. */
class Oracle {
  readonly survivors = new Map<string, string>();
  readonly #transactions = new Set<number>();
  readonly #first = new Map<string, number>();

  survivorOf(name: string): string {
    const next = this.survivors.get(name);
    return next === undefined ? name : this.survivorOf(next);
  }

  take({ kind, transaction, hour }: Sent): void {
    if (kind !== 'deposit' || this.#transactions.has(transaction)) return;
    this.#transactions.add(transaction);
    const name = nameOf(transaction);
    const at_ms = BEGIN_MS + hour * 3_600_000;
    this.#first.set(name, Math.min(this.#first.get(name) ?? at_ms, at_ms));
  }

  first(name: string): number | null {
    const all = [...this.#first].filter(([one]) => this.survivorOf(one) === this.survivorOf(name));
    return all.length === 0 ? null : Math.min(...all.map(([, at_ms]) => at_ms));
  }
}

async function playerOf({ tenant_id, project_id }: ProjectRef, name: string) {
  const [row] = await fixture.sql<{ player_id: string; first_ms: bigint | null }[]>`
    select t.player_id, epoch_ms(t.first_deposit_at)::bigint as first_ms from player_identities i
    join player_totals t using (tenant_id, project_id, player_id)
    where i.tenant_id = ${tenant_id} and i.project_id = ${project_id} and i.anonymous_id = ${name}`;
  return row;
}

const countPage = () => retryConflicts(() => fixture.sql.begin((tx) => countFirstDeposits(tx, 3)));

async function play(steps: readonly Step[], upgrade_at: number, topic: string): Promise<void> {
  const project = await fixture.newTenant();
  const { tenant_id, project_id } = project;
  const oracle = new Oracle();
  const fold = fixture.newFold();
  let first = 0n;
  const check = async () => {
    for (let n = 0; n < PEOPLE; n++) {
      const player = await playerOf(project, `a-${n}`);
      const expected = oracle.first(`a-${n}`);
      expect(player?.first_ms ?? null).toBe(expected === null ? null : BigInt(expected));
    }
  };
  for (const [at, one] of steps.entries()) {
    if (at === upgrade_at) {
      await check();
      // As the migration of an installation leaves it.
      await fixture.sql`update player_totals set first_deposit_at = null where project_id = ${project_id}`;
      await fixture.sql`insert into first_deposit_pages (tenant_id, project_id) values (${tenant_id}, ${project_id})`;
    }
    const counting = one.counts ? countPage() : undefined;
    if (one.kind === 'fold') {
      const batch = batchOf(
        project,
        one.events.map((event, n) => eventOf(event, at * 100 + n)),
        { topic, first },
      );
      first += BigInt(one.events.length);
      await foldBatch(fold, batch);
      for (const event of one.events) oracle.take(event);
    } else {
      const [from, into] = [one.from, one.into].map((n) => oracle.survivorOf(`a-${n}`));
      const [gone, stays] = await Promise.all([playerOf(project, from ?? ''), playerOf(project, into ?? '')]);
      if (gone !== undefined && stays !== undefined && gone.player_id !== stays.player_id) {
        const pair = { ...project, player_id: gone.player_id, into_player_id: stays.player_id };
        await retryConflicts(() =>
          fixture.sql.begin((tx) => mergePlayer(tx, pair, new Date(), PLAYER_DEPENDENTS)),
        );
        oracle.survivors.set(from ?? '', into ?? '');
      }
    }
    await counting;
  }
  await runFirstDepositsJob({ postgres: { service: fixture.sql } } as never, new AbortController().signal, 3);
  await check();
  // No mirror runs: the project stays until what was changed is copied.
  await fixture.sql`delete from player_changes`;
  // Other transactions of the server may be older than the last page.
  await until('the project is done', async (saw) => {
    await runFirstDepositsJob(
      { postgres: { service: fixture.sql } } as never,
      new AbortController().signal,
      3,
    );
    const rows = await fixture.sql`select from first_deposit_pages where project_id = ${project_id}`;
    return saw(rows.length) === 0;
  });
}

const COUNT = runs(150);

it(
  'is that of the first deposit that counts, of all ids of a person, also after an upgrade',
  async () => {
    const cases = fc.sample(fc.tuple(fc.array(step, { minLength: 3, maxLength: 14 }), fc.nat(13)), {
      numRuns: COUNT,
      seed: SEED,
    });
    for (const [n, [steps, upgrade_at]] of cases.entries())
      await play(steps, upgrade_at, `first-deposits-${n}`).catch((error: unknown) => {
        throw new Error(JSON.stringify({ upgrade_at, steps }), { cause: error });
      });
  },
  60_000 + COUNT * 2_000,
);
