import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerDependent } from '../dependents.ts';
import type { MergePair, PlayerRef } from '../player-ref.ts';
import { stateOf } from '../../protection/kyc/decide.ts';
import { readKyc, writeKyc } from '../../protection/kyc/decision-queries.ts';

/** The survivor's KYC is what the decisions about both come to; the order of merge and decisions does not matter. */
async function mergeKyc(tx: Tx, pair: MergePair, now: Date): Promise<void> {
  const { tenant_id, project_id, player_id, into_player_id } = pair;
  const survivor = { tenant_id, project_id, player_id: into_player_id };
  await Promise.all([
    tx`
      update kyc_decisions set player_id = ${into_player_id}
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`,
    tx`
      update kyc_calls set player_id = ${into_player_id}
      where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`,
  ]);
  const known = (await readKyc(tx, [survivor])).get(into_player_id);
  if (known === undefined || known.decisions.length === 0) return;
  const { revision, decisions } = known;
  await writeKyc(tx, [{ ...survivor, revision, state: stateOf(decisions), decisions: [] }], now.getTime());
}

/** Nothing more is said to a platform about a deleted player; who decided what is kept. */
async function endCalls(tx: Tx, { tenant_id, project_id, player_id }: PlayerRef): Promise<void> {
  await tx`
    delete from kyc_calls
    where tenant_id = ${tenant_id} and project_id = ${project_id} and player_id = ${player_id}`;
}

/** What happens to decisions about a player's KYC when it is merged or deleted. */
export const kycOfPlayers: PlayerDependent = { onMerge: mergeKyc, onDelete: endCalls };
