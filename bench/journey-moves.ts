import { v5 as uuidv5 } from 'uuid';
import { JourneyRunner, type RunnerDeps } from '../src/engage/journeys/runs/runner.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { callApi, end, makeSegment, month, startJourney, type Caller } from './journey-client.ts';
import {
  countUpdates,
  insertRuns,
  isAnyDue,
  makeDue,
  selectPlayers,
  takeDue,
  writeMoves,
} from './journey-seed-queries.ts';
import { timed, type Sample } from './measure.ts';
import { insertMembers } from './messaging-seed-queries.ts';

/** Waits of the journey: with the messages between them and the end, as many nodes as a graph may have. */
const WAITS = 25;
const BATCH = 1_000;
const NAMESPACE = '00000000-0000-4000-8000-000000000000';

/** Runs that all go from a wait over a message to the next wait, again and again: 24 times in all. */
export interface Moves {
  /** Moves all of them by the runner. */
  ours(): Promise<Sample>;
  /** Writes the same rows without the runner: one transaction per 1,000 runs. */
  bare(): Promise<Sample>;
  /** The share of the runner's updates of runs so far that touched no index, in percent. */
  hot_percent(): number;
}

/**
 * Makes the journey, players, and a run of each, which rests at the first wait. `platform` and `sql`, which is the
 * owner's, are on the Postgres of the caller's service.
 */
export async function prepareMoves(
  caller: Caller,
  platform: RunnerDeps,
  sql: Db,
  count: number,
): Promise<Moves> {
  const { tenant_id, project_id } = caller;
  const { journey_id, template_id, provider_id } = await makeJourney(caller);
  await insertMembers(sql, caller, await makeSegment(caller), count);
  const player_ids = await selectPlayers(sql, caller, count);
  const standing = { tenant_id, project_id, journey_id, node_id: 'w0', seq: 1 };
  const run_ids = await insertRuns(sql, standing, player_ids);
  const player_of = new Map(run_ids.map((run_id, i) => [run_id, player_ids[i] ?? '']));
  const total = { updates: 0, hot: 0 };
  let at = 0;

  async function moved(move: () => Promise<void>): Promise<Sample> {
    await makeDue(sql, run_ids);
    const sample = await timed(async () => {
      await move();
      return count;
    });
    at++;
    return sample;
  }

  return {
    async ours() {
      let before = total;
      const sample = await moved(async () => {
        before = await countUpdates(sql);
        const runner = new JourneyRunner(platform);
        await moveDue(runner, sql);
      });
      // Each connection reports what it has done every second.
      const after = await countUpdates(sql);
      total.updates += after.updates - before.updates;
      total.hot += after.hot - before.hot;
      return sample;
    },
    async bare() {
      const queue_id = uuidv5(`${journey_id} ${provider_id}`, NAMESPACE);
      const move = {
        ...standing,
        queue_id,
        template_id,
        provider_id,
        from_node: `w${at}`,
        send_node: `s${at}`,
        to_node: `w${at + 1}`,
        seq: 1 + 2 * at,
      };
      return moved(async () => {
        for (let left = true; left;) {
          left = await platform.postgres.service.begin(async (tx) => {
            const taken = await takeDue(tx, BATCH);
            const players = taken.map((run_id) => player_of.get(run_id) ?? '');
            if (taken.length > 0) await writeMoves(tx, taken, players, move);
            return taken.length === BATCH;
          });
        }
      });
    },
    hot_percent: () => (100 * total.hot) / Math.max(total.updates, 1),
  };
}

/** Moves all runs that are due, two batches at a time as in journey-runner, then closes the runner. */
export async function moveDue(runner: JourneyRunner, sql: Db): Promise<void> {
  let second = Promise.resolve();
  const moveSecond = async () => {
    while (await runner.turnSecond());
  };
  runner.onCrowd = () => {
    second = second.then(moveSecond);
  };
  while (await isAnyDue(sql)) await runner.turn();
  await second;
  await runner.close();
}

/** The journey, with as many waits and messages as a graph may have. */
async function makeJourney(
  caller: Caller,
): Promise<{ journey_id: string; template_id: string; provider_id: string }> {
  const template = {
    name: 'bench',
    channel: 'email',
    status: 'active',
    subject: 'Hello',
    body: '<p>Dear</p>',
  };
  const provider = { name: 'bench', kind: 'sandbox', channel: 'email', config: {} };
  const { id: template_id } = await callApi<{ id: string }>(caller, 'POST', '/v1/templates', template);
  const made = await callApi<{ id: string }>(caller, 'POST', '/v1/messaging-providers', provider);
  const provider_id = made.id;
  const sends = Array.from({ length: WAITS - 1 }, (_, i) => [
    month(`w${i}`, `s${i}`),
    { id: `s${i}`, type: 'send_message', template_id, provider_id, next: `w${i + 1}` },
  ]);
  const journey_id = await startJourney(caller, [...sends.flat(), month(`w${WAITS - 1}`, 'end'), end]);
  return { journey_id, template_id, provider_id };
}
