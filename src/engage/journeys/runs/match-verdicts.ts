import type { Definition, Where } from '../graph/shapes.ts';
import { verdictOn, type JudgedEvent } from './event-where.ts';
import type { Exit, Hit } from './match-queries.ts';

/** Whether the run's node waits for such an event; undefined: no rate is known for an amount that decides it. */
export function awaits(
  definition: Definition | undefined,
  { node_id }: Pick<Hit, 'node_id'>,
  event: JudgedEvent,
): boolean | undefined {
  const node = definition?.graph.nodes.get(node_id);
  return node?.type === 'wait_for_event' ? isOne(node, event) : false;
}

/**
 * How the event ends runs of this definition; undefined: it does not. `undecided`: it may, and no rate is known for an
 * amount that decides it.
 */
export function exitOf(
  definition: Definition | undefined,
  event: JudgedEvent,
): Exit['outcome'] | 'undecided' | undefined {
  const { exit_on = [], goal } = definition?.settings ?? {};
  const is_goal = goal?.exit === true ? isOne(goal, event) : false;
  if (is_goal === true) return 'goal';
  const exits = exit_on.map((rule) => ('event' in rule ? isOne(rule, event) : false));
  if (exits.includes(true)) return 'exited';
  return is_goal === undefined || exits.includes(undefined) ? 'undecided' : undefined;
}

function isOne(rule: { event: string; where: Where }, event: JudgedEvent): boolean | undefined {
  return rule.event === event.event ? verdictOn(rule.where, event) : false;
}
