import { NIL_ID } from '../../../../src/platform/ids.ts';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deleteStages, selectReachedStages } from '../../../../src/analytics/stage-queries.ts';
import { listVersions } from '../../../../src/engage/journeys/graph/version-queries.ts';
import { endRuns } from '../../../../src/engage/journeys/runs/cancel.ts';
import { claimByProject } from '../../../../src/engage/journeys/runs/claim-queries.ts';
import { removeOldVersions } from '../../../../src/engage/journeys/runs/archive-queries.ts';
import {
  selectEnding,
  selectHits,
  selectWatchers,
} from '../../../../src/engage/journeys/runs/match-queries.ts';
import { selectLastChange } from '../../../../src/engage/journeys/runs/news-queries.ts';
import {
  selectChainLength,
  selectDeferredPlayers,
  selectQueueEnds,
} from '../../../../src/segments/passed-queries.ts';
import { startExplainedService, type ExplainedService } from '../../../platform/postgres/statement-plans.ts';
import { end, runFixture, wait, type RunFixture } from './run-fixture.ts';

const DAY_MS = 86_400_000;
/** Of the 20,000 runs of a journey a statement that reads all of them reads far more blocks. */
const MOST_BLOCKS = 100;

let explained: ExplainedService;
let on: RunFixture;
let journey_id: string;
beforeAll(async () => {
  // No processor: its statements would be seen beside those that are looked at.
  explained = await startExplainedService({ roles: new Set(['api', 'intake']) });
  const { service } = explained;
  on = runFixture(service);
  journey_id = await on.journey([wait('w', DAY_MS, 'end'), end()]);
  await on.sql`
    insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
      due_at, trigger_key, re_entry, trigger, context, started_at)
    select ${service.tenant_id}, ${service.project_id}, gen_random_uuid(), ${journey_id}, 1, gen_random_uuid(),
      'running', 'w', 1, now() + interval '1 day', gen_random_uuid()::text, 'always', '{}', '{}',
      now() - i * interval '1 second'
    from generate_series(1, 20000) i`;
  // The statistics are of a time when nothing was due: only timers of another project, which come due later.
  const other = await service.newTenant();
  await on.sql`
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select ${other.tenant_id}, ${other.project_id}, now() + interval '30 days', gen_random_uuid(), 1
    from generate_series(1, 10000) i`;
  await on.sql.begin(async (tx) => {
    await tx`set local role none`;
    await tx`analyze journey_timers`;
  });
  await on.sql`
    insert into journey_timers (tenant_id, project_id, due_at, run_id, seq)
    select tenant_id, project_id, now() + interval '1 hour', run_id, 1 from journey_runs
    where journey_id = ${journey_id}`;
  await on.sql`
    insert into journey_waits (tenant_id, project_id, event, player_id, run_id, seq, partition, log_id, from_offset, since,
      is_checked)
    select tenant_id, project_id, 'custom_awaited', player_id, run_id, 1, 0, 'log', 0, now(), true
    from journey_runs where journey_id = ${journey_id}`;
  await on.sql`
    insert into journey_watched
    select ${service.tenant_id}, ${service.project_id}, 'custom_left', ${journey_id}, i, 'exit' from generate_series(1, 5000) i`;
  // With one name in the whole table its statistics would say that every row has the name that is looked up.
  await on.sql`
    insert into journey_watched
    select ${service.tenant_id}, ${service.project_id}, 'custom_' || i, ${journey_id}, i, 'exit' from generate_series(1, 5000) i`;
  await on.sql`
    insert into journey_versions
    select tenant_id, project_id, journey_id, 2, trigger, graph, settings, now() - interval '1 day'
    from journey_versions where journey_id = ${journey_id}`;
  await on.sql`update journeys set version = 3 where journey_id = ${journey_id}`;
  await on.sql`
    insert into journey_versions
    select tenant_id, project_id, journey_id, 3, trigger, graph, settings, now() - interval '1 day'
    from journey_versions where journey_id = ${journey_id} and version = 2`;
});
afterAll(async () => explained?.service.close());

/** Queues that branches and outboxes look at: those of other projects are long. */
async function fillQueues(): Promise<string> {
  const { tenant_id, project_id } = explained.service;
  const other = await explained.service.newTenant();
  const queue = (of: { tenant_id: string; project_id: string }, entries: number) => on.sql`
    insert into dirty_players (tenant_id, project_id, reads, player_ids, segment_id, marked_at)
    select ${of.tenant_id}, ${of.project_id}, '{profile}', array[gen_random_uuid()],
      case when i % 10 = 0 then gen_random_uuid() end, now()
    from generate_series(1, ${entries}) i`;
  await queue(other, 20_000);
  await queue({ tenant_id, project_id }, 50);
  await queue(other, 20_000);
  await on.sql`
    insert into message_stages (tenant_id, project_id, send_id, stage, reached_at)
    select ${other.tenant_id}, ${other.project_id}, gen_random_uuid(), 'sent', now() from generate_series(1, 20000)`;
  return on.client.segment([]);
}

/** The statements of `work` that read many blocks. */
async function heavy(work: (tx: Parameters<typeof endRuns>[0]) => Promise<unknown>): Promise<unknown[]> {
  const found = await explained.readsOf(work);
  return found.filter(
    ({ blocks, statement }) =>
      // The mirrors read what has changed, beside it.
      blocks > MOST_BLOCKS && !statement.includes('changed_xid::text'),
  );
}

it.each(['without statistics', 'with statistics'])(
  '%s statements read few of the many runs of a journey',
  async (when) => {
    if (when === 'with statistics')
      await explained.analyze('journey_runs', 'journey_waits', 'journey_watched');
    const { tenant_id, project_id } = explained.service;
    const ref = { tenant_id, project_id, journey_id };
    const ending = { cancelled_by: 'somebody', now: new Date(), limit: 1 };
    expect(await heavy((tx) => endRuns(tx, ref, ending))).toEqual([]);
    expect(await heavy((tx) => listVersions(tx, ref, 3, 1))).toEqual([]);
    const in_two_hours = new Date(Date.now() + 2 * 3_600_000);
    const share = { limit: 10, quota: 5 };
    expect(await heavy((tx) => claimByProject(tx, in_two_hours, undefined, share))).toEqual([]);
    expect(await heavy(async (tx) => expect(await removeOldVersions(tx, new Date(), 20)).toBe(1))).toEqual(
      [],
    );
    const [run] = await on.sql<{ player_id: string; run_id: string }[]>`
      select player_id, run_id from journey_runs where journey_id = ${journey_id} limit 1`;
    const player_id = run?.player_id ?? '';
    const place = { log_id: 'log', partition: 0 };
    const eventOf = (event: string) => [
      {
        index: 0,
        name: { tenant_id, project_id, event },
        player_id,
        log_offset: 1n,
        received_ms: Date.now(),
        after_run_id: NIL_ID,
      },
    ];
    const lookupOf = (events: ReturnType<typeof eventOf>) => ({
      ...place,
      events,
      of_event: 10,
      after: undefined,
    });
    const awaited = eventOf('custom_awaited');
    const woken = async (tx: Parameters<typeof selectHits>[0]) =>
      expect(await selectHits(tx, lookupOf(awaited))).toMatchObject([{ index: 0, run_id: run?.run_id }]);
    expect(await heavy(woken)).toEqual([]);
    expect(await heavy((tx) => selectEnding(tx, lookupOf(awaited)))).toEqual([]);
    const name = { tenant_id, project_id, event: 'custom_left' };
    const watching = async (tx: Parameters<typeof selectHits>[0]) =>
      expect(JSON.parse(`[${(await selectWatchers(tx, [name], 7))[0]}]`)).toHaveLength(7);
    expect(await heavy(watching)).toEqual([]);
  },
);

it('branches and outboxes read little of long queues, without statistics and with them', async () => {
  const segment_id = await fillQueues();
  const { tenant_id, project_id } = explained.service;
  const project = { tenant_id, project_id };
  for (const when of ['without', 'with']) {
    if (when === 'with') await explained.analyze('dirty_players', 'message_stages', 'segments');
    const ends = async (tx: Parameters<typeof selectHits>[0]) => {
      const { oldest = 0n, newest = 0n } = await selectQueueEnds(tx, project);
      expect(newest - oldest).toBe(48n);
    };
    expect(await heavy(ends)).toEqual([]);
    const pairs = [{ segment_id, player_id: randomUUID() }];
    expect(await heavy((tx) => selectDeferredPlayers(tx, project, pairs))).toEqual([]);
    expect(await heavy((tx) => selectChainLength(tx, project, [segment_id]))).toEqual([]);
    expect(await heavy((tx) => selectLastChange(tx, project, [randomUUID()]))).toEqual([]);
    const publish = async (tx: Parameters<typeof selectHits>[0]) => {
      const stages = await selectReachedStages(tx, 5);
      expect(stages).toHaveLength(5);
      await deleteStages(tx, stages);
    };
    expect(await heavy(publish)).toEqual([]);
  }
});
