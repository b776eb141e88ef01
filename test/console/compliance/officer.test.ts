import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fields } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// Exclusions that officers set and end.

let fixture: Fixture;
let tenant: Tenant;
let officer: string;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  officer = await fixture.member(tenant.tenant_id, 'compliance');
});
afterAll(() => fixture?.close());

const EXCLUSIONS = '/v1/compliance/exclusions';
const REASON = 'asked by letter of 2 May, signature compared';
let made = 0;

async function newPlayer(): Promise<string> {
  const external_id = `officer-${++made}`;
  const body = { external_id, traits: { email: `${external_id}@example.com` } };
  const answer = await fixture.as(tenant.api_key, '/v1/players/identify', { method: 'POST', body });
  return String(answer.body.data['player_id']);
}
const read = async (path: string) => (await fixture.as(officer, path)).body.data;
const post = (path: string, body: object, who = officer) => fixture.as(who, path, { method: 'POST', body });
const exclude = (player_id: string, rest: object = {}, who = officer) =>
  post(EXCLUSIONS, { player_id, kind: 'self_exclusion', reason: REASON, ...rest }, who);
const lift = (player_id: string, who = officer) =>
  post(`${EXCLUSIONS}/${player_id}/lift`, { reason: 'the term is over' }, who);
const setStatus = (player_id: string, status: string) =>
  fixture.as(tenant.session, `/v1/players/${player_id}`, { method: 'PATCH', body: { status } });
const codesOf = async (player_id: string) => {
  const channels = (await read(`/v1/players/${player_id}/reachability`)) as unknown as Fields[];
  return channels.find(({ channel }) => channel === 'email')?.['codes'];
};

describe('a self-exclusion', () => {
  it('holds from the answer on, is in the list, and ends with a reason; the audit log has both reasons', async () => {
    const player_id = await newPlayer();
    const set = await exclude(player_id);
    expect(set.status, set.text).toBe(201);
    expect(set.body.data).toMatchObject({
      player_id,
      kind: 'self_exclusion',
      state: 'active',
      until: null,
      cause: { source: 'operator', ingestion_id: null },
    });
    expect(await codesOf(player_id)).toContain('SKIPPED_SELF_EXCLUDED');
    expect((await read(`/v1/players/${player_id}`))['status']).toBe('self_excluded');
    expect(await read(`${EXCLUSIONS}?player_id=${player_id}`)).toMatchObject([{ id: set.body.data['id'] }]);

    const ended = await lift(player_id);
    expect(ended.status, ended.text).toBe(200);
    expect(ended.body.data).toMatchObject({ state: 'ended', end: { source: 'operator' } });
    expect(await codesOf(player_id)).not.toContain('SKIPPED_SELF_EXCLUDED');
    const log = (await read(`/v1/audit-log?resource_id=${player_id}`)) as unknown as Fields[];
    expect(log).toMatchObject([
      {
        action: 'lift',
        before: { self_excluded: true },
        after: { self_excluded: false, reason: 'the term is over' },
      },
      { action: 'exclude', before: { status: 'active' }, after: { status: 'self_excluded', reason: REASON } },
    ]);
    const viewer = await fixture.member(tenant.tenant_id, 'viewer');
    const shown = (await fixture.as(viewer, `/v1/players/${player_id}/audit`)).text;
    expect(shown).toContain('self_excluded');
    expect(shown).not.toContain('letter');
  });

  it('is refused when there is one, and its end when there is none', async () => {
    const player_id = await newPlayer();
    expect((await lift(player_id)).code).toBe('CONFLICT');
    await exclude(player_id);
    const again = await exclude(player_id);
    expect([again.status, again.code]).toEqual([409, 'CONFLICT']);
    expect(await read(`${EXCLUSIONS}?player_id=${player_id}`)).toHaveLength(1);
  });

  it('does not end a ban, and a ban does not hide it from the list', async () => {
    const player_id = await newPlayer();
    await setStatus(player_id, 'banned');
    expect((await exclude(player_id)).status).toBe(201);
    expect((await read(`/v1/players/${player_id}`))['status']).toBe('banned');
    expect((await lift(player_id)).status).toBe(200);
    expect((await read(`/v1/players/${player_id}`))['status']).toBe('banned');
  });

  it('of a deleted player protects the person, and leaves the player deleted', async () => {
    const player_id = await newPlayer();
    await fixture.as(tenant.session, `/v1/players/${player_id}`, { method: 'DELETE' });
    expect((await exclude(player_id)).status).toBe(201);
    expect((await read(`/v1/players/${player_id}`))['status']).toBe('deleted');
    expect(await read(`${EXCLUSIONS}?player_id=${player_id}&state=active`)).toHaveLength(1);
  });
});

describe('a break', () => {
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

  it('ends by itself, gets longer but never shorter, and is not lifted', async () => {
    const player_id = await newPlayer();
    const [day, week] = [inHours(24), inHours(168)];
    const set = await exclude(player_id, { kind: 'cooldown', until: day });
    expect(set.body.data).toMatchObject({ kind: 'cooldown', state: 'active', until: day });
    expect(await codesOf(player_id)).toContain('SKIPPED_COOLDOWN');
    expect((await exclude(player_id, { kind: 'cooldown', until: week })).body.data).toMatchObject({
      until: week,
    });
    const shorter = await exclude(player_id, { kind: 'cooldown', until: inHours(48) });
    expect(shorter.code).toBe('CONFLICT');
    expect((await lift(player_id)).code).toBe('CONFLICT');
    const log = (await read(`/v1/audit-log?resource_id=${player_id}`)) as unknown as Fields[];
    expect(log.map(({ after }) => (after as Fields)['cooldown_until'])).toEqual([week, day]);
  });

  it('needs an end in the future, and a self-exclusion has none', async () => {
    const player_id = await newPlayer();
    for (const rest of [
      { kind: 'cooldown' },
      { kind: 'cooldown', until: inHours(-1) },
      { until: inHours(1) },
      { reason: 'x' },
    ]) {
      const answer = await exclude(player_id, rest);
      expect([answer.status, answer.code], JSON.stringify(rest)).toEqual([422, 'VALIDATION_ERROR']);
    }
    expect(await read(`${EXCLUSIONS}?player_id=${player_id}`)).toEqual([]);
  });
});

it('editors and viewers set and end none, and nobody those of another tenant', async () => {
  const player_id = await newPlayer();
  for (const role of ['viewer', 'editor']) {
    const member = await fixture.member(tenant.tenant_id, role);
    expect([(await exclude(player_id, {}, member)).status, (await lift(player_id, member)).status]).toEqual([
      403, 403,
    ]);
  }
  const other = await fixture.makeTenant();
  const answer = await exclude(player_id, {}, other.session);
  expect(answer.code).toBe('PLAYER_NOT_FOUND');
});

describe('the proof of a period', () => {
  const proof = async (from: number, to: number, rest = '') =>
    (await read(
      `/v1/compliance/period-proof?from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}${rest}`,
    )) as unknown as Fields[];

  it('has the exclusions in force in it, each once, and what was decided in it', async () => {
    const start_ms = Date.now();
    const [open, lifted] = [await newPlayer(), await newPlayer()];
    await exclude(open);
    await exclude(lifted);
    await lift(lifted);
    const end_ms = Date.now() + 1;
    const of = new Set<unknown>([open, lifted]);
    const rows = (await proof(start_ms, end_ms)).filter(({ player_id }) => of.has(player_id));
    expect(rows.map(({ player_id, messages, bonuses }) => [player_id, messages, bonuses])).toEqual([
      [lifted, 0, 0],
      [open, 0, 0],
    ]);
    expect(rows.every(({ is_complete }) => is_complete === true)).toBe(true);
    // Before they began there are none, and after one has ended there is the other.
    expect(await proof(start_ms - 60_000, start_ms)).not.toContainEqual(
      expect.objectContaining({ player_id: open }),
    );
    const later = (await proof(end_ms, end_ms + 60_000)).map(({ player_id }) => player_id);
    expect(later).toContain(open);
    expect(later).not.toContain(lifted);

    // The gate does not let this happen, so the row is written.
    const sends = fixture.platform.postgres.service;
    const { tenant_id, project_id } = tenant;
    await sends`
      insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, recipient, status,
        enqueued_at, gated_at, counted_at, sent_at)
      select ${tenant_id}, ${project_id}, new_id(), new_id(), ${open}, 'email', 'x@example.com', 'sent', at.at, at.at,
        at.at, at.at
      from (values (now() + interval '1 minute'), (now() + interval '1 hour')) at (at)`;
    const hour_ms = 3_600_000;
    const countOf = async (from: number, to: number) =>
      (await proof(from, to)).find(({ player_id }) => player_id === open)?.['messages'];
    expect(await countOf(end_ms, end_ms + hour_ms / 2)).toBe(1);
    expect(await countOf(end_ms, end_ms + 2 * hour_ms)).toBe(2);
    expect(await countOf(end_ms + hour_ms / 2, end_ms + 2 * hour_ms)).toBe(1);
  });

  it('is read page by page, and refuses a period that ends before it begins or is over a year', async () => {
    const now_ms = Date.now();
    const path = (from: number, to: number, rest: string) =>
      `/v1/compliance/period-proof?from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}${rest}`;
    const ids: unknown[] = [];
    let cursor = '';
    do {
      const page = await fixture.as(officer, path(now_ms - 60_000, now_ms + 1, `&limit=1${cursor}`));
      ids.push(...(page.data as unknown as Fields[]).map(({ id }) => id));
      cursor = page.next_cursor === null ? '' : `&cursor=${encodeURIComponent(page.next_cursor)}`;
    } while (cursor !== '');
    expect(ids).toEqual((await proof(now_ms - 60_000, now_ms + 1)).map(({ id }) => id));
    for (const [from, to] of [
      [now_ms, now_ms],
      [now_ms - 400 * 86_400_000, now_ms],
    ] as const)
      expect((await fixture.as(officer, path(from, to, ''))).status).toBe(422);
  });
});
