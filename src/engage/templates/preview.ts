import type { Postgres } from '../../platform/postgres/port.ts';
import { withSurvivor } from '../../players/profile/read.ts';
import { bonusesOf, selectStoredBonuses } from './bonus-queries.ts';
import { moneyFor } from './money-catalogue.ts';
import {
  playerScope,
  SYNTHETIC_BONUS,
  SYNTHETIC_PLAYER,
  type ScopeBonus,
  type ScopePlayer,
} from './player-scope.ts';
import type { TemplateRef, TemplateRow } from './queries.ts';
import { selectScopePlayer } from './scope-queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { requireTemplate } from './read.ts';
import { compileTemplate, RenderFailed, renderMessage, templateInvalid, type Rendered } from './render.ts';
import { renderForRequest } from './rendering.ts';

interface Deps {
  postgres: Postgres;
  public_url: string;
}

/**
 * Renders the template for a player, with any status of both; without a player_id for a synthetic player. Rejects
 * with TEMPLATE_NOT_FOUND, PLAYER_NOT_FOUND, TooBusy, or TEMPLATE_INVALID when the template cannot be rendered.
 */
export async function previewTemplate(
  { postgres, public_url }: Deps,
  ref: TemplateRef,
  player_id: string | undefined,
): Promise<Omit<Rendered, 'text'>> {
  const row = await requireTemplate(postgres, ref);
  const player = player_id === undefined ? undefined : await findScopePlayer(postgres, ref, player_id);
  const catalogue = await moneyFor(postgres, ref.tenant_id, row);
  const scope = await scopeFor({ postgres, public_url }, ref, row, player);
  try {
    const { text: _text, ...shown } = await renderForRequest(ref.tenant_id, () =>
      renderMessage(compileTemplate(row), scope, catalogue),
    );
    return shown;
  } catch (error) {
    if (error instanceof RenderFailed) throw templateInvalid([error.issue]);
    throw error;
  }
}

/**
 * The variables of a template for a player, as a message outside of a journey has them; undefined: for the synthetic
 * player. The unsubscribe link has no token.
 */
export async function scopeFor(
  { postgres, public_url }: Deps,
  project: ProjectRef,
  template: TemplateRow,
  player: ScopePlayer | undefined,
): Promise<Record<string, unknown>> {
  const bonus = await scopeBonusFor(postgres, project, template, player?.player_id);
  const unsubscribe_url = `${public_url}/v1/unsubscribe`;
  return playerScope(player ?? SYNTHETIC_PLAYER, { context: {}, bonus, unsubscribe_url });
}

/**
 * The bonus that a message outside of a journey shows: the player's newest one that is pending or active. Null: there is
 * none, or the template reads none. Without a player_id that of the synthetic player.
 */
export async function scopeBonusFor(
  postgres: Postgres,
  { tenant_id, project_id }: ProjectRef,
  { reads_bonus }: Pick<TemplateRow, 'reads_bonus'>,
  player_id: string | undefined,
): Promise<ScopeBonus | null> {
  if (!reads_bonus) return null;
  if (player_id === undefined) return SYNTHETIC_BONUS;
  const reader = { send_id: player_id, player_id, journey_run_id: null };
  const rows = await postgres.readAsTenant(tenant_id, (tx) =>
    selectStoredBonuses(tx, { tenant_id, project_id }, [reader]),
  );
  return bonusesOf(rows).get(player_id) ?? null;
}

/** The player that the id names, deleted or not; for a merged player its survivor. Rejects with PLAYER_NOT_FOUND. */
export function findScopePlayer(
  postgres: Postgres,
  project: ProjectRef,
  player_id: string,
): Promise<ScopePlayer> {
  const { tenant_id, project_id } = project;
  return withSurvivor(postgres, { tenant_id, project_id, player_id }, async (ref) => {
    const [found] = await postgres.readAsTenant(tenant_id, (tx) =>
      selectScopePlayer(tx, project, ref.player_id),
    );
    return found;
  });
}
