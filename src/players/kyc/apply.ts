import { newId } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { lockPlayer, type LockedPlayer } from '../profile/queries.ts';
import type { PlayerRef } from '../player-ref.ts';
import { decide, lapseOf, stateOf, type KycState } from '../../protection/kyc/decide.ts';
import {
  markChanged,
  readKyc,
  writeKyc,
  type KycChange,
  type NewDecision,
  type StoredDecision,
} from '../../protection/kyc/decision-queries.ts';

/** A player whose row is locked. */
export interface LockedKyc {
  player: LockedPlayer;
  state: KycState<StoredDecision>;
  /** The latest time of what is known, 0 if nothing is. A clock elsewhere may have put it ahead of ours. */
  latest_ms: number;
}

/** What a decision came to. */
export interface Applied {
  player: LockedPlayer;
  applied: boolean;
  before: KycState<StoredDecision>;
  after: KycState<StoredDecision>;
  decision: NewDecision;
}

/**
 * Applies one decision under the lock of the player, and writes it to the history. `make` makes it of the state that
 * holds then; it throws to refuse. An approval that has ended by `now_ms`, the player's or the new one, is ended
 * in the same transaction: nobody sees it give rights. Resolves with undefined when the project has no such player.
 */
export async function applyDecision(
  tx: Tx,
  ref: PlayerRef,
  now_ms: number,
  make: (locked: LockedKyc) => NewDecision,
): Promise<Applied | undefined> {
  const locked = await lockKyc(tx, ref, now_ms);
  if (locked === undefined) return undefined;
  const { player, known, state: before, revision, decisions } = locked;
  const latest_ms = Math.max(0, ...known.map(({ at_ms }) => at_ms));
  const decision = make({ player, state: before, latest_ms });
  const { applied, state } = decide(known, decision);
  const lapse = lapsed([...known, decision], state, now_ms);
  const after = lapse?.state ?? state;
  const { event, ...silent } = decision;
  // What changes nothing, or is over when it arrives, is not an event for segments and journeys either.
  const is_event = event !== undefined && applied && lapse === undefined;
  const shown = before.status === 'expired' ? lapse?.silent : lapse?.decision;
  const change: KycChange = {
    ...ref,
    revision,
    state: after,
    decisions: [
      ...decisions,
      { ...silent, ...(is_event ? { event } : {}), applied, status: after.status },
      ...(shown === undefined ? [] : [shown]),
    ],
  };
  await writeKyc(tx, [change], now_ms);
  await markChanged(tx, ref);
  return { player, applied, before, after, decision };
}

/**
 * Ends the player's approval if it has ended by `now_ms`. The player's columns are written in any case, so that they say
 * what the decisions come to.
 */
export async function applyEnd(tx: Tx, ref: PlayerRef, now_ms: number): Promise<void> {
  const locked = await lockKyc(tx, ref, now_ms);
  if (locked === undefined) return;
  const { revision, state, decisions } = locked;
  await writeKyc(tx, [{ ...ref, revision, state, decisions }], now_ms);
  await markChanged(tx, ref);
}

interface Locked extends Omit<LockedKyc, 'latest_ms'> {
  revision: number;
  /** What is known, with the end of an approval that is over. */
  known: readonly StoredDecision[];
  /** That end, which is not stored yet. */
  decisions: KycChange['decisions'];
}

async function lockKyc(tx: Tx, ref: PlayerRef, now_ms: number): Promise<Locked | undefined> {
  const player = await lockPlayer(tx, ref);
  const stored = player === undefined ? undefined : (await readKyc(tx, [ref])).get(ref.player_id);
  if (player === undefined || stored === undefined) return undefined;
  const { revision, decisions: known } = stored;
  const state = stateOf(known);
  const lapse = lapsed(known, state, now_ms);
  if (lapse === undefined) return { player, revision, known, state, decisions: [] };
  const { decision } = lapse;
  return { player, revision, known: [...known, decision], state: lapse.state, decisions: [decision] };
}

/** The end of an approval that is over at `now_ms`, with its event and without, and the state with it. */
function lapsed(known: readonly StoredDecision[], state: KycState<StoredDecision>, now_ms: number) {
  const end = lapseOf(state, now_ms);
  if (end === undefined) return undefined;
  const said = { ...end, decided_by: null };
  const after = decide<StoredDecision>(known, said).state;
  const silent = {
    ...said,
    decision_id: newId(),
    source: 'clock' as const,
    received_at_ms: Math.max(now_ms, end.at_ms),
    applied: true,
    status: after.status,
  };
  return { state: after, silent, decision: { ...silent, event: 'kyc_expired' } };
}
