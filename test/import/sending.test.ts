import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { json } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import type { ImportState } from '../../scripts/import/journal.ts';
import type { Retry } from '../../scripts/import/sender.ts';
import { Pace } from '../../scripts/import/pace.ts';
import { fileOf, importFile, verdictsOf } from './import-file.ts';

// The import against a service that is not there, refuses, or takes some of the events. No engine.

const MAPPING = {
  anonymous_id: 'player',
  timestamp: { time: 'at' },
  events: [{ event: { column: 'name', map: { bet: 'bet_lost', none: null } }, properties: { bet_id: 'id' } }],
};

interface SentEvent {
  properties: { bet_id: string };
}
type Answer = (events: SentEvent[], response: ServerResponse) => void;

let server: Server | undefined;
afterEach(() => server?.close());

/** A service that answers as `answer` says; resolves with where it is. */
async function serve(answer: Answer): Promise<{ ingest_url: string; api_key: string }> {
  server = createServer((request: IncomingMessage, response) => {
    void json(request).then((body) => answer((body as { events: SentEvent[] }).events, response));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { ingest_url: `http://127.0.0.1:${port}`, api_key: 'key' };
}

function reply(response: ServerResponse, status: number, body: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

let requests = 0;
function accept(
  response: ServerResponse,
  events: readonly SentEvent[],
  rejected: readonly { index: number; code: string; reason: string }[] = [],
): void {
  const data = { ingestion_id: `i-${++requests}`, accepted: events.length - rejected.length, rejected };
  reply(response, 202, { data });
}

const error = (code: string) => ({ error: { code, message: code.toLowerCase() } });

function linesOf(count: number): string {
  const rows = Array.from({ length: count }, (_, i) => `${i},p,2026-01-31T12:00:00Z,bet`);
  return `id,player,at,name\n${rows.join('\n')}\n`;
}

it('each line has a verdict', async () => {
  const target = await serve((events, response) =>
    accept(response, events, [{ index: 1, code: 'PROPERTIES_INVALID', reason: 'no' }]),
  );
  const rows = ['id,player,at,name', '0,p,2026-01-31,bet', '1,p,2026-01-31T12:00:00Z,none'];
  const more = ['2,p,2026-01-31T12:00:00Z,bet', '3,p,2026-01-31T12:00:00Z,bet', '4,p'];
  const file = await fileOf([...rows, ...more].join('\n'));
  const { counts, is_done } = await importFile(file, MAPPING, target);
  expect(counts).toEqual({ lines: 5, accepted: 1, refused: 3, skipped: 1, events: 1 });
  expect(is_done).toBe(true);
  expect(await verdictsOf(file)).toMatchObject([
    { line: 2, verdict: 'refused', code: 'MAPPING_FAILED' },
    { line: 6, verdict: 'refused', code: 'LINE_MALFORMED' },
    { line: 5, verdict: 'refused', event: 'bet_lost', code: 'PROPERTIES_INVALID', reason: 'no' },
    { line: 3, verdict: 'skipped' },
    { lines: [2, 6], verdict: 'accepted', events: 1 },
  ]);
});

it('a batch that is refused for the moment is sent again, the same', async () => {
  const seen: string[] = [];
  const target = await serve((events, response) => {
    seen.push(JSON.stringify(events));
    if (seen.length === 1) reply(response, 503, error('INGESTION_UNAVAILABLE'), { 'retry-after': '0' });
    else if (seen.length === 2) response.destroy();
    else accept(response, events);
  });
  const retries: Retry[] = [];
  const file = await fileOf(linesOf(3));
  const { counts } = await importFile(file, MAPPING, target, { onRetry: (retry) => retries.push(retry) });
  expect(counts.accepted).toBe(3);
  expect(new Set(seen).size).toBe(1);
  expect(retries.map(({ attempt, message }) => [attempt, message.split(':')[0]])).toEqual([
    [1, '503 INGESTION_UNAVAILABLE'],
    [2, 'UNREACHABLE'],
  ]);
});

it('an import that stops goes on where it was', async () => {
  const sent: number[] = [];
  let is_away = true;
  const target = await serve((events, response) => {
    const ids = events.map(({ properties }) => Number(properties.bet_id));
    if (is_away && ids.includes(250)) return reply(response, 503, error('SERVICE_UNAVAILABLE'));
    sent.push(...ids);
    accept(response, events);
  });
  const file = await fileOf(linesOf(450));
  const options = { in_flight: 1, attempts: 2 };
  await expect(importFile(file, MAPPING, target, options)).rejects.toThrow(
    'stopped after 2 attempts: 503 SERVICE_UNAVAILABLE',
  );
  expect(sent).toHaveLength(200);
  // A killed process has written verdicts that no state counts.
  await appendFile(`${file}.verdicts.ndjson`, '{"line":9999,');
  is_away = false;
  const { counts } = await importFile(file, MAPPING, target, options);
  expect(counts).toEqual({ lines: 450, accepted: 450, refused: 0, skipped: 0, events: 450 });
  expect(sent).toEqual(Array.from({ length: 450 }, (_, i) => i));
  const ranges = (await verdictsOf(file)).map((verdict) => ('lines' in verdict ? verdict.lines : []));
  expect(ranges).toEqual([
    [2, 101],
    [102, 201],
    [202, 301],
    [302, 401],
    [402, 451],
  ]);
});

it('an import that is stopped keeps what was answered', async () => {
  const target = await serve((events, response) => accept(response, events));
  const stop = new AbortController();
  const file = await fileOf(linesOf(450));
  const stopping = importFile(file, MAPPING, target, {
    in_flight: 1,
    stop: stop.signal,
    onProgress: ({ counts }) => {
      if (counts.lines === 200) stop.abort(new Error('stopped by SIGTERM'));
    },
  });
  await expect(stopping).rejects.toThrow('stopped by SIGTERM');
  const { position } = JSON.parse(await readFile(`${file}.import.json`, 'utf8')) as ImportState;
  expect(position.line).toBe(202);
  expect((await importFile(file, MAPPING, target)).counts.events).toBe(450);
});

it('a file, mapping, receiver or source that has changed is refused', async () => {
  const target = await serve((events, response) => accept(response, events));
  const file = await fileOf(linesOf(2));
  await importFile(file, MAPPING, target);
  const again = (mapping: object = MAPPING, key = 'key', source?: string) =>
    importFile(file, mapping, { ...target, api_key: key }, source === undefined ? {} : { source });
  expect((await again()).counts.lines).toBe(2);
  await expect(again({ ...MAPPING, external_id: 'id' })).rejects.toThrow('the mapping has changed');
  await expect(again(MAPPING, 'other')).rejects.toThrow('another API key');
  await expect(again(MAPPING, 'key', 'name')).rejects.toThrow('another --source');
  await writeFile(file, linesOf(3));
  await expect(again()).rejects.toThrow('the file has changed');
  await rm(`${file}.import.json`);
  expect((await again()).counts.lines).toBe(3);
  expect(await readFile(`${file}.import.json`, 'utf8')).not.toContain('"key"');
});

it('a batch that is too large is divided, and one event that is too large is refused', async () => {
  const target = await serve((events, response) => {
    const is_large = events.some(({ properties }) => properties.bet_id === '5') || events.length > 30;
    if (is_large) reply(response, 413, error('PAYLOAD_TOO_LARGE'));
    else accept(response, events);
  });
  const file = await fileOf(linesOf(100));
  const { counts } = await importFile(file, MAPPING, target);
  expect(counts).toMatchObject({ accepted: 99, refused: 1, events: 99 });
  expect(await verdictsOf(file)).toContainEqual(
    expect.objectContaining({ line: 7, verdict: 'refused', code: 'PAYLOAD_TOO_LARGE' }),
  );
});

it('a wrong key stops the import at once', async () => {
  const target = await serve((_events, response) => reply(response, 401, error('UNAUTHORIZED')));
  const file = await fileOf(linesOf(2));
  await expect(importFile(file, MAPPING, target)).rejects.toThrow('stopped: 401 UNAUTHORIZED');
});

it('the pace halves after a refusal, once a second, and grows back', () => {
  let now_ms = 0;
  const pace = new Pace(1_000, () => now_ms);
  const take = () => pace.take(100, new AbortController().signal);
  void take();
  expect(pace.waits_ms).toBe(100);
  pace.refused(2_000);
  pace.refused(0);
  expect([pace.per_second, pace.waits_ms]).toEqual([500, 2_000]);
  now_ms = 2_000;
  expect(pace.waits_ms).toBe(0);
  void take();
  expect(pace.per_second).toBe(600);
  pace.answered(1_500);
  expect(pace.per_second).toBe(300);
  now_ms = 30_000;
  void take();
  expect(pace.per_second).toBe(1_000);
  // A pause is not made up for.
  expect(pace.waits_ms).toBe(100);
});
