/** The topics of the event log. */
export const TOPICS = {
  /** Accepted events, keyed by project + player_id or anonymous_id. */
  events: 'events',
  /** Resolved events as the fold emits them, keyed by project + player_id; values are ClickHouse rows. */
  playerEvents: 'player-events',
  /** Players that entered or left a segment, keyed like `player-events`. */
  segmentChanges: 'segment-changes',
  /** Records that the fold could not apply, with the reason. */
  deadLetters: 'dead-letters',
} as const;

export const ALL_TOPICS: readonly string[] = Object.values(TOPICS);

/** The consumer groups by processor. The log stores a group's position under its name, so names must not change. */
export const GROUPS = {
  /** Reads `events`. */
  fold: 'player-fold',
  /** Reads `playerEvents`. */
  sink: 'analytics-sink',
  /** Reads `playerEvents`. */
  trigger: 'campaign-trigger',
  /** Reads `playerEvents`. */
  journeyMatcher: 'journey-matcher',
  /** Reads `playerEvents`. */
  wagering: 'bonus-wagering',
  /** Reads `segmentChanges`. */
  journeySegments: 'journey-segments',
} as const;
