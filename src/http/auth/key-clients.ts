/** The kinds of clients by which the last use of an API key is kept. They are few: each key has a time for each. */
export const KEY_CLIENTS = [
  'browser',
  'app',
  'sdk',
  'segment_browser',
  'segment_server',
  'rudderstack',
  'other',
] as const;
export type KeyClient = (typeof KEY_CLIENTS)[number];

/** What a request says about the program that sent it. */
interface SentBy {
  user_agent?: string | undefined;
  /** `context.library.name` of the Segment dialect. */
  library?: string | undefined;
}

const OF_LIBRARIES: readonly (readonly [RegExp, KeyClient])[] = [
  [/rudder/i, 'rudderstack'],
  [/^(analytics\.js|@segment\/analytics-next|analytics-next)/i, 'segment_browser'],
  [/analytics/i, 'segment_server'],
];
const OF_AGENTS: readonly (readonly [RegExp, KeyClient])[] = [
  [/^player-engagement/i, 'sdk'],
  [/rudder/i, 'rudderstack'],
  [/^(@segment\/|analytics-)/i, 'segment_server'],
  // Native apps: Android, iOS and Flutter name their HTTP library.
  [/okhttp|dalvik|cfnetwork|dart/i, 'app'],
  [/^mozilla\//i, 'browser'],
];

/** The kind of the client that a request names: by its library when the dialect has one, otherwise by its User-Agent. */
export function keyClientOf({ user_agent = '', library = '' }: SentBy): KeyClient {
  // Only the beginning: both are texts of the caller.
  return (
    kindOf(OF_LIBRARIES, library.slice(0, 100)) ?? kindOf(OF_AGENTS, user_agent.slice(0, 100)) ?? 'other'
  );
}

function kindOf(kinds: readonly (readonly [RegExp, KeyClient])[], text: string): KeyClient | undefined {
  return kinds.find(([pattern]) => pattern.test(text))?.[1];
}
