import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSource } from '../scripts/import/run.ts';
import type { EventBody } from '../src/ingest/events/validate.ts';
import { packageRoot } from '../src/package-root.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { TestService } from '../test/engines/service.ts';
import { BET_MAPPING, writeBets } from './bet-file.ts';
import { load, rawRequest } from './load.ts';
import { startBenchServer, type BenchServer } from './child.ts';
import { chunks } from './events.ts';
import { foldEndToEnd } from './fold.ts';
import { foldedRecords } from './whole.ts';
import { alternate, perSecond, ratios, result, timed, type Result, type Sample } from './measure.ts';

const BETS = Number(process.env['IMPORT_BETS'] ?? 100_000);
const ROUNDS = Number(process.env['IMPORT_ROUNDS'] ?? 5);
const POLL_MS = 20;

/**
 * `npm run import` of a made file of bets, without a limit of its rate, against the fold of such events alone: lines per
 * second at the front door of a service that takes events in and does nothing else, as that fold does nothing else; and
 * at the front door of the whole service, until everything is accepted and until everything is folded, where requests
 * that were prepared before show what the service can take.
 */
export async function benchImport(service: TestService): Promise<Result[]> {
  const dir = await mkdtemp(join(tmpdir(), 'engagement-import-'));
  try {
    await writeFile(join(dir, 'mapping.json'), JSON.stringify(BET_MAPPING));
    return [...(await frontDoor(service, dir)), ...(await wholeService(service, dir))];
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function frontDoor(service: TestService, dir: string): Promise<Result[]> {
  const server = await startBenchServer('service');
  try {
    let round = 0;
    const pairs = await alternate(
      ROUNDS,
      async () => importFile(server, dir, await newFile(dir, `a${round}`)),
      async () => foldEndToEnd(service, await eventsOf(await newFile(dir, `b${round++}`))),
    );
    return results('fold alone, front door alone', pairs);
  } finally {
    await server.stop();
  }
}

/** The command, requests that were prepared before, and the fold alone, in turn. */
async function wholeService(service: TestService, dir: string): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const sql = connectPool(server.ready['postgres_url'] ?? '', { max: 1 });
  /** Also waits until everything is folded. */
  const untilFolded = async (send: () => Promise<Sample>) => {
    const before = await foldedRecords(sql);
    const started_ms = performance.now();
    const accepted = await send();
    while ((await foldedRecords(sql)) < before + BETS) await sleep(POLL_MS);
    return { accepted, folded: { ...accepted, wall_ms: performance.now() - started_ms } };
  };
  const rounds: Record<'imported' | 'imported_folded' | 'prepared_folded' | 'fold', Sample>[] = [];
  try {
    // The first round does not count.
    for (let round = 0; round <= ROUNDS; round++) {
      const file = await newFile(dir, `c${round}`);
      const imported = await untilFolded(() => importFile(server, dir, file));
      const events = await eventsOf(await newFile(dir, `d${round}`));
      const prepared = await untilFolded(() => sendPrepared(server, events));
      const fold = await foldEndToEnd(service, await eventsOf(await newFile(dir, `e${round}`)));
      if (round === 0) continue;
      rounds.push({
        imported: imported.accepted,
        imported_folded: imported.folded,
        prepared_folded: prepared.folded,
        fold,
      });
    }
  } finally {
    await sql.end({ timeout: 5 });
    await server.stop();
  }
  const pairs = (a: keyof (typeof rounds)[number], b: keyof (typeof rounds)[number]) =>
    rounds.map((round) => ({ a: round[a], b: round[b] }));
  return [
    ...results('fold alone, whole service', pairs('imported', 'fold')),
    ...results('fold alone, whole service, until folded', pairs('imported_folded', 'fold')),
    ...results('prepared requests, until folded', pairs('imported_folded', 'prepared_folded')),
  ];
}

async function sendPrepared(server: BenchServer, events: readonly EventBody[]): Promise<Sample> {
  const headers = { Authorization: `Bearer ${server.ready['api_key'] ?? 'none'}` };
  const requests = chunks(events, 100).map((part) =>
    rawRequest('POST', '/v1/events/batch', headers, JSON.stringify({ events: part })),
  );
  return timed(async () => {
    await load(server.port, requests, { connections: 16, total: requests.length, status: 202 });
    return events.length;
  });
}

function results(what: string, pairs: { a: Sample; b: Sample }[]): Result[] {
  const listed = (side: 'a' | 'b') => pairs.map((pair) => perSecond(pair[side]).toFixed(0)).join(', ');
  const note = `per second: import ${listed('a')}; compared with ${listed('b')}; ${BETS} bets`;
  return [result(`import ÷ ${what}`, ratios(pairs, perSecond), { at_least: 0.7 }, note)];
}

let files = 0;

async function newFile(dir: string, label: string): Promise<string> {
  const file = join(dir, `bets-${++files}.csv`);
  await writeBets(file, BETS, { players: 5_000, label });
  return file;
}

/** The events of the file, as the importer makes them. */
async function eventsOf(file: string): Promise<EventBody[]> {
  const source = await openSource(file, JSON.stringify(BET_MAPPING));
  const events: EventBody[] = [];
  for await (const part of source.records(source.first))
    for (const record of part) events.push(...(source.map(record).events ?? []));
  return events;
}

/** Runs the command on the file, from the start of its process to its end. */
async function importFile({ ready }: BenchServer, dir: string, file: string): Promise<Sample> {
  const command = join(packageRoot, 'dist', 'scripts', 'import.js');
  const flags = ['--mapping', join(dir, 'mapping.json'), '--per-second', 'max'];
  const { api_key = '', ingest_url = '', base_url = '' } = ready;
  const urls = ['--ingest-url', ingest_url, '--base-url', base_url];
  const started_ms = performance.now();
  const child = spawn(process.execPath, [command, file, ...flags, ...urls], {
    env: { ...process.env, IMPORT_API_KEY: api_key, DATA_DIR: dir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`the import ended with ${String(code)}:\n${printed}`);
  return { items: BETS, wall_ms: performance.now() - started_ms, cpu_ms: 0 };
}
