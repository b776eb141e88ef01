import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadavg } from 'node:os';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { TestTenant } from '../test/engines/service.ts';
import { startBenchServer } from './child.ts';
import type { Result } from './measure.ts';
import { CalmTenant } from './neighbours-calm.ts';
import { NeighbourClient } from './neighbours-client.ts';
import { LockWindows } from './neighbours-figures.ts';
import { countUnfolded } from './neighbours-queries.ts';
import {
  failingSegment,
  hostileTemplate,
  importingTenant,
  lockedTable,
  slowRefresh,
  type Trouble,
} from './neighbours-troubles.ts';

const SECONDS = Number(process.env['NEIGHBOURS_SECONDS'] ?? 600);
/** Names of the troubles that run, to look at one of them; absent: all. */
const ONLY = process.env['NEIGHBOURS_ONLY']?.split(',');
/** Players of the refreshed segment: as many as are copied to ClickHouse within a minute. */
const PLAYERS = Number(process.env['NEIGHBOURS_PLAYERS'] ?? 200_000);
/** Events per second of the importing tenant: the default of the command. */
const IMPORT_PER_SECOND = Number(process.env['NEIGHBOURS_IMPORT_PER_SECOND'] ?? 1_000);
const BACKLOG_EVERY_MS = 1_000;
const TENANTS = ['calm', 'refreshing', 'failing', 'hostile', 'importing'] as const;
const COUNTED =
  /^(segment_evaluations_refused_total|segments_set_aside|events_folded_total|segment_changes_total)\b.*/gm;

/**
 * What a tenant with a modest load notices of five troubles beside it: a slow refresh, locked tables, a failing segment,
 * a hostile template and an import. The service is one process with the embedded engines, because there everything is
 * shared: the event loop, the one partition of the log, ClickHouse and the pools of connections.
 */
export async function benchNeighbours(): Promise<Result[]> {
  const environment = { NEIGHBOURS_TENANTS: TENANTS.join(',') };
  const server = await startBenchServer('neighbours', environment);
  const sql = connectPool(server.ready['postgres_url'] ?? '', { max: 3 });
  const urls = { base_url: server.ready['base_url'] ?? '', ingest_url: server.ready['ingest_url'] ?? '' };
  const tenants = JSON.parse(server.ready['tenants'] ?? '{}') as Record<string, TestTenant>;
  const clients = Object.fromEntries(
    TENANTS.map((name) => [name, new NeighbourClient(urls, tenants[name] as TestTenant)]),
  ) as Record<(typeof TENANTS)[number], NeighbourClient>;
  const windows = new LockWindows();
  const troubles = [
    slowRefresh(clients.refreshing, sql, PLAYERS),
    lockedTable(sql, windows),
    failingSegment(clients.failing),
    hostileTemplate(clients.hostile, sql),
    importingTenant(clients.importing, IMPORT_PER_SECOND, SECONDS),
  ].filter(({ name }) => ONLY === undefined || ONLY.includes(name));
  try {
    const calm = new CalmTenant(clients.calm, sql, windows);
    await calm.prepare(SECONDS);
    for (const trouble of troubles) await trouble.prepare();
    await sideBySide(sql, calm, troubles, () => server.cpu_ms());
    const results = await calm.results();
    const metrics = await (await fetch(`${urls.base_url}/metrics`)).text();
    for (const line of metrics.match(COUNTED) ?? []) report('counted', line);
    return results;
  } finally {
    for (const client of Object.values(clients)) client.close();
    await sql.end({ timeout: 5 });
    await server.stop();
  }
}

/** Runs everything for the configured time and prints what the troubles did. */
async function sideBySide(
  sql: Db,
  calm: CalmTenant,
  troubles: readonly Trouble[],
  cpuMs: () => Promise<number>,
): Promise<void> {
  const stop = new AbortController();
  // Every pause of the load listens to it.
  setMaxListeners(0, stop.signal);
  const timer = setTimeout(() => stop.abort(), SECONDS * 1_000);
  const cpu_before_ms = await cpuMs();
  try {
    const working = troubles.map(async (trouble) => {
      report(trouble.name, await trouble.run(stop.signal));
    });
    await Promise.all([calm.run(stop.signal), watchBacklog(sql, stop.signal), ...working]);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
  const cores = ((await cpuMs()) - cpu_before_ms) / (SECONDS * 1_000);
  const load = loadavg().map((average) => average.toFixed(1));
  report(
    'machine',
    `the process of the service used ${cores.toFixed(2)} cores; load averages ${load.join(', ')}`,
  );
}

/** How far the fold is behind, sampled each second. */
async function watchBacklog(sql: Db, stop: AbortSignal): Promise<void> {
  const waiting: number[] = [];
  while (!stop.aborted) {
    waiting.push(await countUnfolded(sql));
    await sleep(BACKLOG_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
  const tenth = Math.max(1, Math.floor(waiting.length / 10));
  const course = waiting.filter((_, i) => i % tenth === 0).join(' ');
  report('fold', `events accepted and not folded: at most ${Math.max(...waiting)}; in the course ${course}`);
}

function report(name: string, text: string): void {
  process.stdout.write(`        ${name}: ${text}\n`);
}
