import { randomUUID } from 'node:crypto';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';
import type { Platform } from '../../src/platform/platform.ts';

/**
 * Inserts new players of a project into Postgres and ClickHouse; no processor knows that they are new. Returns their
 * ids in order.
 */
export async function insertPlayers(
  { postgres, clickhouse }: Pick<Platform, 'postgres' | 'clickhouse'>,
  { tenant_id, project_id }: ProjectRef,
  count: number,
): Promise<string[]> {
  const rows = await postgres.service<{ player_id: string }[]>`
    insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
    select ${tenant_id}, ${project_id}, gen_random_uuid(), 'EUR', now(), now()
    from generate_series(1, ${count}) returning player_id`;
  const row = { email: 'anna@example.com', custom_attributes: {}, revision: 1 };
  const lines = rows.map(({ player_id }) => JSON.stringify({ tenant_id, project_id, player_id, ...row }));
  await clickhouse.insertLines('players', lines, randomUUID());
  return rows.map(({ player_id }) => player_id).sort();
}
