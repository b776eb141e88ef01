import type { Definition, Node } from '../graph/shapes.ts';
import type { Advanced, Effect, Facts, Rest, RunState, Step } from './shapes.ts';
import { endRest, enterNode, JourneyStepError, type Turn } from './turn.ts';

/** A graph has no more nodes, and a run comes to none of them twice. */
const MAX_NODES = 50;

/**
 * What happens to a run now: ends the rest of the node on which it stands (or enters the node, if that has not happened),
 * then goes from node to node until the next rest or the end. The result depends on the
 * arguments only.
 *
 * A run whose rest is not over (not due, and not woken) comes back without steps, with the rest that it has.
 *
 * `needs` instead of a result: the segment condition of a branch has no answer in `facts.conditions`. Ask, then call
 * again with the answer and with the same `now_ms`; it happens at most once for each condition in the way.
 *
 * Throws a {@link JourneyStepError} when the graph does not have the node.
 */
export function advance(definition: Definition, run: RunState, facts: Facts, now_ms: number): Advanced {
  const steps: Step[] = [];
  const effects: Effect[] = [];
  let node = nodeOf(definition, run.node_id);
  let { seq } = run;
  let entered_at_ms = run.entered_at_ms ?? now_ms;
  let turn = run.entered_at_ms === undefined ? undefined : endRest(node, run, now_ms);
  for (let visited = 1; visited <= MAX_NODES; visited++) {
    turn ??= enterNode(node, seq, run, facts, now_ms);
    if (turn.kind === 'ask') return { needs: { key: turn.key, node_id: node.id } };
    if (turn.effect !== undefined) effects.push(turn.effect);
    if (turn.kind === 'rest') return { steps, effects, rest: restOf(turn, node, seq) };
    steps.push(stepOf(turn, node, { seq, entered_at_ms, completed_at_ms: now_ms }));
    if (turn.kind === 'end') return { steps, effects, rest: endOf(turn, node, seq) };
    node = nodeOf(definition, turn.next);
    seq++;
    entered_at_ms = now_ms;
    turn = undefined;
  }
  throw new JourneyStepError(
    `the run went through ${MAX_NODES} nodes without an end: its graph has a circle`,
  );
}

function nodeOf({ graph }: Definition, node_id: string): Node {
  const node = graph.nodes.get(node_id);
  if (node === undefined) throw new JourneyStepError(`the graph of the run has no node "${node_id}"`);
  return node;
}

type TurnOf<K extends Turn['kind']> = Extract<Turn, { kind: K }>;

function restOf({ until, due_at_ms }: TurnOf<'rest'>, node: Node, seq: number): Rest {
  if (until.kind === 'event') return { kind: 'event', node_id: node.id, seq, event: until.event, due_at_ms };
  return { kind: until.kind, node_id: node.id, seq, due_at_ms };
}

function endOf({ step, ended }: TurnOf<'end'>, node: Node, seq: number): Rest {
  const is_failed = ended === 'failed';
  return {
    kind: 'end',
    status: is_failed ? 'failed' : 'completed',
    node_id: node.id,
    seq,
    outcome: is_failed ? undefined : ended,
    error_code: is_failed ? step.error_code : undefined,
  };
}

function stepOf(
  turn: TurnOf<'on' | 'end'>,
  { id, type }: Node,
  { seq, entered_at_ms, completed_at_ms }: Pick<Step, 'seq' | 'entered_at_ms' | 'completed_at_ms'>,
): Step {
  const { status, outcome, error_code } = turn.step;
  return {
    seq,
    node_id: id,
    node_type: type,
    status,
    outcome,
    next_node_id: turn.kind === 'on' ? turn.next : undefined,
    entered_at_ms,
    completed_at_ms,
    error_code,
  };
}
