import { copyPendingChanges } from '../segments/publish-changes.ts';
import type { Platform } from '../platform/platform.ts';
import { differencesOfCopy, isSame } from './compare.ts';
import { COPIES, readLiveSegments } from './copies-queries.ts';
import type { CopiedRow, CopySource, PlacedRow } from './copy-source-queries.ts';
import type { Findings } from './findings.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';

type Engines = Pick<Platform, 'postgres' | 'clickhouse'>;

/** Rows that are read at once: bounds the time of a statement. */
const PAGE_ROWS = 10_000;
/** Rows of a project that are compared at once, and the most rows of all projects that are held meanwhile. */
const SLICE_ROWS = 20_000;
const MAX_HELD = 60_000;
/** Rows that are read again by their keys, which are parameters of a query. */
const KEYS_AT_ONCE = 1_000;
/** Rows to read again that are held in memory: they share one wait for the mirrors. */
const MAX_SUSPECTS = 50_000;
/** A row that changes each time it is read is not decided about. */
const MAX_READINGS = 3;

/** Rows of one project that differ from their copies, or did when they were read. */
interface Suspects {
  source: CopySource;
  project: ProjectRef;
  keys: readonly string[];
}

/** The rows of {@link Suspects} as they are in Postgres now. */
interface Read extends Suspects {
  before: ReadonlyMap<string, CopiedRow>;
}

/**
 * Compares every table of ClickHouse that copies rows of Postgres, slice by slice. What differs is read again: before
 * and after its copy, with a wait for the mirrors in between. A row that is the same before and after must have that
 * copy. So no transaction is open for longer than a page. `projects`: all, or those of the tenant `tenant_id`. `check` is
 * called for each slice.
 */
export async function compareCopies(
  engines: Engines,
  tenant_id: string | undefined,
  projects: readonly ProjectRef[],
  { catchUp, check }: { catchUp: () => Promise<void>; check: () => Promise<void> },
  findings: Findings,
): Promise<void> {
  let suspects: Suspects[] = [];
  const confirmAll = async () => {
    for (let count = 0; count < MAX_READINGS && suspects.length > 0; count++) {
      suspects = await decide(engines, suspects, catchUp, findings);
    }
    suspects = [];
  };
  for (const source of COPIES) {
    for await (const { project, keys } of differingKeys(engines, source, tenant_id, projects)) {
      await check();
      for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
        suspects.push({ source, project, keys: keys.slice(from, from + KEYS_AT_ONCE) });
      }
      if (suspects.length * KEYS_AT_ONCE > MAX_SUSPECTS) await confirmAll();
    }
  }
  await confirmAll();
}

/** Rows of a project that were read and are not compared yet: all rows behind the key `after` so far. */
interface Held {
  project: ProjectRef;
  after: string | null;
  rows: CopiedRow[];
}

/**
 * The keys whose rows and copies differ, slice by slice. Postgres is read once through all projects. ClickHouse has the
 * rows of a project together, so each slice that is compared is of one project: one that has a whole slice, or has the
 * most rows when too many are held.
 */
async function* differingKeys(
  engines: Engines,
  source: CopySource,
  tenant_id: string | undefined,
  projects: readonly ProjectRef[],
): AsyncGenerator<{ project: ProjectRef; keys: string[] }> {
  const held = new Map<string, Held>();
  for (const project of projects) held.set(project.project_id, { project, after: null, rows: [] });
  for (let after: PlacedRow | undefined, full = true; full;) {
    const page: PlacedRow[] = await source.readPage(engines.postgres.service, {
      tenant_id,
      after,
      limit: PAGE_ROWS,
    });
    // Of a project that was made since the run began nothing is compared.
    for (const row of page) held.get(row.project_id)?.rows.push(row);
    for (const slice of slicesOf([...held.values()])) {
      const to = slice.rows.at(-1)?.key ?? null;
      yield await compareSlice(engines, source, slice, to);
      held.set(slice.project.project_id, { ...slice, after: to, rows: [] });
    }
    after = page.at(-1);
    full = page.length === PAGE_ROWS;
  }
  for (const rest of held.values()) yield await compareSlice(engines, source, rest, null);
}

/** What is compared now. */
function slicesOf(held: readonly Held[]): Held[] {
  let count = held.reduce((sum, { rows }) => sum + rows.length, 0);
  const slices: Held[] = [];
  for (const one of held.toSorted((a, b) => b.rows.length - a.rows.length)) {
    if (one.rows.length < SLICE_ROWS && count <= MAX_HELD) break;
    slices.push(one);
    count -= one.rows.length;
  }
  return slices;
}

/** Compares the rows with the copies up to the key `to`, null: with all further ones. */
async function compareSlice(
  { postgres, clickhouse }: Engines,
  source: CopySource,
  { project, after, rows }: Held,
  to: string | null,
): Promise<{ project: ProjectRef; keys: string[] }> {
  if (source.table === 'segment_members') await copyPendingChanges({ postgres, clickhouse }, project);
  const wanted = byKey(rows);
  const copies = byKey(await source.readCopies(clickhouse, project, { after, to }));
  const keys = [...new Set([...wanted.keys(), ...copies.keys()])].filter((key) => {
    const row = wanted.get(key);
    return row?.is_open !== true && !isSame(source.columns, row, copies.get(key));
  });
  return { project, keys };
}

/** Reports those of the rows that surely differ from their copies; returns those that it could not decide about. */
async function decide(
  engines: Engines,
  suspects: readonly Suspects[],
  catchUp: () => Promise<void>,
  findings: Findings,
): Promise<Suspects[]> {
  const { service } = engines.postgres;
  const read: Read[] = [];
  for (const of of suspects) {
    const rows = await of.source.readRows(service, of.project, of.keys);
    read.push({ ...of, before: byKey(rows) });
  }
  await catchUp();
  const open: Suspects[] = [];
  for (const of of read) {
    const keys = await decideAbout(engines, of, findings);
    if (keys.length > 0) open.push({ ...of, keys });
  }
  return open;
}

async function decideAbout(
  { postgres, clickhouse }: Engines,
  { source, project, keys, before }: Read,
  findings: Findings,
): Promise<string[]> {
  const { columns, table } = source;
  const isMembers = table === 'segment_members';
  if (isMembers) await copyPendingChanges({ postgres, clickhouse }, project);
  const copies = byKey(await source.readCopies(clickhouse, project, { keys }));
  const after = byKey(await source.readRows(postgres.service, project, keys));
  const live = isMembers ? await readLiveSegments(postgres.service, project) : undefined;
  const open: string[] = [];
  for (const key of keys) {
    const [row, copy] = [after.get(key), copies.get(key)];
    // Of rows in this state, and of deleted segments, ClickHouse may have copies.
    if (row?.is_open === true || live?.has(key.slice(0, key.indexOf(' '))) === false) continue;
    if (isSame(columns, row, copy)) continue;
    if (!isSame(columns, before.get(key), row)) {
      open.push(key);
      continue;
    }
    for (const { column, ...values } of differencesOfCopy(columns, row, copy)) {
      const player_id = (row ?? copy)?.player_id ?? '';
      const field = source.fieldOf(key, column);
      findings.add({ check: 'mirror', table, ...project, player_id, field, ...values });
    }
  }
  return open;
}

function byKey(rows: readonly CopiedRow[]): Map<string, CopiedRow> {
  return new Map(rows.map((row) => [row.key, row]));
}
