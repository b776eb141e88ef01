import type { Tx } from '../../platform/postgres/port.ts';
import { grantColumns } from '../grants/queries.ts';
import type { GrantLane } from '../grants/call-queries.ts';
import type { ComparedGrant } from './compare.ts';

/** A live grant that its platform may know: of one that was never sent there is nothing to ask. */
const IS_TO_COMPARE = (sql: Tx) =>
  sql`g.status in ('pending', 'active') and (g.status = 'active' or g.outcome <> 'unsent' or g.may_be_sent)`;

/**
 * The platforms that may know live grants, in the order of their keys after `after`. Reads one row per platform, however
 * many grants it has.
 */
export async function selectLiveLanes(
  sql: Tx,
  after: GrantLane | undefined,
  limit: number,
): Promise<GrantLane[]> {
  const lane = sql`g.adapter_slug, g.tenant_id, g.project_id`;
  const first = sql`select ${lane} from bonus_grants g where ${IS_TO_COMPARE(sql)}`;
  const order = sql`order by ${lane} limit 1`;
  const beyond =
    after === undefined
      ? sql``
      : sql`and (${lane}) > (${after.adapter_slug}, ${after.tenant_id}::uuid, ${after.project_id}::uuid)`;
  return sql<GrantLane[]>`
    with recursive lanes as (
      (${first} ${beyond} ${order})
      union all
      select n.* from lanes l cross join lateral (
        ${first} and (${lane}) > (l.adapter_slug, l.tenant_id, l.project_id) ${order}) n
    )
    select * from lanes limit ${limit}`;
}

/**
 * Grants of a platform in (after, until], in the order of their ids, but for those that are pending since
 * `pending_before` or later.
 */
export async function selectGrantsToCompare(
  sql: Tx,
  { adapter_slug, tenant_id, project_id }: GrantLane,
  { after, until, pending_before }: { after: string; until: string | undefined; pending_before: Date },
  limit: number,
): Promise<ComparedGrant[]> {
  return sql<ComparedGrant[]>`
    select ${grantColumns(sql)}, trunc(g.wagering_sum / 100)::text as counted_progress from bonus_grants g
    where g.adapter_slug = ${adapter_slug} and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
      and ${IS_TO_COMPARE(sql)} and g.grant_id > ${after}
      ${until === undefined ? sql`` : sql`and g.grant_id <= ${until}`}
      and (g.status = 'active' or g.created_at < ${pending_before})
    order by g.grant_id
    limit ${limit}`;
}

/** How far the comparison of a platform has come. */
export interface LanePosition {
  after_grant_id: string;
  /**
   * Behind which grant it began: it goes on to the last one, and then from the first to this one. Null: it is over, and
   * the next one begins behind `after_grant_id`.
   */
  began_after: string | null;
}

/** The position of a platform; undefined: its next comparison begins with the first grant. */
export async function selectPosition(
  sql: Tx,
  { adapter_slug, tenant_id, project_id }: GrantLane,
): Promise<LanePosition | undefined> {
  const [row] = await sql<LanePosition[]>`
    select after_grant_id, began_after from bonus_reconcile_positions
    where adapter_slug = ${adapter_slug} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
  return row;
}

/** The platforms whose comparison was cut, in the order of their keys after `after`. */
export async function selectCutLanes(
  sql: Tx,
  after: GrantLane | undefined,
  limit: number,
): Promise<GrantLane[]> {
  const beyond =
    after === undefined
      ? sql``
      : sql`and (adapter_slug, tenant_id, project_id)
          > (${after.adapter_slug}, ${after.tenant_id}::uuid, ${after.project_id}::uuid)`;
  return sql<GrantLane[]>`
    select adapter_slug, tenant_id, project_id from bonus_reconcile_positions
    where began_after is not null ${beyond}
    order by adapter_slug, tenant_id, project_id limit ${limit}`;
}

/** Notes how far a comparison came; undefined: it is through, and the next one begins with the first grant. */
export async function savePosition(
  sql: Tx,
  { adapter_slug, tenant_id, project_id }: GrantLane,
  position: LanePosition | undefined,
): Promise<void> {
  if (position === undefined) {
    await sql`
      delete from bonus_reconcile_positions
      where adapter_slug = ${adapter_slug} and tenant_id = ${tenant_id} and project_id = ${project_id}`;
    return;
  }
  const { after_grant_id, began_after } = position;
  await sql`
    insert into bonus_reconcile_positions (tenant_id, project_id, adapter_slug, after_grant_id, began_after)
    values (${tenant_id}, ${project_id}, ${adapter_slug}, ${after_grant_id}, ${began_after})
    on conflict (adapter_slug, tenant_id, project_id) do update set
      after_grant_id = excluded.after_grant_id, began_after = excluded.began_after`;
}
