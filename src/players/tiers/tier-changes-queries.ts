import type { PendingQuery } from 'postgres';
import { microseconds, type TimePosition } from '../../platform/postgres/keyset.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { TierChangesQuery } from './schema.ts';

/** A change of a player's tier; `entry` is JSON text as the API shows it, so that amounts keep all their digits. */
export interface TierChangeRow {
  entry_id: bigint;
  occurred_us: bigint;
  entry: string;
}

/** A page of the changes of the project's tiers, the newest first. */
export function listTierChanges(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  { from, to }: Pick<TierChangesQuery, 'from' | 'to'>,
  after: TimePosition | undefined,
  limit: number,
): PendingQuery<TierChangeRow[]> {
  const nothing = tx``;
  const [time_us, entry_id] = after ?? [];
  return tx<TierChangeRow[]>`
    select h.entry_id, ${microseconds(tx, 'h.occurred_at')} as occurred_us,
      json_build_object('player_id', h.player_id, 'player_external_id', p.external_id, 'from_code', h.from_code,
        'to_code', h.to_code, 'trigger', h.trigger, 'context', h.context,
        'occurred_at', to_char(h.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text as entry
    from (
      select * from player_tier_history h
      where h.tenant_id = ${tenant_id} and h.project_id = ${project_id} and h.occurred_at > '-infinity'
        ${from === undefined ? nothing : tx`and h.occurred_at >= ${from}::text::timestamptz`}
        ${to === undefined ? nothing : tx`and h.occurred_at < ${to}::text::timestamptz`}
        ${
          time_us === undefined || entry_id === undefined
            ? nothing
            : tx`and (h.occurred_at, h.entry_id) <
              ('epoch'::timestamptz + ${time_us}::bigint * interval '1 microsecond', ${entry_id}::bigint)`
        }
      order by h.occurred_at desc, h.entry_id desc limit ${limit}) h
    left join lateral (
      select p.external_id from players p
      where p.player_id = h.player_id and p.tenant_id = ${tenant_id} and p.project_id = ${project_id} offset 0) p on true
    order by h.occurred_at desc, h.entry_id desc`;
}
