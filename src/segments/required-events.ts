import {
  aggregateEntry,
  isGroup,
  type DefinitionNode,
  type EventCondition,
  type Group,
} from './language/conditions.ts';
import { holds } from './language/holds.ts';
import { eventSetsOf } from './sql/compile.ts';

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

/** Whether the condition holds for a player without such events: their aggregate is 0, or missing. */
function holdsWithoutEvents({ aggregate, comparison }: EventCondition): boolean {
  return holds(comparison, aggregateEntry(aggregate).of_nothing, 0);
}
