import { newId } from '../src/platform/ids.ts';
import { plainArray, textArray } from '../src/platform/postgres/arrays.ts';
import type { Db, Tx } from '../src/platform/postgres/port.ts';
import type { ProjectRef } from '../src/tenants/project-ref.ts';

/** What of a campaign is still to be done; two look-ups in indexes, so that asking costs nothing. */
export async function isReserving(sql: Db, campaign_id: string): Promise<boolean> {
  const rows = await sql`
    select from bonus_campaigns c where c.campaign_id = ${campaign_id} and (not c.is_filled or exists (
      select from bonus_campaign_rows r where r.campaign_id = c.campaign_id and r.status = 'pending'))`;
  return rows.length > 0;
}

/** What became of the members of a campaign. */
export async function countMembersOf(
  sql: Db,
  campaign_id: string,
): Promise<{ rows: number; reserved: number; over_budget: number }> {
  const [row] = await sql<{ rows: number; reserved: number; over_budget: number }[]>`
    select count(*)::integer as rows, (count(*) filter (where status = 'reserved'))::integer as reserved,
      (count(*) filter (where status = 'skipped' and code = 'BUDGET'))::integer as over_budget
    from bonus_campaign_rows where campaign_id = ${campaign_id}`;
  return row ?? { rows: 0, reserved: 0, over_budget: 0 };
}

/**
 * What is held for the reserved members of a campaign, in the smallest unit of the base currency: by their rows, by the row
 * of the template's budget, and by that of the campaign.
 */
export async function costsOf(
  sql: Db,
  { campaign_id, template_id }: { campaign_id: string; template_id: string },
): Promise<{ by_rows: bigint; by_template: bigint; by_campaign: bigint }> {
  const [row] = await sql<{ by_rows: string; by_template: string; by_campaign: string }[]>`
    select
      (select coalesce(sum(cost_base), 0)::text from bonus_campaign_rows
        where campaign_id = ${campaign_id} and status = 'reserved') as by_rows,
      (select used_base::text from bonus_budgets where template_id = ${template_id}) as by_template,
      (select used_base::text from bonus_campaign_budgets where campaign_id = ${campaign_id}) as by_campaign`;
  if (row === undefined) throw new Error('the costs of a campaign could not be read');
  const { by_rows, by_template, by_campaign } = row;
  return { by_rows: BigInt(by_rows), by_template: BigInt(by_template), by_campaign: BigInt(by_campaign) };
}

/**
 * Makes `count` grants like this one, each to another player of its project, which the platform of the slug has accepted
 * and not credited; returns their ids.
 */
export async function copyGrants(
  sql: Db,
  { grant_id, adapter_slug, count }: { grant_id: string; adapter_slug: string; count: number },
): Promise<string[]> {
  const [row] = await sql<{ names: string }[]>`
    select string_agg(quote_ident(attname), ', ') as names from pg_attribute
    where attrelid = 'bonus_grants'::regclass and attnum > 0 and not attisdropped`;
  const names = row?.names ?? '';
  const rows = await sql<{ grant_id: string }[]>`
    insert into bonus_grants (${sql.unsafe(names)})
    select ${sql.unsafe(names.replaceAll(/(^|, )/g, '$1c.'))}
    from bonus_grants g
    cross join lateral (
      select p.player_id from players p
      where p.tenant_id = g.tenant_id and p.project_id = g.project_id and p.player_id <> g.player_id
      limit ${count}) p
    cross join lateral jsonb_populate_record(g, jsonb_build_object('grant_id', uuidv7(), 'player_id', p.player_id,
      'adapter_slug', ${adapter_slug}::text, 'status', 'pending', 'outcome', 'confirmed', 'facts', '{}'::jsonb,
      'activated_at', null, 'next_attempt_at', now() + interval '1 hour', 'seq', 1)) c
    where g.grant_id = ${grant_id}
    returning grant_id`;
  await sql`
    insert into bonus_grant_events (tenant_id, project_id, grant_id, seq, event, source, to_status, occurred_at,
      received_at, data)
    select tenant_id, project_id, grant_id, 1, 'bonus.requested', 'api', 'pending', now(), now(), '{}'
    from bonus_grants where adapter_slug = ${adapter_slug}`;
  await sql`vacuum analyze bonus_grants, bonus_grant_events`;
  return rows.map((made) => made.grant_id);
}

/** How many events of webhooks are in the histories of a project's grants, and in the ledger of webhooks. */
export async function countWebhooks(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
): Promise<{ in_history: number; in_ledger: number; completed: number }> {
  const [row] = await sql<{ in_history: number; in_ledger: number; completed: number }[]>`
    select
      (select count(*)::integer from bonus_grant_events
        where tenant_id = ${tenant_id} and project_id = ${project_id} and source = 'webhook') as in_history,
      (select count(*)::integer from adapter_webhooks
        where tenant_id = ${tenant_id} and project_id = ${project_id} and result is not null) as in_ledger,
      (select count(*)::integer from bonus_grants
        where tenant_id = ${tenant_id} and project_id = ${project_id} and status = 'completed') as completed`;
  return row ?? { in_history: 0, in_ledger: 0, completed: 0 };
}

/** Players of a project who have no grant. */
export async function selectNewcomers(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  count: number,
): Promise<string[]> {
  const rows = await sql<{ player_id: string }[]>`
    select p.player_id from players p
    where p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
      and not exists (select from bonus_grants g where g.player_id = p.player_id)
    order by p.player_id limit ${count}`;
  return rows.map(({ player_id }) => player_id);
}

/** The rows of one grant and of its history as JSON. */
export interface StoredGrant {
  grant: Record<string, unknown>;
  history: Record<string, unknown>[];
}

/** Reads the rows of a grant, so that others like it can be inserted. */
export async function readStored(sql: Db, grant_id: string): Promise<StoredGrant> {
  const [row] = await sql<StoredGrant[]>`
    select to_jsonb(g) as grant, (select jsonb_agg(to_jsonb(e)) from bonus_grant_events e
      where e.grant_id = g.grant_id) as history
    from bonus_grants g where g.grant_id = ${grant_id}`;
  if (row === undefined) throw new Error(`grant ${grant_id} does not exist`);
  return row;
}

/** Inserts a grant like the stored one and its history, with one statement. */
export async function insertBare(
  tx: Tx,
  { grant, history }: StoredGrant,
  ids: { grant_id: string; player_id: string },
): Promise<void> {
  const { grant_id } = ids;
  const row = { ...grant, ...ids, player_external_id: ids.player_id };
  const events = history.map((event) => ({
    ...event,
    grant_id,
    ...(event['ingestion_id'] === null ? {} : { ingestion_id: newId() }),
  }));
  await tx`
    with added as (
      insert into bonus_grants
      select r.* from jsonb_populate_record(null::bonus_grants, ${JSON.stringify(row)}::text::jsonb) r)
    insert into bonus_grant_events
    select r.* from jsonb_populate_recordset(null::bonus_grant_events, ${JSON.stringify(events)}::text::jsonb) r`;
}

/** The grants of templates, their players, those of which the platform has said nothing, and what the budgets hold. */
export async function countGrantsOf(
  sql: Db,
  template_ids: readonly string[],
): Promise<{ grants: number; players: number; active: number; intended: number; budget: bigint }> {
  const ids = plainArray(template_ids);
  const [row] = await sql<
    { grants: number; players: number; active: number; intended: number; budget: string }[]
  >`
    select count(*)::integer as grants, count(distinct player_id)::integer as players,
      (count(*) filter (where status = 'active'))::integer as active,
      (count(*) filter (where status = 'pending'))::integer as intended,
      (select sum(used_base)::text from bonus_budgets b where b.template_id = any(${ids}::text::uuid[])) as budget
    from bonus_grants where template_id = any(${ids}::text::uuid[])`;
  if (row === undefined) throw new Error('the grants could not be counted');
  return { ...row, budget: BigInt(row.budget) };
}

/** The players whom these anonymous ids name. */
export async function selectIdentified(
  sql: Db,
  { tenant_id, project_id }: ProjectRef,
  anonymous_ids: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ player_id: string }[]>`
    select player_id from player_identities
    where tenant_id = ${tenant_id} and project_id = ${project_id}
      and anonymous_id = any(${textArray(anonymous_ids)}::text::text[])`;
  if (rows.length !== anonymous_ids.length)
    throw new Error(`${rows.length} players are known by these names`);
  return rows.map(({ player_id }) => player_id);
}

/** Lets all grants of a project have ended two months ago. */
export async function endGrants(sql: Db, { tenant_id, project_id }: ProjectRef): Promise<void> {
  await sql`
    update bonus_grants set status = 'expired', next_attempt_at = null, created_at = now() - interval '61 days',
      activated_at = now() - interval '61 days', expires_at = now() - interval '60 days',
      ended_at = now() - interval '60 days'
    where tenant_id = ${tenant_id} and project_id = ${project_id}`;
}

/** Bets of a project that grants have taken. */
export async function countCounted(sql: Db, { tenant_id, project_id }: ProjectRef): Promise<number> {
  const [row] = await sql<{ counted: number }[]>`
    select count(*)::integer as counted from bonus_contributions
    where tenant_id = ${tenant_id} and project_id = ${project_id} and grant_id is not null
      and contribution is not null`;
  return row?.counted ?? 0;
}
