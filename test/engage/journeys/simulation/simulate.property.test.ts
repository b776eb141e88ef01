import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runs } from '../../../engines/effort.ts';
import { type TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import type { Body } from '../../messaging/messaging-client.ts';
import { startReceiver, type Receiver } from '../../webhooks/receiver.ts';
import type { WrittenBranch, WrittenClause, WrittenNode } from '../runs/naive-run.ts';
import {
  runFixture,
  startMovedService,
  type MovedClock,
  type RunFixture,
  type ShownRun,
} from '../runs/run-fixture.ts';
import { graph, IDS } from '../runs/written-graphs.ts';

// A simulation says what the service then does: random graphs are simulated, and then run with the clock moved on.

const RUNS = runs(25);
/** So many runs meet what is wanted, so that a change of the draws cannot make the property empty. */
const MANY = 200;
const WANTED = [
  'wait elapsed',
  'wait exited',
  'wait_until elapsed',
  'wait_for_event event',
  'wait_for_event timeout',
  'branch else',
  'branch branch',
  'split branch',
  'send_message queued',
  'send_message failed',
  'update_player updated',
  'call_webhook delivered',
  'call_webhook exhausted',
  'end ended',
];
const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
/** Where in an hour runs begin, and events happen after it: far from what is due, as a real run takes seconds. */
const START_MS = 7.5 * MINUTE_MS;
const EVENT_MS = 40 * MINUTE_MS;
/** How much later than simulated a step may be because of that. */
const DRIFT_MS = 2 * MINUTE_MS;

let service: TestService;
let clock: MovedClock;
let on: RunFixture;
let receiver: Receiver;
let players: string[];
let segment_id: string;
/** By the ids of the graphs: one that can be used, one that cannot, and one that does not exist. */
let templates: Map<string, string>;
let providers: Map<string, string>;

beforeAll(async () => {
  ({ service, clock } = await startMovedService());
  on = runFixture(service);
  // The last part of the path is the status.
  receiver = await startReceiver((response, _n, { url = '' }) =>
    response.writeHead(Number(url.slice(1))).end('{"ok":true}'),
  );
  await on.client.api('POST', '/v1/webhook-secrets');
  players = await on.client.players(RUNS);
  segment_id = await on.client.segment(players.filter((_id, n) => n % 2 === 0));
  const [usable, draft, provider] = await Promise.all([
    on.client.template(),
    on.client.template({ status: 'draft' }),
    on.client.provider(),
  ]);
  const byId = (...ids: string[]) => new Map(IDS.map((id, n) => [id, ids[n] ?? '']));
  templates = byId(usable, draft, randomUUID());
  providers = byId(provider, provider, randomUUID());
  const { tenant_id } = service;
  const mirrored = 'select count() as n from players final where tenant_id = {tenant_id:UUID}';
  await until(async (saw) => {
    const [row] = saw(await service.platform.clickhouse.query<{ n: string }>(mirrored, { tenant_id }));
    return Number(row?.n) >= RUNS;
  });
});
afterAll(async () => {
  await receiver?.close();
  await service?.close();
});

/** A session is valid for 30 days, and the clock goes on by weeks. */
async function newSession(): Promise<void> {
  const [row] = await on.sql<{ user_id: string }[]>`
    select user_id from memberships where tenant_id = ${service.tenant_id}`;
  const token = await service.service.auth?.dev_issuer?.issueSession(row?.user_id ?? '');
  service.session_token = token ?? '';
}

const SEGMENTS: Record<string, () => Body> = {
  a: () => ({ type: 'trait', field: 'custom_attributes.a', op: 'eq', value: true }),
  b: () => ({ type: 'trait', field: 'email', op: 'exists' }),
  c: () => ({ type: 'segment', segment_id, op: 'in' }),
  d: () => ({ type: 'random', percent: 50, salt: 'half' }),
};

/** Of what `wait_until` waits for: the only moment that may be still to come. */
const AT = 'context.trigger_payload.at';

/** The graph as the API takes it. */
function written(nodes: readonly WrittenNode[]): (Body & { id: string })[] {
  const last = nodes.at(-1)?.id;
  const to = (id: unknown) => (id === 'nowhere' ? last : id);
  const first_at = nodes.find((node) => node['at'] === AT)?.id;
  return nodes.map(({ id, type, ...drawn }, n) => {
    const { next, timeout_next, else_next, branches, ...rest } = drawn as Body & {
      branches?: WrittenBranch[];
    };
    return {
      id,
      type,
      ...rest,
      ...fieldsOf(type, drawn, n),
      // Simulated, a later one is reached at the very moment for which the first has waited, and really just after it.
      ...(drawn['at'] === AT && id !== first_at ? { past: 'continue' } : {}),
      ...(next === undefined ? {} : { next: to(next) }),
      ...(timeout_next === undefined ? {} : { timeout_next: to(timeout_next) }),
      ...(else_next === undefined ? {} : { else_next: to(else_next) }),
      ...(branches === undefined
        ? {}
        : {
            branches: branches.map(({ weight, condition, next: on_to }) =>
              branchOf(weight, condition, to(on_to)),
            ),
          }),
    };
  });
}

function branchOf(weight: number | undefined, condition: WrittenBranch['condition'], next: unknown): Body {
  if (condition === undefined) return { weight, next };
  if ('segment' in condition) return { condition: SEGMENTS[condition.segment]?.(), next };
  const where = condition.where.map((one: WrittenClause) =>
    one.property === '__proto__' ? { ...one, property: 'vip' } : one,
  );
  return { condition: { where }, next };
}

function fieldsOf(type: string, drawn: Body, n: number): Body {
  switch (type) {
    case 'wait_until':
      if (drawn['at'] === 'player.__proto__') return { at: 'player.traits.birthday' };
      return {
        ...(sameWindow(drawn['window']) ? { window: { from: '00:00', to: '02:30' } } : {}),
        ...(drawn['timezone'] === 'Mars/Olympus' ? { timezone: 'UTC' } : {}),
      };
    case 'wait_for_event':
      return { timeout_ms: Math.max(Number(drawn['timeout_ms']), 1) };
    case 'send_message':
      return {
        template_id: templates.get(String(drawn['template_id'])),
        provider_id: providers.get(String(drawn['provider_id'])),
      };
    case 'update_player':
      return { set: { traits: { a: [true, false, null][n % 3], [`step_${n}`]: n } } };
    case 'grant_bonus':
      return {
        template_id: randomUUID(),
        ...(drawn['deposit_amount'] === 'player.__proto__' ? { deposit_amount: 700 } : {}),
      };
    case 'call_webhook':
      return {
        url: `http://${receiver.host}/${statusOf(n)}`,
        timeout_ms: 10_000,
        retry: { max_attempts: 2, backoff_ms: 1_000 },
        save_as: 'crm',
      };
    default:
      return {};
  }
}

/** One that succeeds, or that no attempt can change. */
const statusOf = (n: number) => (n % 3 === 0 ? 410 : 200);

function sameWindow(window: unknown): boolean {
  const { from, to } = (window ?? {}) as { from?: string; to?: string };
  return from !== undefined && from === to;
}

/** Short graphs seldom have anything to wait for. */
const long = graph.filter(({ length }) => length > 6);
/** Few drawn waits are met by an event while they last: some graphs begin with a wait that lasts for most events. */
const drawnGraph = fc.oneof(
  { weight: 4, arbitrary: long },
  { weight: 1, arbitrary: fc.tuple(long, fc.constantFrom('wait', 'wait_for_event')).map(begunWith) },
);
const FIRST_MS = 30 * HOUR_MS;

function begunWith([nodes, type]: readonly [readonly WrittenNode[], string]): readonly WrittenNode[] {
  const [next = '', timeout_next = ''] = [nodes[0]?.id, nodes.at(-1)?.id];
  const fields =
    type === 'wait' ? { duration_ms: FIRST_MS } : { event: 'login', timeout_ms: FIRST_MS, timeout_next };
  return [{ id: 'first', type, ...fields, next }, ...nodes];
}

/**
 * When events happen after the start. No two are whole hours apart: a wait of whole hours that one begins would be over
 * just when the other comes, and either may be first.
 */
const MOMENTS_MS = [0, 1, 5, 26, 30, 60].map((hour, n) => hour * HOUR_MS + EVENT_MS + n * DRIFT_MS);

/** At different moments: what an event leads to is awaited before the next one. */
const events = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom(...MOMENTS_MS),
      fc.constantFrom('login', 'deposit_confirmed', 'login', 'custom_goal', 'custom_leave'),
      fc.boolean(),
    ),
    { maxLength: 6, selector: ([at_ms]) => at_ms },
  )
  .map((drawn) =>
    drawn
      .map(([at_ms, event, sure]) => ({
        at_ms,
        event,
        properties: { sure, ...(event === 'deposit_confirmed' ? deposit() : {}) },
      }))
      .sort((a, b) => a.at_ms - b.at_ms),
  );
interface Simulation {
  steps: ({ at_ms: number } & Body)[];
  outcome: string;
}

const deposit = () => ({
  amount: 100,
  currency: 'EUR',
  transaction_id: randomUUID(),
  payment_method: 'card',
});

const settings = fc.constantFrom<Body>(
  {},
  { exit_on: [{ event: 'custom_leave', where: { sure: true } }] },
  { goal: { event: 'custom_goal', window_days: 7, exit: true } },
);
/** Stands for two days after the start. */
const SOON = 'soon';
const payload = fc.record(
  {
    amount: fc.constantFrom(5_000, 100, -5, '5000'),
    at: fc.constantFrom('1990-05-01', 'tomorrow', SOON),
    vip: fc.constantFrom(true, 7, 'card'),
  },
  { requiredKeys: [] },
);

/** The run once it has so many steps and rests until a time to come, or has ended; undefined: not yet. */
function settled(run: ShownRun, steps: number): ShownRun | undefined {
  if (run.status !== 'running') return run;
  const rest = run.history.at(-1);
  const is_resting = rest?.status === 'waiting' && rest.entered_at !== null;
  if (!is_resting || rest.node_type === 'call_webhook' || run.history.length <= steps) return undefined;
  return Date.parse(rest.due_at ?? '') > clock.now_ms() ? run : undefined;
}

function dueOf({ status, history }: ShownRun): number | undefined {
  return status === 'running' ? Date.parse(history.at(-1)?.due_at ?? '') : undefined;
}

/** Runs the journey for real, lets time pass and events happen, and waits for what was simulated. */
async function runReally(
  { journey_id, player_id, context, given }: Given,
  simulated: Simulation,
): Promise<ShownRun> {
  const start_ms = clock.now_ms();
  const run_id = await on.start(journey_id, player_id, context);
  const rests = (at_ms: number) => {
    const steps = simulated.steps.filter((step) => step.at_ms <= at_ms).length;
    return until('the run goes as far as simulated', async (saw) =>
      settled(saw(await on.run(journey_id, run_id)), steps),
    );
  };
  const pass = (to_ms: number) => clock.pass(Math.max(to_ms - clock.now_ms(), 0));
  let run = await rests(0);
  const reach = async (end_ms: number) => {
    for (let due_ms = dueOf(run); due_ms !== undefined && due_ms <= end_ms; due_ms = dueOf(run)) {
      pass(due_ms);
      run = await rests(0);
    }
  };
  for (const [n, { at_ms, event, properties }] of given.entries()) {
    await reach(start_ms + at_ms);
    if (run.status !== 'running') return run;
    pass(start_ms + at_ms);
    await on.client.event(player_id, event, properties);
    // What nobody waits for must be in the log before somebody does.
    await until(async (saw) => saw(await eventsOf(player_id)) > n);
    run = await rests(at_ms);
  }
  await reach(Number.POSITIVE_INFINITY);
  return run;
}

async function eventsOf(player_id: string): Promise<number> {
  const asked = `select count() as n from events final
    where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and player_id = {player_id:UUID}
      and event in ('login', 'deposit_confirmed', 'custom_goal', 'custom_leave')`;
  const { tenant_id, project_id } = service;
  const [row] = await service.platform.clickhouse.query<{ n: string }>(asked, {
    tenant_id,
    project_id,
    player_id,
  });
  return Number(row?.n);
}

interface Given {
  journey_id: string;
  player_id: string;
  context: Body;
  given: { at_ms: number; event: string; properties: Body }[];
}

const shown = ({ seq, node_id, node_type, status, outcome, next_node_id, error_code }: Body) => ({
  seq,
  node_id,
  node_type,
  status,
  outcome,
  next_node_id,
  error_code,
});

it(
  'says of random journeys what they then do',
  async () => {
    const outcomes = new Map<string, number>();
    const draws = fc.tuple(drawnGraph, settings, payload, events);
    const property = fc.asyncProperty(draws, async ([nodes, set, drawn_context, given]) => {
      const drawn = written(nodes);
      const journey_id = await on.journey(drawn, { kind: 'api' }, set);
      const player_id = players.pop() ?? '';
      await newSession();
      clock.pass(HOUR_MS - ((clock.now_ms() - START_MS) % HOUR_MS));
      const soon = new Date(clock.now_ms() + 50 * HOUR_MS).toISOString();
      const context = drawn_context.at === SOON ? { ...drawn_context, at: soon } : drawn_context;
      const calls = drawn.filter(({ type }) => type === 'call_webhook');
      const answers = calls.map(({ id, url }) => {
        return [id, { status: Number(String(url).split('/').at(-1)), body: { ok: true } }];
      });
      const simulated = await on.client.api<Simulation>('POST', `/v1/journeys/${journey_id}/simulate`, {
        player_id,
        trigger_payload: context,
        events: given,
        webhooks: Object.fromEntries(answers) as Body,
      });
      expect(simulated.status, JSON.stringify([simulated.error, drawn])).toBe(200);
      const run = await runReally({ journey_id, player_id, context, given }, simulated.data);
      const really = run.history.map((step) => shown({ ...step }));
      expect(simulated.data.steps.map(shown), JSON.stringify({ drawn, given })).toEqual(really);
      expect(simulated.data.outcome).toBe(run.outcome ?? run.status);
      for (const [n, { at_ms }] of simulated.data.steps.entries()) {
        const took_ms = Date.parse(run.history[n]?.completed_at ?? '') - Date.parse(run.started_at);
        expect(Math.abs(took_ms - at_ms)).toBeLessThan(DRIFT_MS);
      }
      for (const { node_type, outcome } of run.history) {
        const what = `${node_type} ${String(outcome).split(':')[0]}`;
        outcomes.set(what, (outcomes.get(what) ?? 0) + 1);
      }
    });
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
    if (RUNS >= MANY) expect([...outcomes.keys()]).toEqual(expect.arrayContaining(WANTED));
  },
  60_000 + RUNS * 20_000,
);
