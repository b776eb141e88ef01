import { v5 as uuidv5 } from 'uuid';
import type { Db } from '../../src/platform/postgres/port.ts';
import {
  complaintsAboutPath,
  type StoredRun,
  type StoredStep,
} from '../engage/journeys/interleavings/complaints.ts';
import type { Received } from '../engage/webhooks/receiver.ts';
import type { CountingProvider } from './counting-provider.ts';
import type { JourneysLoad } from './journeys-load.ts';

/** What is compared. */
export interface JourneysSources {
  sql: Db;
  journey_id: string;
  start_node_id: string;
  load: JourneysLoad;
  provider: CountingProvider;
  received: readonly Received[];
}

/** What the comparison has counted beside the differences. */
export interface JourneysCounts {
  runs: number;
  steps: number;
  messages: number;
  unknown: number;
  webhooks: number;
  attempts: number;
  differences: string[];
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
}

interface Run extends StoredRun {
  transaction_id: string;
}

/** Compares runs, steps, messages, webhooks and players with what was accepted; every run has come to its end. */
export async function verifyJourneys(sources: JourneysSources): Promise<JourneysCounts> {
  const { sql, journey_id } = sources;
  const runs = await sql<Run[]>`
    select run_id, player_id, status, node_id, seq, outcome, error_code, cancelled_by,
      context #>> '{trigger_payload,transaction_id}' as transaction_id
    from journey_runs where journey_id = ${journey_id}`;
  const steps = await sql<StoredStep[]>`
    select run_id, seq, node_id, node_type, status, outcome, next_node_id from journey_steps order by run_id, seq`;
  const steps_of = groupBy(steps, ({ run_id }) => run_id);
  const differences = [
    ...entryDifferences(sources, runs),
    ...runs.flatMap((run) => runDifferences(sources, run, steps_of.get(run.run_id) ?? [])),
    ...(await playerDifferences(sources, steps, runs)),
  ];
  const messages = await verifyMessages(sources, steps);
  const webhooks = await verifyWebhooks(sources, steps);
  differences.push(...messages.differences, ...webhooks.differences);
  return { runs: runs.length, steps: steps.length, ...messages, ...webhooks, differences };
}

/** Each accepted event has started one run, of its player. */
function entryDifferences({ load }: JourneysSources, runs: readonly Run[]): string[] {
  const runs_of = groupBy(runs, ({ transaction_id }) => transaction_id);
  const planned = new Map(load.entries.map((entry) => [entry.transaction_id, entry]));
  const foreign = runs.filter(
    ({ transaction_id, player_id }) => planned.get(transaction_id)?.player_id !== player_id,
  );
  return [
    ...load.entries.flatMap(({ transaction_id }) => {
      const begun = runs_of.get(transaction_id)?.length ?? 0;
      return begun === 1 ? [] : [`the event ${transaction_id} has started ${begun} runs`];
    }),
    ...foreign.map(({ run_id }) => `run ${run_id} was started by no event of its player`),
  ];
}

function runDifferences(
  { load, start_node_id }: JourneysSources,
  run: Run,
  steps: readonly StoredStep[],
): string[] {
  const { run_id, status } = run;
  const differences = complaintsAboutPath(run, steps, start_node_id);
  const is_cancelled = load.cancelled.has(run_id);
  if (is_cancelled && status !== 'cancelled')
    differences.push(`run ${run_id} was cancelled, and is ${status}`);
  if (!is_cancelled && status !== 'completed' && status !== 'cancelled')
    differences.push(`run ${run_id} is ${status} ${run.error_code ?? ''}`);
  const waited = steps.find(({ node_id }) => node_id === 'e');
  if (waited !== undefined && status === 'completed' && waited.outcome !== 'event')
    differences.push(`run ${run_id} waited for an event: ${waited.outcome}`);
  if (load.answered.has(run_id) && status === 'completed' && waited?.outcome !== 'event')
    differences.push(`run ${run_id} did not honour its event`);
  const timed = steps.find(({ node_id }) => node_id === 'short');
  if (timed !== undefined && status === 'completed' && timed.outcome !== 'timeout')
    differences.push(`run ${run_id} waited for nothing: ${timed.outcome}`);
  return differences;
}

const stepKey = ({ run_id, node_id }: { run_id: string; node_id: string }) => `${run_id} ${node_id}`;

/** Each step that sends has one message, which the provider was given once, or at most once if nobody knows. */
async function verifyMessages({ sql, provider }: JourneysSources, steps: readonly StoredStep[]) {
  const rows = await sql<
    { send_id: string; run_id: string; node_id: string; status: string; error_code: string | null }[]
  >`
    select send_id, journey_run_id as run_id, dedup_key as node_id, status, error_code from message_sends`;
  const rows_of = groupBy(rows, stepKey);
  const differences: string[] = [];
  const sending = steps.filter(
    ({ node_type, outcome }) => node_type === 'send_message' && outcome === 'queued',
  );
  for (const step of sending) {
    const count = rows_of.get(stepKey(step))?.length ?? 0;
    if (count !== 1) differences.push(`${stepKey(step)} has ${count} messages`);
  }
  if (rows.length !== sending.length) differences.push(`${rows.length} messages of ${sending.length} steps`);
  let unknown = 0;
  for (const { send_id, status, error_code } of rows) {
    const given = provider.count(send_id);
    const is_unknown = status === 'failed' && error_code === 'OUTCOME_UNKNOWN';
    const is_skipped = status === 'failed' && error_code === 'SKIPPED_CANCELLED';
    if (is_unknown) unknown += 1;
    const right = is_unknown ? given <= 1 : is_skipped ? given === 0 : status === 'sent' && given === 1;
    if (!right) differences.push(`${send_id} is ${status} ${error_code ?? ''} and was given ${given} times`);
  }
  const known = new Set(rows.map(({ send_id }) => send_id));
  for (const send_id of provider.sendIds()) {
    if (!known.has(send_id)) differences.push(`the provider was given ${send_id}, which nobody sent`);
  }
  return { messages: rows.length, unknown, differences };
}

/** Each step that calls has one event_id, which follows from run and node, and the same bytes in every attempt. */
async function verifyWebhooks({ sql, received }: JourneysSources, steps: readonly StoredStep[]) {
  const rows = await sql<
    {
      event_id: string;
      run_id: string;
      node_id: string;
      status: string;
      attempts: number;
      attempts_before: number;
      last_error: string | null;
      last_status: number | null;
    }[]
  >`
    select event_id, run_id, node_id, status, attempts, attempts_before, last_error, last_status
    from webhook_deliveries`;
  const differences: string[] = [];
  const bodies = new Map<string, Set<string>>();
  const requests = new Map<string, number>();
  for (const { headers, body } of received) {
    const event_id = String(headers['x-service-event-id']);
    bodies.set(event_id, (bodies.get(event_id) ?? new Set()).add(body));
    requests.set(event_id, (requests.get(event_id) ?? 0) + 1);
  }
  const of_step = new Map(rows.map((row) => [stepKey(row), row]));
  const calling = steps.filter(
    ({ node_type, status }) => node_type === 'call_webhook' && status === 'completed',
  );
  for (const step of calling) {
    const row = of_step.get(stepKey(step));
    if (row?.status !== 'delivered')
      differences.push(`${stepKey(step)} went on, and its webhook is ${row?.status}`);
  }
  for (const row of rows) {
    if (row.event_id !== uuidv5(row.node_id, row.run_id)) differences.push(`${row.event_id} is of no step`);
    const sizes = bodies.get(row.event_id)?.size ?? 0;
    const right = row.status === 'delivered' ? sizes === 1 : row.status === 'cancelled' && sizes <= 1;
    if (right) continue;
    const { attempts, attempts_before, last_error, last_status } = row;
    const how = `after ${attempts} attempts, ${attempts_before} of them void (${last_error ?? last_status})`;
    const got = `${sizes} bodies in ${requests.get(row.event_id) ?? 0} requests at the receiver`;
    differences.push(`${row.event_id} is ${row.status} ${how}, with ${got}`);
  }
  if (of_step.size !== rows.length) differences.push('a step has several webhooks');
  const known = new Set(rows.map(({ event_id }) => event_id));
  for (const event_id of bodies.keys())
    if (!known.has(event_id)) differences.push(`nobody called ${event_id}`);
  return { webhooks: rows.length, attempts: received.length, differences };
}

/** Players have what journeys and requests have written, and nothing else. */
async function playerDifferences(
  { sql, load }: JourneysSources,
  steps: readonly StoredStep[],
  runs: readonly Run[],
): Promise<string[]> {
  const player_of = new Map(runs.map(({ run_id, player_id }) => [run_id, player_id]));
  const passed = steps.filter(
    ({ node_type, outcome }) => node_type === 'update_player' && outcome === 'updated',
  );
  const updated = new Set(passed.map(({ run_id }) => player_of.get(run_id)));
  const players = await sql<{ player_id: string; custom_attributes: Record<string, unknown> }[]>`
    select player_id, custom_attributes from players`;
  return players.flatMap(({ player_id, custom_attributes }) => {
    const { journey_done, changed } = custom_attributes;
    const differences: string[] = [];
    if ((journey_done === true) !== updated.has(player_id))
      differences.push(`player ${player_id}: ${String(journey_done)}`);
    if (load.changed.has(player_id) && changed !== true)
      differences.push(`player ${player_id} was not changed`);
    return differences;
  });
}
