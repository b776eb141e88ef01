import { describe, expect, it } from 'vitest';
import type { Facts, RunState } from '../../../../src/engage/journeys/runs/shapes.ts';
import { advance } from '../../../../src/engage/journeys/runs/advance.ts';
import { lastAttemptMs } from '../../../../src/engage/webhooks/retry-schedule.ts';
import { JourneyStepError } from '../../../../src/engage/journeys/runs/turn.ts';
import type { WrittenNode } from './naive-run.ts';
import { definitionOf } from './written-graphs.ts';

const NOW_MS = Date.UTC(2026, 4, 15, 12);
const run: RunState = {
  run_id: 'run',
  journey_id: 'journey',
  player_id: 'player',
  node_id: 'n0',
  seq: 1,
  entered_at_ms: undefined,
  due_at_ms: NOW_MS,
  context: {},
  woken_by: undefined,
};
const facts: Facts = {
  effects_barred: undefined,
  timezone: 'UTC',
  player: {},
  templates: new Map([['t', { is_active: true }]]),
  providers: new Set(['p']),
  bonus_templates: new Set(['b']),
  conditions: new Map(),
  amounts: new Map(),
};
const end: WrittenNode = { id: 'end', type: 'end' };
const ask = (nodes: WrittenNode[], more: Partial<RunState> = {}, known: Partial<Facts> = {}) =>
  advance(definitionOf(nodes), { ...run, ...more }, { ...facts, ...known }, NOW_MS);

/** A chain of waits of no time. */
const chain = (length: number): WrittenNode[] =>
  Array.from({ length }, (_, n) => ({
    id: `n${n}`,
    type: 'wait',
    duration_ms: 0,
    next: n + 1 < length ? `n${n + 1}` : 'end',
  }));

describe('a run of an unsound graph throws JOURNEY_STEP_ERROR', () => {
  it.each([
    ['a node that its version does not have', [end]],
    ['an edge to no node', [{ id: 'n0', type: 'wait', duration_ms: 0, next: 'gone' }, end]],
    ['a circle', chain(2).map((node) => ({ ...node, next: node.id === 'n0' ? 'n1' : 'n0' }))],
    ['more than 50 nodes', [...chain(50), end]],
    ['a split without weights', [{ id: 'n0', type: 'split', branches: [{ weight: 0, next: 'end' }] }, end]],
  ])('%s', (_what, nodes) => {
    expect(() => ask(nodes)).toThrow(JourneyStepError);
    expect(() => ask(nodes)).toThrow(expect.objectContaining({ code: 'JOURNEY_STEP_ERROR' }));
  });

  it('and 50 nodes are no such graph', () => {
    expect(ask([...chain(49), end])).toMatchObject({ rest: { kind: 'end', seq: 50, outcome: 'ended' } });
  });
});

it('asks for the conditions of a branch one after the other, and for none behind the first that holds', () => {
  const branches = ['a', 'b', 'c'].map((segment) => ({ condition: { segment }, next: 'end' }));
  const nodes = [{ id: 'n0', type: 'branch', branches, else_next: 'end' }, end];
  expect(ask(nodes)).toEqual({ needs: { key: 'n0:0', node_id: 'n0' } });
  expect(ask(nodes, {}, { conditions: new Map([['n0:0', false]]) })).toEqual({
    needs: { key: 'n0:1', node_id: 'n0' },
  });
  const conditions = new Map([
    ['n0:0', false],
    ['n0:1', true],
  ]);
  expect(ask(nodes, {}, { conditions })).toMatchObject({
    steps: [{ outcome: 'branch:1' }, { outcome: 'ended' }],
  });
});

it('leaves what it is given as it is, and gives the same again', () => {
  const nodes = [
    { id: 'n0', type: 'send_message', template_id: 't', provider_id: 'p', on_error: 'fail', next: 'end' },
    end,
  ];
  const definition = definitionOf(nodes);
  const [state, known] = [Object.freeze({ ...run }), Object.freeze({ ...facts })];
  const first = advance(definition, state, known, NOW_MS);
  expect(advance(definition, state, known, NOW_MS)).toEqual(first);
  expect(definition).toEqual(definitionOf(nodes));
});

it('a run whose timer is claimed too early, or that is woken by what does not fit, rests on', () => {
  const nodes: WrittenNode[] = [{ id: 'n0', type: 'wait', duration_ms: 1_000, next: 'end' }, end];
  const more = { entered_at_ms: NOW_MS - 10, due_at_ms: NOW_MS + 990, woken_by: { kind: 'event' } as const };
  const rest = { kind: 'timer', node_id: 'n0', seq: 1, due_at_ms: NOW_MS + 990 };
  expect(ask(nodes, more)).toEqual({ steps: [], effects: [], rest });
});

it('a run that was moved to a node which is none to rest on takes it as it came', () => {
  const nodes: WrittenNode[] = [{ id: 'n0', type: 'update_player', next: 'end' }, end];
  expect(ask(nodes, { entered_at_ms: NOW_MS - 500, due_at_ms: NOW_MS + 9_000, seq: 4 })).toMatchObject({
    steps: [
      { seq: 4, outcome: 'updated', entered_at_ms: NOW_MS - 500, completed_at_ms: NOW_MS },
      { seq: 5, outcome: 'ended', entered_at_ms: NOW_MS },
    ],
    effects: [{ kind: 'update_player', seq: 4 }],
  });
});

it.each([
  [{ max_attempts: 1, backoff_ms: 1_000 }, 10_000],
  // Each of the four pauses may be an hour, if the receiver asks for it.
  [{ max_attempts: 5, backoff_ms: 1_000 }, 50_000 + 4 * 3_600_000],
  // 20, 80 and 320 minutes, a fifth longer.
  [{ max_attempts: 4, backoff_ms: 1_200_000 }, 40_000 + 3_600_000 + 96 * 60_000 + 384 * 60_000],
])('the last attempt of %j with 10 s each ends after %i ms at the latest', (retry, expected) => {
  expect(lastAttemptMs({ timeout_ms: 10_000, retry })).toBe(expected);
});
