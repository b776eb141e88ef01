import { edgesOf, idOf, textOf, type Graph, type Written } from './graph.ts';

/** A step of the old version with the steps of the new one on which its runs may stand. */
export interface Place {
  node: Written;
  id: string;
  /** The same step is there, so its runs stay on it. */
  is_same: boolean;
  targets: readonly Written[];
}

/** Where the runs at each step of a version can go in another version; steps at which nothing can stand are omitted. */
export function placesOf(from: Graph, to: Graph): Place[] {
  return from.nodes
    .filter((node) => edgesOf(node).length > 0)
    .map((node) => {
      const id = idOf(node);
      const targets = to.nodes.filter((target) => fits(node, target));
      return { node, id, is_same: targets.some((target) => idOf(target) === id), targets };
    });
}

/** The service moves a run only to a step of the same type, which waits for the same event if it waits for one. */
function fits(node: Written, target: Written): boolean {
  return (
    node['type'] === target['type'] &&
    (node['type'] !== 'wait_for_event' || textOf(node['event']) === textOf(target['event']))
  );
}
