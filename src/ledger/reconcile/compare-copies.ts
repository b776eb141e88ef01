import { copyPendingChanges } from '../../segments/publish-changes.ts';
import type { Platform } from '../../wiring/platform.ts';
import { differencesOfCopy, isSame } from './compare.ts';
import { COPIES, readLiveSegments, type CopiedRow, type CopySource, type Part } from './copies-queries.ts';
import type { Findings } from './findings.ts';
import type { Project } from './queries.ts';

type Engines = Pick<Platform, 'postgres' | 'clickhouse'>;

/** Rows that are compared at once: bounds memory, and the time of a statement. */
const SLICE_ROWS = 20_000;
/** Rows that are read again by their keys, which are parameters of a query. */
const KEYS_AT_ONCE = 1_000;
/** Rows to read again that are held in memory: they share one wait for the mirrors. */
const MAX_SUSPECTS = 50_000;
/** A row that changes each time it is read is not decided about. */
const MAX_READINGS = 3;

/** Rows of one project that differ from their copies, or did when they were read. */
interface Suspects {
  source: CopySource;
  project: Project;
  keys: readonly string[];
}

/** The rows of {@link Suspects} as they are in Postgres now. */
interface Read extends Suspects {
  before: ReadonlyMap<string, CopiedRow>;
}

/**
 * Compares every table of ClickHouse that copies rows of Postgres, slice by slice. What differs is read again: before
 * and after its copy, with a wait for the mirrors in between. A row that is the same before and after must have that
 * copy. So no transaction is open for longer than a page. `check` is called for each project.
 */
export async function compareCopies(
  engines: Engines,
  projects: readonly Project[],
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
  for (const project of projects) {
    await check();
    await copyPendingChanges(engines, project);
    for (const source of COPIES) {
      for await (const keys of differingKeys(engines, source, project)) {
        for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
          suspects.push({ source, project, keys: keys.slice(from, from + KEYS_AT_ONCE) });
        }
        if (suspects.length * KEYS_AT_ONCE > MAX_SUSPECTS) await confirmAll();
      }
    }
  }
  await confirmAll();
}

/** The keys whose rows and copies differ, slice by slice. */
async function* differingKeys(
  { postgres, clickhouse }: Engines,
  source: CopySource,
  project: Project,
): AsyncGenerator<string[]> {
  for (let after: string | null = null, last = false; !last;) {
    const rows: CopiedRow[] = await source.readRows(
      postgres.service,
      project,
      { after, to: null },
      SLICE_ROWS,
    );
    last = rows.length < SLICE_ROWS;
    const part: Part = { after, to: last ? null : (rows.at(-1)?.key ?? null) };
    const wanted = byKey(rows);
    const copies = byKey(await source.readCopies(clickhouse, project, part));
    yield [...new Set([...wanted.keys(), ...copies.keys()])].filter((key) => {
      const row = wanted.get(key);
      return row?.is_open !== true && !isSame(source.columns, row, copies.get(key));
    });
    after = part.to;
  }
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
    const rows = await of.source.readRows(service, of.project, { keys: of.keys }, of.keys.length);
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
  const after = byKey(await source.readRows(postgres.service, project, { keys }, keys.length));
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
