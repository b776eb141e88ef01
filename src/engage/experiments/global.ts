import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { isHeldOut, isInShare } from './draw.ts';
import { selectGlobalHoldout, type GlobalHoldout } from './global-queries.ts';

/** A period in which the same players of a project are held out; `ends_at` is exclusive. */
export interface Round {
  /** In the draw: a quarter of a year and a number, such as `2026-Q4.1`. */
  name: string;
  begins_at: Date;
  ends_at: Date;
}

/** The round that is at `now`: the quarter in UTC, or what is left of it since the last change. */
export function roundOf({ changes, changed_at }: Omit<GlobalHoldout, 'holdout_percent'>, now: Date): Round {
  const [year, quarter] = [now.getUTCFullYear(), Math.floor(now.getUTCMonth() / 3)];
  const first = new Date(Date.UTC(year, quarter * 3, 1));
  return {
    name: `${year}-Q${quarter + 1}.${changes}`,
    begins_at: changed_at > first ? changed_at : first,
    ends_at: new Date(Date.UTC(year, quarter * 3 + 3, 1)),
  };
}

/** Whose holdout a player is in: that of the project, or that of the campaign or journey. */
export type HeldOutBy = 'project' | 'experiment';

/** Who is held out by the project in the round that is at `now`. */
export async function globalDraw(
  tx: Tx,
  project: ProjectRef,
  now: Date,
): Promise<(player_id: string) => boolean> {
  const [holdout] = await selectGlobalHoldout(tx, project);
  if (holdout === undefined || holdout.holdout_percent === 0) return () => false;
  const { name } = roundOf(holdout, now);
  const { project_id } = project;
  return (player_id) => isInShare(`holdout:${project_id}:${name}:${player_id}`, holdout.holdout_percent);
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
