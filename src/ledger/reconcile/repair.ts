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
 * Rebuilds a project's data in ClickHouse: its events from the log, its players from Postgres. While it runs, the
 * project's timelines and segments are incomplete; the totals in Postgres are not changed. The sink goes on inserting
 * new events: a row that is written twice replaces itself. A crash in between leaves ClickHouse incomplete; another run
 * completes it.
 */
export async function rebuildProject(engines: Engines, project: Project): Promise<void> {
  const { postgres, clickhouse, logger } = engines;
  logger.warn(project, 'rebuilding the project in ClickHouse');
  // The lock stops event-rewriter, which would otherwise derive rows from rows that are being removed.
  await postgres.service.begin(async (tx) => {
    await lockAsRewriter(tx);
    await clearProject(clickhouse, project);
    await insertFromLog(engines, project);
  });
  // Corrections and merges are applied again. They are queued only now: event-rewriter derives them from the rows.
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
