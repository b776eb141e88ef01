import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/errors.ts';
import type { JourneyIssue } from '../../../src/engage/journeys/graph/issues.ts';
import { readJourney } from '../../../src/engage/journeys/graph/read-journey.ts';
import { warningsOf } from '../../../src/engage/journeys/graph/warnings.ts';
import { runs } from '../../engines/effort.ts';
import { graphOf } from './journey-fixture.ts';

const trigger = { kind: 'event', event: 'deposit_confirmed' };

function issuesOf(graph: unknown): JourneyIssue[] {
  try {
    readJourney({ trigger, graph });
    return [];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.details?.issues as JourneyIssue[];
  }
}

/** Random graphs: `edges[i]` are the nodes that node i leads to. */
const graphs = fc.integer({ min: 1, max: 12 }).chain((size) =>
  fc.record({
    start: fc.nat({ max: size - 1 }),
    edges: fc.array(fc.array(fc.nat({ max: size }), { maxLength: 3 }), { minLength: size, maxLength: size }),
  }),
);

function written({ start, edges }: { start: number; edges: number[][] }) {
  const name = (i: number) => `n${i}`;
  const nodes = edges.map((to, i) => {
    const [first, ...others] = to.map(name);
    if (first === undefined) return { id: name(i), type: 'end' };
    if (others.length === 0) return { id: name(i), type: 'wait', duration_ms: i % 2, next: first };
    const branches = others.map((next) => ({ condition: { where: { a: 1 } }, next }));
    return { id: name(i), type: 'branch', branches, else_next: first };
  });
  return { start_node_id: name(start), nodes };
}

describe('graphs, against a depth-first search', () => {
  /** Every node on a cycle: the node can be come to again from itself. */
  const onCycle = (edges: number[][]): Set<number> => {
    const found = new Set<number>();
    for (let from = 0; from < edges.length; from++)
      if (walk(edges, edges[from] ?? []).has(from)) found.add(from);
    return found;
  };
  const walk = (edges: number[][], starts: number[]): Set<number> => {
    const seen = new Set<number>();
    const visit = (i: number): void => {
      if (i >= edges.length || seen.has(i)) return;
      seen.add(i);
      for (const to of edges[i] ?? []) visit(to);
    };
    for (const start of starts) visit(start);
    return seen;
  };

  it('finds every cycle, dangling edge and unreachable node', () => {
    fc.assert(
      fc.property(graphs, ({ start, edges }) => {
        const graph = written({ start, edges });
        const issues = issuesOf(graph);
        const dangling = edges.flat().filter((to) => to === edges.length).length;
        expect(issues.filter(({ code }) => code === 'NEXT_NODE_MISSING')).toHaveLength(dangling);
        const cyclic = onCycle(edges);
        const cycles = issues.filter(({ code }) => code === 'CYCLE');
        expect(cycles.length > 0).toBe(cyclic.size > 0);
        for (const { message } of cycles) {
          const way = message
            .replace(/^.*: /, '')
            .split(' → ')
            .map((id) => Number(id.slice(1)));
          expect(way.length).toBeGreaterThan(1);
          expect(way[0]).toBe(way.at(-1));
          for (const [i, id] of way.slice(0, -1).entries()) expect(edges[id]).toContain(way[i + 1]);
        }
        // Without the nodes that are named, no cycle is left.
        const named = new Set(
          cycles.flatMap(({ message }) => message.match(/n\d+/g) ?? []).map((id) => Number(id.slice(1))),
        );
        expect(onCycle(edges.map((to, i) => (named.has(i) ? [] : to))).size).toBe(0);
        if (issues.length > 0) return;
        const reached = walk(edges, [start]);
        const lost = warningsOf(readJourney({ trigger, graph })).filter(
          ({ code }) => code === 'UNREACHABLE_NODE',
        );
        expect(lost.map(({ node_id }) => node_id)).toEqual(
          edges.flatMap((_to, i) => (reached.has(i) ? [] : [`n${i}`])),
        );
      }),
      { numRuns: runs(10_000) },
    );
  });
});

describe('warnings', () => {
  const send = (id: string, next: string) => ({
    id,
    type: 'send_message',
    template_id: 't',
    provider_id: 'p',
    next,
  });
  const warnings = (...nodes: Record<string, unknown>[]) =>
    warningsOf(readJourney({ trigger, graph: graphOf(...nodes) })).map(
      ({ code, node_id }) => `${code} ${node_id}`,
    );

  it('name messages without a wait between them', () => {
    const split = {
      id: 's',
      type: 'split',
      branches: [
        { weight: 1, next: 'b' },
        { weight: 1, next: 'w' },
      ],
    };
    const waits = (duration_ms: number) => ({ id: 'w', type: 'wait', duration_ms, next: 'c' });
    const nodes = [send('a', 's'), split, send('b', 'end'), send('c', 'end')];
    expect(warnings(...nodes, waits(1))).toEqual(['NO_WAIT_BETWEEN_SENDS a']);
    expect(warnings(...nodes, waits(0))).toEqual(['NO_WAIT_BETWEEN_SENDS a', 'NO_WAIT_BETWEEN_SENDS a']);
  });

  it('name what cannot be reached, and events that change nothing', () => {
    const wait = {
      id: 'w',
      type: 'wait_for_event',
      event: 'login',
      timeout_ms: 1,
      next: 'end',
      timeout_next: 'end',
    };
    expect(warnings(wait, send('lost', 'end'))).toEqual(['TIMEOUT_SAME_AS_NEXT w', 'UNREACHABLE_NODE lost']);
  });
});
