import type { Tx } from '../../platform/postgres/port.ts';
import type { BonusPlatform } from '../../adapters/platform.ts';
import type { Worth } from '../grants/worth.ts';
import { decideMembers } from './decide-members.ts';
import { freeze } from './frozen-terms.ts';
import { insertFrozenTerms, type FrozenTermsRow } from './frozen-terms-queries.ts';
import { addUsed, lockUsed, noteShort, updateRows, type RowsChange } from './reserve-queries.ts';
import { Room } from './room.ts';
import type { IssueTerms, MemberFacts } from './terms-of-issue.ts';

/**
 * Decides about pending members and reserves what those cost who pass, in the caller's transaction, which holds the
 * campaign's row: the limits, whose rows are locked once for all, hold it from now on. The grants are made when they are
 * released. Returns the number of members decided. Rejects with WriteConflict when one of them is not pending any more.
 */
export async function reserveMembers(
  tx: Tx,
  terms: IssueTerms,
  player_ids: readonly string[],
  { facts, platform }: { facts: ReadonlyMap<string, MemberFacts>; platform: Pick<BonusPlatform, 'slug'> },
): Promise<number> {
  const { campaign, template, now: assigned_at } = terms;
  const decisions = await decideMembers(tx, terms, player_ids, facts);
  const room = new Room(template, campaign, await lockUsed(tx, campaign));
  const frozen = new Map<Worth, FrozenTermsRow>();
  const changes: RowsChange[] = [];
  let [cost_base, reserved] = [0n, 0];
  let short_base: bigint | undefined;
  for (const one of decisions) {
    if (one.kind === 'skip') {
      changes.push({ player_ids: one.player_ids, status: 'skipped', code: one.code });
      continue;
    }
    const { worth, members, deposit_transaction_id } = one;
    const { bonus_amount_base: cost } = worth;
    const { granted, held_out, short } = room.takeDrawn(cost, members);
    if (short.length > 0) {
      changes.push({ player_ids: short, status: 'skipped', code: 'BUDGET' });
      short_base = short_base === undefined || cost < short_base ? cost : short_base;
    }
    for (const some of held_out) changes.push({ ...some, status: 'skipped', assigned_at });
    if (granted.length === 0) continue;
    const kept = frozen.get(worth) ?? freeze(terms, worth, platform.slug);
    frozen.set(worth, kept);
    changes.push({
      player_ids: granted,
      status: 'reserved',
      terms_id: kept.terms_id,
      cost_base: cost,
      deposit_transaction_id,
      assigned_at,
    });
    cost_base += cost * BigInt(granted.length);
    reserved += granted.length;
  }
  await insertFrozenTerms(tx, [...frozen.values()]);
  await updateRows(tx, campaign, 'pending', changes);
  if (reserved > 0) await addUsed(tx, campaign, cost_base, reserved);
  if (short_base !== undefined) await noteShort(tx, campaign, short_base);
  return player_ids.length;
}
