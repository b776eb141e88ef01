import { afterAll, beforeAll, expect, it } from 'vitest';
import { evaluateOnce } from '../../../../processors/segment-refresh/index.ts';
import { waitUntilCaughtUp } from '../../../../src/analytics/caught-up.ts';
import { mayWriteRevisions } from '../../../../src/analytics/epoch.ts';
import { ROLES } from '../../../../src/config.ts';
import { runRefreshJob } from '../../../../src/segments/refresh-job.ts';
import { startTestService, type TestService } from '../../../engines/service.ts';
import { until } from '../../../engines/until.ts';
import { counted, group, triggerFixture, type TriggerFixture } from '../../triggers/trigger-fixture.ts';
import { end, runFixture, type RunFixture } from './run-fixture.ts';

// What a branch sees of the event that has just started or woken its run, when evaluations are late.

let service: TestService;
let on: RunFixture;
let events: TriggerFixture;
beforeAll(async () => {
  // The test evaluates by hand.
  service = await startTestService({ roles: new Set(ROLES.filter((role) => role !== 'segment-refresh')) });
  // A refresh is refused until then.
  await until('the epoch has begun', async (saw) => saw(await mayWriteRevisions(service.platform)));
  on = runFixture(service);
  events = triggerFixture(service);
});
afterAll(async () => service?.close());

const DEPOSIT = 'deposit_confirmed';
const realtime = async (definition: object) => {
  const segment_id = await events.segment({ ...definition });
  await runRefreshJob(service.platform, { ...project(), segment_id });
  return segment_id;
};
const project = () => ({ tenant_id: service.tenant_id, project_id: service.project_id });
const evaluate = async () => {
  while (await evaluateOnce(service.platform));
};
const runOf = async (journey_id: string, player_id: string) =>
  until('the run has begun', async (saw) => {
    const [run] = saw((await on.runs(journey_id, `?player_id=${player_id}`)).data);
    return run?.run_id;
  });
/** The end that the run of the player comes to. */
const endOf = async (journey_id: string, player_id: string) => {
  const run_id = await runOf(journey_id, player_id);
  return (await on.reached(journey_id, run_id, 'completed')).current_node_id;
};
const branchOn = (segment_id: string) => ({
  id: 'b',
  type: 'branch',
  branches: [{ name: 'in', condition: { type: 'segment', segment_id, op: 'in' }, next: 'in' }],
  else_next: 'out',
});

it('a branch right after the triggering event sees who has become a member by it', async () => {
  const player_id = await events.person();
  const segment_id = await realtime(group(counted(DEPOSIT, 'gte', 1)));
  await evaluate();
  const trigger = { kind: 'event', event: DEPOSIT };
  const journey_id = await on.journey([branchOn(segment_id), end('in'), end('out')], trigger);
  await events.deposit(player_id);
  // The event is in ClickHouse, and the run asks; the evaluation is late.
  await waitUntilCaughtUp(service.platform, 60_000);
  await runOf(journey_id, player_id);
  await evaluate();
  expect(await endOf(journey_id, player_id)).toBe('in');
});

it('a segment that refers to the one which the event changes counts, too; so does an event that ended a wait', async () => {
  const player_id = await events.person();
  const inner = await realtime(group(counted(DEPOSIT, 'gte', 1)));
  const outer = await realtime(group({ type: 'segment', segment_id: inner, op: 'in' }));
  await evaluate();
  const waits = {
    id: 'e',
    type: 'wait_for_event',
    event: DEPOSIT,
    timeout_ms: 86_400_000,
    next: 'b',
    timeout_next: 'out',
  };
  const journey_id = await on.journey([waits, branchOn(outer), end('in'), end('out')]);
  const run_id = await on.start(journey_id, player_id);
  await on.reached(journey_id, run_id, 'e');
  await events.deposit(player_id);
  await waitUntilCaughtUp(service.platform, 60_000);
  await evaluate();
  expect((await on.reached(journey_id, run_id, 'completed')).current_node_id).toBe('in');
});
