import type { Platform } from '../../platform/platform.ts';
import { versionNotFound } from './change.ts';
import type { JourneyRef, JourneyRow } from './graph/queries.ts';
import { findJourney } from './graph/read.ts';
import { readJourney } from './graph/read-journey.ts';
import type { Definition } from './graph/shapes.ts';
import { selectVersion } from './graph/version-queries.ts';
import {
  countGoal,
  countRuns,
  countSendsOfNodes,
  countSteps,
  type NodeCount,
  type RunCount,
  type SendCount,
} from './stats-queries.ts';

type Deps = Pick<Platform, 'postgres' | 'clickhouse'>;

/**
 * The numbers of a journey, or of one version of it. What is done comes from ClickHouse, what runs from Postgres: a step
 * is counted when it is copied. Rejects with JOURNEY_NOT_FOUND, or JOURNEY_VERSION_NOT_FOUND for a version that was never
 * published. A version that was removed is only known by its steps.
 */
export async function statsOfJourney(deps: Deps, ref: JourneyRef, version: number | undefined) {
  const { postgres, clickhouse } = deps;
  const journey = await findJourney(postgres, ref);
  if (version !== undefined && version > (journey.version ?? 0)) throw versionNotFound(version);
  const definition = await definitionOf(deps, ref, journey, version);
  const goal = definition?.settings.goal;
  const scope = { ...ref, version };
  const [runs, steps, sends, reached] = await Promise.all([
    postgres.countAsTenant(ref.tenant_id, (tx) => countRuns(tx, scope)),
    countSteps(clickhouse, scope),
    countSendsOfNodes(clickhouse, scope),
    goal && countGoal(clickhouse, scope, goal),
  ]);
  return {
    runs: { ...NO_RUNS, ...runsByStatus(runs) },
    nodes: nodesOf(definition, { runs, steps, sends }),
    goal: reached === undefined ? null : numbersOf(reached),
  };
}

const NO_RUNS = { running: 0, completed: 0, failed: 0, cancelled: 0 };

async function definitionOf(
  { postgres }: Deps,
  ref: JourneyRef,
  journey: JourneyRow,
  version: number | undefined,
): Promise<Definition | undefined> {
  const wanted = version ?? journey.version;
  if (wanted === null) return undefined;
  const [stored] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectVersion(tx, ref, wanted));
  return stored && readJourney(stored);
}

function runsByStatus(runs: readonly RunCount[]): Partial<typeof NO_RUNS> {
  const counts: Partial<typeof NO_RUNS> = {};
  for (const { status, runs: count } of runs) counts[status] = (counts[status] ?? 0) + Number(count);
  return counts;
}

interface Counted {
  runs: readonly RunCount[];
  steps: readonly NodeCount[];
  sends: readonly SendCount[];
}

/** The nodes of the version in the order in which they are written, then those of other versions. */
function nodesOf(definition: Definition | undefined, { runs, steps, sends }: Counted) {
  const done_at = new Map(steps.map((step) => [step.node_id, step]));
  const sends_of = new Map(sends.map((send) => [send.node_id, send]));
  const waiting_at = new Map(runs.flatMap(({ node_id, runs: count }) => (node_id ? [[node_id, count]] : [])));
  const drawn = [...(definition?.graph.nodes.keys() ?? [])];
  const others = [...done_at.keys(), ...waiting_at.keys(), ...sends_of.keys()].toSorted();
  return [...new Set([...drawn, ...others])].map((node_id) => {
    const step = done_at.get(node_id);
    const [done, failed, exited] = [
      Number(step?.done ?? 0),
      Number(step?.failed ?? 0),
      Number(step?.exited ?? 0),
    ];
    const waiting = Number(waiting_at.get(node_id) ?? 0n);
    const type = definition?.graph.nodes.get(node_id)?.type ?? step?.node_type;
    return {
      node_id,
      entered: done + waiting,
      waiting,
      completed: done - failed - exited,
      failed,
      exited,
      sends: type === 'send_message' ? sendsOf(sends_of.get(node_id)) : null,
    };
  });
}

const NO_SENDS = {
  recipients_total: 0,
  sent: 0,
  delivered: 0,
  opened: 0,
  clicked: 0,
  bounced: 0,
  failed: 0,
  capped: 0,
};

function sendsOf(counted: SendCount | undefined): typeof NO_SENDS {
  if (counted === undefined) return NO_SENDS;
  const { node_id: _node_id, ...counts } = counted;
  return numbersOf(counts);
}

function numbersOf<Key extends string>(counts: Readonly<Record<Key, string>>): Record<Key, number> {
  const numbers = Object.entries<string>(counts).map(([name, count]) => [name, Number(count)]);
  return Object.fromEntries(numbers) as Record<Key, number>;
}
