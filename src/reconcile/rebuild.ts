import { forgetProject } from '../segments/evaluated/evaluated-queries.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { REWRITER_LOCK, writeAliases } from '../analytics/correction-queries.ts';
import {
  MIRROR_START,
  LAST_ID,
  readHorizon,
  readIdsChangedAfter,
  readPlayersPage,
  type MirrorPosition,
} from '../analytics/mirror-queries.ts';
import { JOURNEYS, PLAYERS, SENDS, type MirrorCopy } from '../analytics/mirrors.ts';
import { readChangedJourneyRows } from '../analytics/journey-mirror-queries.ts';
import { readChangedSends } from '../analytics/send-mirror-queries.ts';
import { ApiError } from '../errors.ts';
import { newId } from '../platform/ids.ts';
import type { Session } from '../platform/postgres/port.ts';
import { releaseLock, requireLocks, takeLock } from '../platform/postgres/session-locks.ts';
import { copyPendingChanges } from '../segments/publish-changes.ts';
import { refreshJob } from '../segments/refresh-job.ts';
import type { Platform } from '../platform/platform.ts';
import {
  copyRows,
  dropLeftovers,
  exchange,
  openReplacement,
  openScope,
  readRunningInserts,
  runTableName,
} from './replacement-queries.ts';
import type { Family } from './findings.ts';
import { loadEvents } from './load-events.ts';
import { type Member, readAliasedMerges, readMembersPage, readOwnSegments } from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { CopiedTable } from './schema.ts';

type Engines = Pick<Platform, 'eventLog' | 'postgres' | 'clickhouse' | 'clock' | 'logger' | 'jobs'>;

const PLAYERS_AT_ONCE = 10_000;
const SENDS_AT_ONCE = 10_000;
const JOURNEY_ROWS_AT_ONCE = 10_000;
const MEMBERS_AT_ONCE = 20_000;
const CHANGED_AT_ONCE = 1_000;
/** More aliases than a rewriter leaves to be rewritten; further ones are reported by the comparison that follows. */
const MAX_ALIASES = 100_000;
/** A rewrite takes up to ten minutes in ClickHouse. */
const REWRITER_PATIENCE_MS = 660_000;
/** The longest insert is such a rewrite, whose process may have died. */
const INSERT_PATIENCE_MS = REWRITER_PATIENCE_MS;
const INSERT_POLL_MS = 50;

/** A rebuild in a run whose session holds its lock. `catchUp` resolves when everything accepted so far is in ClickHouse. */
export interface Rebuild {
  engines: Engines;
  session: Session;
  catchUp: () => Promise<void>;
}

/**
 * Rebuilds what differs: each table next to the live one, then both are exchanged in one step. Readers see the old rows
 * until then, and every row after it. Rows of other projects are copied as they are. What the sink, the mirrors and the
 * publisher insert meanwhile is copied by a materialized view. When this fails or the process ends, the live tables are
 * as they were; what is left of the new ones is dropped by the next run. Totals in Postgres are never changed.
 */
export async function rebuild(
  run: Rebuild,
  differing: ReadonlyMap<Family, ReadonlyMap<string, ProjectRef>>,
): Promise<void> {
  const of = (family: Family) => [...(differing.get(family)?.values() ?? [])];
  const { logger } = run.engines;
  logger.warn(
    { differing: [...differing].map(([family, projects]) => ({ family, projects: projects.size })) },
    'rebuilding tables of ClickHouse',
  );
  if (of('events').length + of('aliases').length > 0) {
    // event-rewriter would otherwise derive rows from rows that are being replaced.
    await takeLock(run.session, REWRITER_LOCK, REWRITER_PATIENCE_MS);
    await rebuildEvents(run, of('events'));
    for (const project of of('aliases')) await rebuildAliases(run, project);
    await releaseLock(run.session, REWRITER_LOCK);
  }
  await rebuildPlayers(run, of('players'));
  await rebuildMembers(run, of('members'));
  await rebuildMessages(run, of('messages'));
  await rebuildJourneys(run, of('journeys'));
  await refreshSegments(
    run.engines,
    [...differing.values()].flatMap((projects) => [...projects.values()]),
  );
}

/** The name of the table that will replace this one. */
type ReplacementName = (table: CopiedTable) => string;

async function exchangeRebuilt(
  { engines: { clickhouse }, session }: Rebuild,
  { tables, projects }: { tables: readonly CopiedTable[]; projects: readonly ProjectRef[] },
  load: (replacementOf: ReplacementName, scope: string) => Promise<void>,
): Promise<void> {
  if (projects.length === 0) return;
  const id = newId();
  const [scope, replacementOf] = [runTableName(id, 'scope'), (table: string) => runTableName(id, table)];
  await openScope(clickhouse, scope, projects);
  // Inserts that begin from now on come through the views. Those that run are waited for, and so everything that they and
  // earlier ones have written is read. What comes both ways is the same row.
  for (const table of tables) await openReplacement(clickhouse, table, replacementOf(table));
  await waitForInserts(clickhouse, tables, session);
  for (const table of tables) {
    await copyRows(clickhouse, { from: table, to: replacementOf(table), scope, of_scope: false });
  }
  await load(replacementOf, scope);
  for (const table of tables) {
    await requireLocks(session);
    await exchange(clickhouse, table, replacementOf(table));
  }
  await requireLocks(session);
  await dropLeftovers(clickhouse);
}

/** Resolves when the inserts have ended that run at the call. */
async function waitForInserts(
  clickhouse: Engines['clickhouse'],
  tables: readonly CopiedTable[],
  session: Session,
): Promise<void> {
  const deadline_ms = performance.now() + INSERT_PATIENCE_MS;
  let open = await readRunningInserts(clickhouse, tables);
  while (open.length > 0) {
    if (performance.now() >= deadline_ms) {
      const message = `inserts into ${tables.join(', ')} did not end within ${INSERT_PATIENCE_MS} ms: look into system.processes of ClickHouse, end them there and try again`;
      throw new ApiError('SERVICE_UNAVAILABLE', message);
    }
    await sleep(INSERT_POLL_MS);
    await requireLocks(session);
    const running = await readRunningInserts(clickhouse, tables);
    const since = new Map(running.map(({ query_id, elapsed }) => [query_id, elapsed]));
    open = open.filter(({ query_id, elapsed }) => (since.get(query_id) ?? -1) >= elapsed);
  }
}

async function rebuildEvents(run: Rebuild, projects: readonly ProjectRef[]): Promise<void> {
  const { clickhouse } = run.engines;
  await exchangeRebuilt(
    run,
    { tables: ['events', 'events_by_player'], projects },
    async (replacementOf, scope) => {
      await loadEvents(run.engines, projects, replacementOf('events'), () => requireLocks(run.session));
      await copyRows(clickhouse, {
        from: `${replacementOf('events')} final`,
        to: replacementOf('events_by_player'),
        scope,
        of_scope: true,
      });
    },
  );
}

/**
 * Queries read aliases from a dictionary, which is loaded again at the end: so they see the old aliases until then, and
 * all new ones after it.
 */
async function rebuildAliases({ engines }: Rebuild, project: ProjectRef): Promise<void> {
  const { postgres, clickhouse } = engines;
  await clickhouse.deleteRows(
    'player_aliases',
    'tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}',
    { ...project },
  );
  const merges = await readAliasedMerges(postgres.service, project, MAX_ALIASES);
  await writeAliases(postgres.service, clickhouse, merges, 0);
}

/** Reads the players by id, with the revisions with which player-mirror copies them. */
async function rebuildPlayers(run: Rebuild, projects: readonly ProjectRef[]): Promise<void> {
  const { postgres, clickhouse } = run.engines;
  const isWanted = within(projects);
  await exchangeRebuilt(run, { tables: ['players'], projects }, async (replacementOf, scope) => {
    const table = replacementOf('players');
    const position = { ...MIRROR_START, changed_xid: await readHorizon(postgres.service), row_id: LAST_ID };
    for (let after: string | undefined = MIRROR_START.row_id; after !== undefined;) {
      await requireLocks(run.session);
      const page = await readPlayersPage(postgres.service, after, PLAYERS_AT_ONCE);
      await insertPage(clickhouse, table, page.players.filter(isWanted), { ...position, row_id: after });
      after = page.last_id;
    }
    // What transactions change that were running comes through the mirror.
    await run.catchUp();
    for (const copy of PLAYERS.copies) {
      await copyChangedSince(run, { copy, position, tables: [copy.copy], replacementOf, scope });
    }
  });
}

async function rebuildMessages(run: Rebuild, projects: readonly ProjectRef[]): Promise<void> {
  const { postgres, clickhouse, clock } = run.engines;
  const isWanted = within(projects);
  const tables = ['message_sends', 'campaign_sends', 'journey_sends'] as const;
  await exchangeRebuilt(run, { tables, projects }, async (replacementOf, scope) => {
    const table = replacementOf('message_sends');
    let position = MIRROR_START;
    for (let full = true; full;) {
      await requireLocks(run.session);
      const page = await readChangedSends(postgres.service, position, SENDS_AT_ONCE, clock.now_ms());
      const sends = page.filter((send) => !send.is_pending && isWanted(send));
      const of_journeys = sends.filter(({ journey_id }) => journey_id !== null);
      await insertPage(clickhouse, table, sends, position);
      await insertPage(clickhouse, replacementOf('journey_sends'), of_journeys, position);
      const last = page.at(-1);
      if (last !== undefined) {
        position = { ...position, changed_xid: last.changed_xid, row_id: last.send_id };
      }
      full = page.length === SENDS_AT_ONCE;
    }
    await run.catchUp();
    for (const copy of SENDS.copies) {
      await copyChangedSince(run, {
        copy,
        position,
        tables: [copy.copy, 'journey_sends'],
        replacementOf,
        scope,
      });
    }
    const to = replacementOf('campaign_sends');
    await copyRows(
      clickhouse,
      { from: `${table} final`, to, scope, of_scope: true },
      'campaign_id is not null',
    );
  });
}

/**
 * Reads the runs and steps in the order of their mirror. The steps of archived runs, which Postgres does not have, are
 * copied from the live table.
 */
async function rebuildJourneys(run: Rebuild, projects: readonly ProjectRef[]): Promise<void> {
  const { postgres, clickhouse } = run.engines;
  const isWanted = within(projects);
  const tables = ['journey_runs', 'journey_steps'] as const;
  await exchangeRebuilt(run, { tables, projects }, async (replacementOf, scope) => {
    let position = MIRROR_START;
    for (let full = true; full;) {
      await requireLocks(run.session);
      const page = await readChangedJourneyRows(postgres.service, position, JOURNEY_ROWS_AT_ONCE);
      for (const table of tables) {
        const rows = page.rows.filter((row) => row.table === table && isWanted(row));
        await insertPage(clickhouse, replacementOf(table), rows, position);
      }
      const last = page.rows.at(-1);
      if (last !== undefined) position = { ...position, changed_xid: last.changed_xid, row_id: last.run_id };
      full = page.is_full;
    }
    await run.catchUp();
    for (const copy of JOURNEYS.copies) {
      await copyChangedSince(run, { copy, position, tables: [copy.copy], replacementOf, scope });
    }
    const archived = `(tenant_id, project_id, run_id) in (
      select tenant_id, project_id, run_id from ${replacementOf('journey_runs')} final where is_archived = 1)`;
    const steps = { from: 'journey_steps final', to: replacementOf('journey_steps'), scope, of_scope: true };
    await copyRows(clickhouse, steps, archived);
  });
}

/** Members get the revision 0, below every change: a change that is published meanwhile or later wins. */
async function rebuildMembers(run: Rebuild, projects: readonly ProjectRef[]): Promise<void> {
  const { postgres, clickhouse } = run.engines;
  await exchangeRebuilt(run, { tables: ['segment_members'], projects }, async (replacementOf) => {
    const table = replacementOf('segment_members');
    for (const project of projects) {
      for (let after: Member | undefined, full = true; full;) {
        await requireLocks(run.session);
        const page: Member[] = await readMembersPage(postgres.service, project, after, MEMBERS_AT_ONCE);
        const lines = page.map((member) => JSON.stringify({ ...project, ...member, revision: 0 }));
        const token = `${table}:${project.project_id}:${after?.segment_id}:${after?.player_id}`;
        if (lines.length > 0) await clickhouse.insertLines(table, lines, token);
        after = page.at(-1);
        full = page.length === MEMBERS_AT_ONCE;
      }
      await copyPendingChanges(run.engines, project);
    }
  });
}

interface ChangedSince {
  copy: MirrorCopy;
  /** Up to which the rows were read from Postgres. */
  position: MirrorPosition;
  tables: readonly CopiedTable[];
  replacementOf: ReplacementName;
  scope: string;
}

/**
 * Copies what the live tables have of rows that have changed since they were read. Such a row may not have been read,
 * because its change was of a transaction as new as a running one, and may have changed again before the mirror came to
 * it. It comes through the mirror then, with a higher revision, but readers must not miss it until that.
 */
async function copyChangedSince(
  { engines: { clickhouse, postgres }, session }: Rebuild,
  { copy, position, tables, replacementOf, scope }: ChangedSince,
): Promise<void> {
  for (let after = MIRROR_START.row_id, full = true; full;) {
    await requireLocks(session);
    const ids = await readIdsChangedAfter(postgres.service, copy, position, after, CHANGED_AT_ONCE);
    for (const table of ids.length === 0 ? [] : tables) {
      await copyRows(
        clickhouse,
        { from: `${table} final`, to: replacementOf(table), scope, of_scope: true },
        `${copy.row_id} in ({ids:Array(UUID)})`,
        { ids },
      );
    }
    after = ids.at(-1) ?? after;
    full = ids.length === CHANGED_AT_ONCE;
  }
}

/** While rows were missing, segments may have been evaluated wrongly. */
async function refreshSegments({ postgres, jobs }: Engines, projects: readonly ProjectRef[]): Promise<void> {
  const distinct = new Map(projects.map((project) => [project.project_id, project]));
  const segments = await readOwnSegments(postgres.service, [...distinct.values()]);
  for (const project of distinct.values()) await forgetProject(postgres.service, project);
  for (const segment of segments) await jobs.add(postgres.service, refreshJob(segment));
}

function within(projects: readonly ProjectRef[]): (row: ProjectRef) => boolean {
  const wanted = new Set(projects.map(({ tenant_id, project_id }) => `${tenant_id} ${project_id}`));
  return ({ tenant_id, project_id }) => wanted.has(`${tenant_id} ${project_id}`);
}

async function insertPage(
  clickhouse: Engines['clickhouse'],
  table: string,
  rows: readonly { line: string }[],
  position: MirrorPosition,
): Promise<void> {
  if (rows.length === 0) return;
  const lines = rows.map(({ line }) => line);
  await clickhouse.insertLines(table, lines, tokenOf(table, position));
}

function tokenOf(table: string, position: MirrorPosition): string {
  return `${table}:${Object.values(position).join(':')}`;
}
