import { FETCH_TASK } from '../../src/ledger/fx/fetch-job.ts';
import { RETIER_TASK } from '../../src/players/tiers/jobs.ts';
import { GROUPS, TOPICS } from '../../src/platform/event-log/topics.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { lasting } from './lasting.ts';
import { startTestService, type TestService } from './service.ts';
import { until } from './until.ts';

const take = lasting('shared service', startTestService, settled);

/**
 * The whole service, which the files of a worker share one after the other, with a new tenant. It is for files that
 * observe only their own tenants: no rows, metrics or records of all tenants, and no clock, configuration, role or
 * processor that differs. `close` waits up to `settle_ms` until what the file began has come to its end.
 */
export async function sharedService(settle_ms?: number): Promise<TestService> {
  const service = await take((platform) => settled(platform, settle_ms));
  return { ...service, ...(await service.newTenant()) };
}

/** What of the service's work is not at its end, once it is at its end or has had its time. */
async function settled(platform: Platform, settle_ms = 20_000): Promise<string[]> {
  let rest = ['unknown leftovers'];
  const isDone = async () => (rest = await restOf(platform)).length === 0;
  await until('the file leaves nothing', isDone, settle_ms).catch(() => undefined);
  return rest;
}

/** Gauges that are 0 while every processor does its work and none is behind, but for merges: they wait for 30 s. */
const GAUGES = ['backlog_items', 'consumer_refused', 'segments_set_aside'];

async function restOf({ metrics, postgres, eventLog }: Platform): Promise<string[]> {
  const rest: string[] = [];
  for (const name of GAUGES) {
    const gauge = await metrics.registry.getSingleMetric(name)?.get();
    if (gauge === undefined) throw new Error(`no metric ${name}`);
    for (const { value, labels } of gauge.values) {
      if (value !== 0 && labels['queue'] !== 'event-rewriter')
        rest.push(`${name}${JSON.stringify(labels)} ${value}`);
    }
  }
  for (const { next_offset, end_offset } of await eventLog.lag(
    TOPICS.segmentChanges,
    GROUPS.journeySegments,
  )) {
    if (next_offset < end_offset) rest.push(`${end_offset - next_offset} segment changes`);
  }
  const [corrections] = await postgres.service`select from event_corrections limit 1`;
  if (corrections !== undefined) rest.push('corrections of events');
  const jobs = await postgres.service.begin(async (tx) => {
    // The user of the connections owns the jobs; the service's role may only add some. The hourly fetch of rates is
    // tried again for hours: no provider answers. A minute after a tenant's tiers were changed, its players are looked at
    // once more.
    await tx`set local role none`;
    return tx<{ task: string; jobs: number }[]>`
      select task_identifier as task, count(*)::integer as jobs from graphile_worker.jobs
      where task_identifier <> ${FETCH_TASK} and (key is null or key not like ${`${RETIER_TASK} % again`}) group by 1`;
  });
  return [...rest, ...jobs.map(({ task, jobs }) => `${jobs} jobs ${task}`)];
}
