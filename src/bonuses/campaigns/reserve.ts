import type { Tx } from '../../platform/postgres/port.ts';
import type { BonusPlatform } from '../../adapters/platform.ts';
import type { Worth } from '../grants/worth.ts';
import { decideMembers } from './decide-members.ts';
import { freeze } from './frozen-terms.ts';
import { insertFrozenTerms, type FrozenTermsRow } from './frozen-terms-queries.ts';
import { dayLimitOf, isNearlyUsed } from './pacing.ts';
import { lockUsed, noteShort, takeUsed, updateRows, type RowsChange } from './reserve-queries.ts';
import { Room } from './room.ts';
import type { IssueTerms, MemberFacts } from './terms-of-issue.ts';

/** How many members were decided about, and what those wait for who found no room in the day's budget. */
export interface Reserved {
  decided: number;
  waiting: Waiting | null;
}

/** Members who stay pending until there is room in a day's budget. */
export interface Waiting {
  members: number;
  /** What the cheapest of them costs, in the smallest unit of the base currency. */
  cost_base: bigint;
  /** So little of the day's budget is free that it is not worth while to look for members who cost less. */
  is_nearly_used: boolean;
}

/**
 * Decides about pending members and reserves what those cost who pass, in the caller's transaction, which holds the
 * campaign's row: the limits, whose rows are locked once for all, hold it from now on. The grants are made when they are
 * released. Members for whom the day's budget has no room stay pending. Rejects with WriteConflict when one of them is not pending any more.
 */
export async function reserveMembers(
  tx: Tx,
  terms: IssueTerms,
  player_ids: readonly string[],
  { facts, platform }: { facts: ReadonlyMap<string, MemberFacts>; platform: Pick<BonusPlatform, 'slug'> },
): Promise<Reserved> {
  const { campaign, template, daily_budget, now: assigned_at } = terms;
  const decisions = await decideMembers(tx, terms, player_ids, facts);
  const used = await lockUsed(tx, campaign);
  const limit = daily_budget && dayLimitOf(daily_budget, used.day, assigned_at.getTime());
  const room = new Room(template, campaign, used, limit);
  const frozen = new Map<Worth, FrozenTermsRow>();
  const changes: RowsChange[] = [];
  let [cost_base, reserved] = [0n, 0];
  let short_base: bigint | undefined;
  let waits_base: bigint | undefined;
  let members = 0;
  for (const one of decisions) {
    if (one.kind === 'skip') {
      changes.push({ player_ids: one.player_ids, status: 'skipped', code: one.code });
      continue;
    }
    const { worth, deposit_transaction_id } = one;
    const { bonus_amount_base: cost } = worth;
    const { granted, held_out, short, waiting } = room.takeDrawn(cost, one.members);
    if (short.length > 0) {
      changes.push({ player_ids: short, status: 'skipped', code: 'BUDGET' });
      // What costs more than a day's budget fits never, however much is given back.
      if (!room.exceedsDay(cost)) short_base = lesser(short_base, cost);
    }
    if (waiting.length > 0) {
      members += waiting.length;
      waits_base = lesser(waits_base, cost);
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
  if (reserved > 0) {
    const day = limit && { ...limit.day, used_base: room.day_used_base };
    await takeUsed(tx, campaign, { base: cost_base, grants: reserved, day });
  }
  if (short_base !== undefined) await noteShort(tx, campaign, short_base);
  const decided = player_ids.length - members;
  if (limit === null || waits_base === undefined) return { decided, waiting: null };
  const is_nearly_used = isNearlyUsed(limit, room.day_used_base);
  return { decided, waiting: { members, cost_base: waits_base, is_nearly_used } };
}

function lesser(least: bigint | undefined, one: bigint): bigint {
  return least === undefined || one < least ? one : least;
}
