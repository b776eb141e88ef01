import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/errors.ts';
import type { JourneyIssue } from '../../../src/engage/journeys/graph/issues.ts';
import { FAULTS } from '../../../src/engage/journeys/graph/issues.ts';
import { readJourney } from '../../../src/engage/journeys/graph/read-journey.ts';
import { watchedOf } from '../../../src/engage/journeys/graph/references.ts';
import { runs } from '../../engines/effort.ts';

type Json = Record<string, unknown>;

const DAY_MS = 86_400_000;
const end = { id: 'end', type: 'end' };
const trigger = { kind: 'event', event: 'deposit_confirmed' };
const graphOf = (...nodes: Json[]) => ({ start_node_id: nodes[0]?.['id'] ?? 'end', nodes: [...nodes, end] });
const read = (node: Json) => readJourney({ trigger, graph: graphOf(node) }).graph.nodes.get('n');

function issuesOf(written: { trigger?: unknown; graph?: unknown; settings?: unknown }): JourneyIssue[] {
  try {
    readJourney({ trigger, graph: graphOf(), ...written });
    return [];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    expect(error.code).toBe('JOURNEY_GRAPH_INVALID');
    return error.details?.issues as JourneyIssue[];
  }
}
const codesOf = (written: Parameters<typeof issuesOf>[0]) =>
  issuesOf(written).map(({ path, code }) => `${code} ${path}`);
const ofNode = (node: Json) =>
  codesOf({ graph: JSON.parse(JSON.stringify(graphOf({ id: 'n', next: 'end', ...node }))) });

describe('a definition that can be used', () => {
  it('has every field with its default', () => {
    expect(readJourney({ trigger: { kind: 'api' }, graph: { start_node_id: 'end', nodes: [end] } })).toEqual({
      trigger: { kind: 'api' },
      graph: {
        start_node_id: 'end',
        nodes: new Map([['end', { ...end, name: undefined, reason: undefined }]]),
      },
      settings: {
        re_entry: { mode: 'always', min_interval_ms: undefined },
        exit_on: [],
        goal: undefined,
        holdout_percent: 0,
        max_entries_per_hour: undefined,
      },
    });
  });

  it('reads the nodes of the specification', () => {
    expect(read({ id: 'n', type: 'wait', duration_ms: DAY_MS, next: 'end' })).toEqual({
      id: 'n',
      name: undefined,
      type: 'wait',
      duration_ms: DAY_MS,
      next: 'end',
    });
    const send = { id: 'n', type: 'send_message', template_id: 'T-1', provider_id: 'p', next: 'end' };
    expect(read(send)).toMatchObject({ template_id: 't-1', quiet_hours: 'skip', on_error: 'fail' });
  });

  it('reads each kind of wait_until', () => {
    const node = { id: 'n', type: 'wait_until', next: 'end' };
    expect(read({ ...node, local_time: '10:30', days: ['fri', 'mon'], timezone: 'player' })).toMatchObject({
      wait: { until: 'time', minute: 630, days: [1, 5], timezone: 'player' },
    });
    const window = { from: '22:00', to: '06:00' };
    expect(read({ ...node, window, timezone: 'Europe/Malta' })).toMatchObject({
      wait: { until: 'window', from_minute: 1_320, to_minute: 360, days: [], timezone: 'Europe/Malta' },
    });
    const at = 'context.trigger_payload.starts_at';
    expect(read({ ...node, at, offset_ms: -5, past: 'exit' })).toMatchObject({
      wait: { until: 'at', at: { root: 'context', path: ['trigger_payload', 'starts_at'] }, offset_ms: -5 },
    });
  });

  it('reads filters in both forms', () => {
    const whereOf = (where: unknown) => {
      const node = { id: 'n', type: 'wait_for_event', event: 'custom_x', where, timeout_ms: 1 };
      return (read({ ...node, next: 'end', timeout_next: 'end' }) as { where: unknown }).where;
    };
    const short = {
      amount: { gte: 5, lt: 9 },
      currency: ['EUR'],
      method: { neq: 'card' },
      x: { exists: false },
    };
    const long = [
      { property: 'amount', op: 'gte', value: 5 },
      { field: 'amount', op: '<', value: 9 },
      { property: 'currency', op: 'in', value: ['EUR'] },
      { property: 'method', op: '!=', value: 'card' },
      { property: 'x', op: 'not_exists' },
    ];
    expect(whereOf(short)).toEqual(whereOf(long));
    expect(whereOf({ plan: true })).toEqual([
      { property: 'plan', comparison: { negated: false, positive: { form: 'one_of', values: [true] } } },
    ]);
  });

  it('reads conditions of segments and filters over the context', () => {
    const trait = { type: 'trait', field: 'kyc_level', op: 'gte', value: 2 };
    const branches = [
      { name: 'known', condition: trait, next: 'end' },
      { condition: { operator: 'NOT', conditions: [trait] }, next: 'end' },
      { condition: { where: { 'trigger_payload.amount': { gte: 5_000 } } }, next: 'end' },
    ];
    expect(read({ id: 'n', type: 'branch', branches, else_next: 'end' })).toMatchObject({
      branches: [
        { name: 'known', condition: { kind: 'segment', condition: { type: 'trait' } } },
        { name: undefined, condition: { kind: 'segment', condition: { operator: 'NOT' } } },
        { condition: { kind: 'context', where: [{ property: 'trigger_payload.amount' }] } },
      ],
    });
  });

  it('reads every other node, trigger and setting', () => {
    const split = {
      type: 'split',
      branches: [
        { weight: 0, next: 'end' },
        { name: 'b', weight: 3, next: 'end' },
      ],
    };
    const webhook = { type: 'call_webhook', url: 'https://example.com/x', data: { a: ['{{ email }}'] } };
    const nodes: Json[] = [
      split,
      { type: 'update_player', set: { traits: { vip_step: 2, old: null } }, next: 'end' },
      {
        type: 'grant_bonus',
        template_id: 'b',
        deposit_amount: 'context.trigger_payload.amount',
        next: 'end',
      },
      { type: 'grant_bonus', template_id: 'b', deposit_amount: 500, next: 'end' },
      { ...webhook, headers: { 'X-Mine': 'a' }, retry: { max_attempts: 2 }, save_as: 'crm', next: 'end' },
    ];
    for (const node of nodes) expect(read({ id: 'n', ...node })).toMatchObject({ id: 'n' });
    const segment_id = '00000000-0000-4000-8000-00000000000A';
    for (const other of [
      { kind: 'segment_entered', segment_id },
      { kind: 'segment_exited', segment_id, existing_members: true },
      { kind: 'schedule', cron: '0 10 * * 1', timezone: 'Europe/Malta', segment_id },
      { kind: 'event', event: 'login', where: {} },
      { kind: 'event', event: 'login', where: { at: { within_last: { days: 1 } } } },
    ]) {
      expect(codesOf({ trigger: other })).toEqual([]);
    }
    const settings = {
      re_entry: { mode: 'after_exit', min_interval_ms: 5 },
      exit_on: [{ event: 'login', where: { a: 1 } }, { segment_exited: segment_id }],
      goal: { event: 'login', window_days: 7 },
      holdout_percent: 12.5,
      max_entries_per_hour: null,
    };
    const made = readJourney({ trigger, graph: graphOf(), settings });
    expect(made.settings).toMatchObject({
      exit_on: [{ event: 'login' }, { segment_exited: segment_id.toLowerCase() }],
      goal: { window_days: 7, exit: true, where: [] },
    });
    expect(watchedOf(made)).toEqual([
      { event: 'login', kind: 'exit' },
      { event: segment_id.toLowerCase(), kind: 'segment_exited' },
      { event: 'login', kind: 'goal' },
    ]);
  });
});

describe('problems', () => {
  const seen = new Set<string>();
  const wait = { type: 'wait', duration_ms: 0 };
  const waiting = { type: 'wait_for_event', event: 'login', timeout_ms: 5, timeout_next: 'end' };
  const clock = { at: { within_last: { days: 1 } } };
  const branch = (condition: unknown) => ({
    id: 'n',
    next: undefined,
    type: 'branch',
    branches: [{ condition, next: 'end' }],
    else_next: 'end',
  });
  const webhook = (rest: Json) => ({ type: 'call_webhook', url: 'https://example.com', ...rest });
  it.each<[string, () => string[], string[]]>([
    ['no nodes', () => codesOf({ graph: { start_node_id: 'a', nodes: [] } }), ['NO_NODES graph.nodes']],
    [
      '51 nodes',
      () => codesOf({ graph: { start_node_id: 'end', nodes: Array.from({ length: 51 }, () => end) } }),
      ['TOO_MANY_NODES graph.nodes'],
    ],
    [
      'an id twice',
      () => codesOf({ graph: { start_node_id: 'end', nodes: [end, end] } }),
      ['DUPLICATE_NODE_ID graph.nodes.1.id'],
    ],
    [
      'an unknown start',
      () => codesOf({ graph: { start_node_id: 'x', nodes: [end] } }),
      ['START_NODE_MISSING graph.start_node_id'],
    ],
    ['an edge to nowhere', () => ofNode({ ...wait, next: 'x' }), ['NEXT_NODE_MISSING graph.nodes.0.next']],
    ['a loop', () => ofNode({ ...wait, next: 'n' }), ['CYCLE graph.nodes.0']],
    ['a type of the future', () => ofNode({ type: 'teleport' }), ['UNKNOWN_NODE_TYPE graph.nodes.0.type']],
    ['no duration', () => ofNode({ type: 'wait' }), ['FIELD_REQUIRED graph.nodes.0.duration_ms']],
    [
      'a negative duration',
      () => ofNode({ type: 'wait', duration_ms: -1 }),
      ['FIELD_INVALID graph.nodes.0.duration_ms'],
    ],
    ['a field nobody knows', () => ofNode({ ...wait, colour: 1 }), ['FIELD_INVALID graph.nodes.0.colour']],
    ['an empty filter', () => ofNode({ ...waiting, where: {} }), ['EMPTY_CONDITION graph.nodes.0.where']],
    ['an empty condition', () => ofNode(branch({})), ['EMPTY_CONDITION graph.nodes.0.branches.0.condition']],
    [
      'an empty group',
      () => ofNode(branch({ operator: 'AND', conditions: [] })),
      ['EMPTY_CONDITION graph.nodes.0.branches.0.condition.conditions'],
    ],
    [
      'a clock in a wait',
      () => ofNode({ ...waiting, where: clock }),
      ['CLOCK_CONDITION graph.nodes.0.where.at.within_last'],
    ],
    [
      'clocks in the settings',
      () =>
        codesOf({
          settings: {
            exit_on: [
              { event: 'login', where: [{ property: 'at', op: 'not_within_last', value: { days: 1 } }] },
            ],
            goal: { event: 'login', where: clock, window_days: 1 },
          },
        }),
      ['CLOCK_CONDITION settings.exit_on.0.where.0.op', 'CLOCK_CONDITION settings.goal.where.at.within_last'],
    ],
    [
      'weights of nothing',
      () =>
        ofNode({
          next: undefined,
          type: 'split',
          branches: [
            { weight: 0, next: 'end' },
            { weight: 0, next: 'end' },
          ],
        }),
      ['WEIGHTS_INVALID graph.nodes.0.branches'],
    ],
    [
      'half a weight',
      () =>
        ofNode({
          next: undefined,
          type: 'split',
          branches: [
            { weight: 0.5, next: 'end' },
            { weight: 1, next: 'end' },
          ],
        }),
      ['WEIGHTS_INVALID graph.nodes.0.branches.0.weight'],
    ],
    ['an unknown event', () => ofNode({ ...waiting, event: 'won' }), ['UNKNOWN_EVENT graph.nodes.0.event']],
    [
      'an unknown event in a condition',
      () => ofNode(branch({ type: 'event', event: 'won', aggregate: 'count', op: 'gt', value: 1 })),
      ['UNKNOWN_EVENT graph.nodes.0.branches.0.condition.event'],
    ],
    ['a file', () => ofNode(webhook({ url: 'file:///etc/passwd' })), ['URL_NOT_ALLOWED graph.nodes.0.url']],
    [
      'credentials',
      () => ofNode(webhook({ url: 'http://a:b@example.com' })),
      ['URL_NOT_ALLOWED graph.nodes.0.url'],
    ],
    [
      'Liquid that is none',
      () => ofNode(webhook({ data: { a: { b: '{% if %}' } } })),
      ['FIELD_INVALID graph.nodes.0.data.a.b'],
    ],
    [
      'a forged signature',
      () => ofNode(webhook({ headers: { 'x-service-signature': 'a' } })),
      ['FIELD_INVALID graph.nodes.0.headers'],
    ],
    [
      'a header in two lines',
      () => ofNode(webhook({ headers: { a: 'b\r\nc: d' } })),
      ['FIELD_INVALID graph.nodes.0.headers'],
    ],
    [
      'an id that is a prototype',
      () => ofNode({ ...wait, id: '__proto__' }),
      ['FIELD_INVALID graph.nodes.0.id'],
    ],
    ['a kind nobody knows', () => codesOf({ trigger: { kind: 'moon' } }), ['FIELD_INVALID trigger.kind']],
    ['no kind', () => codesOf({ trigger: {} }), ['FIELD_REQUIRED trigger.kind']],
    [
      'a schedule that never comes, in no zone',
      () =>
        codesOf({
          trigger: { kind: 'schedule', cron: '* * * * * *', timezone: 'Mars/Base', segment_id: 'x' },
        }),
      ['FIELD_INVALID trigger.timezone', 'FIELD_INVALID trigger.segment_id'],
    ],
    ...['0 0 30 2 *', '* * * * * *', 'often'].map((cron): [string, () => string[], string[]] => [
      `the schedule ${cron}`,
      () =>
        codesOf({
          trigger: {
            kind: 'schedule',
            cron,
            timezone: 'UTC',
            segment_id: '00000000-0000-4000-8000-000000000000',
          },
        }),
      ['FIELD_INVALID trigger.cron'],
    ]),
  ])('%s', (_what, codes, expected) => {
    const found = codes();
    expect(found).toEqual(expected);
    for (const one of found) seen.add(one.split(' ')[0] ?? '');
  });

  it('a push token is not the text of an empty value', () => {
    const node = {
      id: 'a',
      type: 'update_player',
      set: { traits: { push_token: 'undefined' } },
      next: 'end',
    };
    const graph = { start_node_id: 'a', nodes: [node, { id: 'end', type: 'end' }] };
    const [issue] = issuesOf({ trigger: { kind: 'manual' }, graph }).filter(({ path }) =>
      path.endsWith('push_token'),
    );
    expect(issue?.message).toMatch(/the text of an empty value: .*Give null where there is none/);
  });

  it('covers every code', () => {
    expect([...seen].sort()).toEqual([...FAULTS].sort());
  });

  it('are reported all at once, with the value that was sent and the node', () => {
    const graph = {
      start_node_id: 'x',
      nodes: [
        { id: 'a', type: 'wait', duration_ms: 'long', next: 'b' },
        { id: 'b', type: 'send_message', template_id: 't', next: 'a' },
        { id: 'c', type: 'teleport' },
      ],
    };
    const issues = issuesOf({ trigger: { kind: 'event', event: 'won' }, graph, settings: { exit_on: 5 } });
    expect(issues.map(({ code, node_id }) => `${code} ${node_id}`)).toEqual([
      'UNKNOWN_EVENT undefined',
      'FIELD_INVALID a',
      'FIELD_REQUIRED b',
      'UNKNOWN_NODE_TYPE c',
      'START_NODE_MISSING undefined',
      'CYCLE a',
      'FIELD_INVALID undefined',
    ]);
    expect(issues[1]?.message).toBe('must be a whole number from 0 to 63072000000, not "long"');
    expect(issues[5]?.message).toBe('the journey never ends: a → b → a');
  });
});

describe('hostile definitions', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['a list', []],
    ['a text', 'graph'],
    ['nodes that are none', { start_node_id: 5, nodes: [null, 5, 'x', [], {}] }],
    ['nodes that are an object', { start_node_id: 'a', nodes: { length: 5 } }],
    ['prototypes', JSON.parse('{"__proto__":{"a":1},"start_node_id":"a","nodes":[{"__proto__":1}]}')],
    ['10 MB', { start_node_id: 'a', nodes: [{ id: 'a', type: 'end', reason: 'x'.repeat(10_000_000) }] }],
    ['deep', { start_node_id: 'a', nodes: [JSON.parse('['.repeat(5_000) + ']'.repeat(5_000))] }],
    [
      'many unknown fields',
      {
        start_node_id: 'a',
        nodes: [Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, 1]))],
      },
    ],
  ])('%s is refused with few short messages', (_what, graph) => {
    const issues = issuesOf({ graph });
    expect(issues.length).toBeGreaterThan(0);
    expect(issues.length).toBeLessThanOrEqual(100);
    expect(JSON.stringify(issues).length).toBeLessThan(30_000);
    expect(({} as Json)['a']).toBeUndefined();
  });

  it('whatever JSON they are, they are read or refused', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.jsonValue(),
        fc.jsonValue(),
        (graph, trigger, settings) => {
          issuesOf({ graph, trigger, settings });
        },
      ),
      { numRuns: runs(500) },
    );
  });
});
