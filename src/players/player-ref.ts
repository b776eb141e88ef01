import type { ProjectRef } from '../tenants/project-ref.ts';

/** A player of one project. */
export interface PlayerRef extends ProjectRef {
  player_id: string;
}

/** The player whom the `:id` of a path names, in the project of the caller. */
export function playerRefOf(
  { tenant_id, project_id }: ProjectRef,
  params: Readonly<Record<string, string>>,
): PlayerRef {
  return { tenant_id, project_id, player_id: params['id'] ?? '' };
}

/** Two players of one project: `player_id` is merged away, `into_player_id` stays. */
export interface MergePair extends PlayerRef {
  into_player_id: string;
}
