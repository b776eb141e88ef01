import type { ErrorCode } from '../../errors.ts';
import type { ApiKeyEnvironment } from '../../http/auth/api-key.ts';
import { beyond, microseconds, type Rows, type TimePosition } from '../../platform/postgres/keyset.ts';
import { limitTransaction } from '../../platform/postgres/limits.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';

/** What is kept of one cause on one UTC day; `rejections` is how many are added. */
export interface RejectionRow extends ProjectRef {
  /** 32 hexadecimal digits. */
  rejection_key: string;
  /** Null: of any key of the project. */
  key_id: string | null;
  code: ErrorCode;
  reason: string;
  event: string | null;
  client: string;
  event_index: number | null;
  shape: string | null;
  rejections: number;
  first_at: Date;
  last_at: Date;
}

/** A cause as the list shows it, with its API key, which may be revoked. */
export type ListedRejection = Omit<RejectionRow, 'rejections'> & {
  rejections: bigint;
  key_name: string | null;
  key_environment: ApiKeyEnvironment | null;
  key_public_id: string | null;
  last_us: bigint;
};

const STATEMENT_MS = 5_000;
const LOCK_MS = 1_000;

/** Rows that a project may have of a day, about: processes that write at the same time may add some. */
export const MAX_ROWS_OF_DAY = 1_000;

/**
 * Adds the refusals to the rows of their causes. Rows of new causes are made while their project has fewer than
 * {@link MAX_ROWS_OF_DAY} of the UTC day. In the order of the keys, so that no two such statements block each other.
 */
export async function addRejections(tx: Tx, rows: readonly RejectionRow[]): Promise<void> {
  const sorted = rows.toSorted((a, b) => (a.rejection_key < b.rejection_key ? -1 : 1));
  await tx`
    with given as materialized (
      select g.*, date_trunc('day', g.last_at, 'UTC') as day from ${rowsOf(tx, 'g', sorted, {
        ...PROJECT_KEY,
        rejection_key: 'uuid',
        key_id: 'uuid',
        code: 'text',
        reason: 'text',
        event: 'text',
        client: 'text',
        event_index: 'integer',
        shape: 'text',
        rejections: 'bigint',
        first_at: 'timestamptz',
        last_at: 'timestamptz',
      })}),
    full_days as materialized (
      select p.tenant_id, p.project_id, p.day
      from (select distinct tenant_id, project_id, day from given) p
      where (select count(*) from (
        select from rejected_events e
        where e.tenant_id = p.tenant_id and e.project_id = p.project_id and e.last_at > '-infinity'
          and e.last_at >= p.day
        limit ${MAX_ROWS_OF_DAY}) found) = ${MAX_ROWS_OF_DAY})
    insert into rejected_events as e (rejection_key, tenant_id, project_id, key_id, code, reason, event, client,
      event_index, shape, rejections, first_at, last_at)
    select g.rejection_key, g.tenant_id, g.project_id, g.key_id, g.code, g.reason, g.event, g.client, g.event_index,
      g.shape, g.rejections, greatest(g.first_at, g.day), g.last_at
    from given g
    where not exists (
        select from full_days f
        where f.tenant_id = g.tenant_id and f.project_id = g.project_id and f.day = g.day)
      or exists (
        select from rejected_events e
        where e.tenant_id = g.tenant_id and e.project_id = g.project_id and e.rejection_key = g.rejection_key)
    order by g.rejection_key
    on conflict (tenant_id, project_id, rejection_key) do update set
      rejections = e.rejections + excluded.rejections,
      last_at = greatest(e.last_at, excluded.last_at)`;
}

/** Writes refusals as the service role, with time-outs of its own. */
export function rejectionsWriter(sql: Db): (rows: readonly RejectionRow[]) => Promise<void> {
  return (rows) =>
    sql.begin(async (tx) => {
      await Promise.all([limitTransaction(tx, STATEMENT_MS, LOCK_MS), addRejections(tx, rows)]);
    });
}

/** A page of what was refused to a project, the latest first. */
export function listRejections(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  after: TimePosition | undefined,
  limit: number,
): Rows<ListedRejection> {
  return tx<ListedRejection[]>`
    select e.*, k.name as key_name, k.environment as key_environment, k.public_id as key_public_id
    from (
      select *, ${microseconds(tx, 'last_at')} as last_us from rejected_events
      where tenant_id = ${tenant_id} and project_id = ${project_id} ${beyond(tx, 'last_at', 'rejection_key', after)}
      order by last_at desc, rejection_key desc
      limit ${limit}) e
    left join api_keys k on k.tenant_id = e.tenant_id and k.key_id = e.key_id
    order by e.last_at desc, e.rejection_key desc`;
}

/** Removes at most `limit` rows that were last added to before `before`, the oldest first; returns how many. */
export async function removeOldRejections(sql: Tx, before: Date, limit: number): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select ctid from rejected_events where last_at < ${before} order by last_at
      limit ${limit} for update skip locked)
    delete from rejected_events e using old where e.ctid = old.ctid`;
  return count;
}
