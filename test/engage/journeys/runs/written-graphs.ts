import * as fc from 'fast-check';
import type {
  BranchCondition,
  Definition,
  Node,
  Reference,
  Where,
} from '../../../../src/engage/journeys/graph/shapes.ts';
import { readComparison } from '../../../../src/segments/language/comparison.ts';
import {
  FIRST_MINUTE,
  ZONES,
  type WrittenBranch,
  type WrittenClause,
  type WrittenNode,
} from './naive-run.ts';

// Random graphs as callers write them, and what `advance` takes for them.

const HOUR_MS = 3_600_000;
/** Clocks change in three of the zones within the days after it. */
export const START_MS = FIRST_MINUTE * 60_000 + 8 * 24 * HOUR_MS;
export const IDS = ['first', 'second', 'third'];

const clause = fc
  .tuple(
    fc.constantFrom(
      'trigger_payload.amount',
      'trigger_payload.at',
      'responses.crm.ok',
      'vip',
      '__proto__',
      'events.n1.method',
    ),
    fc.constantFrom<{ op: string; value?: unknown }>(
      { op: 'eq', value: 5_000 },
      { op: '>=', value: 100 },
      { op: 'neq', value: 'card' },
      { op: 'in', value: [true, 'card', 7] },
      { op: 'exists' },
      { op: 'not_exists' },
      { op: 'before', value: new Date(START_MS).toISOString() },
      { op: 'within_last', value: { days: 1 } },
    ),
  )
  .map(([property, comparison]): WrittenClause => ({ property, ...comparison }));
const condition = fc.oneof(
  fc.record({ segment: fc.constantFrom('a', 'b', 'c', 'd') }),
  fc.record({ where: fc.array(clause, { minLength: 1, maxLength: 2 }) }),
);
const name = fc.option(fc.constantFrom('yes', 'control', '0'), { nil: undefined });
/** Few, because the oracle looks at every minute of weeks for each. */
const days = fc.constantFrom(undefined, ['sat', 'sun'], ['mon']);
const timezone = fc.constantFrom('player', 'player', ...ZONES, 'Mars/Olympus');
const clockTime = fc.constantFrom('00:00', '02:30', '22:15');
const on_error = fc.constantFrom('fail', 'continue');
const path = fc.constantFrom(
  'context.trigger_payload.at',
  'player.traits.birthday',
  'context.trigger_payload.amount',
  'player.__proto__',
);
const duration = fc.constantFrom(0, 1, 60_000, HOUR_MS, 26 * HOUR_MS);
const none = { nil: undefined };

const fields = fc.oneof(
  fc.record({ type: fc.constant('wait'), duration_ms: duration }),
  fc.record({ type: fc.constant('wait_until'), local_time: clockTime, days, timezone }),
  fc.record({
    type: fc.constant('wait_until'),
    window: fc.record({ from: clockTime, to: clockTime }),
    days,
    timezone,
  }),
  fc.record({
    type: fc.constant('wait_until'),
    at: path,
    offset_ms: fc.option(fc.constantFrom(-HOUR_MS, 0, 1), none),
    past: fc.constantFrom('continue', 'exit'),
  }),
  fc.record({
    type: fc.constant('wait_for_event'),
    event: fc.constantFrom('login', 'deposit_confirmed'),
    timeout_ms: duration,
  }),
  fc.record({
    type: fc.constant('branch'),
    branches: fc.array(fc.record({ name, condition }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('split'),
    branches: fc.array(fc.record({ name, weight: fc.integer({ min: 1, max: 60 }) }), {
      minLength: 2,
      maxLength: 4,
    }),
  }),
  fc.record({
    type: fc.constant('send_message'),
    template_id: fc.constantFrom(...IDS),
    provider_id: fc.constantFrom(...IDS),
    on_error,
  }),
  fc.record({ type: fc.constant('update_player') }),
  fc.record({
    type: fc.constant('grant_bonus'),
    template_id: fc.constantFrom(...IDS),
    deposit_amount: fc.option(fc.oneof(path, fc.constant(700)), none),
    on_error,
  }),
  fc.record({
    type: fc.constant('call_webhook'),
    timeout_ms: fc.constantFrom(1, 10_000),
    retry: fc.record({
      max_attempts: fc.integer({ min: 1, max: 10 }),
      backoff_ms: fc.constantFrom(0, 5, 1_000, 60_000),
    }),
    on_error,
    // Of these rests few end by an answer in time.
    wait_for_response: fc.constantFrom(true, true, false),
  }),
  fc.record({ type: fc.constant('end') }),
);

/** An acyclic graph: every edge leads to a later node; the last one is an end. Seldom an edge leads to no node. */
export const graph: fc.Arbitrary<WrittenNode[]> = fc
  .tuple(
    fc.array(fc.tuple(fields, fc.array(fc.nat({ max: 5 }), { minLength: 5, maxLength: 5 })), {
      maxLength: 14,
    }),
    fc.integer({ min: 0, max: 60 }),
  )
  .map(([drawn, dangling]) => {
    const nodes = drawn.map(([written, jumps], n) => {
      const to = (edge: number) =>
        n + edge === dangling ? 'nowhere' : `n${Math.min(n + 1 + (jumps[edge] ?? 0), drawn.length)}`;
      const { type, branches, ...rest } = written as { type: string; branches?: WrittenBranch[] };
      const node: WrittenNode = { id: `n${n}`, type, ...rest };
      if (type === 'wait_for_event') node['timeout_next'] = to(3);
      if (type === 'branch') node['else_next'] = to(3);
      if (branches === undefined) return type === 'end' ? node : { ...node, next: to(4) };
      return { ...node, branches: branches.map((one, edge) => ({ ...one, next: to(edge) })) };
    });
    return [...nodes, { id: `n${drawn.length}`, type: 'end' }];
  });

function where(clauses: readonly WrittenClause[]): Where {
  return clauses.map(({ property, ...written }) => {
    const comparison = readComparison({ kind: 'json' }, written);
    if ('key' in comparison) throw new Error(comparison.message);
    return { property, comparison };
  });
}

function referenceOf(written: string): Reference {
  const [root, ...path] = written.split('.');
  return { root: root === 'context' ? 'context' : 'player', path };
}

/** A segment condition that only the test can answer. */
function conditionOf(written: WrittenBranch['condition']): BranchCondition {
  if (written !== undefined && 'where' in written) return { kind: 'context', where: where(written.where) };
  const salt = written?.segment ?? '';
  return { kind: 'segment', condition: { type: 'random', share: 500_000, salt } };
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

function waitOf(written: WrittenNode) {
  const { at, local_time, window, days, timezone } = written as {
    at?: string;
    local_time?: string;
    window?: { from: string; to: string };
    days?: string[];
    timezone?: string;
  };
  if (at !== undefined) {
    return { until: 'at', at: referenceOf(at), offset_ms: written['offset_ms'] ?? 0, past: written['past'] };
  }
  const local = {
    timezone,
    days: (days ?? []).map((day) => ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].indexOf(day) + 1),
  };
  if (window === undefined) return { until: 'time', minute: minuteOf(local_time ?? ''), ...local };
  return { until: 'window', from_minute: minuteOf(window.from), to_minute: minuteOf(window.to), ...local };
}

/** The definition that reading a written graph gives. */
export function definitionOf(nodes: readonly WrittenNode[]): Definition {
  const read = nodes.map((written) => {
    const branches = (written['branches'] as WrittenBranch[] | undefined)?.map((branch) => ({
      ...branch,
      condition: conditionOf(branch.condition),
    }));
    const amount = written['deposit_amount'];
    const node = {
      ...written,
      ...(branches === undefined ? {} : { branches }),
      ...(typeof amount === 'string' ? { deposit_amount: referenceOf(amount) } : {}),
      ...(written.type === 'wait_until' ? { wait: waitOf(written) } : {}),
    };
    return [written.id, node as unknown as Node] as const;
  });
  return {
    trigger: { kind: 'api' },
    graph: { start_node_id: 'n0', nodes: new Map(read) },
    settings: {
      re_entry: { mode: 'always', min_interval_ms: undefined },
      exit_on: [],
      goal: undefined,
      holdout_percent: 0,
      max_entries_per_hour: undefined,
    },
  };
}

const someTime = fc.constantFrom(
  new Date(START_MS + 5 * HOUR_MS).toISOString(),
  new Date(START_MS).toISOString(),
  '2026-03-29T02:30:00+02:00',
  '1990-05-01',
  '2026-04-02',
  'tomorrow',
  // The first is skipped in some zones, the second comes twice in some.
  '2026-03-29T02:30',
  '2026-03-29 03:15',
  (START_MS + 7 * HOUR_MS) / 1_000,
);
/** What a run knows. */
export const context = fc.record(
  {
    trigger_payload: fc.record(
      {
        amount: fc.constantFrom(5_000, 100, -5, 0.5, '5000'),
        currency: fc.constantFrom('EUR', 'SEK', 'SEK'),
        at: fc.oneof(someTime, fc.constant(START_MS)),
      },
      { requiredKeys: [] },
    ),
    responses: fc.constantFrom({}, { crm: { ok: true } }, { crm: [true] }),
    vip: fc.constantFrom(true, null, 7, 'card'),
  },
  { requiredKeys: [] },
);

/** The facts of a run, and the answers to its segment conditions. */
export const facts = fc.record({
  barred: fc.option(fc.constantFrom('SKIPPED_SELF_EXCLUDED', 'SKIPPED_BANNED'), { nil: undefined, freq: 4 }),
  timezone: fc.constantFrom(...ZONES, ''),
  player: fc.record({ traits: fc.record({ birthday: someTime }, { requiredKeys: [] }) }),
  templates: fc.subarray(IDS, { minLength: 1 }),
  inactive: fc.subarray(IDS, { maxLength: 1 }),
  providers: fc.subarray(IDS, { minLength: 1 }),
  bonus_templates: fc.subarray(IDS, { minLength: 1 }),
  segments: fc.subarray(['a', 'b', 'c', 'd']),
  worth: fc.constantFrom(null, null, null, 100n, 5_000n, 2n ** 60n),
});

/** How each rest of a run ends: when it is due (and how much later), or woken, or by a claim that is too early. */
export const wakes = fc.array(
  fc.tuple(
    fc.constantFrom('due', 'due', 'event', 'delivered', 'delivered', 'exhausted', 'early', 'unfitting'),
    fc.constantFrom(0, 0, 1, 5 * 60_000),
  ),
  { minLength: 20, maxLength: 20 },
);
