import { v5 } from 'uuid';
import type { Tx } from '../../platform/postgres/port.ts';
import type { NewGrant } from '../grants/issue-queries.ts';
import { newGrantOf, requestedOf } from '../grants/issue.ts';
import type { BonusPlatform } from '../adapters/platform.ts';
import { selectKnownPlayers } from './member-queries.ts';
import {
  addUsed,
  insertReserved,
  lockUsed,
  noteShort,
  updateDecided,
  type DecidedRow,
  type ReservedGrant,
} from './reserve-queries.ts';
import { Room } from './room.ts';
import { decideMembers, type IssueTerms, type MemberFacts } from './terms-of-issue.ts';

/** Grants that are reserved and not given to the sender wait until then, which the release sets to now. */
export const PARKED_UNTIL = new Date('9999-01-01T00:00:00.000Z');

/**
 * Decides about pending members and reserves the grants of those who pass, in the caller's transaction, which holds the
 * campaign's row: gate, place, and the limits, whose rows are locked once for all. Returns the number of members decided;
 * those that another transaction holds now are left for later.
 */
export async function reserveMembers(
  tx: Tx,
  terms: IssueTerms,
  player_ids: readonly string[],
  { facts, platform }: { facts: ReadonlyMap<string, MemberFacts>; platform: Pick<BonusPlatform, 'slug'> },
): Promise<number> {
  const { campaign, template, now } = terms;
  const decisions = await decideMembers(tx, terms, player_ids, { facts, is_locked: true });
  const decided = new Set(
    decisions.map((one) => (one.kind === 'grant' ? one.player.player_id : one.player_id)),
  );
  const left = player_ids.filter((player_id) => !decided.has(player_id));
  // Held by another transaction, or gone.
  const known = left.length === 0 ? new Set<string>() : await selectKnownPlayers(tx, campaign, left);
  const rows: DecidedRow[] = left
    .filter((player_id) => !known.has(player_id))
    .map((player_id) => ({ player_id, status: 'skipped', code: 'CANCELLED', grant_id: null }));
  const room = new Room(template, campaign, await lockUsed(tx, campaign));
  const reserved: ReservedGrant[] = [];
  let cost_base = 0n;
  let short_base: bigint | undefined;
  for (const one of decisions) {
    if (one.kind === 'skip') {
      rows.push({ player_id: one.player_id, status: 'skipped', code: one.code, grant_id: null });
      continue;
    }
    const { player, counts, worth } = one;
    const { player_id } = player;
    if (!room.take(worth.bonus_amount_base)) {
      rows.push({ player_id, status: 'skipped', code: 'BUDGET', grant_id: null });
      const cost = worth.bonus_amount_base;
      short_base = short_base === undefined || cost < short_base ? cost : short_base;
      continue;
    }
    const grant = grantOf(terms, { player, counts, worth, platform, now });
    cost_base += worth.bonus_amount_base;
    reserved.push({ grant, event: requestedOf(grant, one.warnings) });
    rows.push({ player_id, status: 'reserved', code: null, grant_id: grant.grant_id });
  }
  if (rows.length === 0) return 0;
  // Sent together, so that Postgres does not wait for this process between them.
  await Promise.all([insertReserved(tx, reserved), updateDecided(tx, campaign, rows)]);
  if (reserved.length > 0) await addUsed(tx, campaign, cost_base, reserved.length);
  if (short_base !== undefined) await noteShort(tx, campaign, short_base);
  return rows.length;
}

/**
 * The id of the grant of a campaign to a member, always the same: when Postgres was restored to a moment before it was
 * made, the platform is asked with the key that it knows, and credits nothing again.
 */
function campaignGrantId(campaign_id: string, player_id: string): string {
  return v5(player_id, campaign_id);
}

type GrantParts = Pick<Parameters<typeof newGrantOf>[0], 'player' | 'counts' | 'worth' | 'platform' | 'now'>;

function grantOf({ campaign, template }: IssueTerms, parts: GrantParts): NewGrant {
  const { tenant_id, project_id, campaign_id } = campaign;
  const grant = newGrantOf({
    ...parts,
    project: { tenant_id, project_id },
    template,
    is_attempted: false,
    request: {
      grant_id: campaignGrantId(campaign_id, parts.player.player_id),
      granted_by_kind: 'campaign',
      granted_by_id: campaign_id,
      granted_by_user: null,
    },
  });
  return { ...grant, next_attempt_at: PARKED_UNTIL };
}
