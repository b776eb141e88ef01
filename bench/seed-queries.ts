import { connectPool } from '../src/platform/postgres/pool.ts';

/** Puts `count` players straight into Postgres; returns a thousand of their ids. */
export async function seedPlayers(
  postgres_url: string,
  { tenant_id, project_id }: { tenant_id: string; project_id: string },
  count: number,
): Promise<string[]> {
  const sql = connectPool(postgres_url, { max: 1 });
  try {
    await sql`
      insert into players (tenant_id, project_id, player_id, anonymous_ids, default_currency_code, created_at, updated_at)
      select ${tenant_id}, ${project_id}, md5(i::text)::uuid, array['device-' || i], 'EUR', now(), now()
      from generate_series(1, ${count}::integer) i`;
    await sql`
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, last_seen_at, total_deposited, updated_at)
      select ${tenant_id}, ${project_id}, md5(i::text)::uuid, now() - interval '30 days', now() - i * interval '1 second', i * 100, now()
      from generate_series(1, ${count}::integer) i`;
    await sql`analyze players`;
    await sql`analyze player_totals`;
    const rows = await sql<{ player_id: string }[]>`
      select md5(i::text)::uuid as player_id from generate_series(1, ${count}::integer, ${Math.floor(count / 1_000)}::integer) i`;
    return rows.map((row) => row.player_id);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
