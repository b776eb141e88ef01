import { LISTED_WITHIN_MS } from '../../../src/analytics/mirrored-columns.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../engines/until.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

const brief = ({ status, body }: Answer) => [status, body.error?.code];
const get = (path: string, who = tenant) => fixture.as(who.session, path);
const patch = (id: string, body: unknown, who = tenant) =>
  fixture.as(who.session, `/v1/players/${id}`, { method: 'PATCH', body });
const remove = (id: string, who = tenant) =>
  fixture.as(who.session, `/v1/players/${id}`, { method: 'DELETE' });

async function newPlayer(body: Record<string, unknown> = {}, who = tenant): Promise<string> {
  const external_id = `e-${Math.random()}`;
  const request = { method: 'POST', body: { external_id, ...body } };
  const answer = await fixture.as(who.api_key, '/v1/players/identify', request);
  expect(answer.status, answer.text).toBe(200);
  return String(answer.body.data['player_id']);
}

/** Sets totals and the time last seen, as the fold does. */
async function fold(player_id: string, values: { listed_at?: string; total_deposited?: bigint }) {
  const { service } = fixture.platform.postgres;
  await service`update player_totals set ${service(values)} where player_id = ${player_id}`;
}

const idsOf = ({ body }: Answer) => (body.data as unknown as { id: string }[]).map(({ id }) => id);

describe('reading a player', () => {
  test('every field of the resource is present', async () => {
    const id = await newPlayer();
    const { data } = (await get(`/v1/players/${id}`)).body;
    expect(Object.keys(data).sort()).toEqual(
      [
        ['id', 'tenant_id', 'project_id', 'external_id', 'email', 'phone', 'telegram_id', 'anonymous_ids'],
        ['status', 'first_seen_at', 'last_seen_at', 'total_deposited', 'total_withdrawn', 'total_wagered'],
        ['total_won', 'ggr', 'bet_count', 'session_count', 'default_currency_code', 'current_tier_code'],
        ['tier_promoted_at', 'kyc_status', 'kyc_level', 'churn_score', 'ltv_predicted', 'segment_ids'],
        ['custom_attributes', 'created_at', 'updated_at', 'deleted_at', 'timezone', 'pending_conversions'],
        ['total_bonus_wagered', 'total_bonus_won', 'total_credited', 'total_debited', 'ngr'],
      ]
        .flat()
        .sort(),
    );
    expect(data).toMatchObject({ id, tenant_id: tenant.tenant_id, project_id: tenant.project_id });
  });

  test('totals beyond a double’s precision are exact integers', async () => {
    const id = await newPlayer();
    const { service } = fixture.platform.postgres;
    await service`
      update player_totals set total_deposited = 9007199254740993, total_wagered = 9223372036854775807,
        total_won = 1 where player_id = ${id}`;
    const { text } = await get(`/v1/players/${id}`);
    expect(text).toContain('"total_deposited":9007199254740993,');
    expect(text).toContain('"ggr":9223372036854775806,');
  });

  test('text that needs escaping is returned unchanged', async () => {
    const name = 'Zoë "Ω" \\ \u2028 \u0001 😀';
    const id = await newPlayer({ external_id: name, anonymous_id: name, traits: { [name]: name } });
    const { data } = (await get(`/v1/players/${id}`)).body;
    expect(data).toMatchObject({
      external_id: name,
      anonymous_ids: [name],
      custom_attributes: { [name]: name },
    });
  });

  test('an unknown id, an id of another tenant and a malformed one are PLAYER_NOT_FOUND, and the message names the id', async () => {
    const other = await fixture.makeTenant();
    for (const id of [UNKNOWN, await newPlayer({}, other), 'nonsense', '%00']) {
      for (const path of ['', '/timeline', '/deposits-daily']) {
        const answer = await get(`/v1/players/${id}${path}`);
        expect(brief(answer), id + path).toEqual([404, 'PLAYER_NOT_FOUND']);
        expect(answer.body.error.message).toContain(decodeURIComponent(id));
      }
      expect(brief(await patch(id, { email: 'a@b.c' })), id).toEqual([404, 'PLAYER_NOT_FOUND']);
      expect(brief(await remove(id)), id).toEqual([404, 'PLAYER_NOT_FOUND']);
    }
  });

  test('another project of the same tenant does not see the player', async () => {
    const id = await newPlayer();
    const { body } = await fixture.internal('/v1/internal/projects', {
      tenant_id: tenant.tenant_id,
      name: 'Second',
    });
    const headers = { 'x-project-id': String(body.data['project_id']) };
    expect((await fixture.as(tenant.session, `/v1/players/${id}`, { headers })).status).toBe(404);
    expect((await fixture.as(tenant.session, '/v1/players', { headers })).body.data).toEqual([]);
  });
});

describe('changing', () => {
  test('writes the given fields and leaves the others', async () => {
    const id = await newPlayer({ traits: { email: 'old@example.com', phone: '+100200', kept: 1, gone: 2 } });
    const answer = await patch(id, {
      email: 'new@example.com',
      telegram_id: '@t',
      timezone: 'Asia/Tokyo',
      custom_attributes: { gone: null, added: { deep: [null] } },
    });
    expect(answer.status).toBe(200);
    const after = (await get(`/v1/players/${id}`)).body.data;
    expect(answer.body.data).toEqual(after);
    expect(after).toMatchObject({ email: 'new@example.com', phone: '+100200', telegram_id: '@t' });
    expect(after['custom_attributes']).toEqual({ kept: 1, added: { deep: [null] } });
    expect((await patch(id, { phone: null })).body.data).toMatchObject({
      phone: null,
      email: 'new@example.com',
    });
  });

  test('sets any status except deleted', async () => {
    const id = await newPlayer({ traits: { email: 'a@b.c' } });
    for (const status of ['banned', 'conflict', 'active', 'self_excluded', 'active']) {
      expect((await patch(id, { status })).body.data).toMatchObject({ status, email: 'a@b.c' });
    }
    expect(brief(await patch(id, { status: 'deleted' }))).toEqual([422, 'VALIDATION_ERROR']);
  });

  test('the end of a ban reveals the exclusion below it', async () => {
    const id = await newPlayer();
    const { service } = fixture.platform.postgres;
    await service`update players set self_excluded = true, status = 'self_excluded' where player_id = ${id}`;
    expect((await patch(id, { status: 'banned' })).body.data).toMatchObject({ status: 'banned' });
    expect((await patch(id, { status: 'active' })).body.data).toMatchObject({ status: 'self_excluded' });
    expect((await patch(id, { status: 'active' })).body.data).toMatchObject({ status: 'active' });
    // An admin lifted the exclusion, so the end of a later ban does not bring it back.
    await patch(id, { status: 'banned' });
    expect((await patch(id, { status: 'active' })).body.data).toMatchObject({ status: 'active' });
  });

  test('an editor sets a self-exclusion, but does not end it; a compliance officer changes no profile', async () => {
    const id = await newPlayer();
    const [editor, officer] = [
      { ...tenant, session: await fixture.member(tenant.tenant_id, 'editor') },
      { ...tenant, session: await fixture.member(tenant.tenant_id, 'compliance') },
    ];
    expect(brief(await patch(id, { status: 'self_excluded' }, editor))).toEqual([200, undefined]);
    expect(brief(await patch(id, { status: 'active' }, editor))).toEqual([403, 'FORBIDDEN']);
    expect(brief(await patch(id, { status: 'active' }, officer))).toEqual([403, 'FORBIDDEN']);
    // A ban on top of it is the editor's to lift, and the exclusion stays.
    await patch(id, { status: 'banned' }, editor);
    expect((await patch(id, { status: 'active' }, editor)).body.data).toMatchObject({
      status: 'self_excluded',
    });
    expect((await patch(id, { status: 'active' })).body.data).toMatchObject({ status: 'active' });
  });

  test('an exclusion set by an admin survives a ban', async () => {
    const id = await newPlayer();
    await patch(id, { status: 'self_excluded' });
    await patch(id, { status: 'banned' });
    expect((await patch(id, { status: 'active' })).body.data).toMatchObject({ status: 'self_excluded' });
  });

  test('the end of a conflict reveals the exclusion below it', async () => {
    const id = await newPlayer();
    await patch(id, { status: 'self_excluded' });
    await patch(id, { status: 'conflict' });
    expect((await patch(id, { status: 'active' })).body.data).toMatchObject({ status: 'self_excluded' });
  });

  test('a change marks the player for the mirror, a change without effect does not', async () => {
    const id = await newPlayer();
    const { service } = fixture.platform.postgres;
    const xid = async () => {
      const rows = await service`select changed_xid::text as xid from player_totals where player_id = ${id}`;
      return BigInt(String(rows[0]?.['xid']));
    };
    const before = await xid();
    const changed = (await patch(id, { email: 'x@y.z' })).body.data['updated_at'];
    const after = await xid();
    expect(after).toBeGreaterThan(before);
    expect((await patch(id, { email: 'x@y.z' })).body.data['updated_at']).toBe(changed);
    expect((await patch(id, {})).status).toBe(200);
    expect(await xid()).toBe(after);
  });

  test('computed fields are FIELD_NOT_WRITABLE, and the message names them', async () => {
    const id = await newPlayer();
    const { data } = (await get(`/v1/players/${id}`)).body;
    const writable = ['email', 'phone', 'telegram_id', 'timezone', 'status', 'custom_attributes'];
    for (const field of Object.keys(data).filter((name) => !writable.includes(name))) {
      const answer = await patch(id, { email: 'never@example.com', [field]: 1 });
      expect(brief(answer), field).toEqual([422, 'FIELD_NOT_WRITABLE']);
      expect(answer.body.error.message).toContain(field);
    }
    expect((await get(`/v1/players/${id}`)).body.data).toEqual(data);
  });

  test('unknown fields and invalid values are VALIDATION_ERROR', async () => {
    const id = await newPlayer();
    const bad = [
      { nickname: 'x' },
      { email: 'x' },
      { status: 'gone' },
      { status: null },
      { timezone: 'Nowhere' },
      { custom_attributes: [] },
      { custom_attributes: null },
      { custom_attributes: { a: 'x\u0000' } },
      { phone: '\udfff12345' },
      [],
      'text',
    ];
    for (const body of bad) {
      const answer = await patch(id, body);
      expect(brief(answer), JSON.stringify(body)).toEqual([422, 'VALIDATION_ERROR']);
      expect(answer.body.error.details['issues']).not.toEqual([]);
    }
  });
});

describe('deleting', () => {
  test('keeps the row, hides it from lists, and can be repeated', async () => {
    const external_id = `deleted-${Math.random()}`;
    const id = await newPlayer({ external_id });
    const first = await remove(id);
    expect(first.status).toBe(200);
    const deleted_at = first.body.data['deleted_at'];
    expect([first.body.data['status'], typeof deleted_at]).toEqual(['deleted', 'string']);
    expect((await remove(id)).body.data).toEqual(first.body.data);
    expect((await get(`/v1/players/${id}`)).body.data).toEqual(first.body.data);
    expect(brief(await patch(id, { email: 'a@b.c' }))).toEqual([409, 'CONFLICT']);
    expect(idsOf(await get(`/v1/players?external_id=${external_id}`))).toEqual([]);
    expect(idsOf(await get(`/v1/players?external_id=${external_id}&status=deleted`))).toEqual([id]);
  });
});

describe('listing', () => {
  test('filters match exactly', async () => {
    const traits = { email: 'filter@example.com', phone: '+99 12', telegram_id: '@filter' };
    const id = await newPlayer({ external_id: 'filter&me', traits });
    await newPlayer({ traits: { email: 'filter@example.com.mt' } });
    for (const [field, value] of Object.entries({ ...traits, external_id: 'filter&me' })) {
      expect(idsOf(await get(`/v1/players?${field}=${encodeURIComponent(value)}`)), field).toEqual([id]);
    }
    expect(idsOf(await get('/v1/players?email=FILTER@example.com'))).toEqual([]);
    await patch(id, { status: 'banned' });
    expect(idsOf(await get('/v1/players?status=banned'))).toEqual([id]);
    expect(idsOf(await get('/v1/players?status=active&external_id=filter%26me'))).toEqual([]);
  });

  test('pages contain each player once while players are added and changed', async () => {
    const who = await fixture.makeTenant();
    const ids: string[] = [];
    for (let i = 0; i < 25; i++) {
      const id = await newPlayer({}, who);
      ids.push(id);
      // Equal times, and times that differ only in microseconds, which a millisecond clock would lose.
      await fold(id, { listed_at: `2026-01-01T00:00:00.00000${Math.floor(i / 4)}Z` });
    }
    const seen: string[] = [];
    let cursor: string | null = '';
    for (let page = 0; cursor !== null; page++) {
      const suffix = cursor === '' ? '' : `&cursor=${cursor}`;
      const answer: Answer = await get(`/v1/players?limit=4${suffix}`, who);
      expect(answer.status, answer.text).toBe(200);
      seen.push(...idsOf(answer));
      cursor = answer.body.meta['next_cursor'] as string | null;
      // A player already listed moves to the top, and a new one appears there.
      await fold(seen[page] ?? '', { listed_at: '2026-06-01T00:00:00Z' });
      await newPlayer({}, who);
      expect(page).toBeLessThan(10);
    }
    expect([...seen].sort()).toEqual([...ids].sort());
    expect(new Set(seen).size).toBe(25);
  });

  test('pages have the order of the last events, also of players that are listed at an earlier time', async () => {
    const who = await fixture.makeTenant();
    const { service } = fixture.platform.postgres;
    const from_ms = Date.parse('2026-01-01T00:00:00Z');
    const seen_ms = new Map<string, number>();
    for (let i = 0; i < 40; i++) {
      const id = await newPlayer({}, who);
      const listed_ms = from_ms + ((i * 7) % 40) * 60_000;
      // Some were seen at one time, and some have no later event.
      const later_ms = i % 4 === 0 ? 0 : Math.min(((i * 13) % 40) * 10_000, LISTED_WITHIN_MS - 1);
      seen_ms.set(id, listed_ms + later_ms);
      await service`
        update player_totals set listed_at = ${new Date(listed_ms)},
          seen_at = ${later_ms === 0 ? null : new Date(listed_ms + later_ms)}
        where player_id = ${id}`;
    }
    const deleted = [...seen_ms.keys()][11] ?? '';
    await service`update players set deleted_at = now() where player_id = ${deleted}`;
    seen_ms.delete(deleted);
    const expected = [...seen_ms]
      .toSorted(([one, at], [other, then]) => then - at || (one < other ? 1 : -1))
      .map(([id]) => id);
    for (const limit of [1, 3, 7, 40]) {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const suffix: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const answer: Answer = await get(`/v1/players?limit=${limit}${suffix}`, who);
        seen.push(...idsOf(answer));
        cursor = answer.body.meta['next_cursor'] as string | null;
      }
      expect(seen, String(limit)).toEqual(expected);
    }
  });

  test('limits are checked', async () => {
    const who = await fixture.makeTenant();
    for (let i = 0; i < 51; i++) await newPlayer({}, who);
    expect(idsOf(await get('/v1/players', who)).length).toBe(50);
    expect(idsOf(await get('/v1/players?limit=200', who)).length).toBe(51);
    for (const limit of ['0', '201', '-1', '1.5', 'x', '', '1&limit=2']) {
      expect(brief(await get(`/v1/players?limit=${limit}`)), limit).toEqual([422, 'VALIDATION_ERROR']);
    }
    expect(brief(await get('/v1/players?status=asleep'))).toEqual([422, 'VALIDATION_ERROR']);
    expect(brief(await get('/v1/players?unknown=1'))).toEqual([422, 'VALIDATION_ERROR']);
    expect(brief(await get('/v1/players?email=a%00'))).toEqual([422, 'VALIDATION_ERROR']);
  });

  test('a cursor is valid for its own list only', async () => {
    const who = await fixture.makeTenant();
    for (let i = 0; i < 3; i++) await newPlayer({}, who);
    const { meta } = (await get('/v1/players?limit=1', who)).body;
    const cursor = String(meta['next_cursor']);
    expect((await get(`/v1/players?limit=2&cursor=${cursor}`, who)).status).toBe(200);
    const id = idsOf(await get('/v1/players?limit=1', who))[0];
    const forged = (parts: unknown) => Buffer.from(JSON.stringify(parts)).toString('base64url');
    const [binding] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[];
    const bad = [
      `/v1/players?status=active&cursor=${cursor}`,
      `/v1/players/${id}/timeline?cursor=${cursor}`,
      '/v1/players?cursor=',
      '/v1/players?cursor=garbage',
      `/v1/players?cursor=${forged([binding])}`,
      `/v1/players?cursor=${forged([binding, '1', 2])}`,
      `/v1/players?cursor=${forged([binding, '1', '-'.repeat(36)])}`,
      `/v1/players?cursor=${forged([binding, '9'.repeat(19), UNKNOWN])}`,
      `/v1/players?cursor=${cursor.repeat(10)}`,
    ];
    for (const path of bad) {
      expect(brief(await get(path, who)), path).toEqual([422, 'VALIDATION_ERROR']);
    }
    const extreme = forged([binding, '9'.repeat(17), UNKNOWN]);
    expect((await get(`/v1/players?cursor=${extreme}`, who)).status).toBe(200);
    expect(
      (await get(`/v1/players?cursor=${forged([binding, `-${'9'.repeat(17)}`, UNKNOWN])}`, who)).status,
    ).toBeLessThan(500);
    expect(brief(await get(`/v1/players?cursor=${cursor}`))).toEqual([422, 'VALIDATION_ERROR']);
  });
});

test('a change is run again after a deadlock with a writer that locks in the opposite order', async () => {
  const id = await newPlayer();
  const { service } = fixture.platform.postgres;
  const deadlocks = async () => {
    const [row] = await service<{ deadlocks: number }[]>`
      select deadlocks::integer from pg_stat_database where datname = current_database()`;
    return row?.deadlocks ?? 0;
  };
  const before = await deadlocks();
  let races = 0;
  // Of the two transactions Postgres ends the one that has waited for a second, which is the change unless the machine
  // is very slow. Only the end of the change makes it run again, so the race is repeated until that was the case.
  await until('Postgres ends the change', async (saw) => {
    const changes: Promise<Answer>[] = [];
    // Locks the totals first and the profile second, as a batch of events may.
    const writer = service.begin(async (tx) => {
      await tx`update player_totals set bet_count = bet_count + 1 where player_id = ${id}`;
      // Another address each time: a change of nothing locks nothing.
      changes.push(patch(id, { email: `deadlock-${++races}@example.com` }));
      await statementWaits(service);
      await tx`update players set kyc_level = 1 where player_id = ${id}`;
    });
    const ended = saw(
      await writer.then(
        () => 'the change',
        (error: unknown) => (error as { code?: string }).code ?? String(error),
      ),
    );
    const [answer] = saw(await Promise.all(changes));
    expect(answer?.status, answer?.text).toBe(200);
    if (ended === 'the change') return true;
    expect(ended).toBe('40P01');
    return undefined;
  });
  // Postgres publishes the counter some time after the deadlock.
  await until('the deadlock is counted', async (saw) => saw(await deadlocks()) > before);
  const { data } = (await get(`/v1/players/${id}`)).body;
  expect(data).toMatchObject({ email: `deadlock-${races}@example.com`, kyc_level: 1, bet_count: 1 });
});
