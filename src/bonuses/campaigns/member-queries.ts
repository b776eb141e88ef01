import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { grantPlayerColumns, type GrantPlayer } from '../grants/issue-queries.ts';

/** Members with equal facts. */
export interface MemberGroup {
  player_ids: readonly string[];
  /** As of each of them, but for the ids; null: they do not exist. */
  player: GrantPlayer | null;
  /** Of the segment that was asked about; true when there was none. */
  is_member: boolean;
  /** They were granted something once. */
  has_grants: boolean;
}

type FoundGroup = Omit<GrantPlayer, 'player_id' | 'external_id'> & {
  player_ids: string;
  is_known: boolean;
  is_member: boolean;
  has_grants: boolean;
};

/**
 * Players by what the checks of a grant ask about them, as they are now; nobody is locked. `has_rules` false: rules of a
 * licence ask nothing about them, and their births and first days, which differ, are omitted. `asks_for_money` false: no rule
 * asks for their withdrawals and limits, which are not read.
 */
export async function selectMemberGroups(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
  {
    segment_id,
    has_rules,
    asks_for_money,
  }: { segment_id: string | null; has_rules: boolean; asks_for_money: boolean },
): Promise<MemberGroup[]> {
  const traits = has_rules
    ? tx`p.birth_date, p.first_seen_at`
    : tx`null::text as birth_date, null::timestamptz as first_seen_at`;
  const money = asks_for_money
    ? tx`p.has_pending_withdrawal, p.limit_raised_at`
    : tx`null::boolean as has_pending_withdrawal, null::timestamptz as limit_raised_at`;
  const isOfPlayer = (row: string) =>
    tx`${tx(row)}.player_id = r.player_id and ${tx(row)}.tenant_id = ${tenant_id} and ${tx(row)}.project_id = ${project_id}`;
  const found = await tx<FoundGroup[]>`
    select string_agg(k.player_id::text, ',') as player_ids, k.is_known, k.is_member, k.has_grants, k.deleted_at,
      k.is_self_excluded, k.is_banned, k.cooldown_until, k.kyc_status, k.kyc_level, k.rg_risk, k.birth_date,
      k.first_seen_at, k.has_pending_withdrawal, k.limit_raised_at
    from (
      select r.player_id, p.player_id is not null as is_known, p.deleted_at, p.is_self_excluded, p.is_banned,
        p.cooldown_until, p.kyc_status, p.kyc_level, p.rg_risk, ${traits}, ${money},
        exists (select from bonus_grants g where ${isOfPlayer('g')} offset 0) as has_grants,
        ${segment_id === null ? tx`true` : tx`exists (select from segment_members s where ${isOfPlayer('s')} and s.segment_id = ${segment_id} offset 0)`} as is_member
      from unnest(${plainArray(player_ids)}::text::uuid[]) as r (player_id)
      left join lateral (
        select ${grantPlayerColumns(tx)} from players p where ${isOfPlayer('p')} offset 0) p on true
      offset 0) k
    group by k.is_known, k.is_member, k.has_grants, k.deleted_at, k.is_self_excluded, k.is_banned, k.cooldown_until,
      k.kyc_status, k.kyc_level, k.rg_risk, k.birth_date, k.first_seen_at,
      k.has_pending_withdrawal, k.limit_raised_at`;
  return found.map(({ player_ids: ids, is_known, is_member, has_grants, ...known }) => {
    const members = ids.split(',');
    const player = is_known ? { ...known, player_id: members[0] ?? '', external_id: null } : null;
    return { player_ids: members, player, is_member, has_grants };
  });
}

/** The ids under which events of these players may be kept: of players that were merged into them. */
export async function selectFormerIds(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<{ player_id: string; into_player_id: string }[]> {
  return tx<{ player_id: string; into_player_id: string }[]>`
    select m.player_id, m.into_player_id from player_merges m
    where m.into_player_id = any(${plainArray(player_ids)}::text::uuid[]) and m.tenant_id = ${tenant_id}
      and m.project_id = ${project_id}`;
}

/** A confirmed deposit. */
export interface FoundDeposit {
  /** The id that its event has. */
  player_id: string;
  transaction_id: string;
  /** Digits, in the smallest unit. */
  amount: string;
  at_ms: string;
}

/** The confirmed deposits in `currency` in [from_ms, until_ms], of each id the `most` latest, the latest first. */
export async function selectDeposits(
  clickhouse: ClickHouse,
  { tenant_id, project_id }: ProjectRef,
  of: { player_ids: readonly string[]; currency: string; from_ms: number; until_ms: number; most: number },
): Promise<FoundDeposit[]> {
  return clickhouse.query<FoundDeposit>(
    `select toString(player_id) as player_id, transaction_id, amount,
      toString(toUnixTimestamp64Milli(occurred_at)) as at_ms
    from (
      select player_id, occurred_at, ingestion_id, event_index, JSONExtractString(properties, 'currency') as currency,
        JSONExtractString(properties, 'transaction_id') as transaction_id,
        replaceAll(JSONExtractRaw(properties, 'amount'), '"', '') as amount
      from events_by_player
      where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
        and player_id in ({player_ids:Array(UUID)}) and event = 'deposit_confirmed'
        and occurred_at >= fromUnixTimestamp64Milli({from_ms:Int64}, 'UTC')
        and occurred_at <= fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC')
      order by revision desc
      limit 1 by ingestion_id, event_index
    )
    where currency = {currency:String}
    order by occurred_at desc, ingestion_id desc, event_index desc
    limit {most:UInt32} by player_id`,
    { tenant_id, project_id, ...of },
  );
}
