import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { isHeldOut, isInShare } from './draw.ts';
import { selectGlobalHoldout, type GlobalHoldout, type HeldOutShare } from './global-queries.ts';

/** A period in which the same players of a project are held out; `ends_at` is exclusive. */
export interface Round {
  /** In the draw: a quarter of a year and a number, such as `2026-Q4.1`. */
  name: string;
  begins_at: Date;
  ends_at: Date;
}

/** The beginning of the quarter in UTC: a round begins there, or at a change after it. */
export function quarterOf(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), Math.floor(now.getUTCMonth() / 3) * 3, 1));
}

/** The round that is at `now`: the quarter in UTC, or what is left of it since the last change. */
export function roundOf({ changes, changed_at }: Omit<GlobalHoldout, 'holdout_percent'>, now: Date): Round {
  const first = quarterOf(now);
  const [year, quarter] = [first.getUTCFullYear(), first.getUTCMonth() / 3];
  return {
    name: `${year}-Q${quarter + 1}.${changes}`,
    begins_at: changed_at > first ? changed_at : first,
    ends_at: new Date(Date.UTC(year, quarter * 3 + 3, 1)),
  };
}

/** A round that is over. */
export interface PastRound extends Round {
  holdout_percent: number;
}

/** The rounds of these shares that are over at `now`, the newest first, at most `limit`. Nobody is held out of a share of 0. */
export function pastRounds(shares: readonly HeldOutShare[], now: Date, limit: number): PastRound[] {
  const found: PastRound[] = [];
  for (const share of shares.toSorted((a, b) => b.changes - a.changes)) {
    const { holdout_percent, changed_at, ended_at } = share;
    if (holdout_percent === 0) continue;
    // Backwards, a quarter at a time: from the last moment of the share.
    for (let end = ended_at ?? now; end > changed_at;) {
      const round = roundOf(share, new Date(end.getTime() - 1));
      const ends_at = ended_at !== null && ended_at < round.ends_at ? ended_at : round.ends_at;
      if (ends_at <= now) found.push({ ...round, ends_at, holdout_percent });
      if (found.length === limit) return found;
      end = round.begins_at;
    }
  }
  return found;
}

/** The number of the change in the name of a round, such as 3 of `2026-Q4.3`; undefined: the text is no such name. */
export function changeOfRound(name: string): number | undefined {
  const [, changes] = /^\d{4}-Q[1-4]\.([1-9]\d{0,8})$/.exec(name) ?? [];
  return changes === undefined ? undefined : Number(changes);
}

/** Whose holdout a player is in: that of the project, or that of the campaign or journey. */
export type HeldOutBy = 'project' | 'experiment';

/** Who is held out by the project in the round that is at `now`. */
export async function globalDraw(
  tx: Tx,
  project: ProjectRef,
  now: Date,
): Promise<(player_id: string) => boolean> {
  return (await globalRound(tx, project, now)).isHeldOut;
}

/** As `globalDraw`, with the beginning of the round; null: the project has never held anybody out. */
export async function globalRound(
  tx: Tx,
  { tenant_id, project_id }: ProjectRef,
  now: Date,
): Promise<{ isHeldOut: (player_id: string) => boolean; begins_at: Date | null }> {
  const [holdout] = await selectGlobalHoldout(tx, { tenant_id, project_id });
  if (holdout === undefined) return { isHeldOut: () => false, begins_at: null };
  const { holdout_percent } = holdout;
  const { name, begins_at } = roundOf(holdout, now);
  return {
    isHeldOut: (player_id) => isInShare(`holdout:${project_id}:${name}:${player_id}`, holdout_percent),
    begins_at,
  };
}

/**
 * Who of those that passed the gate of a campaign is held out, and by what; null: the player gets it, as everybody gets a
 * service message. The project comes first: who is in its holdout gets nothing of any campaign, and says nothing about a
 * single one.
 */
export async function campaignDraw(
  tx: Tx,
  { campaign_id, holdout_percent, ...project }: ProjectRef & { campaign_id: string; holdout_percent: number },
  now: Date,
): Promise<(player_id: string, options?: { is_service: boolean }) => HeldOutBy | null> {
  const isOfProject = await globalDraw(tx, project, now);
  return (player_id, { is_service } = { is_service: false }) => {
    if (is_service) return null;
    if (isOfProject(player_id)) return 'project';
    return isHeldOut(campaign_id, player_id, holdout_percent) ? 'experiment' : null;
  };
}
