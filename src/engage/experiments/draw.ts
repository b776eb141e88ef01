import { bucketOf } from '../../platform/bucket.ts';

/** Shares of a holdout are in hundredths of a percent. */
const PARTS = 10_000;

/**
 * Whether a text falls into the share `percent` (0 … 100, to a hundredth) of all texts: always the same. A larger share has
 * everybody of a smaller one.
 */
export function isInShare(text: string, percent: number): boolean {
  return percent > 0 && bucketOf(text.toLowerCase(), PARTS) < Math.round((percent * PARTS) / 100);
}

/**
 * How many of the first members are decided about when `room` of those who are not held out find a place: all of them before
 * the first one who finds none. A held-out member needs no place, but is decided about only while another one would find
 * one, so both arms end at the same member.
 */
export function membersWithin(is_held_out: readonly boolean[], room: number): number {
  let treated = 0;
  for (const [place, held_out] of is_held_out.entries()) {
    if (treated >= room) return place;
    if (!held_out) treated++;
  }
  return is_held_out.length;
}

/** Whether the player is one of those of a campaign who are held out: always the same players of a campaign. */
export function isHeldOut(campaign_id: string, player_id: string, percent: number): boolean {
  return isInShare(`holdout:${campaign_id}:${player_id}`, percent);
}
