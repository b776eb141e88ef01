import type { Platform } from '../../platform/platform.ts';
import { Fence } from '../../protection/fence.ts';
import { selectIdsOf } from '../../protection/fence-queries.ts';
import { selectAddressees } from './barred-queries.ts';
import type { ClaimedDelivery } from './claim-queries.ts';

type AdmissionDeps = Pick<Platform, 'postgres' | 'eventLog' | 'clock'>;

/** How long a batch waits for the fold. While it does, the deliverer begins no other attempts. */
const PATIENCE_MS = 100;

/**
 * Why a delivery may not be attempted. `barred`: never, by the code. `behind`: not yet, because events of its player
 * that were accepted before are not folded.
 */
export type Refusal = { kind: 'barred'; code: string } | { kind: 'behind' };

/**
 * Looks at the players of claimed deliveries behind the fence, so that a webhook about a player who was
 * excluded, banned or deleted while it was pending does not go out.
 */
export class WebhookAdmission {
  readonly #deps: AdmissionDeps;
  readonly #fence: Fence;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
    this.#fence = new Fence(deps);
  }

  /**
   * The refused deliveries by event_id. One fence and one query of the players for all of them. When `stop` is aborted
   * meanwhile, all are `behind`.
   */
  async refuse(claimed: readonly ClaimedDelivery[], stop?: AbortSignal): Promise<Map<string, Refusal>> {
    if (claimed.length === 0) return new Map();
    const mark = await this.#fence.note();
    let behind: ReadonlySet<number>;
    try {
      behind = await this.#fence.settle(mark, PATIENCE_MS, stop);
    } catch (error) {
      if (stop?.aborted !== true) throw error;
      return new Map(claimed.map(({ event_id }) => [event_id, { kind: 'behind' }]));
    }
    const found = await selectAddressees(this.#deps.postgres.service, claimed);
    const refused = new Map<string, Refusal>();
    // What an exclusion has said stays true, whatever else is not folded.
    for (const { event_id, code } of found)
      if (code !== null) refused.set(event_id, { kind: 'barred', code });
    if (behind.size === 0) return refused;
    const player_of = new Map(found.map((one) => [one.event_id, one.player_id]));
    for (const deliveries of byProject(claimed)) {
      const [project] = deliveries;
      if (project === undefined) continue;
      const player_ids = [
        ...new Set(deliveries.map(({ event_id, player_id }) => player_of.get(event_id) ?? player_id)),
      ];
      const players = await selectIdsOf(this.#deps.postgres.service, project, player_ids);
      const held = new Set(
        players
          .filter(({ ids }) =>
            [...this.#fence.partitionsOf(mark, project, ids)].some((one) => behind.has(one)),
          )
          .map(({ player_id }) => player_id),
      );
      for (const { event_id, player_id } of deliveries) {
        const is_held = held.has(player_of.get(event_id) ?? player_id);
        if (is_held && !refused.has(event_id)) refused.set(event_id, { kind: 'behind' });
      }
    }
    return refused;
  }
}

function byProject(claimed: readonly ClaimedDelivery[]): ClaimedDelivery[][] {
  const groups = new Map<string, ClaimedDelivery[]>();
  for (const one of claimed) groups.set(one.project_id, [...(groups.get(one.project_id) ?? []), one]);
  return [...groups.values()];
}
