import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { NewHistory } from '../grants/apply-queries.ts';
import { grantPlayerColumns, type GrantPlayer, type NewGrant } from '../grants/issue-queries.ts';
import type { BonusCampaignRef } from './queries.ts';
import { HOLDOUT_CODES } from './room.ts';

/** A campaign that has reserved members, or grants that were put off. */
export interface ReleasingCampaign extends BonusCampaignRef {
  has_reserved: boolean;
  /** It is noted why nothing is released. */
  has_error: boolean;
  rate_per_second: number | null;
  /** Up to when the rate is used; null: nothing was released yet. */
  released_to: Date | null;
}

/**
 * Campaigns after `after`, in the order of their ids, that are being issued and have members to release, or grants that
 * were put off and may go on; none of a tenant that has paused its bonuses.
 */
export async function selectReleasing(
  sql: Tx,
  after: string,
  limit: number,
  now: Date,
): Promise<ReleasingCampaign[]> {
  return sql<ReleasingCampaign[]>`
    select c.tenant_id, c.project_id, c.campaign_id, c.rate_per_second, r.has_reserved, u.released_to,
      c.release_error is not null as has_error
    from bonus_campaigns c
    left join lateral (
      select u.released_to from bonus_campaign_releases u
      where u.campaign_id = c.campaign_id and u.tenant_id = c.tenant_id and u.project_id = c.project_id offset 0) u
      on true
    cross join lateral (
      -- Not from the rows: while an old snapshot is open, a search for one reads over all that were released.
      select coalesce(sum(n.members), 0) > 0 as has_reserved from bonus_campaign_counts n
      where n.tenant_id = c.tenant_id and n.project_id = c.project_id and n.campaign_id = c.campaign_id
        and n.status = 'reserved' offset 0) r
    where c.status = 'issuing' and c.finished_at is null and c.campaign_id > ${after}
      and (r.has_reserved or exists (select from bonus_grants g
        where g.campaign_id = c.campaign_id and g.tenant_id = c.tenant_id and g.project_id = c.project_id
          and g.status = 'pending' and g.outcome = 'unsent'
          and g.retry_early_at is not null and least(g.retry_early_at, g.next_attempt_at) <= ${now} offset 0))
      and not exists (select from tenant_configs t
        where t.tenant_id = c.tenant_id and t.config -> 'bonuses' -> 'paused' = 'true' offset 0)
    order by c.campaign_id limit ${limit}`;
}

/**
 * Returns a row while a campaign that is being issued has members to release, or grants that were put off, due or not:
 * whether one is due is not found without reading all of them.
 */
export const releaseWork: WorkQuery = (sql) => sql`
  select from bonus_campaigns c
  where c.status = 'issuing' and c.finished_at is null
    and (exists (select from bonus_campaign_counts n
        where n.tenant_id = c.tenant_id and n.project_id = c.project_id and n.campaign_id = c.campaign_id
          and n.status = 'reserved' and n.members > 0 offset 0)
      or exists (select from bonus_grants g
        where g.campaign_id = c.campaign_id and g.tenant_id = c.tenant_id and g.project_id = c.project_id
          and g.status = 'pending' and g.outcome = 'unsent' and g.retry_early_at is not null offset 0))
  order by c.campaign_id limit 1`;

/** Released grants of a campaign that wait for a call. */
export interface Waiting {
  waiting: number;
  /** Those who wait only for the sender, and for no time. */
  due: number;
  /** Those who were put off, and wait only for a share of the rate. */
  put_off: number;
  /** Those who were put off, wait for their time, and need not if their platform takes calls again. */
  early: number;
}

/** How many grants of the campaign were released and wait for a call: at most `most` are counted, the first to be due. */
export async function countWaiting(
  sql: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  { most, now }: { most: number; now: Date },
): Promise<Waiting> {
  const [row] = await sql<Waiting[]>`
    select count(*)::integer as waiting,
      (count(*) filter (where retry_early_at is null and next_attempt_at <= ${now}))::integer as due,
      (count(*) filter (where retry_early_at is not null and next_attempt_at <= ${now}))::integer as put_off,
      (count(*) filter (where retry_early_at <= ${now} and next_attempt_at > ${now}))::integer as early
    from (
      select g.next_attempt_at, g.retry_early_at from bonus_grants g
      where g.campaign_id = ${campaign_id} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
        and g.status = 'pending' and g.outcome = 'unsent'
      order by g.next_attempt_at limit ${most}) w`;
  return row ?? { waiting: 0, due: 0, put_off: 0, early: 0 };
}

/**
 * Gives up to `limit` grants that were put off to the sender, the first to be due first, without those that another
 * transaction holds; returns how many. `is_early`: those whose time has not come, too, unless their platform has asked them to wait.
 */
export async function resumePutOff(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  { limit, now, is_early }: { limit: number; now: Date; is_early: boolean },
): Promise<number> {
  const resumed = await tx`
    update bonus_grants g set next_attempt_at = ${now}, retry_early_at = null
    from (
      select o.ctid from bonus_grants o
      where o.campaign_id = ${campaign_id} and o.tenant_id = ${tenant_id} and o.project_id = ${project_id}
        and o.status = 'pending' and o.outcome = 'unsent' and o.retry_early_at is not null
        and ${is_early ? tx`o.retry_early_at` : tx`o.next_attempt_at`} <= ${now}
      order by o.next_attempt_at limit ${limit} for no key update skip locked) found
    where g.ctid = found.ctid`;
  return resumed.count;
}

/** How many members are tried beyond those who are wanted, because players of some are held. */
const SPARE = 64;

/** A reserved member whose row is locked. */
export interface ReservedMember {
  member_id: string;
  terms_id: string;
  cost_base: bigint;
  deposit_transaction_id: string | null;
  /** When it was reserved; null: before this was noted. */
  assigned_at: Date | null;
  /** Null: it was merged into another, or removed. */
  player: GrantPlayer | null;
  is_merged: boolean;
}

type FoundMember = Omit<ReservedMember, 'player'> &
  Omit<GrantPlayer, 'player_id'> & { player_id: string | null };

/**
 * Up to `limit` reserved members after `after`, in the order of their ids, or `only` this one, with their players: the rows of both, and
 * the grants to them (as by `lockGrantPlayers`), are locked until the transaction ends. Nobody is waited for: members whose
 * row or player another transaction holds are omitted, and those behind them take their turn. Count grants in a
 * statement after it.
 */
export async function lockReserved(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  { limit, only, after }: { limit: number; only?: string | undefined; after?: string | undefined },
): Promise<ReservedMember[]> {
  const found = await tx<FoundMember[]>`
    with chosen as materialized (
      select r.player_id, r.terms_id, r.cost_base, r.deposit_transaction_id, r.assigned_at from bonus_campaign_rows r
      where r.campaign_id = ${campaign_id} and r.tenant_id = ${tenant_id} and r.project_id = ${project_id}
        and r.status = 'reserved' ${only === undefined ? tx`` : tx`and r.player_id = ${only}`}
        ${after === undefined ? tx`` : tx`and r.player_id > ${after}`}
      order by r.player_id limit ${limit + SPARE}
      for no key update skip locked),
    -- One by one, in their order, and no further than they are wanted.
    tried as (
      select c.player_id as member_id, c.terms_id, c.cost_base, c.deposit_transaction_id, c.assigned_at, p.*,
        case when p.player_id is not null
          then pg_try_advisory_xact_lock(hashtextextended('bonus grants ' || ${project_id}::text || ' ' || c.player_id, 0))
          else not exists (select from players k where k.player_id = c.player_id and k.tenant_id = ${tenant_id}
            and k.project_id = ${project_id} offset 0)
          end as is_free,
        exists (select from player_merges m where m.player_id = c.player_id and m.tenant_id = ${tenant_id}
          and m.project_id = ${project_id} offset 0) as is_merged
      from chosen c
      left join lateral (
        select ${grantPlayerColumns(tx)} from players p
        where p.player_id = c.player_id and p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
        offset 0 for no key update of p skip locked) p on true
      offset 0)
    select * from tried where is_free limit ${limit}`;
  return found.map(
    ({
      member_id,
      terms_id,
      cost_base,
      deposit_transaction_id,
      assigned_at,
      is_merged,
      player_id,
      ...of
    }) => ({
      member_id,
      terms_id,
      cost_base,
      deposit_transaction_id,
      assigned_at,
      is_merged,
      player: player_id === null ? null : { player_id, ...of },
    }),
  );
}

/**
 * The members who are one person with a member whom the campaign or the project holds out, with the code of that one: both
 * were members of their own before they were merged.
 */
export async function selectHeldOutTwins(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  member_ids: readonly string[],
): Promise<Map<string, string>> {
  if (member_ids.length === 0) return new Map();
  const found = await tx<{ member_id: string; code: string }[]>`
    select w.member_id, min(h.code) as code
    from unnest(${plainArray(member_ids)}::text::uuid[]) as w (member_id)
    cross join lateral (
      select coalesce((select m.into_player_id from player_merges m
        where m.player_id = w.member_id and m.tenant_id = ${tenant_id} and m.project_id = ${project_id}), w.member_id) as id
      offset 0) survivor
    cross join lateral (
      select survivor.id as player_id
      union all
      select m.player_id from player_merges m
      where m.into_player_id = survivor.id and m.tenant_id = ${tenant_id} and m.project_id = ${project_id}
      offset 0) one
    cross join lateral (
      select o.code from bonus_campaign_rows o
      where o.player_id = one.player_id and o.campaign_id = ${campaign_id} and o.tenant_id = ${tenant_id}
        and o.project_id = ${project_id} and o.status = 'skipped' and o.code = any(${plainArray(HOLDOUT_CODES)}::text::text[])
      offset 0) h
    where one.player_id <> w.member_id
    group by w.member_id`;
  return new Map(found.map(({ member_id, code }) => [member_id, code]));
}

/** Up to when the campaign's rate is used, null: nothing was released yet; only who may release changes it. */
export async function selectReleasedTo(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
): Promise<Date | null> {
  const [row] = await tx<{ released_to: Date }[]>`
    select u.released_to from bonus_campaign_releases u
    where u.campaign_id = ${campaign_id} and u.tenant_id = ${tenant_id} and u.project_id = ${project_id}`;
  return row?.released_to ?? null;
}

/** A new grant of a campaign to a member, and the first event of its history. */
export interface ReleasedGrant {
  grant: NewGrant;
  event: NewHistory;
}

/**
 * Adds grants of one campaign with their first events. They differ only in player, place and amounts: all else is sent
 * and read once. Rejects with a unique violation when a place or the exclusion group is taken.
 */
export async function insertReleased(tx: Tx, released: readonly ReleasedGrant[]): Promise<void> {
  const [first] = released;
  if (first === undefined) return;
  const { bonus_amount_base: _, ...grant } = first.grant;
  const shared = JSON.stringify({ ...grant, event: first.event.event, source: first.event.source });
  const rows = released.map((one) => ({ ...one.grant, data: JSON.stringify(one.event.data) }));
  await tx`
    with added as materialized (
      select s.*, r.* from jsonb_to_record(${shared}::text::jsonb) as s (tenant_id uuid, project_id uuid,
        template_id uuid, template_version integer, campaign_id uuid, granted_by_kind text, granted_by_id uuid,
        granted_by_user text, terms jsonb, exclusion_group text, status text, outcome text, adapter_slug text,
        currency text, fx jsonb, base_fx jsonb, attempts integer, calls integer, first_called_at timestamptz,
        next_attempt_at timestamptz, created_at timestamptz, expires_at timestamptz, seq integer, event text,
        source text)
      cross join ${rowsOf(tx, 'r', rows, {
        grant_id: 'uuid',
        player_id: 'uuid',
        slot: 'integer',
        player_external_id: 'text',
        order_body: 'text',
        deposit_amount: 'numeric',
        deposit_transaction_id: 'text',
        bonus_amount: 'numeric',
        bonus_amount_base: 'bigint',
        wagering_required: 'numeric',
        max_bet: 'numeric',
        max_win_cap: 'numeric',
        data: 'text',
      })}),
    grants as (
      insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, campaign_id,
        granted_by_kind, granted_by_id, granted_by_user, terms, exclusion_group, slot, status, outcome, adapter_slug,
        player_external_id, order_body, currency, deposit_amount, deposit_transaction_id, bonus_amount, bonus_amount_base, fx,
        base_fx, wagering_required, max_bet, max_win_cap, attempts, calls, first_called_at, next_attempt_at, created_at,
        expires_at, updated_at, seq)
      select a.tenant_id, a.project_id, a.grant_id, a.template_id, a.template_version, a.player_id, a.campaign_id,
        a.granted_by_kind, a.granted_by_id, a.granted_by_user, a.terms, a.exclusion_group, a.slot, a.status, a.outcome,
        a.adapter_slug, a.player_external_id, a.order_body, a.currency, a.deposit_amount, a.deposit_transaction_id, a.bonus_amount,
        a.bonus_amount_base, a.fx, a.base_fx, a.wagering_required, a.max_bet, a.max_win_cap, a.attempts, a.calls,
        a.first_called_at, a.next_attempt_at, a.created_at, a.expires_at, a.created_at, a.seq
      from added a)
    insert into bonus_grant_events (tenant_id, project_id, grant_id, seq, event, source, to_status, occurred_at,
      received_at, data)
    select a.tenant_id, a.project_id, a.grant_id, a.seq, a.event, a.source, a.status, a.created_at, a.created_at,
      a.data::jsonb
    from added a`;
}

/** Notes up to when the campaign's rate is used. */
export async function noteReleased(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: BonusCampaignRef,
  released_to: Date,
): Promise<void> {
  await tx`
    insert into bonus_campaign_releases (tenant_id, project_id, campaign_id, released_to)
    values (${tenant_id}, ${project_id}, ${campaign_id}, ${released_to})
    on conflict (tenant_id, project_id, campaign_id) do update set released_to = excluded.released_to`;
}
