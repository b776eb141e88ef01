import type { PendingQuery, Row } from 'postgres';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import { recipientOf, statusSql, verdictSql, type Gate } from '../messaging/gate-queries.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { WorkQuery } from '../../platform/postgres/work-watch.ts';
import type { CampaignRef } from './queries.ts';

/** Members of one fan-out batch (spec part 8). */
export const FAN_OUT_BATCH = 1_000;

/** The members of a campaign's segment, reached on its channel. */
export interface Audience extends CampaignRef {
  /** Null: no members. */
  segment_id: string | null;
  channel: Channel;
}

/** The members from one player id (included) to another (not included); null: to the last. */
export interface MemberRange {
  from_player_id: string;
  until_player_id: string | null;
}

/** A range of members that waits for its send rows. */
export type FanOutBatch = CampaignRef & MemberRange;

/** The variant of a send row, its template, and the product of the bonus that the template is about. */
export interface RowVariant {
  variant_id: string;
  template_id: string | null;
  bonus_product: RuleProduct | null;
}

/** All members; a range without an end is cut before it is processed. */
export const EVERYBODY: MemberRange = {
  from_player_id: '00000000-0000-0000-0000-000000000000',
  until_player_id: null,
};

/**
 * The members `m` of a range with their players `p`, without deleted players; none when the segment was deleted. By
 * default each player is looked up by its key, even if the statistics of newly filled tables suggest another plan.
 * `as_sets` joins both tables as a whole instead: for very many members that is a fifth of the work.
 */
export function membersSql(
  tx: Tx,
  audience: Audience,
  range: MemberRange,
  { as_sets }: { as_sets: boolean },
): PendingQuery<Row[]> {
  const { tenant_id, project_id, segment_id } = audience;
  const until = range.until_player_id === null ? tx`` : tx`and m.player_id < ${range.until_player_id}::uuid`;
  return tx`
    from segment_members m
    ${
      as_sets
        ? tx`join players p using (tenant_id, project_id, player_id)`
        : tx`cross join lateral (
            select * from players p
            where p.tenant_id = m.tenant_id and p.project_id = m.project_id and p.player_id = m.player_id offset 0) p`
    }
    where p.deleted_at is null
      and m.tenant_id = ${tenant_id} and m.project_id = ${project_id} and m.segment_id = ${segment_id}::uuid
      and m.player_id >= ${range.from_player_id}::uuid ${until}
      and exists (
        select from segments s
        where s.tenant_id = m.tenant_id and s.project_id = m.project_id and s.segment_id = m.segment_id
          and s.deleted_at is null)`;
}

/**
 * Makes the commit of the transaction asynchronous. If Postgres crashes before the commit is on disk, the rows are lost
 * and the range waits again. Rows that a messenger has claimed are never lost: the claim commits later and
 * synchronously, so it is on disk only together with the earlier commit.
 */
export function commitLater(tx: Tx): void {
  void tx`set local synchronous_commit = off`.execute();
}

/** A member of a segment; `timezone` null: the player has none. */
export interface Member {
  player_id: string;
  timezone: string | null;
}

/** The members of a range that are not deleted. */
export async function selectMembers(tx: Tx, audience: Audience, range: MemberRange): Promise<Member[]> {
  return tx<Member[]>`select p.player_id, p.timezone ${membersSql(tx, audience, range, { as_sets: false })}`;
}

/** Ranges that one transaction cuts: of 100,000 members, in about a tenth of a second. */
const MAX_CUT = 100;

/**
 * Cuts the first ranges of {@link FAN_OUT_BATCH} members from a range without an end, which the caller has taken.
 * Returns the first of them for the caller; the others wait, and the last of them again has no end: it has the members
 * that are not cut yet.
 */
export async function cutRange(tx: Tx, audience: Audience, batch: FanOutBatch): Promise<FanOutBatch> {
  const { tenant_id, project_id, campaign_id, segment_id } = audience;
  const cut = await tx<{ from_player_id: string }[]>`
    insert into campaign_batches (tenant_id, project_id, campaign_id, from_player_id, until_player_id)
    select ${tenant_id}, ${project_id}, ${campaign_id}, player_id, lead(player_id) over (order by player_id)
    from (
      select player_id, row_number() over (order by player_id) as row_number
      from (
        select player_id from segment_members
        where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}::uuid
          and player_id >= ${batch.from_player_id}::uuid
        order by player_id limit ${MAX_CUT * FAN_OUT_BATCH + 1}
      ) first_members
    ) m
    where row_number % ${FAN_OUT_BATCH} = 1 and row_number > 1
    order by player_id
    returning from_player_id`;
  return { ...batch, until_player_id: cut[0]?.from_player_id ?? null };
}

/**
 * Claims a range of any campaign except those in `but_of`: of the next campaign after `last`, so that all campaigns
 * take turns.
 */
export async function takeNextBatch(
  tx: Tx,
  last: CampaignRef | undefined,
  but_of: readonly string[],
): Promise<FanOutBatch | undefined> {
  const others = tx`campaign_id <> all(${plainArray(but_of)}::text::uuid[])`;
  if (last === undefined) return takeBatch(tx, others);
  const { tenant_id, project_id, campaign_id } = last;
  const after = tx`(tenant_id, project_id, campaign_id) >
    (${tenant_id}::uuid, ${project_id}::uuid, ${campaign_id}::uuid)`;
  return (await takeBatch(tx, tx`${after} and ${others}`)) ?? takeBatch(tx, others);
}

/** Returns a row while a range of members waits for its send rows. */
export const fanOutWork: WorkQuery = (sql) => sql`
  select from campaign_batches order by tenant_id, project_id, campaign_id, from_player_id limit 1`;

// The materialised CTE chooses the range once. The planner may run a plain subquery again for each row that it scans;
// because of `skip locked` each run chooses another range, and all of them would be deleted.
async function takeBatch(tx: Tx, which: PendingQuery<Row[]>): Promise<FanOutBatch | undefined> {
  const [batch] = await tx<FanOutBatch[]>`
    with one as materialized (
      select ctid from campaign_batches where ${which}
      order by tenant_id, project_id, campaign_id, from_player_id limit 1 for update skip locked
    )
    delete from campaign_batches b using one where b.ctid = one.ctid
    returning b.tenant_id, b.project_id, b.campaign_id, b.from_player_id, b.until_player_id`;
  return batch;
}

/**
 * Deletes the ranges of a campaign that no other transaction holds: their members get no rows. A transaction that holds
 * a range checks the campaign's status itself.
 */
export async function deleteBatches(
  tx: Tx,
  { tenant_id, project_id, campaign_id }: CampaignRef,
): Promise<void> {
  await tx`
    with free as materialized (
      select ctid from campaign_batches
      where tenant_id = ${tenant_id} and project_id = ${project_id} and campaign_id = ${campaign_id}
      for update skip locked
    )
    delete from campaign_batches b using free where b.ctid = free.ctid`;
}

/** What the rows of a batch have in common, and the variant of each player. */
export interface NewRows {
  audience: Audience;
  provider_id: string | null;
  /** By player_id. */
  choices: ReadonlyMap<string, RowVariant>;
}

/** Inserts send rows for players: queued, or skipped with the reason. Idempotent: an existing row stays as it is. */
export async function insertRows(
  tx: Tx,
  { audience, provider_id, choices }: NewRows,
  gate: Gate,
): Promise<void> {
  const { tenant_id, project_id, campaign_id, channel } = audience;
  const recipient = recipientOf(tx, channel);
  const variants = [...new Set(choices.values())];
  const index_of = new Map(variants.map((variant, i) => [variant, i + 1]));
  // The lateral join looks each player up by its key, whatever plan the statistics suggest.
  await tx`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, template_id, variant_id,
      provider_id, recipient, status, error_code, enqueued_at)
    select j.tenant_id, j.project_id, new_id(), ${campaign_id}, j.player_id, ${channel},
      (${plainArray(variants.map(({ template_id }) => template_id))}::text::uuid[])[j.variant],
      (${plainArray(variants.map(({ variant_id }) => variant_id))}::text::uuid[])[j.variant],
      ${provider_id}, j.recipient, ${statusSql(tx, 'queued')}, j.verdict, ${gate.now}
    from (
      select p.tenant_id, p.project_id, p.player_id, c.variant, ${recipient.address} as recipient,
        ${verdictSql(tx, gate, recipient, tx`c.bonus_product`)} as verdict
      from ${rowsOf(tx, 'c', [...choices], {
        player_id: ['uuid', ([player_id]) => player_id],
        variant: ['integer', ([, variant]) => index_of.get(variant) ?? null],
        bonus_product: ['text', ([, { bonus_product }]) => bonus_product],
      })}
      cross join lateral (
        select * from players p
        where p.tenant_id = ${tenant_id} and p.project_id = ${project_id} and p.player_id = c.player_id offset 0) p
      where p.deleted_at is null
      offset 0
    ) j
    on conflict (tenant_id, project_id, campaign_id, player_id, dedup_key) do nothing`;
}
