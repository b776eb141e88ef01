/** The topics of the event log. */
export const TOPICS = {
  /** Accepted events, keyed by project + player_id or anonymous_id. */
  events: 'events',
  /** Resolved events as the fold emits them, keyed by project + player_id; values are ClickHouse rows. */
  playerEvents: 'player-events',
  /** Players that entered or left a segment, keyed like `player-events`. */
  segmentChanges: 'segment-changes',
  /** What could not be folded, with the reason. */
  deadLetters: 'dead-letters',
} as const;

export const ALL_TOPICS: readonly string[] = Object.values(TOPICS);

/** The consumer groups, by whom they are; a group's position on the log is kept under its name. */
export const GROUPS = {
  /** Reads `events`. */
  fold: 'player-fold',
  /** Reads `playerEvents`. */
  sink: 'analytics-sink',
  /** Reads `playerEvents`. */
  trigger: 'campaign-trigger',
} as const;
