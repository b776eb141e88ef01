import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BET_MAPPING, writeBets } from '../../bench/bet-file.ts';
import type { ImportState } from '../../scripts/import/journal.ts';
import { packageRoot } from '../../src/package-root.ts';
import { Random } from '../crash/random.ts';
import { runs, SEED } from '../engines/effort.ts';
import { folded, type TestService } from '../engines/service.ts';
import { sharedService } from '../engines/shared-service.ts';
import { newFolder, verdictsOf } from './import-file.ts';

// The command is killed at drawn requests: before the service gets one, before its answer, or after it.

const KILLS = runs(8, { quick: 2, nightly: 20 });
const BETS = runs(32_000, { quick: 9_000, nightly: 1_000_000 });
const IN_FLIGHT = 4;
/** After so many requests the command has written its state: 20 batches were answered. */
const LEAST_REQUESTS = IN_FLIGHT + 22;
const MOMENTS = ['before', 'during', 'after'] as const;

let service: TestService;
let door: Server;
let child: ChildProcess | undefined;
/** The next kill: after so many more requests. */
let kill: { requests: number; moment: (typeof MOMENTS)[number] } | undefined;

beforeAll(async () => {
  service = await sharedService();
  door = createServer((request, response) => void pass(request, response));
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  door?.close();
  await service?.close();
});

/** Passes a request to the service and its answer back, unless it is the one at which the command is killed. */
async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const is_last = kill !== undefined && --kill.requests === 0;
  const moment = is_last ? kill?.moment : undefined;
  if (is_last) kill = undefined;
  const body = await buffer(request).catch(() => undefined);
  if (moment === 'before') child?.kill('SIGKILL');
  if (body === undefined || moment === 'before') return void response.destroy();
  const { authorization = '', 'content-type': type = '' } = request.headers;
  const answer = await fetch(`${service.ingest_url}${request.url}`, {
    method: request.method ?? 'POST',
    headers: { authorization, 'content-type': type },
    body,
  });
  const data = await answer.text();
  if (moment === 'during') child?.kill('SIGKILL');
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(data, () => {
    if (moment === 'after') child?.kill('SIGKILL');
  });
}

/** Runs the command to its end or its kill; resolves with its exit code, null when it was killed. */
async function run(file: string): Promise<{ code: number | null; printed: string }> {
  const { port } = door.address() as AddressInfo;
  const command = join(packageRoot, 'dist', 'scripts', 'import.js');
  const flags = [
    '--mapping',
    `${file}.mapping.json`,
    '--per-second',
    'max',
    '--in-flight',
    String(IN_FLIGHT),
  ];
  const urls = ['--ingest-url', `http://127.0.0.1:${port}`, '--base-url', service.base_url];
  child = spawn(process.execPath, [command, file, ...flags, ...urls], {
    env: {
      ...process.env,
      DATA_DIR: await newFolder(),
      IMPORT_API_KEY: service.api_key,
      IMPORT_SESSION_TOKEN: service.session_token,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [printed, complaints, [code]] = await Promise.all([
    text(child.stdout as NonNullable<ChildProcess['stdout']>),
    text(child.stderr as NonNullable<ChildProcess['stderr']>),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, printed: printed + complaints };
}

it(`an import of ${BETS} bets that is killed ${KILLS} times loses nothing and doubles nothing`, async () => {
  const random = new Random(SEED);
  const file = join(await newFolder(), 'bets.csv');
  await writeFile(`${file}.mapping.json`, JSON.stringify(BET_MAPPING));
  const sums = await writeBets(file, BETS, { players: 1_000 });
  const requests = Math.floor(BETS / 100 / (KILLS + 1));
  const positions: number[] = [];
  for (let i = 0; i < KILLS; i++) {
    kill = { requests: random.integer(LEAST_REQUESTS, requests), moment: random.pick(MOMENTS) };
    const { code, printed } = await run(file);
    expect(code, printed).toBeNull();
    const state = JSON.parse(await readFile(`${file}.import.json`, 'utf8')) as ImportState;
    positions.push(state.position.offset);
  }
  // Each run went on where the one before was.
  expect(new Set(positions).size).toBe(KILLS);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  const { code, printed } = await run(file);
  expect(code, printed).toBe(0);
  const count = BETS.toLocaleString('en');
  expect(printed).toContain(`${count} lines: ${count} accepted (${count} events), 0 refused, 0 skipped`);
  expect(printed).toContain('0 dead letters');
  await folded(service.platform);
  expect(await totals()).toEqual({
    players: String(sums.players),
    wagered: String(sums.wagered),
    won: String(sums.won),
    bets: String(BETS),
    rows: String(BETS),
  });
  const lines = (await verdictsOf(file)).flatMap((verdict) => ('lines' in verdict ? [verdict.lines] : []));
  // Each line after the header is in one range.
  let next = 2;
  for (const [first, last] of lines) {
    expect(first).toBe(next);
    next = last + 1;
  }
  expect(next).toBe(BETS + 2);
});

async function totals() {
  const sql = service.platform.postgres.service;
  const { tenant_id, project_id } = service;
  const [sums] = await sql<Record<string, string>[]>`
    select count(*)::text as players, sum(total_wagered)::text as wagered, sum(total_won)::text as won,
      sum(bet_count)::text as bets,
      (select count(*) from ledger l join projects p using (project_no) where p.project_id = ${project_id})::text as rows
    from player_totals t where t.tenant_id = ${tenant_id} and t.project_id = ${project_id}`;
  return { ...sums };
}
