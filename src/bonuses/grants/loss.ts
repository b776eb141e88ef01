import { NotCaughtUp, waitUntilPlayerInClickHouse } from '../../analytics/caught-up.ts';
import { ApiError } from '../../errors.ts';
import { playerKey } from '../../ingest/events/envelope.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../wiring/platform.ts';
import { requirePlayer } from '../../players/profile/read.ts';
import { selectBonusTemplate } from '../templates/queries.ts';
import { parseConfig } from '../templates/config.ts';
import { sumBets } from './loss-queries.ts';

const DAY_MS = 86_400_000;
/** How long it is waited for ClickHouse, which trails Postgres by a few hundred milliseconds. */
const SINK_WAIT_MS = 1_000;

type LossDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;

/** The template of a grant and its player. */
interface LossQuestion {
  template_id: string;
  player_id: string;
}

/** What was lost, or staked, in the smallest unit of the base currency; absent for types that do not ask. */
export interface Loss {
  loss_base?: bigint;
}

/**
 * What a cashback is of: the stakes of the window less the payouts, or the stakes alone; nothing for other types. Bets
 * whose rate is not known yet count nothing. The answer is that of ClickHouse as it is: see {@link settledLossOf}.
 */
export function lossOf(deps: LossDeps, project: ProjectRef, question: LossQuestion): Promise<Loss> {
  return lossAfter(deps, project, question, () => Promise.resolve());
}

/**
 * The same with all bets that Postgres had of the player at the call: those that a reader of the player has seen.
 * `behind`: ClickHouse did not have them within a second. Types that do not ask wait for nothing.
 */
export async function settledLossOf(
  deps: LossDeps & Pick<Platform, 'eventLog'>,
  project: ProjectRef,
  question: LossQuestion,
): Promise<Loss | 'behind'> {
  try {
    return await lossAfter(deps, project, question, (player_ids) => {
      const keys = player_ids.map((id) => playerKey(project.project_id, id));
      return waitUntilPlayerInClickHouse(deps, keys, SINK_WAIT_MS);
    });
  } catch (error) {
    if (error instanceof NotCaughtUp) return 'behind';
    throw error;
  }
}

/** The loss as ClickHouse has it once `settle`, which gets all ids of the player, has resolved. */
async function lossAfter(
  { postgres, clickhouse, clock }: LossDeps,
  project: ProjectRef,
  { template_id, player_id }: LossQuestion,
  settle: (player_ids: readonly string[]) => Promise<void>,
): Promise<Loss> {
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
  await settle(player.event_player_ids);
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
