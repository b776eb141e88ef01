import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';

/** Inserts `count` players directly into Postgres and analyses the tables; returns a thousand of their ids. */
export async function seedPlayers(
  postgres_url: string,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  count: number,
): Promise<string[]> {
  const sql = connectPool(postgres_url, { max: 1 });
  try {
    await insertPlayers(sql, { tenant_id, project_id }, count);
    await sql`analyze players`;
    await sql`analyze player_totals`;
    const rows = await sql<{ player_id: string }[]>`
      select md5(i::text)::uuid as player_id from generate_series(1, ${count}::integer, ${Math.floor(count / 1_000)}::integer) i`;
    return rows.map((row) => row.player_id);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Inserts players and their totals. */
export async function insertPlayers(
  sql: Db,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  count: number,
): Promise<void> {
  await sql`
    insert into players (tenant_id, project_id, player_id, anonymous_ids, default_currency_code, created_at, updated_at)
    select ${tenant_id}, ${project_id}, md5(i::text)::uuid, array['device-' || i], 'EUR', now(), now()
    from generate_series(1, ${count}::integer) i`;
  await sql`
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, total_deposited, updated_at)
    select ${tenant_id}, ${project_id}, md5(i::text)::uuid, now() - interval '30 days', now() - i * interval '1 second', i * 100, now()
    from generate_series(1, ${count}::integer) i`;
}

/** Inserts a rate of a pair per `every_hours` over the `days` before `until_ms`, each a little above the one before. */
export async function seedRates(
  sql: Db,
  tenant_id: string,
  { base, quote, rate }: { base: string; quote: string; rate: number },
  { until_ms, days, every_hours }: { until_ms: number; days: number; every_hours: number },
): Promise<void> {
  await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate, source)
    select ${tenant_id}, ${base}, ${quote}, ${new Date(until_ms)}::timestamptz - i * interval '1 hour',
      ${rate}::numeric * (1 - i * 0.00001), 'bench'
    from generate_series(0, ${days * 24}::integer, ${every_hours}::integer) i`;
}

/** How many ledger rows whose reference begins with `prefix` were converted by a rate, and how many are pending. */
export async function countConverted(
  sql: Db,
  tenant_id: string,
  prefix: string,
): Promise<{ converted: number; waiting: number }> {
  const [row] = await sql<{ converted: number; waiting: number }[]>`
    select count(*) filter (where rate is not null)::integer as converted,
      count(*) filter (where amount is not null and base_amount is null)::integer as waiting
    from ledger join projects using (project_no) where tenant_id = ${tenant_id} and starts_with(reference, ${prefix})`;
  return row ?? { converted: 0, waiting: 0 };
}

/**
 * Inserts bets of nobody into the ledger, in parts; `reference` is an expression of SQL for the id of row `i`. The primary key
 * is made anew after it, with pages as full as inserts in no order leave them.
 */
export async function insertLedgerRows(
  sql: Db,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  count: number,
  reference: string,
): Promise<void> {
  const part = 100_000;
  await sql`alter table ledger drop constraint ledger_pkey`;
  for (let from = 1; from <= count; from += part) {
    await sql`
      insert into ledger (log_offset, occurred_at, base_amount, ingestion_id, player_id, project_no, event, ordinal,
        event_index, log_partition, reference, currency, amount, detail_hash)
      select -i, now(), 100, md5(i::text)::uuid, md5((i % 5000)::text)::uuid, p.project_no, 'bet_placed', 0, 0, 0,
        ${sql.unsafe(reference)}, 'EUR', 100, i
      from projects p cross join generate_series(${from}::integer, ${Math.min(count, from + part - 1)}::integer) i
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id}`;
  }
  await sql`alter table ledger add constraint ledger_pkey primary key (project_no, reference, ordinal) with (fillfactor = 70)`;
  await sql`vacuum analyze ledger`;
}
