import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BranchNode, Definition } from '../../../../src/engage/journeys/graph/shapes.ts';
import { advance } from '../../../../src/engage/journeys/runs/advance.ts';
import type { Effect, Facts, RunState, Step, WokenBy } from '../../../../src/engage/journeys/runs/shapes.ts';
import { amountKey, conditionKey, JourneyStepError } from '../../../../src/engage/journeys/runs/turn.ts';
import { runs } from '../../../engines/effort.ts';
import { naiveAdvance, type NaiveFacts, type WrittenNode } from './naive-run.ts';
import { context, definitionOf, facts, graph, IDS, START_MS, wakes } from './written-graphs.ts';

const RUNS = runs(5_000, { nightly: 100_000 });
/** More rests than a graph of fifteen nodes has, with claims that came too early. */
const MAX_RESTS = 60;

type Drawn = (typeof facts extends fc.Arbitrary<infer T> ? T : never) & { context: Record<string, unknown> };

const naiveFacts = (drawn: Drawn): NaiveFacts => ({
  ...drawn,
  templates: new Set(drawn.templates.filter((id) => !drawn.inactive.includes(id))),
  providers: new Set(drawn.providers),
  bonus_templates: new Set(drawn.bonus_templates),
  segments: (segment) => drawn.segments.includes(segment),
});

const factsOf = (drawn: Drawn, conditions: ReadonlyMap<string, boolean>): Facts => ({
  effects_barred: drawn.barred,
  timezone: drawn.timezone,
  player: drawn.player,
  templates: new Map(drawn.templates.map((id) => [id, { is_active: !drawn.inactive.includes(id) }])),
  providers: new Set(drawn.providers),
  bonus_templates: new Set(drawn.bonus_templates),
  conditions,
  amounts: amountsOf(drawn),
});

/** The amount of the payload by all that may ask for it. */
function amountsOf({ context, worth }: Drawn): Facts['amounts'] {
  const { amount, currency } = (context['trigger_payload'] ?? {}) as Record<string, unknown>;
  if (currency === undefined || !/^\d+$/.test(String(amount))) return new Map();
  const money = currency === 'EUR' ? BigInt(String(amount)) : worth;
  return new Map(
    [...IDS, undefined].map((id) => [amountKey(['trigger_payload', 'amount'], id), money] as const),
  );
}

/** Calls `advance` until it asks nothing more; each answer is needed once. */
function answered(
  definition: Definition,
  nodes: readonly WrittenNode[],
  run: RunState,
  drawn: Drawn,
  now_ms: number,
) {
  const conditions = new Map<string, boolean>();
  for (;;) {
    const advanced = advance(definition, run, factsOf(drawn, conditions), now_ms);
    if (!('needs' in advanced)) return { ...advanced, asked: conditions.size };
    const { key, node_id } = advanced.needs;
    expect(conditions.has(key)).toBe(false);
    const node = definition.graph.nodes.get(node_id) as BranchNode;
    const index = node.branches.findIndex((_branch, index) => conditionKey(node, index) === key);
    const written = nodes.find(({ id }) => id === node_id)?.['branches'] as {
      condition: { segment: string };
    }[];
    conditions.set(key, drawn.segments.includes(written[index]!.condition.segment));
  }
}

const EFFECTS: Record<string, string> = {
  send_message: 'send',
  call_webhook: 'delivery',
  update_player: 'update_player',
  grant_bonus: 'grant',
};

function wokenBy(wake: string): WokenBy | undefined {
  if (wake === 'event') return { kind: 'event' };
  if (wake === 'delivered') return { kind: 'delivery', outcome: wake, error_code: undefined };
  if (wake === 'exhausted') return { kind: 'delivery', outcome: wake, error_code: 'HTTP_500' };
  return undefined;
}

/** What is true of every run, whatever `advance` and the interpreter agree on. */
function checkWhole(nodes: readonly WrittenNode[], steps: readonly Step[], effects: readonly Effect[]): void {
  expect(steps.map(({ seq }) => seq)).toEqual(steps.map((_step, n) => n + 1));
  for (const [n, step] of steps.entries()) {
    const node = nodes.find(({ id }) => id === step.node_id);
    const branches = (node?.['branches'] ?? []) as { next: string }[];
    const edges = [
      node?.next,
      node?.['timeout_next'],
      node?.['else_next'],
      ...branches.map(({ next }) => next),
    ];
    if (step.next_node_id !== undefined) expect(edges).toContain(step.next_node_id);
    if (n > 0) expect(steps[n - 1]?.next_node_id).toBe(step.node_id);
    expect(step.completed_at_ms).toBeGreaterThanOrEqual(step.entered_at_ms);
  }
  const acting = steps.filter(
    ({ node_type, status, outcome }) =>
      node_type in EFFECTS && status !== 'skipped' && (status === 'completed' || outcome === 'exhausted'),
  );
  const done = effects.filter(({ seq }) => seq <= steps.length);
  expect(done.map(({ kind, seq }) => [seq, kind])).toEqual(
    acting.map(({ node_type, seq }) => [seq, EFFECTS[node_type]]),
  );
  expect(new Set(effects.map(({ seq }) => seq)).size).toBe(effects.length);
}

/** How often what was drawn came to pass, so that a change of the draws cannot make the property empty. */
const seen = new Map<string, number>();
const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);

function runThrough(
  nodes: WrittenNode[],
  drawn: Drawn,
  turns: readonly (readonly [string, number])[],
  player_id: string,
): void {
  const definition = definitionOf(nodes);
  const steps: Step[] = [];
  const effects: Effect[] = [];
  let run: RunState = {
    run_id: 'run',
    journey_id: '0198a1c5-7b1e-7000-8000-000000000001',
    player_id,
    node_id: 'n0',
    seq: 1,
    entered_at_ms: undefined,
    due_at_ms: START_MS,
    context: drawn.context,
    woken_by: undefined,
  };
  let now_ms = START_MS;
  for (let rests = 0; rests < MAX_RESTS; rests++) {
    const { woken_by } = run;
    const naive = naiveAdvance(
      nodes,
      { ...run, woken_by: woken_by?.kind === 'delivery' ? woken_by.outcome : woken_by?.kind },
      naiveFacts(drawn),
      now_ms,
    );
    if ('stopped' in naive) {
      count('stopped');
      expect(() => answered(definition, nodes, run, drawn, now_ms)).toThrow(JourneyStepError);
      return;
    }
    const { asked, ...advanced } = answered(definition, nodes, run, drawn, now_ms);
    if (asked > 0) count('asked');
    const shown = advanced.effects.map(({ node, ...effect }) => ({ node_id: node.id, ...effect }));
    // The assertion shows the difference, but takes much longer than the comparison.
    if (!isDeepStrictEqual({ ...advanced, effects: shown }, naive)) {
      expect({ ...advanced, effects: shown }).toEqual(naive);
    }
    steps.push(...advanced.steps);
    effects.push(...advanced.effects);
    for (const { node_type, outcome } of advanced.steps) count(`${node_type} ${outcome.split(':')[0]}`);
    const { rest } = advanced;
    if (rest.kind === 'end') {
      checkWhole(nodes, steps, effects);
      expect(rest.seq).toBe(steps.length);
      expect(steps.at(-1)?.next_node_id).toBeUndefined();
      return;
    }
    expect(rest.seq).toBe(steps.length + 1);
    expect(rest.due_at_ms).toBeGreaterThanOrEqual(now_ms);
    const [wake = 'due', late_ms = 0] = turns[rests % turns.length] ?? [];
    const is_early = wake !== 'due' && rests < turns.length;
    const is_unrated = ['branch', 'grant_bonus'].includes(nodes.find(({ id }) => id === rest.node_id)!.type);
    if (is_unrated) count('waits for a rate');
    // Else a day would be 300 rests.
    const late_by_ms = is_unrated ? late_ms * 100 || 24 * 3_600_000 : late_ms;
    const at_ms = is_early ? Math.min(now_ms + late_ms, rest.due_at_ms) : rest.due_at_ms + late_by_ms;
    // The oracle for local times knows four weeks.
    if (at_ms > START_MS + 14 * 24 * 3_600_000) return checkWhole(nodes, steps, effects);
    const { node_id, seq, due_at_ms } = rest;
    const entered_at_ms =
      advanced.steps.length > 0 || run.entered_at_ms === undefined ? now_ms : run.entered_at_ms;
    const fitting = wake === 'unfitting' ? (rest.kind === 'event' ? 'delivered' : 'event') : wake;
    run = {
      ...run,
      node_id,
      seq,
      due_at_ms,
      entered_at_ms,
      woken_by: is_early ? wokenBy(fitting) : undefined,
    };
    now_ms = at_ms;
  }
  throw new Error('the run does not end');
}

/** What runs must meet in a search: an outcome of a node, a condition to ask, a graph that leads nowhere. */
const WANTED = [
  'wait elapsed',
  'wait_until elapsed',
  'wait_until exited',
  'wait_until failed',
  'wait_for_event event',
  'wait_for_event timeout',
  'branch branch',
  'branch else',
  'split branch',
  'send_message queued',
  'send_message failed',
  'asked',
  'stopped',
  'update_player updated',
  'update_player skipped',
  'grant_bonus granted',
  'grant_bonus failed',
  'grant_bonus skipped',
  'call_webhook queued',
  'call_webhook delivered',
  'call_webhook exhausted',
  'call_webhook skipped',
  'end ended',
  'waits for a rate',
];

describe('advance', () => {
  it(
    'does to random runs what an interpreter does, step by step',
    () => {
      const draws = fc.tuple(graph, facts, context, wakes, fc.uuid());
      const property = fc.property(draws, ([nodes, drawn, context, turns, player_id]) =>
        runThrough(nodes, { ...drawn, context }, turns, player_id),
      );
      fc.assert(property, { numRuns: RUNS });
      expect(WANTED.filter((what) => (seen.get(what) ?? 0) < RUNS / 500)).toEqual([]);
    },
    120_000 + RUNS * 20,
  );
});
