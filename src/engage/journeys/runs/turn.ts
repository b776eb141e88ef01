import { MAX_AMOUNT } from '../../../bonuses/templates/amounts.ts';
import { amountOf } from '../../../ledger/money/ledger.ts';
import { bucketOf } from '../../../platform/bucket.ts';
import { lastAttemptMs } from '../../webhooks/retry-schedule.ts';
import { nextLocalMs } from '../graph/local-time.ts';
import { namedMomentMs } from '../graph/named-moment.ts';
import type {
  BranchNode,
  GrantBonusNode,
  CallWebhookNode,
  Node,
  Reference,
  SendMessageNode,
  SplitNode,
  WaitUntilNode,
} from '../graph/shapes.ts';
import { contextValue, matchesContext } from '../graph/where.ts';
import type { Effect, Facts, RunState, Step } from './shapes.ts';

/**
 * What is stored of a run makes no sense: it stands on a node that its version does not have, or its graph leads to no
 * node or in a circle. The run cannot go on; no other run is affected.
 */
export class JourneyStepError extends Error {
  override readonly name = 'JourneyStepError';
  readonly code = 'JOURNEY_STEP_ERROR';
}

/** How the step of a node came out. */
type Result = Pick<Step, 'status' | 'outcome' | 'error_code'>;

/** What one node makes of a run. */
export type Turn =
  /** The node is done, and the run goes on. */
  | { kind: 'on'; next: string; step: Result; effect?: Effect }
  /** The run stays at the node. */
  | {
      kind: 'rest';
      until: { kind: 'timer' } | { kind: 'rate' } | { kind: 'event'; event: string } | { kind: 'delivery' };
      due_at_ms: number;
      effect?: Effect;
    }
  /** The node is done, and it is the run's last. */
  | { kind: 'end'; step: Result; ended: 'ended' | 'exited' | 'failed'; effect?: undefined }
  /** The answer to a condition is missing. */
  | { kind: 'ask'; key: string; effect?: undefined };

/** After a webhook's last possible attempt its outcome has so long to arrive. */
const LATE_OUTCOME_MS = 10 * 60_000;
/** How long a run waits at a node for the rate of an amount. */
export const LONGEST_RATE_WAIT_MS = 24 * 3_600_000;
/** It looks again after a quarter of the time that it has waited, within these bounds. */
const FIRST_LOOK_MS = 2_000;
const LONGEST_LOOK_MS = 300_000;

/** The key in {@link Facts.conditions} of a branch's condition; `index` counts the node's branches from 0. */
export function conditionKey(node: BranchNode, index: number): string {
  return `${node.id}:${index}`;
}

/** The key in {@link Facts.amounts} of the amount at a path of the context; `template_id`: the bonus that takes it. */
export function amountKey(path: readonly string[], template_id: string | undefined): string {
  return `${template_id ?? 'base'} ${path.join('.')}`;
}

/** What happens when a run comes to a node. */
export function enterNode(node: Node, seq: number, run: RunState, facts: Facts, now_ms: number): Turn {
  switch (node.type) {
    case 'wait':
      if (node.duration_ms === 0) return on(node.next, 'elapsed');
      return { kind: 'rest', until: { kind: 'timer' }, due_at_ms: now_ms + node.duration_ms };
    case 'wait_until':
      return waitUntil(node, run, facts, now_ms);
    case 'wait_for_event':
      return {
        kind: 'rest',
        until: { kind: 'event', event: node.event },
        due_at_ms: now_ms + node.timeout_ms,
      };
    case 'branch':
      return branch(node, seq, run, facts, now_ms);
    case 'split':
      return split(node, run);
    case 'send_message':
      return send(node, seq, facts);
    case 'update_player':
      if (facts.effects_barred !== undefined) return barred(node.next, facts.effects_barred);
      return on(node.next, 'updated', { kind: 'update_player', seq, node });
    case 'grant_bonus':
      return grant(node, seq, run, facts, now_ms);
    case 'call_webhook':
      return call(node, seq, facts, now_ms);
    case 'end':
      return { kind: 'end', step: completed('ended'), ended: 'ended' };
  }
}

/**
 * What happens to a run that stands on a node which it has entered. Undefined: a run cannot rest on the node (it was
 * moved to it), so the node is entered now.
 */
export function endRest(node: Node, run: RunState, now_ms: number): Turn | undefined {
  const { woken_by, due_at_ms } = run;
  const is_due = due_at_ms <= now_ms;
  switch (node.type) {
    case 'wait':
    case 'wait_until':
      if (is_due) return on(node.next, 'elapsed');
      return { kind: 'rest', until: { kind: 'timer' }, due_at_ms };
    case 'wait_for_event':
      if (woken_by?.kind === 'event') return on(node.next, 'event');
      if (is_due) return on(node.timeout_next, 'timeout');
      return { kind: 'rest', until: { kind: 'event', event: node.event }, due_at_ms };
    case 'call_webhook':
      if (woken_by?.kind === 'delivery') {
        if (woken_by.outcome === 'delivered') return on(node.next, 'delivered');
        return failed(node, 'exhausted', woken_by.error_code);
      }
      if (is_due) return failed(node, 'exhausted', 'OUTCOME_UNKNOWN');
      return { kind: 'rest', until: { kind: 'delivery' }, due_at_ms };
    case 'branch':
    case 'split':
    case 'send_message':
    case 'update_player':
    case 'grant_bonus':
    case 'end':
      return undefined;
  }
}

function on(next: string, outcome: string, effect?: Effect): Turn {
  const step = completed(outcome);
  return effect === undefined ? { kind: 'on', next, step } : { kind: 'on', next, step, effect };
}

function completed(outcome: string): Result {
  return { status: 'completed', outcome, error_code: undefined };
}

/** An effect that the player must not get: the run goes on without it. */
function barred(next: string, error_code: string): Turn {
  return { kind: 'on', next, step: { status: 'skipped', outcome: 'skipped', error_code } };
}

/** A failed step ends the run, unless the node says that it goes on. */
function failed(
  node: SendMessageNode | GrantBonusNode | CallWebhookNode,
  outcome: 'failed' | 'exhausted',
  error_code: string | undefined,
): Turn {
  const step = { status: 'failed', outcome, error_code } as const;
  if (node.on_error === 'continue') return { kind: 'on', next: node.next, step };
  return { kind: 'end', step, ended: 'failed' };
}

function waitUntil({ wait, next }: WaitUntilNode, run: RunState, facts: Facts, now_ms: number): Turn {
  if (wait.until !== 'at') {
    const due_at_ms = nextLocalMs(wait, facts.timezone, now_ms);
    if (due_at_ms <= now_ms) return on(next, 'elapsed');
    return { kind: 'rest', until: { kind: 'timer' }, due_at_ms };
  }
  const at_ms = namedMomentMs(valueOf(wait.at, run, facts), facts.timezone);
  if (at_ms === 'unreadable') {
    // It is not treated as over: a message for a time that nobody can read would be sent at once.
    const step = { status: 'failed', outcome: 'failed', error_code: 'WAIT_UNTIL_UNREADABLE' } as const;
    return { kind: 'end', step, ended: 'failed' };
  }
  // A player without a birthday is treated as if it were over.
  const due_at_ms = at_ms === 'missing' ? Number.NEGATIVE_INFINITY : at_ms + wait.offset_ms;
  if (due_at_ms > now_ms) return { kind: 'rest', until: { kind: 'timer' }, due_at_ms };
  if (due_at_ms === now_ms || wait.past === 'continue') return on(next, 'elapsed');
  const step = { status: 'skipped', outcome: 'exited', error_code: undefined } as const;
  return { kind: 'end', step, ended: 'exited' };
}

function valueOf({ root, path }: Reference, run: RunState, facts: Facts): unknown {
  return contextValue(root === 'context' ? run.context : facts.player, path);
}

function branch(node: BranchNode, seq: number, run: RunState, facts: Facts, now_ms: number): Turn {
  for (const [index, { name, condition, next }] of node.branches.entries()) {
    let holds: boolean | bigint | undefined;
    if (condition.kind === 'context') {
      const amountAt = (path: string) => facts.amounts.get(amountKey([path], undefined));
      const verdict = matchesContext(condition.where, run.context, amountAt, now_ms);
      const awaited = verdict === undefined ? awaitRate(node, seq, run, now_ms) : undefined;
      if (awaited !== undefined) return awaited;
      holds = verdict ?? false;
    } else {
      const key = conditionKey(node, index);
      holds = facts.conditions.get(key);
      if (holds === undefined) return { kind: 'ask', key };
    }
    if (holds === true) return on(next, `branch:${name ?? index}`);
  }
  return on(node.else_next, 'else');
}

/** The run stays at the node until the rate may have come; undefined: it has waited for as long as it may. */
function awaitRate({ id }: Node, seq: number, run: RunState, now_ms: number): Turn | undefined {
  const is_there = run.node_id === id && run.seq === seq;
  const since_ms = (is_there ? run.entered_at_ms : undefined) ?? now_ms;
  const waited_ms = now_ms - since_ms;
  if (waited_ms >= LONGEST_RATE_WAIT_MS) return undefined;
  const pause_ms = Math.min(Math.max(Math.floor(waited_ms / 4), FIRST_LOOK_MS), LONGEST_LOOK_MS);
  const due_at_ms = Math.min(now_ms + pause_ms, since_ms + LONGEST_RATE_WAIT_MS);
  return { kind: 'rest', until: { kind: 'rate' }, due_at_ms };
}

/** The same player takes the same branch in every version, while the weights stay. */
function split({ id, branches }: SplitNode, { journey_id, player_id }: RunState): Turn {
  const total = branches.reduce((sum, { weight }) => sum + weight, 0);
  const bucket = bucketOf(`${journey_id}:${id}:${player_id}`, total);
  let below = 0;
  for (const [index, { name, weight, next }] of branches.entries()) {
    below += weight;
    if (bucket < below) return on(next, `branch:${name ?? index}`);
  }
  throw new JourneyStepError(`the split "${id}" has no branch of any weight`);
}

/** A barred player's message is left to the gate of the messenger, which decides when it would go out. */
function send(node: SendMessageNode, seq: number, facts: Facts): Turn {
  if (facts.templates.get(node.template_id)?.is_active !== true) {
    return failed(node, 'failed', 'TEMPLATE_MISSING');
  }
  if (!facts.providers.has(node.provider_id)) return failed(node, 'failed', 'PROVIDER_MISSING');
  return on(node.next, 'queued', { kind: 'send', seq, node });
}

function grant(node: GrantBonusNode, seq: number, run: RunState, facts: Facts, now_ms: number): Turn {
  if (facts.effects_barred !== undefined) return barred(node.next, facts.effects_barred);
  if (!facts.bonus_templates.has(node.template_id)) {
    return failed(node, 'failed', 'BONUS_TEMPLATE_NOT_ACTIVE');
  }
  const { deposit_amount: written } = node;
  const sent = amountOf(typeof written === 'object' ? valueOf(written, run, facts) : written);
  // A reference to nothing, or to no amount: which bonus was meant cannot be known.
  if (written !== undefined && (sent === undefined || sent === 0n)) {
    return failed(node, 'failed', 'BONUS_DEPOSIT_AMOUNT_REQUIRED');
  }
  const of_currency =
    typeof written === 'object' && written.root === 'context'
      ? facts.amounts.get(amountKey(written.path, node.template_id))
      : undefined;
  if (of_currency === null) {
    return awaitRate(node, seq, run, now_ms) ?? failed(node, 'failed', 'FX_RATE_NOT_FOUND');
  }
  const amount = of_currency ?? sent;
  // More than a row holds in the bonus's currency: no rate of another time is asked for.
  if (amount !== undefined && amount > MAX_AMOUNT) return failed(node, 'failed', 'VALIDATION_ERROR');
  if (facts.cashback_templates?.has(node.template_id) === true && !facts.conditions.has(node.id)) {
    return { kind: 'ask', key: node.id };
  }
  const refused = facts.refused_grants?.get(node.id);
  if (refused?.status === 'skipped') return barred(node.next, refused.error_code);
  if (refused !== undefined) return failed(node, 'failed', refused.error_code);
  return on(node.next, 'granted', { kind: 'grant', seq, node, deposit_amount: amount });
}

function call(node: CallWebhookNode, seq: number, facts: Facts, now_ms: number): Turn {
  if (facts.effects_barred !== undefined) return barred(node.next, facts.effects_barred);
  const effect = { kind: 'delivery', seq, node } as const;
  if (!node.wait_for_response) return on(node.next, 'queued', effect);
  const due_at_ms = now_ms + lastAttemptMs(node) + LATE_OUTCOME_MS;
  return { kind: 'rest', until: { kind: 'delivery' }, due_at_ms, effect };
}
