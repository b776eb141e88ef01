import { isGroup, type DefinitionNode, type EventCondition, type Group } from './language/conditions.ts';
import { eventSetsOf } from './sql/compile.ts';
import { intervalOf } from './sql/interval.ts';

/**
 * The events of which members may need to have some: those of conditions that a player without them does not meet. A
 * condition that asks for their absence (count = 0) names none; under NOT it is the other way round. `definitions` are
 * those of the segment and of the segments that it refers to; what is not among them is taken for empty.
 */
export function requiredEvents(segment_id: string, definitions: ReadonlyMap<string, Group>): Set<string> {
  const events = new Set<string>();
  const seen = new Set<string>();
  visitSegment(segment_id, false);
  return events;

  function visitSegment(id: string, negated: boolean): void {
    const key = `${id} ${negated}`;
    const definition = definitions.get(id);
    if (definition === undefined || seen.has(key)) return;
    seen.add(key);
    visit(definition, negated);
  }

  function visit(node: DefinitionNode, negated: boolean): void {
    if (isGroup(node)) {
      for (const child of node.children) visit(child, negated !== (node.operator === 'NOT'));
    } else if (node.type === 'segment') {
      visitSegment(node.segment_id, negated !== node.negated);
    } else {
      const holds = node.type === 'event' && holdsWithoutEvents(node);
      if (holds !== negated) return;
      for (const { event } of eventSetsOf(node)) events.add(event);
    }
  }
}

/** Without events, count, distinct and sum are 0, and the other aggregates have no value. */
function holdsWithoutEvents({ aggregate, comparison: { positive, negated } }: EventCondition): boolean {
  const is_zero = aggregate === 'count' || aggregate === 'distinct' || aggregate === 'sum';
  const interval = intervalOf(positive);
  const holds_of_zero =
    interval !== undefined
      ? interval.low <= 0n && interval.high >= 0n
      : positive.op === 'exists' || (positive.op === 'in' && positive.values.includes(0));
  return (is_zero && holds_of_zero) !== negated;
}
