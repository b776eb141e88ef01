import { Fence, type FenceDeps } from '../../protection/fence.ts';
import { selectAddressees, selectWithheld, type ClaimedCall, type ClaimedDelivery } from './claim-queries.ts';

/** How long a batch waits for the fold. While it does, the deliverer begins no other attempts. */
const PATIENCE_MS = 100;

/**
 * Why a delivery may not be attempted. `barred`: never, by the code. `behind`: not yet, because events of its player
 * that were accepted before are not folded.
 */
export type Refusal = { kind: 'barred'; code: string } | { kind: 'behind' };

/** The code of an event that a subscription is not sent, because its player is deleted or erased. */
export const WITHHELD = 'SKIPPED_NO_RECIPIENT';

/**
 * Looks at the players of claimed deliveries behind the fence, so that a webhook about a player who was
 * excluded, banned or deleted while it was pending does not go out.
 */
export class WebhookAdmission {
  readonly #deps: FenceDeps;
  readonly #fence: Fence;

  constructor(deps: FenceDeps) {
    this.#deps = deps;
    this.#fence = new Fence(deps);
  }

  /**
   * The refused deliveries by event_id. Calls of journeys: one fence and one query of the players for all of them; when
   * `stop` is aborted meanwhile, all are `behind`. Events of subscriptions report facts, exclusions among them, to systems of
   * the operator: only those about deleted and erased players are withheld, and nothing is waited for.
   */
  async refuse(claimed: readonly ClaimedDelivery[], stop?: AbortSignal): Promise<Map<string, Refusal>> {
    const calls = claimed.filter((one) => one.subscription_id === null);
    const events = claimed.filter(({ subscription_id }) => subscription_id !== null);
    const [refused, withheld] = await Promise.all([
      this.#refuseCalls(calls, stop),
      selectWithheld(this.#deps.postgres.service, events),
    ]);
    for (const event_id of withheld) refused.set(event_id, { kind: 'barred', code: WITHHELD });
    return refused;
  }

  async #refuseCalls(claimed: readonly ClaimedCall[], stop?: AbortSignal): Promise<Map<string, Refusal>> {
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
    // What an exclusion has said stays true, even if other events are not folded yet.
    for (const { event_id, code } of found)
      if (code !== null) refused.set(event_id, { kind: 'barred', code });
    const player_of = new Map(found.map((one) => [one.event_id, one.player_id]));
    const players = claimed.map((one) => ({
      ...one,
      player_id: player_of.get(one.event_id) ?? one.player_id,
    }));
    const held = await this.#fence.heldBack(mark, behind, players);
    for (const { event_id, player_id } of players) {
      if (held.has(player_id) && !refused.has(event_id)) refused.set(event_id, { kind: 'behind' });
    }
    return refused;
  }
}
