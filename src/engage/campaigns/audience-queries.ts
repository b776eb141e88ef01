import type { PendingQuery, Row } from 'postgres';
import type { RuleProduct } from '../../bonuses/licence/rule.ts';
import { recipientSql, verdictSql, type Gate } from '../messaging/gate-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { EVERYBODY, membersSql, type Audience, type Member } from './fan-out-queries.ts';

/** With more members than this the tables are joined as a whole. */
const MANY_MEMBERS = 50_000;

/**
 * Settings of a transaction that joins the tables as a whole. Without nested loops, because without statistics the
 * planner would join row by row; a million members are joined in memory, without temporary files.
 */
export const AS_SETS: Readonly<Record<string, string>> = { enable_nestloop: 'off', work_mem: '128MB' };

/** One row when the segment has many members; else none. */
export function selectManyMembers(
  tx: Tx,
  { tenant_id, project_id, segment_id }: Audience,
): PendingQuery<Row[]> {
  return tx`
    select from segment_members
    where tenant_id = ${tenant_id} and project_id = ${project_id} and segment_id = ${segment_id}::uuid
    offset ${MANY_MEMBERS} limit 1`;
}

/** The time zones of all members, each once; null stands for players without one. `as_sets`: in {@link AS_SETS}. */
export function selectMemberZones(
  tx: Tx,
  audience: Audience,
  as_sets: boolean,
): PendingQuery<Pick<Member, 'timezone'>[]> {
  return tx<Pick<Member, 'timezone'>[]>`
    select distinct p.timezone ${membersSql(tx, audience, EVERYBODY, { as_sets })}`;
}

/**
 * Counts all members, those that pass the gate (`enqueued`), and those without an address on the channel. `product`: of
 * the bonus that the message is about; null: about none.
 */
export function countAudience(
  tx: Tx,
  audience: Audience,
  gate: Gate,
  product: RuleProduct | null,
  as_sets: boolean,
): PendingQuery<{ recipients_total: bigint; enqueued: bigint; no_recipient: bigint }[]> {
  const recipient = recipientSql(tx, audience.channel);
  return tx<{ recipients_total: bigint; enqueued: bigint; no_recipient: bigint }[]>`
    select count(*) as recipients_total, count(*) filter (where verdict is null) as enqueued,
      count(*) filter (where verdict = 'SKIPPED_NO_RECIPIENT') as no_recipient
    from (
      select ${verdictSql(tx, gate, recipient, tx`${product}::text`)} as verdict
      ${membersSql(tx, audience, EVERYBODY, { as_sets })} offset 0
    ) j`;
}
