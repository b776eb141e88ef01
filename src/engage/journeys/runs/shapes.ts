import type { CallWebhookNode, GrantBonusNode, SendMessageNode, UpdatePlayerNode } from '../graph/shapes.ts';
import type { NodeType } from '../graph/shapes.ts';

// What `advance` takes and returns: the state of one run, what is known about its player, and what happens to the run.
// Times are milliseconds since the epoch.

/** What a run knows; Liquid reads it as `journey.context`. At most 16 KB as JSON. */
export interface RunContext {
  trigger_payload?: unknown;
  /** By `wait_for_event` node: the properties of the event that has ended the wait. */
  events?: Record<string, unknown>;
  /** By `save_as` of a `call_webhook` node: the JSON of the response. */
  responses?: Record<string, unknown>;
  [key: string]: unknown;
}

/** A run as its row has it. */
export interface RunState {
  run_id: string;
  journey_id: string;
  player_id: string;
  /** The node on which the run stands. */
  node_id: string;
  /** The number of the step at this node; the first node has 1. */
  seq: number;
  /** When it came to the node; undefined: it has not entered the node yet, and `advance` enters it. */
  entered_at_ms: number | undefined;
  /** When its rest at the node ends. */
  due_at_ms: number;
  context: RunContext;
  /** What ended the rest before its time (an awaited event, or the outcome of the webhook), or what is behind a wait for a rate. */
  woken_by: WokenBy | undefined;
}

/** A place on the log of resolved events, as JSON has it: `from_offset` is a decimal number. */
export interface EventPlace {
  /** Below 0 as in `journey_runs`: the player was merged. */
  partition: number;
  log_id: string;
  from_offset: string;
}

/**
 * `behind`: the first place after the event that started or woke the run; what the run waits for next counts from there.
 * `rate`: nothing has ended a rest. The run waits for a rate, or has waited for one, and keeps the place meanwhile.
 */
export type WokenBy =
  | { kind: 'event'; behind?: EventPlace }
  | { kind: 'rate'; behind: EventPlace }
  | { kind: 'delivery'; outcome: 'delivered' | 'exhausted'; error_code: string | undefined };

/** What `advance` may ask about the run's player, templates and so on. */
export interface Facts {
  /** Undefined: the player may get messages, bonuses and webhooks; otherwise the code of the skipped step. */
  effects_barred: string | undefined;
  /** The player's zone, or that of the tenant. */
  timezone: string;
  /** What `player.…` references read. */
  player: Readonly<Record<string, unknown>>;
  /** Template id → whether it exists and is active, and its channel. */
  templates: ReadonlyMap<string, { is_active: boolean }>;
  /** Ids of the providers that exist. */
  providers: ReadonlySet<string>;
  /** Ids of the bonus templates from which can be granted. */
  bonus_templates: ReadonlySet<string>;
  /** Those of them that give back what was lost, which has to be asked for. */
  cashback_templates?: ReadonlySet<string>;
  /**
   * The answers to the branches' segment conditions, by {@link conditionKey}; and, by the id of a `grant_bonus` node
   * whose bonus is a cashback, what the player has lost in its window, in the smallest unit of the base currency.
   */
  conditions: ReadonlyMap<string, boolean | bigint>;
  /**
   * The amounts of the context that nodes use and whose objects have a currency, by `amountKey`: what they come to
   * in the currency of the bonus, or in the base currency where they are compared. Null: no rate is known yet. Others are
   * taken as they are written.
   */
  amounts: ReadonlyMap<string, bigint | null>;
  /** Bonuses that may not be granted, by the node. Absent: each may. */
  refused_grants?: ReadonlyMap<string, RefusedGrant>;
}

/** An amount of the context that a node uses. */
export interface AmountUse {
  path: readonly string[];
  /** The bonus template that takes it; undefined: it is compared. */
  template_id: string | undefined;
}

/** Why a bonus is not granted. `skipped`: the player may have none at all, so that the run goes on without it. */
export interface RefusedGrant {
  status: 'failed' | 'skipped';
  error_code: string;
}

export type StepStatus = 'completed' | 'skipped' | 'failed';

/** A node that is done. */
export interface Step {
  seq: number;
  node_id: string;
  node_type: NodeType;
  status: StepStatus;
  /** `elapsed, event, timeout, branch:<name or number>, else, queued, delivered, exhausted, granted, updated, exited, ended`. */
  outcome: string;
  next_node_id: string | undefined;
  entered_at_ms: number;
  completed_at_ms: number;
  error_code: string | undefined;
}

/** What a step does in addition to moving the run: one row each, in the transaction that moves the run. */
export type Effect =
  | { kind: 'send'; seq: number; node: SendMessageNode }
  | { kind: 'delivery'; seq: number; node: CallWebhookNode }
  | { kind: 'update_player'; seq: number; node: UpdatePlayerNode }
  | { kind: 'grant'; seq: number; node: GrantBonusNode; deposit_amount: bigint | undefined };

/** Where the run rests. Every rest but the end has a time at which the run goes on in any case. */
export type Rest =
  | { kind: 'timer'; node_id: string; seq: number; due_at_ms: number }
  /** It looks then whether the rate of an amount is known. */
  | { kind: 'rate'; node_id: string; seq: number; due_at_ms: number }
  | { kind: 'event'; node_id: string; seq: number; event: string; due_at_ms: number }
  | { kind: 'delivery'; node_id: string; seq: number; due_at_ms: number }
  | {
      kind: 'end';
      status: 'completed' | 'failed';
      /** The node at which it ended. */
      node_id: string;
      seq: number;
      outcome: 'ended' | 'exited' | undefined;
      error_code: string | undefined;
    };

/** What happens to a run now, or the question that must be answered before. */
export type Advanced =
  | { needs: { key: string; node_id: string } }
  | { steps: readonly Step[]; effects: readonly Effect[]; rest: Rest };
