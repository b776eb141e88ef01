import { lockAsRewriter } from '../../analytics/correction-queries.ts';
import { headOf, type EventHead } from '../../ingest/events/envelope.ts';
import { TOPICS } from '../../platform/event-log/topics.ts';
import { newId } from '../../platform/ids.ts';
import type { Platform } from '../../wiring/platform.ts';
import type { Project } from './queries.ts';
import { clearProject, queueCorrections, touchPlayers } from './repair-queries.ts';

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clickhouse' | 'logger'>;

const PLAYERS_AT_ONCE = 5_000;
const RECORDS_AT_ONCE = 20_000;

/**
 * Rebuilds what ClickHouse knows of a project: its events from the log, its players from Postgres. While it runs, the
 * project's timelines and segments are incomplete; totals, which are Postgres', are not touched. Events that come in
 * meanwhile are taken in by the sink as ever, since a row that is written twice replaces itself. Dying in between
 * leaves ClickHouse incomplete; running it again completes it.
 */
export async function rebuildProject(engines: Engines, project: Project): Promise<void> {
  const { postgres, clickhouse, logger } = engines;
  logger.warn(project, 'rebuilding the project in ClickHouse');
  // Rows that are rewritten meanwhile would be made from rows that are on their way out.
  await postgres.service.begin(async (tx) => {
    await lockAsRewriter(tx);
    await clearProject(clickhouse, project);
    await insertFromLog(engines, project);
  });
  // What has happened to the events since is done again; only now, because it is made from the rows.
  await postgres.service.begin((tx) => queueCorrections(tx, project));
  for (let after: string | undefined, more = true; more;) {
    const last: string | undefined = await touchPlayers(postgres.service, project, after, PLAYERS_AT_ONCE);
    after = last;
    more = last !== undefined;
  }
}

function isOf({ tenant_id, project_id }: Project, head: EventHead | undefined): boolean {
  return head?.tenant_id === tenant_id && head.project_id === project_id;
}

async function insertFromLog({ eventLog, clickhouse }: Engines, project: Project): Promise<void> {
  const token = `repair:${newId()}`;
  for (const [partition, end] of await eventLog.endOffsets(TOPICS.playerEvents)) {
    for await (const { records } of eventLog.read(TOPICS.playerEvents, partition, 0n, end, RECORDS_AT_ONCE)) {
      const lines = records.map(({ value }) => value).filter((value) => isOf(project, headOf(value)));
      if (lines.length > 0)
        await clickhouse.insertLines('events', lines, `${token}:${partition}:${records[0]?.offset}`);
    }
  }
}
