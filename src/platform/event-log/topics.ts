/** The topics of the event log. */
export const TOPICS = {
  /** Accepted events, keyed by project + player_id or anonymous_id. */
  events: 'events',
  /** Resolved events as the fold emits them, keyed by project + player_id; values are ClickHouse rows. */
  playerEvents: 'player-events',
  /** What could not be folded, with the reason. */
  deadLetters: 'dead-letters',
} as const;

export const ALL_TOPICS: readonly string[] = Object.values(TOPICS);
