import type { Postgres } from '../../platform/postgres/port.ts';
import { withSurvivor } from '../../players/profile/read.ts';
import { moneyFor } from './money-catalogue.ts';
import {
  playerScope,
  SYNTHETIC_BONUS,
  SYNTHETIC_PLAYER,
  type ScopeExtra,
  type ScopePlayer,
} from './player-scope.ts';
import type { TemplateRef } from './queries.ts';
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
 * Renders the template for a player, whatever the status of both; without a player_id for a synthetic player. Rejects
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
  try {
    const { text: _text, ...shown } = await renderForRequest(ref.tenant_id, () =>
      renderMessage(compileTemplate(row), scopeOf(public_url, player), catalogue),
    );
    return shown;
  } catch (error) {
    if (error instanceof RenderFailed) throw templateInvalid([error.issue]);
    throw error;
  }
}

/** The variables of a preview; only the synthetic player has a bonus. The unsubscribe link has no token. */
export function scopeOf(public_url: string, player: ScopePlayer | undefined): Record<string, unknown> {
  const extra: ScopeExtra = { context: {}, unsubscribe_url: `${public_url}/v1/unsubscribe` };
  return player === undefined
    ? playerScope(SYNTHETIC_PLAYER, { ...extra, bonus: SYNTHETIC_BONUS })
    : playerScope(player, extra);
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
