import { playersBehind, type LoggedPlayer } from '../../analytics/players-caught-up.ts';
import { ApiError } from '../../errors.ts';
import { identityKeyOf, playerKey } from '../../ingest/events/envelope.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { requirePlayer } from '../../players/profile/read.ts';
import { selectBonusTemplate } from '../templates/queries.ts';
import { parseConfig, type BonusConfig } from '../templates/config.ts';
import { selectLoggedIds, sumRealMoney, type RealSums, type EventOwner } from './loss-queries.ts';

const DAY_MS = 86_400_000;
/** How long it is waited for ClickHouse, which trails Postgres by a few hundred milliseconds. */
const SINK_WAIT_MS = 1_000;

type LossDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'clock'>;
type Cashback = Extract<BonusConfig, { type: 'cashback' }>;

/** The template of a grant and its player. */
interface LossQuestion {
  template_id: string;
  player_id: string;
}

/** A player by the ids that the event log and ClickHouse have of it. */
export type LostPlayer = LoggedPlayer & EventOwner;

/** What was lost, or staked, in the smallest unit of the base currency; absent for types that do not ask. */
export interface Loss {
  loss_base?: bigint;
}

/**
 * What a cashback is of: the stakes of the window less the payouts, or the stakes alone, both without bonus money; nothing
 * for other types. Bets whose rate is not known yet count nothing. The answer is that of ClickHouse as it is: see {@link settledLossOf}.
 */
export async function lossOf(
  deps: LossDeps,
  project: ProjectRef,
  { template_id, player_id }: LossQuestion,
): Promise<Loss> {
  const cashback = await cashbackOf(deps, project, template_id);
  if (cashback === undefined) return {};
  const player = await requirePlayer(deps.postgres, { ...project, player_id }).catch(absent);
  return player === undefined ? {} : lossIn(deps, project, cashback, player);
}

/**
 * The same with every bet of the player that was accepted before the call. `behind`: ClickHouse did not have them within a
 * second. Types that do not ask wait for nothing.
 */
export async function settledLossOf(
  deps: LossDeps & Pick<Platform, 'eventLog'>,
  project: ProjectRef,
  { template_id, player_id }: LossQuestion,
): Promise<Loss | 'behind'> {
  const cashback = await cashbackOf(deps, project, template_id);
  if (cashback === undefined) return {};
  const players = await loggedPlayersOf(deps, project, [player_id]);
  const behind = await playersBehind(deps, project, players, SINK_WAIT_MS);
  if (behind.size > 0) return 'behind';
  const [player] = players;
  return player === undefined ? {} : lossIn(deps, project, cashback, player);
}

/**
 * The losses of players, as {@link lossOf}, by player_id; a player without bets has lost 0. Undefined: the template does
 * not ask for losses.
 */
export async function lossesOf(
  deps: LossDeps,
  project: ProjectRef,
  template_id: string,
  players: readonly EventOwner[],
): Promise<Map<string, bigint> | undefined> {
  const cashback = await cashbackOf(deps, project, template_id);
  return cashback === undefined ? undefined : lossesIn(deps, project, cashback, players);
}

/** The players that these ids name, by the ids that the event log has of them; ids of nobody are omitted. */
export async function loggedPlayersOf(
  { postgres }: Pick<Platform, 'postgres'>,
  { tenant_id, project_id }: ProjectRef,
  player_ids: readonly string[],
): Promise<LostPlayer[]> {
  const named = await postgres.readAsTenant(tenant_id, (tx) =>
    selectLoggedIds(tx, { tenant_id, project_id }, player_ids),
  );
  return named.map(({ asked_id, player_id, former_ids, event_former_ids, anonymous_ids }) => {
    const event_player_ids = [player_id, ...event_former_ids];
    return {
      asked_id,
      player_id,
      event_player_ids,
      accepted_keys: [player_id, ...former_ids, ...anonymous_ids].map((id) => identityKeyOf(project_id, id)),
      folded_keys: event_player_ids.map((id) => playerKey(project_id, id)),
    };
  });
}

/** The cashback of a template; undefined: it is not a cashback, or cannot be read. */
async function cashbackOf(
  { postgres }: LossDeps,
  project: ProjectRef,
  template_id: string,
): Promise<Cashback | undefined> {
  const [template] = await postgres.readAsTenant(project.tenant_id, (tx) =>
    selectBonusTemplate(tx, { ...project, template_id }),
  );
  if (template?.type !== 'cashback') return undefined;
  const config = parseConfig('cashback', template.config);
  // The checks of the grant report what is wrong with template and player, in their order.
  return config.success && config.data.type === 'cashback' ? config.data : undefined;
}

async function lossIn(
  deps: LossDeps,
  project: ProjectRef,
  cashback: Cashback,
  player: EventOwner,
): Promise<Loss> {
  const losses = await lossesIn(deps, project, cashback, [player]);
  return { loss_base: losses.get(player.player_id) ?? 0n };
}

async function lossesIn(
  { clickhouse, clock }: LossDeps,
  project: ProjectRef,
  { basis, window_days }: Cashback,
  players: readonly EventOwner[],
): Promise<Map<string, bigint>> {
  const until_ms = clock.now_ms();
  const sums = await sumRealMoney(clickhouse, project, players, until_ms - window_days * DAY_MS, until_ms);
  const lost = ({ stakes, payouts }: RealSums) => (basis === 'turnover' ? stakes : stakes - payouts);
  return new Map([...sums].map(([player_id, of_player]) => [player_id, lost(of_player)]));
}

/** A player who does not exist has lost nothing; any other error must not be taken for that. */
function absent(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'PLAYER_NOT_FOUND') return undefined;
  throw error;
}
