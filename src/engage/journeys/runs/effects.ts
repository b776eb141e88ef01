import { v5 as uuidv5 } from 'uuid';
import type { Tx } from '../../../platform/postgres/port.ts';
import { applyAttributes } from '../../../players/profile/change.ts';
import { splitAttributes } from '../../../players/profile/profile-patch.ts';
import type { PlayerRef } from '../../../players/player-ref.ts';
import { insertJourneySends } from '../../messaging/journey-send-queries.ts';
import { insertDeliveries, type NewDelivery, rejoinDeliveries } from '../../webhooks/delivery-queries.ts';
import type { UpdatePlayerNode } from '../graph/shapes.ts';
import type { RunningRow, RunRef } from './run-row.ts';
import type { Effect } from './shapes.ts';

/** What a step of a run does. */
export interface RunEffect {
  run: RunningRow;
  effect: Effect;
}

/** The id of a webhook's event: it follows from run and node, so that it is the same whenever it is computed. */
export function eventIdOf({ run_id }: RunRef, node_id: string): string {
  return uuidv5(node_id, run_id);
}

/** Writes what the steps of a batch do, in the transaction that moves their runs. */
export async function applyEffects(
  tx: Tx,
  erasure_key: Buffer,
  effects: readonly RunEffect[],
  now: Date,
): Promise<void> {
  const sends = [];
  const deliveries: NewDelivery[] = [];
  const updates: { run: RunningRow; node: UpdatePlayerNode }[] = [];
  for (const { run, effect } of effects) {
    const { tenant_id, project_id, journey_id, run_id, player_id, context } = run;
    switch (effect.kind) {
      case 'send': {
        const { id: node_id, template_id, provider_id, quiet_hours } = effect.node;
        sends.push({
          tenant_id,
          project_id,
          journey_id,
          player_id,
          context,
          journey_run_id: run_id,
          node_id,
          template_id,
          provider_id,
          quiet_hours,
        });
        break;
      }
      case 'delivery': {
        const { node, seq } = effect;
        const of_run = { tenant_id, project_id, journey_id, player_id, context, run_id };
        deliveries.push({
          ...of_run,
          now,
          event_id: eventIdOf(run, node.id),
          journey_version: run.version,
          seq,
          node,
        });
        break;
      }
      case 'update_player':
        updates.push({ run, node: effect.node });
        break;
      case 'grant':
        // Its intent is there already: whether it is granted decides about the step.
        break;
    }
  }
  await Promise.all([
    insertJourneySends(tx, sends, now),
    insertDeliveries(tx, deliveries).then(() => rejoinDeliveries(tx, deliveries, now)),
    updatePlayers(tx, erasure_key, updates, now),
  ]);
}

/**
 * Sets custom attributes as a PATCH of the player does, which marks the player as changed for player-mirror and so for
 * segments. Rejects with VALIDATION_ERROR when a player's attributes grow too large.
 */
async function updatePlayers(
  tx: Tx,
  erasure_key: Buffer,
  updates: readonly { run: RunningRow; node: UpdatePlayerNode }[],
  now: Date,
): Promise<void> {
  // Several runs of a player, or several nodes of a run, make one change; the later one wins.
  const traits_of = new Map<string, PlayerRef & { traits: Record<string, unknown> }>();
  for (const { run, node } of updates) {
    const { tenant_id, project_id, player_id } = run;
    const traits = { ...traits_of.get(player_id)?.traits, ...node.traits };
    traits_of.set(player_id, { tenant_id, project_id, player_id, traits });
  }
  const patches = [...traits_of.values()].map(({ traits, ...ref }) => ({
    ...ref,
    ...splitAttributes(traits),
  }));
  await applyAttributes(tx, erasure_key, patches, now);
}
