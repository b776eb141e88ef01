import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LetterResource } from '../../src/ingest/dead-letters/schema.ts';
import { newId } from '../../src/platform/ids.ts';
import { accept, api, member } from '../console/events/event-client.ts';
import { folded, startTestService, type TestService, type TestTenant } from '../engines/service.ts';
import { until } from '../engines/until.ts';

let service: TestService;
let other: TestTenant;
beforeAll(async () => {
  service = await startTestService();
  other = await service.newTenant();
});
afterAll(() => service.close());

/** All letters of a project, the newest first, read in pages. */
async function letters(tenant: TestTenant = service, limit = 200, query = ''): Promise<LetterResource[]> {
  const all: LetterResource[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page = await api(service, tenant.session_token, `/v1/dead-letters?limit=${limit}${query}${more}`);
    expect(page.status, page.text).toBe(200);
    all.push(...(page.data as unknown as LetterResource[]));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return all;
}

const replay = (body: object, session = service.session_token) =>
  api(service, session, '/v1/dead-letters/replay', { body });

/** Sends an event of a player that does not exist; resolves with its letter. */
async function rejected(
  tenant: TestTenant = service,
): Promise<{ player_id: string; letter: LetterResource }> {
  const player_id = newId();
  await accept(service, tenant, { event: 'session_start', player_id });
  const letter = await until('the letter is there', async (saw) => {
    await folded(service.platform);
    return saw(await letters(tenant)).find(({ value }) => value.includes(player_id));
  });
  return { player_id, letter };
}

async function restorePlayer(
  player_id: string,
  { tenant_id, project_id }: TestTenant = service,
): Promise<void> {
  const now = new Date();
  const sql = service.platform.postgres.service;
  await sql`insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', ${now}, ${now})`;
  await sql`insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
    values (${tenant_id}, ${project_id}, ${player_id}, ${now}, ${now}, ${now})`;
}

async function sessionsOf(player_id: string, { session_token }: TestTenant = service): Promise<unknown> {
  await folded(service.platform);
  return (await api(service, session_token, `/v1/players/${player_id}`)).data['session_count'];
}

describe('GET /v1/dead-letters', () => {
  it('of a project without any is empty', async () => {
    expect(await letters(await service.newTenant())).toEqual([]);
  });

  it('has the letters of the project alone, the newest first, in pages', async () => {
    const mine: string[] = [];
    const theirs: string[] = [];
    for (let i = 0; i < 4; i++) {
      mine.unshift((await rejected()).player_id);
      theirs.unshift((await rejected(other)).player_id);
    }
    const named = (all: LetterResource[]) =>
      all.map(({ value }) => (JSON.parse(value) as { event: { player_id: string } }).event.player_id);
    const all = await letters();
    expect(named(all)).toEqual(mine);
    expect(named(await letters(other))).toEqual(theirs);
    for (const limit of [1, 2, 3, 4]) expect(await letters(service, limit)).toEqual(all);
    expect(all[0]).toMatchObject({ reason: 'UNKNOWN_PLAYER', replay: 'none' });
    expect(await letters(service, 50, '&reason=POISON_RECORD')).toEqual([]);
    expect(await letters(service, 1, '&reason=UNKNOWN_PLAYER')).toEqual(all);
  });

  it('has a letter once when a fold emitted it again after a crash, and none that cannot be read', async () => {
    const before = await letters();
    const { eventLog } = service.platform;
    const repeated = before.slice(0, 3).toReversed();
    for (const { at, replay: _, ...letter } of repeated)
      await eventLog.append('dead-letters', [
        { key: letter.key, value: JSON.stringify({ ...letter, at_ms: Date.parse(at) + 5_000 }) },
      ]);
    const broken = {
      ...repeated[0],
      offset: '99999999',
      at_ms: Date.now(),
      value: `${service.project_id} {`,
    };
    await eventLog.append('dead-letters', [{ key: 'k', value: JSON.stringify(broken) }]);
    const positions = (all: LetterResource[]) => all.map(({ partition, offset }) => `${partition}:${offset}`);
    expect(positions(await letters())).toEqual(positions(before));
    expect(positions(await letters(service, 1))).toEqual(positions(before));
  });

  it('text of a caller that names another project is not of that project', async () => {
    const { tenant_id, project_id } = other;
    const before = await letters(other);
    await accept(service, service, {
      event: 'custom_x',
      player_id: newId(),
      properties: { tenant_id, project_id, text: `"tenant_id":"${tenant_id}","project_id":"${project_id}"` },
    });
    await folded(service.platform);
    expect(await letters(other)).toEqual(before);
  });
});

describe('POST /v1/dead-letters/replay', () => {
  it('sends a letter through the fold once, and is recorded', async () => {
    const { player_id, letter } = await rejected();
    await restorePlayer(player_id);
    const named = { letters: [{ partition: letter.partition, offset: letter.offset }] };
    expect((await replay(named)).data).toMatchObject({ replayed: 1, not_found: [], next_cursor: null });
    expect(await sessionsOf(player_id)).toBe(1);
    expect((await replay(named)).data).toMatchObject({ replayed: 0, replayed_before: 1 });
    expect(await sessionsOf(player_id)).toBe(1);
    expect((await replay({ ...named, force: true })).data).toMatchObject({ replayed: 1 });
    expect(await sessionsOf(player_id)).toBe(2);
    expect((await letters()).find(({ offset }) => offset === letter.offset)?.replay).toBe('replayed');
    const log = await api(service, service.session_token, '/v1/audit-log?resource_type=dead_letters');
    const rows = log.data as unknown as Record<string, unknown>[];
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatchObject({
      action: 'replay',
      project_id: service.project_id,
      resource_id: service.project_id,
      after: { replayed: 1 },
      actor: { kind: 'session' },
    });
  });

  it('does not find letters of others', async () => {
    const { player_id, letter } = await rejected(other);
    await restorePlayer(player_id, other);
    const { partition, offset } = letter;
    const { data } = await replay({ letters: [{ partition, offset }] });
    expect(data).toMatchObject({ replayed: 0, not_found: [{ partition, offset }] });
    expect(await sessionsOf(player_id, other)).toBe(0);
    expect((await letters(other)).find((one) => one.offset === offset)?.replay).toBe('none');
  });

  it('sends all that were not sent before; those that fail again are new letters', async () => {
    const { player_id } = await rejected();
    const stranger = await rejected(other);
    await restorePlayer(stranger.player_id, other);
    await restorePlayer(player_id);
    const open = (await letters()).filter((one) => one.replay === 'none');
    expect((await replay({ all: true, reason: 'POISON_RECORD' })).data).toMatchObject({ replayed: 0 });
    expect((await replay({ all: true })).data).toMatchObject({ replayed: open.length, next_cursor: null });
    expect(await sessionsOf(player_id)).toBe(1);
    expect(await sessionsOf(stranger.player_id, other)).toBe(0);
  });

  it('refuses invalid requests and lists', async () => {
    const position = { partition: 0, offset: '1' };
    for (const body of [
      {},
      { all: false },
      { letters: [] },
      { letters: [{ partition: 0 }] },
      { letters: [{ partition: 0, offset: '-1' }] },
      { letters: Array.from({ length: 201 }, () => position) },
      { letters: [position], all: true },
      { all: true, cursor: 'nonsense' },
    ]) {
      expect((await replay(body)).status, JSON.stringify(body)).toBe(422);
    }
    const page = await api(service, service.session_token, '/v1/dead-letters?limit=1');
    for (const query of ['limit=0', 'limit=201', 'cursor=nonsense', 'reason=NO_SUCH', 'other=1'])
      expect((await api(service, service.session_token, `/v1/dead-letters?${query}`)).status).toBe(422);
    const cursor = `/v1/dead-letters?cursor=${page.next_cursor}`;
    expect((await api(service, other.session_token, cursor)).status).toBe(422);
  });
});

it('is for admins of the tenant', async () => {
  for (const [role, status] of [
    ['viewer', 403],
    ['editor', 403],
    ['admin', 200],
  ] as const) {
    const session = await member(service, service.tenant_id, role);
    expect((await api(service, session, '/v1/dead-letters')).status, role).toBe(status);
    expect((await replay({ all: true, reason: 'POISON_RECORD' }, session)).status, role).toBe(status);
  }
  const headers = { 'x-project-id': service.project_id };
  expect((await api(service, other.session_token, '/v1/dead-letters', { headers })).status).toBe(404);
});
