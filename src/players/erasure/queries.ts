import type { PendingQuery } from 'postgres';
import {
  beyond,
  microseconds,
  type Listed,
  type PageOf,
  type TimePosition,
} from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../player-ref.ts';
import type { ErasureStatus, ErasureStep } from './schema.ts';

/** A row of `erasures`. */
export interface ErasureRow extends PlayerRef {
  erasure_id: string;
  status: ErasureStatus;
  reason: string;
  basis: string;
  requested_by: string;
  requested_at: Date;
  token_hash: Buffer | null;
  confirm_before: Date;
  confirmed_by: string | null;
  confirmed_at: Date | null;
  completed_at: Date | null;
  steps: ErasureStep[];
  last_error: string | null;
}

/** An erasure that somebody asks for. */
export type NewErasure = PlayerRef &
  Pick<ErasureRow, 'erasure_id' | 'reason' | 'basis' | 'requested_by' | 'requested_at' | 'confirm_before'> & {
    token_hash: Buffer;
  };

function columns(tx: Tx) {
  return tx`tenant_id, erasure_id, project_id, player_id, status, reason, basis, requested_by, requested_at, token_hash,
    confirm_before, confirmed_by, confirmed_at, completed_at, steps, last_error`;
}

/** Notes that somebody asks for an erasure, in place of an unconfirmed one; undefined when one runs or is done. */
export async function insertErasure(tx: Tx, asked: NewErasure): Promise<ErasureRow | undefined> {
  const { tenant_id, project_id, player_id, ...rest } = asked;
  const [row] = await tx<ErasureRow[]>`
    insert into erasures as e (tenant_id, erasure_id, project_id, player_id, status, reason, basis, requested_by,
      requested_at, token_hash, confirm_before)
    values (${tenant_id}, ${rest.erasure_id}, ${project_id}, ${player_id}, 'requested', ${rest.reason}, ${rest.basis},
      ${rest.requested_by}, ${rest.requested_at}, ${rest.token_hash}, ${rest.confirm_before})
    on conflict (tenant_id, project_id, player_id) do update
    set erasure_id = excluded.erasure_id, reason = excluded.reason, basis = excluded.basis,
      requested_by = excluded.requested_by, requested_at = excluded.requested_at, token_hash = excluded.token_hash,
      confirm_before = excluded.confirm_before
      where e.status = 'requested'
    returning ${columns(tx)}`;
  return row;
}

/** The erasure of a player, if there is one. */
export function selectErasure(tx: Tx, ref: PlayerRef): PendingQuery<ErasureRow[]> {
  return tx<ErasureRow[]>`
    select ${columns(tx)} from erasures
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}`;
}

/** Begins the erasure with this token; undefined when the token is wrong, or its time is over. */
export async function confirmErasure(
  tx: Tx,
  ref: PlayerRef,
  { token_hash, user_id, now }: { token_hash: Buffer; user_id: string; now: Date },
): Promise<ErasureRow | undefined> {
  const [row] = await tx<ErasureRow[]>`
    update erasures
    set status = 'running', token_hash = null, confirmed_by = ${user_id}, confirmed_at = ${now}
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and player_id = ${ref.player_id}
      and status = 'requested' and token_hash = ${token_hash} and confirm_before > ${now}
    returning ${columns(tx)}`;
  return row;
}

/** A page of the erasures of the tenant, the newest first; without those that nobody confirmed in time. */
export function listErasures(
  tx: Tx,
  tenant_id: string,
  {
    status,
    player_id,
    now,
  }: { status?: ErasureStatus | undefined; player_id?: string | undefined; now: Date },
  after: TimePosition | undefined,
  limit: number,
): PageOf<ErasureRow> {
  const nothing = tx``;
  return tx<Listed<ErasureRow>[]>`
    select ${columns(tx)}, ${microseconds(tx, 'requested_at')} as created_us
    from erasures
    where tenant_id = ${tenant_id} and (status <> 'requested' or confirm_before > ${now})
      ${status === undefined ? nothing : tx`and status = ${status}`}
      ${player_id === undefined ? nothing : tx`and player_id = ${player_id}`}
      ${beyond(tx, 'requested_at', 'erasure_id', after)}
    order by requested_at desc, erasure_id desc limit ${limit}`;
}

/** Erasures that are to be done, those first that were confirmed first. Those that failed come behind all others. */
export async function selectRunning(sql: Tx, limit: number): Promise<ErasureRow[]> {
  return sql<ErasureRow[]>`
    select ${columns(sql)} from erasures where status = 'running'
    order by last_error is not null, confirmed_at limit ${limit}`;
}

/** When the oldest erasure that is to be done was asked for, in milliseconds since the epoch; null when none is. */
export async function oldestOpenErasure(sql: Tx): Promise<number | null> {
  const [row] = await sql<{ oldest: Date | null }[]>`
    select min(requested_at) as oldest from erasures where status = 'running'`;
  return row?.oldest?.getTime() ?? null;
}

/** The ids of the players that were merged into this one. */
export async function selectMergedIds(sql: Tx, ref: PlayerRef): Promise<string[]> {
  const rows = await sql<{ player_id: string }[]>`
    select player_id from player_merges
    where into_player_id = ${ref.player_id} and tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id}`;
  return rows.map(({ player_id }) => player_id);
}

/** Notes what was done of an erasure so far, and why it does not go on now. */
export async function noteSteps(
  sql: Tx,
  { tenant_id, erasure_id }: Pick<ErasureRow, 'tenant_id' | 'erasure_id'>,
  { steps, last_error, completed_at }: Pick<ErasureRow, 'steps' | 'last_error' | 'completed_at'>,
): Promise<void> {
  await sql`
    update erasures
    set steps = ${JSON.stringify(steps)}::text::jsonb, last_error = ${last_error}, completed_at = ${completed_at},
      status = case when ${completed_at}::timestamptz is null then status else 'done' end
    where tenant_id = ${tenant_id} and erasure_id = ${erasure_id}`;
}
