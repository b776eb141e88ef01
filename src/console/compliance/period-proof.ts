import type { ProjectRef } from '../../tenants/project-ref.ts';
import { exclusionJson } from './exclusion-json.ts';
import type { ListedExclusion } from './exclusion-queries.ts';
import { readProof, type Period } from './read-proof.ts';
import type { ExclusionProof, PeriodProof } from './schema.ts';

type Deps = Parameters<typeof readProof>[0];

/** Players whose proofs are read at the same time. */
const AT_ONCE = 4;

/**
 * Each of these exclusions with what was handed over in the period: the proof of its player, which is read once, narrowed
 * to what was decided in the period.
 */
export async function readPeriodProofs(
  deps: Deps,
  project: ProjectRef,
  rows: readonly ListedExclusion[],
  period: Period,
): Promise<PeriodProof[]> {
  const survivorOf = ({ merged_into, player_id }: ListedExclusion) => merged_into ?? player_id;
  const players = [...new Set(rows.map(survivorOf))];
  const proofs = new Map<string, ExclusionProof>();
  for (let i = 0; i < players.length; i += AT_ONCE) {
    const read = players.slice(i, i + AT_ONCE).map(async (player_id) => {
      proofs.set(player_id, await readProof(deps, { ...project, player_id }, period));
    });
    await Promise.all(read);
  }
  const now = new Date(deps.clock.now_ms());
  return rows.map((row) => {
    const proof = proofs.get(survivorOf(row));
    const found = proof?.exclusions.find(({ id }) => id === row.exclusion_id);
    return {
      ...exclusionJson(row, now),
      messages: found?.messages ?? 0,
      bonuses: found?.bonuses ?? 0,
      under_way: found?.under_way.length ?? 0,
      blocked: found?.blocked.reduce((sum, { count }) => sum + count, 0) ?? 0,
      // An exclusion that its player's proof does not have is not proved, and no period is before its end.
      is_complete: proof?.is_complete === true && found !== undefined && period.to <= now,
    };
  });
}
