import { journeyInvalid } from '../../../src/engage/journeys/graph/issues.ts';
import { readJourney as presentReader } from '../../../src/engage/journeys/graph/read-journey.ts';
import type { RefuseUrl } from '../../../src/engage/journeys/graph/read-node.ts';
import type { Definition } from '../../../src/engage/journeys/graph/shapes.ts';
import { isObject } from '../../../src/platform/json-object.ts';

/** The reader of a program that was made before there were nodes of the type `wait_until`. */
export function readJourney(written: Parameters<typeof presentReader>[0], refuseUrl?: RefuseUrl): Definition {
  const { graph } = written;
  const nodes = isObject(graph) && Array.isArray(graph['nodes']) ? (graph['nodes'] as unknown[]) : [];
  const unknown = nodes.findIndex((node) => isObject(node) && node['type'] === 'wait_until');
  if (unknown >= 0) {
    const path = `graph.nodes.${unknown}.type`;
    throw journeyInvalid([{ path, code: 'UNKNOWN_NODE_TYPE', message: 'must be one of wait, …' }]);
  }
  return presentReader(written, refuseUrl);
}
