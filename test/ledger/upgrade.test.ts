import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readLedgerPage, readTotalsPage } from '../../src/reconcile/sums-queries.ts';
import { LedgerRecomputation } from '../../src/reconcile/recompute.ts';
import { runs } from '../engines/effort.ts';
import { openForUpgrade, type Upgraded } from '../engines/upgrade.ts';

const UPGRADE = 17;
/** Has hashes of another size. */
const HASHES = 25;
/** Of two rows each: a million rows at night. */
const BETS = runs(5_000, { nightly: 500_000 });

let upgraded: Upgraded;
beforeAll(async () => {
  upgraded = await openForUpgrade('before_feeds');
});
afterAll(() => upgraded?.close());

it('a filled ledger is not rewritten, and adds up to the same totals', async () => {
  const { sql, migrate } = upgraded;
  await migrate((version) => version < UPGRADE);
  const [tenant_id, project_id] = [randomUUID(), randomUUID()];
  await sql.begin(async (tx) => {
    // Without the rows that these refer to.
    await tx`set local session_replication_role = replica`;
    await tx`
      insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'p')`;
    await tx`
      insert into ledger (project_no, reference, ordinal, event, player_id, occurred_at, currency, amount, payout, base_amount,
        base_payout, ingestion_id, event_index, log_partition, log_offset)
      select p.project_no, 'b' || n, o, (array['bet_placed', 'bet_settled'])[o + 1]::money_event,
        ('00000000-0000-4000-8000-' || lpad((n % 1000)::text, 12, '0'))::uuid, now(), 'EUR', n % 500,
        case o when 1 then n % 700 end, n % 500, case o when 1 then n % 700 end, gen_random_uuid(), 0, 0, 2 * n + o
      from projects p, generate_series(1, ${BETS}::integer) n, generate_series(0, 1) o
      where p.project_id = ${project_id}`;
    await tx`
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, last_seen_at, updated_at, total_wagered,
        total_won, bet_count)
      select ${tenant_id}, ${project_id}, player_id, now(), now(), now(), sum(base_amount) filter (where ordinal = 0),
        coalesce(sum(base_payout), 0), count(*) filter (where ordinal = 0)
      from ledger group by player_id`;
  });
  const filesOf = () => sql`
    select c.relname, pg_relation_filenode(c.oid) as file from pg_class c
    where c.relname in ('ledger', 'ledger_pkey', 'player_totals', 'unrated_events', 'ledger_adjustments') order by 1`;
  const before = await filesOf();
  await migrate((version) => version >= UPGRADE && version < HASHES);
  await sql`update ledger set detail_hash = ${2n ** 62n} where reference = 'b1'`;
  await migrate((version) => version >= HASHES);
  // A rewrite under the lock gives a table another file.
  expect(await filesOf()).toEqual(before);
  // No duplicate differs from these rows.
  expect(await sql`select from ledger where detail_hash is not null`).toHaveLength(0);
  const recomputed = new LedgerRecomputation(0);
  for (let after: Parameters<typeof readLedgerPage>[2]; ;) {
    const page = await readLedgerPage(sql, tenant_id, after, 5_000);
    for (const row of page.rows) recomputed.take(row);
    if ((after = page.last) === undefined) break;
  }
  recomputed.finish();
  const counted = new Map(
    recomputed.drain().map(({ player_id, event, field, value }) => [`${player_id} ${event} ${field}`, value]),
  );
  const held = await readTotalsPage(sql, tenant_id, undefined, 1_001);
  expect(held.length).toBe(Math.min(BETS, 1_000));
  for (const { player_id, totals } of held) {
    for (const [sum, value] of Object.entries(totals)) {
      expect(value, `${sum} of ${player_id}`).toBe(counted.get(`${player_id}  ${sum}`) ?? 0n);
    }
  }
  expect(await sql`select tenant_id, project_id, reference, ordinal from recounts`).toEqual([
    { tenant_id, project_id, reference: '', ordinal: -1 },
  ]);
});
