import fastify from 'fastify';
import { API_READS } from '../../src/platform/postgres/limits.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import { serve } from '../child.ts';

// Routes that read one player, or the first page of the list, with the statements of the service's own routes, and do
// nothing else.
const sql = connectPool(process.env['BENCH_POSTGRES_URL'] ?? '', { limits: API_READS });
const app = fastify();

const columns = sql`p.player_id, p.external_id, p.email, p.phone, p.telegram_id, p.status, p.timezone,
  p.default_currency_code, p.current_tier_code, p.tier_promoted_at, p.kyc_status, p.kyc_level, p.churn_score,
  p.ltv_predicted, p.custom_attributes::text as custom_attributes, p.created_at, p.deleted_at,
  greatest(p.updated_at, t.updated_at) as updated_at, t.first_seen_at, coalesce(t.seen_at, t.listed_at) as last_seen_at,
  t.total_deposited, t.total_withdrawn, t.total_wagered, t.total_won, t.bet_count, t.session_count,
  t.pending_conversions, array_to_json(p.anonymous_ids)::text as anonymous_ids`;

const inJson = (data: unknown) =>
  JSON.stringify({ data }, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));

app.get('/players/:tenant/:project/:id', async (request) => {
  const { tenant, project, id } = request.params as Record<string, string>;
  const rows = await sql`
    select ${columns}
    from players p
    cross join lateral (select * from player_totals t where t.tenant_id = p.tenant_id
      and t.project_id = p.project_id and t.player_id = p.player_id offset 0) t
    where p.tenant_id = ${tenant ?? ''} and p.project_id = ${project ?? ''} and p.player_id = ${id ?? ''}`;
  return inJson(rows[0]);
});

app.get('/players/:tenant/:project', async (request) => {
  const { tenant, project } = request.params as Record<string, string>;
  const rows = await sql`
    select ${columns}
    from (
      select t.player_id, coalesce(t.seen_at, t.listed_at) as last_seen_at from player_totals t
      where t.tenant_id = ${tenant ?? ''} and t.project_id = ${project ?? ''} and t.listed_at > '-infinity'
        and t.listed_at <= 'infinity' and t.listed_at > (select coalesce(min(last.listed_at), '-infinity') from (
          select t.listed_at - interval '5 minutes' as listed_at from player_totals t
          cross join lateral (select p.player_id from players p where p.tenant_id = t.tenant_id
            and p.project_id = t.project_id and p.player_id = t.player_id and p.deleted_at is null offset 0) p
          where t.tenant_id = ${tenant ?? ''} and t.project_id = ${project ?? ''} and t.listed_at > '-infinity'
          order by t.listed_at desc, t.player_id desc offset 49 limit 1) last)
      order by last_seen_at desc, t.player_id desc offset 0) c
    cross join lateral (select * from player_totals t where t.tenant_id = ${tenant ?? ''}
      and t.project_id = ${project ?? ''} and t.player_id = c.player_id offset 0) t
    cross join lateral (select * from players p where p.tenant_id = t.tenant_id
      and p.project_id = t.project_id and p.player_id = t.player_id offset 0) p
    where p.deleted_at is null
    order by c.last_seen_at desc, c.player_id desc
    limit 50`;
  return inJson(rows);
});

const url = await app.listen({ port: 0, host: '127.0.0.1' });
serve(Number(new URL(url).port), {}, async () => {
  await app.close();
  await sql.end({ timeout: 5 });
});
