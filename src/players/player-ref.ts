/** A player of one project. */
export interface PlayerRef {
  tenant_id: string;
  project_id: string;
  player_id: string;
}

/** Two players of one project: `player_id` is merged away, `into_player_id` stays. */
export interface MergePair extends PlayerRef {
  into_player_id: string;
}
