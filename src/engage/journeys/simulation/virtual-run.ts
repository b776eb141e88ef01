import { parseExact, storedBytes } from '../../../platform/exact-json.ts';
import { splitAttributes } from '../../../players/profile/profile-patch.ts';
import { outcomeOf } from '../../webhooks/call.ts';
import { jsonOf } from '../../webhooks/results.ts';
import { deliveryPauseMs } from '../../webhooks/retry-schedule.ts';
import type { CallWebhookNode, Definition, SendMessageNode } from '../graph/shapes.ts';
import type { JudgedEvent } from '../runs/event-where.ts';
import type { RunPlayer } from '../runs/facts-queries.ts';
import { awaits, exitOf } from '../runs/match-verdicts.ts';
import { type RunningRow, MAX_CONTEXT_BYTES } from '../runs/run-row.ts';
import type { Advanced, Effect, Rest, RunContext, Step, WokenBy } from '../runs/shapes.ts';
import { LONGEST_RATE_WAIT_MS } from '../runs/turn.ts';
import type { SimulatedEvent, WebhookAnswer } from './schema.ts';

/** A run that has moved: not one that asks. */
type Moved = Exclude<Advanced, { needs: unknown }>;

/** The amounts of an event in the base currency; null: it has none, or no rate is known. */
export type VirtualMoney = Omit<JudgedEvent, 'event' | 'properties' | 'received_at'>;
/** An event of the simulation. */
export type VirtualEvent = SimulatedEvent & VirtualMoney;

/** What a run on a virtual clock begins with. */
export interface VirtualStart {
  run: RunningRow;
  definition: Definition;
  player: RunPlayer;
  start_ms: number;
  events: readonly VirtualEvent[];
  /** By node; absent: 200 without a body. */
  webhooks: Readonly<Record<string, WebhookAnswer>>;
  /** `advance`, with every question answered. */
  move(run: RunningRow, player: RunPlayer, now_ms: number): Promise<Moved>;
}

/** A message of the run, with what its template reads. */
export interface VirtualSend {
  node: SendMessageNode;
  seq: number;
  context: RunContext;
  player: RunPlayer;
}

/** What became of the run. */
export interface VirtualEnd {
  steps: Step[];
  sends: VirtualSend[];
  outcome: 'ended' | 'exited' | 'goal' | 'failed';
}

/** A run comes to no node twice, and a graph has no more of them. */
const MAX_RESTS = 50;
/** Jitter takes nothing from a pause and adds nothing. */
const NO_JITTER = 0.5;

/**
 * Takes a run from its start to its end; time passes at once. What is due at a moment happens before the events of that
 * moment, and events of one moment happen in the order in which they are given; between two of them the run goes on as
 * far as it can.
 */
export async function runVirtually(start: VirtualStart): Promise<VirtualEnd> {
  const { definition, start_ms, webhooks } = start;
  const events = start.events.toSorted((a, b) => a.at_ms - b.at_ms);
  const steps: Step[] = [];
  const sends: VirtualSend[] = [];
  let { run, player } = start;
  let now_ms = start_ms;
  for (let rests = 0; rests <= MAX_RESTS; rests++) {
    const moved = await start.move(run, player, now_ms);
    const { rest, effects } = moved;
    steps.push(...moved.steps);
    player = playerAfter(player, effects);
    for (const effect of effects) {
      if (effect.kind !== 'send') continue;
      // The messenger comes after the transaction of all these steps: it reads the player as they leave it.
      sends.push({ node: effect.node, seq: effect.seq, context: run.context, player });
    }
    if (rest.kind === 'end') return { steps, sends, outcome: rest.outcome ?? 'failed' };
    run = { ...run, node_id: rest.node_id, seq: rest.seq, entered_at: new Date(now_ms), woken_by: null };
    const end = restEnd(definition, rest, now_ms, webhooks);
    run.due_at = new Date(end.at_ms);
    let next = events.shift();
    let is_woken = false;
    for (; next !== undefined && start_ms + next.at_ms < end.at_ms; next = events.shift()) {
      now_ms = start_ms + next.at_ms;
      const event = judged(next, now_ms);
      const outcome = exitOf(definition, event);
      if (outcome !== undefined && outcome !== 'undecided') {
        steps.push(exitStep(definition, run, now_ms));
        return { steps, sends, outcome };
      }
      if (awaits(definition, run, event) !== true) continue;
      run = { ...run, woken_by: { kind: 'event' }, context: withEvent(run, next.properties) };
      is_woken = true;
      break;
    }
    if (is_woken) continue;
    if (next !== undefined) events.unshift(next);
    now_ms = end.at_ms;
    run = { ...run, woken_by: end.woken_by ?? null, context: end.saved?.(run.context) ?? run.context };
  }
  throw new Error(`the run has more than ${MAX_RESTS} rests`);
}

/** How a rest ends if no event ends it before. */
interface RestEnd {
  at_ms: number;
  woken_by?: WokenBy;
  /** The context with the answer of a webhook. */
  saved?: (context: RunContext) => RunContext;
}

function restEnd(
  { graph }: Definition,
  rest: Exclude<Rest, { kind: 'end' }>,
  now_ms: number,
  webhooks: VirtualStart['webhooks'],
): RestEnd {
  // No rate comes while it is simulated: the run waits for as long as it may.
  if (rest.kind === 'rate') return { at_ms: now_ms + LONGEST_RATE_WAIT_MS };
  const node = graph.nodes.get(rest.node_id);
  if (rest.kind !== 'delivery' || node?.type !== 'call_webhook') return { at_ms: rest.due_at_ms };
  const answer = Object.hasOwn(webhooks, node.id) ? webhooks[node.id] : undefined;
  return deliveryEnd(node, answer ?? { status: 200 }, now_ms);
}

/** Every attempt gets the same answer, at once. */
function deliveryEnd(node: CallWebhookNode, { status, body }: WebhookAnswer, now_ms: number): RestEnd {
  const text = body === undefined ? '' : JSON.stringify(body);
  const { kind, error } = outcomeOf(status, false, { text, is_cut: false, retry_after_ms: null });
  if (kind === 'delivered') {
    const json = node.save_as === undefined ? null : jsonOf(text);
    const woken_by = { kind: 'delivery', outcome: 'delivered', error_code: undefined } as const;
    if (json === null) return { at_ms: now_ms, woken_by };
    const response = { [node.save_as ?? '']: parseExact(json) };
    return {
      at_ms: now_ms,
      woken_by,
      saved: (context) => within(context, { responses: { ...context.responses, ...response } }),
    };
  }
  const { max_attempts, backoff_ms } = node.retry;
  let at_ms = now_ms;
  if (kind === 'retry') {
    for (let failed = 1; failed < max_attempts; failed++) {
      at_ms += deliveryPauseMs({ backoff_ms, failed, retry_after_ms: null }, NO_JITTER);
    }
  }
  return { at_ms, woken_by: { kind: 'delivery', outcome: 'exhausted', error_code: error ?? undefined } };
}

/** The context with a part replaced; as it was when it would become too large. */
function within(context: RunContext, part: Partial<RunContext>): RunContext {
  const whole = { ...context, ...part };
  return storedBytes(whole) <= MAX_CONTEXT_BYTES ? whole : context;
}

function withEvent({ context, node_id }: RunningRow, properties: Record<string, unknown>): RunContext {
  return within(context, { events: { ...context.events, [node_id]: properties } });
}

/** The event as the matcher reads it. */
function judged(event: VirtualEvent, received_at: number): JudgedEvent {
  return { ...event, received_at };
}

/** The last step of a run that an event ends. */
function exitStep({ graph }: Definition, { node_id, seq, entered_at }: RunningRow, now_ms: number): Step {
  return {
    seq,
    node_id,
    node_type: graph.nodes.get(node_id)?.type ?? 'end',
    status: 'skipped',
    outcome: 'exited',
    next_node_id: undefined,
    entered_at_ms: entered_at?.getTime() ?? now_ms,
    completed_at_ms: now_ms,
    error_code: undefined,
  };
}

/** The player with the custom attributes that the steps set. */
function playerAfter(player: RunPlayer, effects: readonly Effect[]): RunPlayer {
  let { custom_attributes } = player;
  for (const effect of effects) {
    if (effect.kind !== 'update_player') continue;
    const { attributes, removed_attributes } = splitAttributes(effect.node.traits);
    const removed = new Set(removed_attributes);
    const left = Object.entries({ ...custom_attributes, ...attributes });
    custom_attributes = Object.fromEntries(left.filter(([key]) => !removed.has(key)));
  }
  return { ...player, custom_attributes };
}
