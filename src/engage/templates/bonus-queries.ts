import type { PendingQuery } from 'postgres';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { wholeOf } from './decimals.ts';
import type { ScopeBonus } from './player-scope.ts';

/** A message whose template reads a bonus; `send_id` is any key of it. */
export interface BonusReader {
  send_id: string;
  player_id: string;
  journey_run_id: string | null;
}

/** A bonus with its amounts as digits. */
interface StoredBonus extends Omit<ScopeBonus, 'amount' | 'wagering_required' | 'wagering_progress'> {
  send_id: string;
  amount: string;
  wagering_required: string;
  wagering_progress: string;
  ends_at: Date | null;
}

/**
 * The bonuses that messages speak of, by `send_id`: the latest that their run has granted, else the player's newest one
 * that is pending or active. A message without one is omitted.
 */
export async function selectBonuses(
  sql: Tx,
  project: ProjectRef,
  readers: readonly BonusReader[],
): Promise<ReadonlyMap<string, ScopeBonus>> {
  return bonusesOf(await selectStoredBonuses(sql, project, readers));
}

/** The rows of {@link selectBonuses}, for {@link bonusesOf}: a statement by itself, which needs no transaction. */
export function selectStoredBonuses(
  sql: Tx,
  { tenant_id, project_id }: ProjectRef,
  readers: readonly BonusReader[],
): PendingQuery<StoredBonus[]> {
  return sql<StoredBonus[]>`
    select r.send_id, b.*
    from ${rowsOf(sql, 'r', readers, { send_id: 'uuid', player_id: 'uuid', run_id: ['uuid', (r) => r.journey_run_id] })}
    cross join lateral (
      select g.grant_id as id, g.facts ->> 'platform_bonus_id' as code, g.terms ->> 'name' as name,
        g.terms ->> 'type' as type, g.status, g.currency, g.bonus_amount::text as amount,
        g.wagering_required::text as wagering_required, g.wagering_progress::text as wagering_progress,
        g.expires_at as ends_at
      from bonus_grants g
      where g.player_id = r.player_id and g.tenant_id = ${tenant_id} and g.project_id = ${project_id}
        and (g.status in ('pending', 'active') or g.granted_by_id = r.run_id)
      order by coalesce(g.granted_by_kind = 'journey' and g.granted_by_id = r.run_id, false) desc, g.created_at desc,
        g.grant_id desc
      limit 1) b`;
}

/** The bonuses of these rows as templates read them, by `send_id`. */
export function bonusesOf(rows: readonly StoredBonus[]): ReadonlyMap<string, ScopeBonus> {
  return new Map(
    rows.map(({ send_id, ends_at, amount, wagering_required, wagering_progress, ...bonus }) => [
      send_id,
      {
        ...bonus,
        amount: wholeOf(amount),
        wagering_required: wholeOf(wagering_required),
        wagering_progress: wholeOf(wagering_progress),
        expires_at: ends_at?.toISOString() ?? null,
      },
    ]),
  );
}
