import { ApiError } from '../../errors.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../wiring/platform.ts';
import { requirePlayer } from '../../players/profile/read.ts';
import { selectBonusTemplate } from '../templates/queries.ts';
import { parseConfig } from '../templates/config.ts';
import { sumBets } from './loss-queries.ts';

const DAY_MS = 86_400_000;

/**
 * What a cashback is of: the stakes of the window less the payouts, or the stakes alone, in the smallest unit of the base
 * currency; nothing for other types. Bets whose rate is not known yet count nothing.
 */
export async function lossOf(
  { postgres, clickhouse, clock }: Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>,
  project: ProjectRef,
  { template_id, player_id }: { template_id: string; player_id: string },
): Promise<{ loss_base?: bigint }> {
  const { tenant_id } = project;
  const [template] = await postgres.readAsTenant(tenant_id, (tx) =>
    selectBonusTemplate(tx, { ...project, template_id }),
  );
  if (template?.type !== 'cashback') return {};
  const config = parseConfig('cashback', template.config);
  // The checks of the grant report what is wrong with template and player, in their order.
  if (!config.success || config.data.type !== 'cashback') return {};
  const player = await requirePlayer(postgres, { ...project, player_id }).catch(absent);
  if (player === undefined) return {};
  const { basis, window_days } = config.data;
  const until_ms = clock.now_ms();
  const sums = await sumBets(
    clickhouse,
    { ...project, ...player },
    until_ms - window_days * DAY_MS,
    until_ms,
  );
  return { loss_base: basis === 'turnover' ? sums.stakes : sums.stakes - sums.payouts };
}

/** A player who does not exist has lost nothing; any other error must not be taken for that. */
function absent(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'PLAYER_NOT_FOUND') return undefined;
  throw error;
}
