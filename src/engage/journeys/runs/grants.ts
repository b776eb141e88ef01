import { v5 as uuidv5 } from 'uuid';
import type { Clock } from '../../../platform/clock.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { reserveGrants, type Refusal, type Reservation } from '../../../bonuses/grants/reserve.ts';
import { depositOfGrant } from '../graph/deposit.ts';
import { qualifyingProductAt } from '../graph/qualifying.ts';
import type { Definition } from '../graph/shapes.ts';
import { advance } from './advance.ts';
import type { RunningRow, RunRef } from './run-row.ts';
import type { Advanced, Effect, Facts, RefusedGrant, RunState } from './shapes.ts';

type Moved = Exclude<Advanced, { needs: unknown }>;
type GrantEffect = Extract<Effect, { kind: 'grant' }>;

/** A run on whose way bonuses are granted, as far as nobody refuses them. */
export interface GrantingRun {
  run: RunningRow;
  state: RunState;
  definition: Definition;
  facts: Facts;
  advanced: Moved;
}

/** The id of a grant: it follows from run and node, so that a node of a run grants once. */
export function grantIdOf({ run_id }: RunRef, node_id: string): string {
  return uuidv5(`grant ${node_id}`, run_id);
}

/** The codes of steps for players who may have no bonus at all, as messages and webhooks have them. */
const BARRED: Readonly<Record<string, string>> = {
  SELF_EXCLUDED: 'SKIPPED_SELF_EXCLUDED',
  BANNED: 'SKIPPED_BANNED',
  DELETED: 'SKIPPED_NO_RECIPIENT',
};

/**
 * Stores the intents of the bonuses that runs grant, in the transaction that moves the runs, and changes `advanced` of
 * the runs of which one was refused: its step then fails with the code, and `on_error` decides where the run goes. A
 * bonus is asked for only when those before it on the run's way are decided, and the run still comes to it.
 */
export async function decideGrants(
  tx: Tx,
  clock: Clock,
  granting: readonly GrantingRun[],
  now_ms: number,
): Promise<void> {
  const decided = new Map<GrantingRun, number>();
  const refused_of = new Map<GrantingRun, Map<string, RefusedGrant>>();
  for (;;) {
    const next = granting.flatMap((one) => {
      const refused = refused_of.get(one);
      // A refused one is not an effect any more, so the place of the next one stays.
      const effect = grantsOf(one.advanced)[(decided.get(one) ?? 0) - (refused?.size ?? 0)];
      return effect === undefined ? [] : [{ one, effect }];
    });
    if (next.length === 0) return;
    const answers = await reserveGrants(
      tx,
      clock,
      next.map(({ one, effect }) => reservationOf(one, effect)),
    );
    for (const { one, effect } of next) {
      decided.set(one, (decided.get(one) ?? 0) + 1);
      const refusal = answers.get(grantIdOf(one.run, effect.node.id));
      if (refusal === undefined) continue;
      const refused = (refused_of.get(one) ?? new Map<string, RefusedGrant>()).set(
        effect.node.id,
        refusedBy(refusal),
      );
      refused_of.set(one, refused);
      const facts = { ...one.facts, refused_grants: refused };
      const advanced = advance(one.definition, one.state, facts, now_ms);
      if ('needs' in advanced) throw new Error(`the run ${one.run.run_id} asks after a bonus was refused`);
      one.advanced = advanced;
    }
  }
}

/** Whether a bonus is granted on the way. */
export function grantsOf({ effects }: Moved): GrantEffect[] {
  return effects.filter((effect) => effect.kind === 'grant');
}

function reservationOf(
  { run, facts, definition }: GrantingRun,
  { node, deposit_amount }: GrantEffect,
): Reservation {
  const { tenant_id, project_id, player_id, run_id } = run;
  const loss = facts.conditions.get(node.id);
  const deposit_transaction_id = depositOfGrant(definition, node, run.context);
  return {
    tenant_id,
    project_id,
    player_id,
    grant_id: grantIdOf(run, node.id),
    template_id: node.template_id,
    granted_by_kind: 'journey',
    granted_by_id: run_id,
    deposit_amount: deposit_amount ?? null,
    qualifying_product: qualifyingProductAt(definition, node.id),
    ...(deposit_transaction_id === undefined ? {} : { deposit_transaction_id }),
    ...(typeof loss === 'bigint' ? { loss_base: loss } : {}),
  };
}

function refusedBy({ code, reason }: Refusal): RefusedGrant {
  const skipped = code === 'PLAYER_NOT_FOUND' ? BARRED['DELETED'] : BARRED[reason ?? ''];
  if (code === 'PLAYER_NOT_FOUND' || code === 'BONUS_PLAYER_NOT_ELIGIBLE') {
    if (skipped !== undefined) return { status: 'skipped', error_code: skipped };
  }
  return { status: 'failed', error_code: code };
}
