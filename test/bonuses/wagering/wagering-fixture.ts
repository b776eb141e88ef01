import { randomUUID } from 'node:crypto';
import type { BetReport } from '../../../src/bonuses/wagering/count.ts';
import { contributionsOfPlayers } from '../../../src/bonuses/wagering/merge-queries.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { migratePostgres } from '../../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import type { Db, Postgres } from '../../../src/platform/postgres/port.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

/** When the grants of these tests were made. */
export const BASE_MS = Date.UTC(2026, 0, 1);
export const at = (minute: number) => new Date(BASE_MS + minute * 60_000);

/** A Postgres with a tenant of EUR and USD (1 EUR = 2 USD), and what counting needs of a platform. */
export async function openWagering() {
  const engine = await openTestPostgres({ prepared: true });
  const sql = connectPool(engine.url);
  await migratePostgres(sql);
  const project = { tenant_id: randomUUID(), project_id: randomUUID() };
  const { tenant_id, project_id } = project;
  await sql`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
  await sql`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'P')`;
  await sql`
    insert into currencies (tenant_id, code, kind, scale, symbol, display_name)
    select ${tenant_id}, code, 'fiat', 2, code, code from unnest(array['EUR', 'USD', 'SEK']) as c (code)`;
  await rate(sql, tenant_id, '2');
  const metrics = createMetrics();
  let now_ms = BASE_MS;
  const platform = {
    postgres: { service: sql } as Postgres,
    clock: { now_ms: () => now_ms },
    logger: createLogger('silent'),
    metrics,
  };
  return {
    sql,
    project,
    platform,
    metrics,
    setNow: (date: Date) => (now_ms = date.getTime()),
    async close() {
      await sql.end({ timeout: 5 });
      await engine.close();
    },
  };
}
export type Wagering = Awaited<ReturnType<typeof openWagering>>;

/** From the year 2000 on 1 EUR is so many USD. */
export async function rate(sql: Db, tenant_id: string, usd: string): Promise<void> {
  await sql`
    insert into fx_rates (tenant_id, base, quote, ts, rate)
    values (${tenant_id}, 'EUR', 'USD', '2000-01-01', ${usd}::text::numeric)
    on conflict (tenant_id, base, quote, ts) do update set rate = excluded.rate`;
}

const TERMS = {
  terms_version: 1,
  template_id: randomUUID(),
  template_version: 1,
  name: 'bonus',
  type: 'no_deposit',
  product: 'any',
  config: { amount: '1000', currency: 'EUR' },
  wagering: { multiplier_hundredths: 1_000, basis: 'bonus' },
  game_contribution: null,
  max_bet: null,
  max_win_cap: null,
  max_bet_action: 'flag',
  wallet_model: 'sticky',
  time_limit_hours: null,
};

/** Stores an active grant of 10.00 EUR. */
export async function insertGrant(
  { sql, project }: Wagering,
  { terms, ...columns }: { terms?: object; [column: string]: unknown } = {},
) {
  const row = {
    ...project,
    grant_id: randomUUID(),
    template_id: randomUUID(),
    template_version: 1,
    player_id: randomUUID(),
    granted_by_kind: 'api',
    terms: { ...TERMS, ...terms },
    slot: 1,
    status: 'active',
    outcome: 'confirmed',
    adapter_slug: 'casino',
    player_external_id: 'x',
    order_body: '{}',
    currency: 'EUR',
    bonus_amount: 1_000,
    bonus_amount_base: 1_000,
    wagering_required: 10_000,
    max_bet: null,
    created_at: at(0),
    activated_at: at(0),
    expires_at: null,
    ended_at: null,
    updated_at: at(0),
    is_protection_seen: true,
    ...columns,
  };
  const names = sql(Object.keys(row));
  await sql`
    insert into bonus_grants (${names})
    select ${names} from jsonb_populate_record(null::bonus_grants, ${JSON.stringify(row)}::text::jsonb)`;
  return { grant_id: row.grant_id, player_id: row.player_id };
}

/** Merges a player as the service does. */
export async function mergeInto(
  { sql, project }: Wagering,
  player_id: string,
  into_player_id: string,
): Promise<void> {
  const { tenant_id, project_id } = project;
  await sql.begin(async (tx) => {
    await tx`select from bonus_grants where player_id in (${player_id}, ${into_player_id}) order by grant_id for update`;
    await tx`
      insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at)
      values (${tenant_id}, ${project_id}, ${player_id}, ${into_player_id}, now())`;
    await tx`update player_merges set into_player_id = ${into_player_id} where into_player_id = ${player_id}`;
    await tx`update bonus_grants set player_id = ${into_player_id} where player_id = ${player_id}`;
    await contributionsOfPlayers.onMerge(tx, { ...project, player_id, into_player_id }, at(20));
  });
}

/** A settled casino bet of 1.00 EUR. */
export function betOf(player_id: string, rest: Partial<BetReport> = {}): BetReport {
  return {
    player_id,
    kind: 'casino',
    bet_id: randomUUID(),
    state: 'settled',
    stake: 100n,
    currency: 'EUR',
    game_category: 'slots',
    occurred_at_ms: at(1).getTime(),
    revision: 1n,
    is_of_ledger: true,
    ...rest,
  };
}

/** What grants show of their wagering. */
export async function shown({ sql }: Wagering, grant_id: string) {
  const [row] = await sql<{ sum: string; status: string; breaches: number }[]>`
    select wagering_sum::text as sum, status, max_bet_breaches as breaches from bonus_grants where grant_id = ${grant_id}`;
  return row;
}
