import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/**
 * What began or ended a time in which a player gets nothing; `erasure`: an excluded person was forgotten, and registered
 * again.
 */
export type ExclusionSource = 'event' | 'operator' | 'merge' | 'erasure';

/** Which event it was. */
export interface EventCause {
  ingestion_id: string;
  event_index: number;
  /** When the service received it. */
  received_at_ms: number;
}

/** Why a player's exclusion or break may have changed. */
export interface ExclusionCause extends ProjectRef {
  player_id: string;
  source: ExclusionSource;
  /** Since when the player is excluded, or not any more, as the event says. */
  excluded_at_ms?: number | undefined;
  excluded_by?: EventCause | undefined;
  /** When the player asked for the break. */
  cooldown_at_ms?: number | undefined;
  cooldown_by?: EventCause | undefined;
}

/**
 * Brings the records of players' exclusions and breaks in line with their rows, which the same transaction has changed and
 * so has locked: begins a record when a player is excluded and has none, ends it when the player is not, and begins
 * another when a break ends later than those recorded. Each player is named once.
 */
export async function recordExclusions(tx: Tx, causes: readonly ExclusionCause[], now: Date): Promise<void> {
  if (causes.length === 0) return;
  const time = (column: string) =>
    tx`coalesce('epoch'::timestamptz + c.${tx(column)} * interval '1 millisecond', ${now})`;
  const caused = tx`
    select c.tenant_id, c.project_id, c.player_id, c.source,
      ${time('excluded_ms')} as excluded_at, ${time('excluded_received_ms')} as excluded_accepted_at,
      c.excluded_id, c.excluded_index,
      ${time('cooldown_ms')} as cooldown_at, ${time('cooldown_received_ms')} as cooldown_accepted_at,
      c.cooldown_id, c.cooldown_index,
      p.self_excluded or p.status = 'self_excluded' as is_excluded, p.cooldown_until
    from ${rowsOf(tx, 'c', causes, {
      tenant_id: 'uuid',
      project_id: 'uuid',
      player_id: 'uuid',
      source: 'text',
      excluded_ms: ['bigint', (one) => one.excluded_at_ms ?? null],
      excluded_received_ms: ['bigint', (one) => one.excluded_by?.received_at_ms ?? null],
      excluded_id: ['uuid', (one) => one.excluded_by?.ingestion_id ?? null],
      excluded_index: ['smallint', (one) => one.excluded_by?.event_index ?? null],
      cooldown_ms: ['bigint', (one) => one.cooldown_at_ms ?? null],
      cooldown_received_ms: ['bigint', (one) => one.cooldown_by?.received_at_ms ?? null],
      cooldown_id: ['uuid', (one) => one.cooldown_by?.ingestion_id ?? null],
      cooldown_index: ['smallint', (one) => one.cooldown_by?.event_index ?? null],
    })}
    cross join lateral (
      select p.self_excluded, p.status, p.cooldown_until from players p
      where p.player_id = c.player_id and p.tenant_id = c.tenant_id and p.project_id = c.project_id offset 0) p`;
  const isTheirs = tx`e.player_id = c.player_id and e.tenant_id = c.tenant_id and e.project_id = c.project_id`;
  await tx`
    with caused as materialized (${caused}), ended as (
      update player_exclusions e
      set ended_at = ${now}, lifted_at = c.excluded_at, end_source = c.source, end_ingestion_id = c.excluded_id,
        end_event_index = c.excluded_index
      from caused c
      where ${isTheirs} and e.kind = 'self_exclusion' and e.ended_at is null and not c.is_excluded
    )
    insert into player_exclusions (tenant_id, project_id, exclusion_id, player_id, kind, since, accepted_at, recorded_at,
      ends_at, source, ingestion_id, event_index)
    select c.tenant_id, c.project_id, new_id(), c.player_id, 'self_exclusion', c.excluded_at, c.excluded_accepted_at,
      ${now}, null, c.source, c.excluded_id, c.excluded_index
    from caused c
    where c.is_excluded and not exists (
      select from player_exclusions e where ${isTheirs} and e.kind = 'self_exclusion' and e.ended_at is null)
    union all
    select c.tenant_id, c.project_id, new_id(), c.player_id, 'cooldown', c.cooldown_at, c.cooldown_accepted_at,
      ${now}, c.cooldown_until, c.source, c.cooldown_id, c.cooldown_index
    from caused c
    where c.cooldown_until > coalesce((
      select max(e.ends_at) from player_exclusions e where ${isTheirs} and e.kind = 'cooldown' and e.ended_at is null), '-infinity')
      and c.cooldown_until > c.cooldown_accepted_at`;
}
