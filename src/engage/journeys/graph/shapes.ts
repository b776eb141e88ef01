import type { WhereClause, DefinitionNode } from '../../../segments/language/conditions.ts';
import type { HeaderValue } from './webhook-headers.ts';

// A checked definition of a journey, as the runner uses it. read-journey.ts makes it out of what a caller wrote and what
// the database stores; nothing else does, so that every field here is known to be right.

/** A property filter: every clause must hold. Empty: holds for every event. */
export type Where = readonly WhereClause[];

/** What starts runs (spec part 2, "Journey"). */
export type Trigger =
  | { kind: 'event'; event: string; where: Where }
  | { kind: 'segment_entered' | 'segment_exited'; segment_id: string; existing_members: boolean }
  | { kind: 'schedule'; cron: string; timezone: string; segment_id: string }
  | { kind: 'api' };

/** How often a player may enter, and what ends a run before its end. */
export interface Settings {
  re_entry: { mode: 'once' | 'after_exit' | 'always'; min_interval_ms: number | undefined };
  exit_on: readonly ExitRule[];
  goal: { event: string; where: Where; window_days: number; exit: boolean } | undefined;
  /** The share of players whose run ends at once without any effect. */
  holdout_percent: number;
  /** Undefined: no limit. */
  max_entries_per_hour: number | undefined;
}

export type ExitRule = { event: string; where: Where } | { segment_exited: string };

/** When a local time comes: a zone of its own, or the player's (that of the tenant, if he has none). */
export interface LocalTime {
  /** `player` or a name of the IANA database. */
  timezone: string;
  /** Days of the week, 1 (Monday) to 7; empty: every day. */
  days: readonly number[];
}

/** What a `wait_until` waits for. Minutes count from midnight, 0 to 1,439. */
export type WaitUntil =
  | ({ until: 'time'; minute: number } & LocalTime)
  /** The window may go over midnight; inside it the run goes on at once. */
  | ({ until: 'window'; from_minute: number; to_minute: number } & LocalTime)
  | { until: 'at'; at: Reference; offset_ms: number; past: 'continue' | 'exit' };

/** A value of the run's context or of the player: `context.trigger_payload.starts_at`, `player.traits.birthday`. */
export interface Reference {
  root: 'context' | 'player';
  path: readonly string[];
}

/** The condition of a branch: a question to the segment compiler, or a filter over the run's context. */
export type BranchCondition =
  | { kind: 'segment'; condition: DefinitionNode }
  /** `property` of a clause is a path in the context, such as `trigger_payload.amount`. */
  | { kind: 'context'; where: Where };

interface Named {
  id: string;
  name: string | undefined;
}
interface Leading extends Named {
  /** The id of the node that follows. */
  next: string;
}
type OnError = 'fail' | 'continue';

export interface WaitNode extends Leading {
  type: 'wait';
  duration_ms: number;
}
export interface WaitUntilNode extends Leading {
  type: 'wait_until';
  wait: WaitUntil;
}
export interface WaitForEventNode extends Leading {
  type: 'wait_for_event';
  event: string;
  where: Where;
  timeout_ms: number;
  timeout_next: string;
}
export interface BranchNode extends Named {
  type: 'branch';
  branches: readonly { name: string | undefined; condition: BranchCondition; next: string }[];
  else_next: string;
}
export interface SplitNode extends Named {
  type: 'split';
  branches: readonly { name: string | undefined; weight: number; next: string }[];
}
export interface SendMessageNode extends Leading {
  type: 'send_message';
  template_id: string;
  provider_id: string;
  quiet_hours: 'skip' | 'defer';
  on_error: OnError;
}
export interface UpdatePlayerNode extends Leading {
  type: 'update_player';
  /** Custom attributes to set; null removes one. */
  traits: Readonly<Record<string, unknown>>;
}
export interface GrantBonusNode extends Leading {
  type: 'grant_bonus';
  template_id: string;
  deposit_amount: number | Reference | undefined;
  on_error: OnError;
}
export interface CallWebhookNode extends Leading {
  type: 'call_webhook';
  url: string;
  /** Stored ones have sealed values. */
  headers: Readonly<Record<string, HeaderValue>>;
  /** Texts in it are Liquid. */
  data: Readonly<Record<string, unknown>>;
  timeout_ms: number;
  retry: { max_attempts: number; backoff_ms: number };
  on_error: OnError;
  wait_for_response: boolean;
  /** The response's JSON is kept as `context.responses.<save_as>`. */
  save_as: string | undefined;
}
export interface EndNode extends Named {
  type: 'end';
  reason: string | undefined;
}

export type Node =
  | WaitNode
  | WaitUntilNode
  | WaitForEventNode
  | BranchNode
  | SplitNode
  | SendMessageNode
  | UpdatePlayerNode
  | GrantBonusNode
  | CallWebhookNode
  | EndNode;
export type NodeType = Node['type'];

/** An acyclic graph of at most 50 nodes in which every edge leads to a node. */
export interface Graph {
  start_node_id: string;
  nodes: ReadonlyMap<string, Node>;
}

/** A checked definition of a journey. */
export interface Definition {
  trigger: Trigger;
  graph: Graph;
  settings: Settings;
}
