import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LetterResource, ReplayReport } from '../../src/ingest/dead-letters/schema.ts';
import { newId } from '../../src/platform/ids.ts';
import { call, internally } from '../engines/http-client.ts';
import { folded, startTestService, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

/** Every dead letter, read in pages of `limit`. */
async function letters(limit = 200, reason?: string): Promise<LetterResource[]> {
  const all: LetterResource[] = [];
  let after: string | null = null;
  do {
    const query = new URLSearchParams({
      limit: String(limit),
      ...(after && { after }),
      ...(reason && { reason }),
    });
    const path = `dead-letters?${query.toString()}`;
    const { status, data, next_cursor } = await internally<LetterResource[]>(service, path);
    expect(status).toBe(200);
    expect(data.length).toBeLessThanOrEqual(limit);
    all.push(...data);
    after = next_cursor;
  } while (after !== null);
  return all;
}

async function replay(body: object): Promise<ReplayReport> {
  const { status, data } = await internally<ReplayReport>(service, 'dead-letters/replay', body);
  expect(status).toBe(200);
  return data;
}

async function send(event: object): Promise<void> {
  const response = await call(`${service.ingest_url}/v1/events`, service.api_key, { body: event });
  expect(response.status).toBe(202);
}

function session(player_id: string): object {
  return { event: 'session_start', player_id };
}

/** Produces a dead letter of a player that does not exist. */
async function unknownPlayer(): Promise<{ player_id: string; letter: LetterResource }> {
  const player_id = newId();
  await send(session(player_id));
  const letter = await until('the letter is there', async (saw) => {
    await folded(service.platform);
    return saw(await letters()).find(({ value }) => value.includes(player_id));
  });
  return { player_id, letter };
}

/** Inserts the player, as a restored backup would. */
async function restorePlayer(player_id: string): Promise<void> {
  const { tenant_id, project_id } = service;
  const now = new Date();
  const sql = service.platform.postgres.service;
  await sql`insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', ${now}, ${now})`;
  await sql`insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
    values (${tenant_id}, ${project_id}, ${player_id}, ${now}, ${now}, ${now})`;
}

async function sessionsOf(player_id: string): Promise<number> {
  await folded(service.platform);
  const response = await call<{ session_count: number }>(
    `${service.base_url}/v1/players/${player_id}`,
    service.session_token,
  );
  return response.data.session_count;
}

it('lists refused events with their reasons, in pages', async () => {
  const transaction_id = randomUUID();
  for (const amount of [100, 200, 300, 400]) {
    const properties = { amount, currency: 'EUR', transaction_id, payment_method: 'card' };
    await send({ event: 'deposit_confirmed', anonymous_id: 'dlq-1', properties });
  }
  await unknownPlayer();
  const all = await letters();
  expect(all.filter(({ value }) => value.includes(transaction_id)).map(({ reason }) => reason)).toEqual(
    Array.from({ length: 3 }, () => 'CONFLICTING_DUPLICATE'),
  );
  expect(await letters(1)).toEqual(all);
  expect(await letters(2)).toEqual(all);
  const conflicts = await letters(1, 'CONFLICTING_DUPLICATE');
  expect(conflicts).toEqual(all.filter(({ reason }) => reason === 'CONFLICTING_DUPLICATE'));
  // The order of letters from several partitions is the order in which the partitions were folded.
  expect(conflicts[0]).toMatchObject({
    replay: 'none',
    message: expect.stringContaining(transaction_id) as string,
  });
});

it('replays a letter through the fold once', async () => {
  const { player_id, letter } = await unknownPlayer();
  await restorePlayer(player_id);
  const { partition, offset } = letter;
  expect(await replay({ partition, offsets: [offset] })).toMatchObject({ replayed: 1, unknown_outcomes: 0 });
  expect(await sessionsOf(player_id)).toBe(1);
  expect(await replay({ partition, offsets: [offset] })).toMatchObject({ replayed: 0, replayed_before: 1 });
  expect(await sessionsOf(player_id)).toBe(1);
  expect(
    (await letters()).find((other) => other.partition === partition && other.offset === offset)?.replay,
  ).toBe('replayed');
  expect(await replay({ partition, offsets: [offset], force: true })).toMatchObject({ replayed: 1 });
  expect(await sessionsOf(player_id)).toBe(2);
});

it('replays a letter once when several requests name it at the same time', async () => {
  const { player_id, letter } = await unknownPlayer();
  await restorePlayer(player_id);
  const { partition, offset } = letter;
  const reports = await Promise.all([1, 2, 3].map(() => replay({ partition, offsets: [offset] })));
  expect(reports.reduce((sum, { replayed }) => sum + replayed, 0)).toBe(1);
  expect(await sessionsOf(player_id)).toBe(1);
});

it('does not repeat a replay with unknown outcome unless `force` is set', async () => {
  const { player_id, letter } = await unknownPlayer();
  await restorePlayer(player_id);
  const { partition, offset } = letter;
  // The state after a process died between marking the replay and appending the event.
  await service.platform.postgres.service`
    insert into dead_letter_replays (partition, log_offset, started_at) values (${partition}, ${offset}, now())`;
  expect(
    (await letters()).find((other) => other.partition === partition && other.offset === offset)?.replay,
  ).toBe('unknown');
  expect(await replay({ partition, offsets: [offset] })).toMatchObject({
    replayed: 0,
    unknown_outcome: [{ partition, offset }],
    unknown_outcomes: 1,
  });
  expect(await sessionsOf(player_id)).toBe(0);
  expect(await replay({ partition, offsets: [offset], force: true })).toMatchObject({ replayed: 1 });
  expect(await sessionsOf(player_id)).toBe(1);
});

it('lists a letter once when a fold emitted it again after a crash', async () => {
  const first = await unknownPlayer();
  const second = await unknownPlayer();
  const before = await letters();
  const { eventLog } = service.platform;
  for (const { letter } of [first, second]) {
    const { at, replay: _, ...rest } = letter;
    const repeated = { ...rest, at_ms: Date.parse(at) + 5_000 };
    await eventLog.append('dead-letters', [{ key: letter.key, value: JSON.stringify(repeated) }]);
  }
  expect(await letters()).toEqual(before);
  expect(await letters(1)).toEqual(before);
  await restorePlayer(first.player_id);
  const { partition, offset } = first.letter;
  expect(await replay({ partition, offsets: [offset] })).toMatchObject({ replayed: 1, replayed_before: 0 });
  expect(await sessionsOf(first.player_id)).toBe(1);
});

it('replays all letters of a reason; an event that fails again becomes a new letter', async () => {
  const { letter } = await unknownPlayer();
  const before = await letters(200, 'UNKNOWN_PLAYER');
  const open = before.filter(({ replay }) => replay === 'none').length;
  expect(open).toBeGreaterThan(0);
  expect(await replay({ all: true, reason: 'UNKNOWN_PLAYER' })).toMatchObject({ replayed: open });
  await folded(service.platform);
  const after = await letters(200, 'UNKNOWN_PLAYER');
  expect(after.filter(({ replay }) => replay === 'none')).toHaveLength(after.length - before.length);
  const again = after.filter(({ value }) => value === letter.value);
  expect(again).toHaveLength(2);
  expect(again[1]?.offset).not.toBe(letter.offset);
});

it('reports offsets that it does not find, and refuses invalid requests', async () => {
  expect(await replay({ partition: 0, offsets: ['999999999'] })).toMatchObject({
    replayed: 0,
    not_found: [{ partition: 0, offset: '999999999' }],
  });
  for (const body of [{}, { all: false }, { partition: 0, offsets: [] }, { partition: 0, offsets: ['-1'] }]) {
    expect((await internally(service, 'dead-letters/replay', body)).status).toBe(422);
  }
  for (const query of ['limit=0', 'limit=201', 'after=nonsense', 'reason=NO_SUCH', 'other=1']) {
    expect((await internally(service, `dead-letters?${query}`)).status).toBe(422);
  }
});

it('of a record that is too large for a letter the beginning and the size are kept, and it is not replayed', async () => {
  const { eventLog } = service.platform;
  const beginning = `{"ingestion_id":"${newId()}","index":0,"tenant_id":"${service.tenant_id}","event":`;
  // Not JSON; in a letter each quotation mark becomes two characters.
  const value = beginning + '"'.repeat(4 * 1024 * 1024);
  await eventLog.append('events', [{ key: 'large', value }]);
  await folded(service.platform);
  const letter = (await letters()).find((one) => one.key === 'large');
  expect(letter).toMatchObject({ reason: 'MALFORMED_RECORD', value_bytes: value.length });
  expect(letter?.message).toContain('too large to be kept');
  expect(letter?.value).toBe(value.slice(0, 4_096));
  const { partition = 0, offset = '' } = letter ?? {};
  const end = await eventLog.endOffsets('events');
  const report = await replay({ partition, offsets: [offset], force: true });
  expect(report).toMatchObject({ replayed: 0, incomplete: [{ partition, offset }], not_found: [] });
  expect(await eventLog.endOffsets('events')).toEqual(end);
});
