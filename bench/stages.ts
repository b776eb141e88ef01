import { readdir, readFile } from 'node:fs/promises';
import type { Profiler } from 'node:inspector';
import type { Db } from '../src/platform/postgres/port.ts';

/** A stage of an event's way: the code that does its work in Node, and the statements that do it in Postgres. */
interface Stage {
  name: string;
  /** Matches the paths of source files; the first stage that matches counts. */
  files?: RegExp;
  /** Matches the statements of Postgres. */
  statements?: RegExp;
}

const STAGES: readonly Stage[] = [
  {
    name: 'log: append',
    files: /event-log\/postgres-appender/,
    statements: /^insert into event_log\.records/,
  },
  { name: 'log: read', files: /src\/platform\/event-log\//, statements: /^with sized|from event_log\./ },
  { name: 'fold: parse', files: /fold\/(fold-event|snapshot|parse)/ },
  {
    name: 'fold: read',
    files: /fold\/read-queries|money\/ledger-queries/,
    statements:
      /player_identities i where|join projects p using|from ledger l where|into_player_id from player_merges/,
  },
  {
    name: 'fold: write',
    files: /fold\/write-queries/,
    statements:
      /^insert into ledger|^update player_totals|^insert into (players|player_identities|player_totals)|fold_positions/,
  },
  { name: 'fold: decide and emit', files: /src\/ledger\/|processors\/player-fold/ },
  { name: 'sink', files: /analytics-sink|sink-queries/, statements: /sink_positions/ },
  {
    name: 'mirror',
    files: /player-mirror|src\/analytics\//,
    statements: /player_changes|from player_totals t|mirror_positions|database_epochs/,
  },
  {
    name: 'segments: pass',
    files: /src\/segments\/|segment-refresh/,
    statements: /dirty_players|segment_members|from segments|segment_changes|evaluated_players/,
  },
  {
    name: 'intake',
    files: /src\/(ingest|http|auth|app)\/|node_modules\/(fastify|find-my-way|ajv|light-my-request|fast-)/,
  },
  { name: 'driver of Postgres', files: /node_modules\/postgres\/|src\/platform\/postgres\// },
  { name: 'driver of ClickHouse', files: /node_modules\/(@clickhouse|chdb)|src\/platform\/clickhouse\// },
  { name: 'other processors', files: /processors\/|src\/(engage|bonuses|players|tenants)\// },
  { name: 'commit', statements: /^commit/i },
];
const REST = 'rest (sockets, garbage collection, timers)';

/** Microseconds by the name of a stage. */
export type StageTimes = Record<string, number>;

/**
 * The time of a CPU profile by stage. A function counts for the stage of its file, or else for that of its nearest caller
 * that has one. Idle time is left out.
 */
export function timesOfProfile({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): StageTimes {
  const stages = new Map<number, string>();
  const by_id = new Map(nodes.map((node) => [node.id, node]));
  const visit = (id: number, inherited: string): void => {
    const node = by_id.get(id);
    if (node === undefined) return;
    const { url, functionName } = node.callFrame;
    const own = STAGES.find(({ files }) => files?.test(url) === true)?.name;
    const stage = functionName === '(idle)' || functionName === '(program)' ? '' : (own ?? inherited);
    stages.set(id, stage);
    for (const child of node.children ?? []) visit(child, stage === '' ? inherited : stage);
  };
  const [root] = nodes;
  if (root !== undefined) visit(root.id, REST);
  const times: StageTimes = {};
  for (const [i, id] of samples.entries()) {
    const stage = stages.get(id) ?? REST;
    if (stage !== '') times[stage] = (times[stage] ?? 0) + (timeDeltas[i] ?? 0);
  }
  return times;
}

const SAMPLE_MS = 20;

/** Samples which statements Postgres works on, until `stop`; the time in which backends were active, by stage. */
export async function sampleStatements(sql: Db, stop: AbortSignal): Promise<StageTimes> {
  const times: StageTimes = {};
  for (let last_ms = performance.now(); !stop.aborted;) {
    const rows = await sql<{ query: string }[]>`
      select ltrim(left(query, 1000), E' \n') as query from pg_stat_activity
      where state = 'active' and backend_type = 'client backend' and pid <> pg_backend_pid()`;
    const now_ms = performance.now();
    for (const { query } of rows) {
      const stage = STAGES.find(({ statements }) => statements?.test(query) === true)?.name ?? REST;
      times[stage] = (times[stage] ?? 0) + (now_ms - last_ms) * 1_000;
    }
    last_ms = now_ms;
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  }
  return times;
}

/** CPU time of the threads of a process by name, in milliseconds; the threads of ClickHouse have names of their own. */
export async function threadTimes(pid: number): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const id of await readdir(`/proc/${pid}/task`)) {
    const [name, stat] = await Promise.all(
      ['comm', 'stat'].map((file) => readFile(`/proc/${pid}/task/${id}/${file}`, 'utf8').catch(() => '')),
    );
    const fields = stat?.split(') ')[1]?.split(' ') ?? [];
    const key = id === String(pid) ? 'main' : (name ?? '').trim();
    times.set(key, (times.get(key) ?? 0) + (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10);
  }
  return times;
}

/** The table of microseconds per event, stage by stage. */
export function formatStages(
  node: StageTimes,
  postgres: StageTimes,
  clickhouse_ms: number,
  events: number,
): string {
  const per = (us: number | undefined) => ((us ?? 0) / events).toFixed(1).padStart(10);
  const names = [...STAGES.map(({ name }) => name), REST];
  const lines = names
    .filter((name) => (node[name] ?? 0) + (postgres[name] ?? 0) > 0)
    .map((name) => `        ${name.padEnd(44)}${per(node[name])}${per(postgres[name])}`);
  const head = `        ${'µs per event'.padEnd(44)}${'Node'.padStart(10)}${'Postgres'.padStart(10)}`;
  const last = `        ${'ClickHouse, every thread'.padEnd(54)}${per(clickhouse_ms * 1_000)}`;
  return [head, ...lines, last].join('\n');
}
