import { randomUUID } from 'node:crypto';
import { DateTime } from 'luxon';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runSendTimeJob } from '../../../src/players/scores/send-time/job.ts';
import { countHours, packHours } from '../../../src/players/scores/send-time/hours.ts';
import { writeHours } from '../../../src/players/scores/send-time/model-queries.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// The job on sessions in ClickHouse, against a count of the same sessions by luxon's clock.

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The clocks of Europe, New York and Lord Howe have been set since the first session. */
const NIGHT_MS = Date.parse('2026-04-20T03:20:00Z');
const UNTIL_MS = Date.parse('2026-04-20T00:00:00Z');
const ZONES = [null, 'Europe/Malta', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'UTC'];
/** Of players without a zone. */
const PROJECT_ZONE = 'Europe/Helsinki';
const MANY = 420;

interface Player {
  player_id: string;
  timezone: string | null;
  sessions_ms: number[];
}

let fixture: Fixture;
let tenant: Tenant;
let players: Player[];
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  const body = { config: { reporting: { timezone: PROJECT_ZONE } } };
  const answer = await fixture.as(tenant.session, '/v1/tenant/config', { method: 'PATCH', body });
  expect(answer.status, answer.text).toBe(200);
  players = Array.from({ length: MANY }, (_, i) => {
    // Each has an evening hour on the player's clock, every third day; the last ones have four sessions.
    const timezone = ZONES[i % ZONES.length] ?? null;
    const many = i >= MANY - 12 ? 4 : 30;
    const sessions_ms = Array.from({ length: many }, (_one, n) =>
      DateTime.fromMillis(UNTIL_MS - 3 * (n + 1) * DAY_MS, { zone: timezone ?? PROJECT_ZONE })
        .startOf('day')
        .set({ hour: 16 + (i % 8), minute: (7 * n) % 60 })
        .toMillis(),
    ).filter((at_ms) => at_ms >= UNTIL_MS - 90 * DAY_MS && at_ms < UNTIL_MS);
    return { player_id: randomUUID(), timezone, sessions_ms };
  });
  await store(players);
});
afterAll(() => fixture?.close());

const line = (row: Record<string, unknown>) => {
  const { tenant_id, project_id } = tenant;
  return JSON.stringify({ tenant_id, project_id, ...row });
};

async function store(some: readonly Player[]): Promise<void> {
  const { postgres, clickhouse } = fixture.platform;
  const { tenant_id, project_id } = tenant;
  const now = new Date();
  const rows = some.map(({ player_id, timezone }) => {
    const both = { default_currency_code: 'EUR', created_at: now, updated_at: now };
    return { tenant_id, project_id, player_id, timezone, ...both };
  });
  await postgres.service`insert into players ${postgres.service(rows)}`;
  const copies = some.map(({ player_id, timezone }) =>
    line({ player_id, timezone, custom_attributes: {}, revision: 1 }),
  );
  await clickhouse.insertLines('players', copies, randomUUID());
  const of = (name: string, at_ms: number, player_id: string) =>
    line({
      player_id,
      event: name,
      occurred_at: at_ms,
      received_at: at_ms,
      ingestion_id: randomUUID(),
      event_index: 0,
      properties: {},
      revision: 1,
    });
  const events = some.flatMap(({ player_id, sessions_ms }) => [
    ...sessions_ms.map((at_ms) => of('session_start', at_ms, player_id)),
    // An opened message says nothing about the player: machines open them.
    of('email_opened', UNTIL_MS - DAY_MS, player_id),
  ]);
  await clickhouse.insertLines('events', events, randomUUID());
}

const fit = async (now_ms = NIGHT_MS) => {
  const { tenant_id, project_id } = tenant;
  const deps = { ...fixture.platform, clock: { now_ms: () => now_ms } };
  await runSendTimeJob(deps, { tenant_id, project_id }, new AbortController().signal);
};
const model = async () => {
  const { body } = await fixture.as(tenant.session, '/v1/models');
  const all = body.data as unknown as Record<string, unknown>[];
  return all.find((one) => one['model'] === 'send_time');
};
const stored = async () => {
  const rows = await fixture.platform.postgres.service<
    { player_id: string; hours: string | null; changes: string }[]
  >`
    select player_id, encode(session_hours, 'hex') as hours, xmin::text as changes from players
    where project_id = ${tenant.project_id}`;
  return new Map(rows.map((row) => [row.player_id, row]));
};

/** The hours of a player's sessions as they are stored, by luxon's clock. */
function expected({ timezone, sessions_ms }: Player, until_ms = UNTIL_MS): string | null {
  const hours = sessions_ms
    .filter((at_ms) => at_ms >= until_ms - 90 * DAY_MS && at_ms < until_ms)
    .map((at_ms) => {
      const clock = DateTime.fromMillis(at_ms, { zone: timezone ?? PROJECT_ZONE });
      return (clock.weekday - 1) * 24 + clock.hour;
    });
  return hours.length < 5 ? null : packHours(countHours(hours)).toString('hex');
}

it(
  'counts the sessions of each player by the clock of the player, and proves itself',
  { timeout: 120_000 },
  async () => {
    expect(await model()).toBeUndefined();
    await fit();
    const after = await stored();
    const seen = players.map((player) => ({ ...player, hours: after.get(player.player_id)?.hours }));
    expect(
      seen.filter((player) => player.hours !== expected(player)).map(({ timezone }) => timezone),
    ).toEqual([]);
    expect(players.filter((player) => expected(player) === null)).toHaveLength(12);
    const found = await model();
    expect(found).toMatchObject({
      status: 'on',
      as_of: '2026-04-20T00:00:00.000Z',
      players: MANY,
      timed_players: MANY - 12,
      sampled: MANY,
      held_out: { from: '2026-04-06T00:00:00.000Z', to: '2026-04-20T00:00:00.000Z' },
    });
    const proof = found?.['held_out'] as Record<'log_loss' | 'log_loss_profile' | 'sessions', number>;
    expect(proof.log_loss).toBeLessThan(proof.log_loss_profile);
    const from_ms = UNTIL_MS - 14 * DAY_MS;
    const held_out = players
      .filter(({ sessions_ms }) => sessions_ms.filter((at_ms) => at_ms < from_ms).length >= 5)
      .flatMap(({ sessions_ms }) => sessions_ms.filter((at_ms) => at_ms >= from_ms));
    expect(proof.sessions).toBe(held_out.length);
    expect((found?.['parameters'] as { profile: number[] } | undefined)?.profile).toHaveLength(168);

    await fit();
    expect(await stored()).toEqual(after);
    // A fit of an earlier day that comes late does nothing.
    await fit(NIGHT_MS - DAY_MS);
    expect(await model()).toEqual(found);
    expect(await stored()).toEqual(after);
  },
);

it('writes a player again only when the chances have changed', { timeout: 120_000 }, async () => {
  const before = await stored();
  const [steady, moved] = players;
  if (steady === undefined || moved === undefined) throw new Error('there are players');
  // One more session changes little; twenty at another time change much.
  const noon = DateTime.fromMillis(UNTIL_MS, { zone: moved.timezone ?? PROJECT_ZONE }).set({ hour: 12 });
  const { clickhouse } = fixture.platform;
  const session = (player_id: string, at_ms: number) =>
    line({
      player_id,
      event: 'session_start',
      occurred_at: at_ms,
      received_at: at_ms,
      ingestion_id: randomUUID(),
      event_index: 0,
      properties: {},
      revision: 1,
    });
  const more = Array.from({ length: 20 }, (_, n) => session(moved.player_id, noon.toMillis() - n * 60_000));
  const once = session(steady.player_id, UNTIL_MS - 30 * HOUR_MS);
  await clickhouse.insertLines('events', [...more, once], randomUUID());
  await fit(NIGHT_MS + DAY_MS);
  const after = await stored();
  const changed = players.filter(
    ({ player_id }) => after.get(player_id)?.changes !== before.get(player_id)?.changes,
  );
  expect(changed.map(({ player_id }) => player_id)).toEqual([moved.player_id]);
});

it('takes the hours away whose sessions are over, and none from those who still have theirs', async () => {
  // Of the sessions of the last 90 days, two are left at most.
  const late_ms = UNTIL_MS + 85 * DAY_MS;
  const after = async (at_ms: number) => {
    await fit(at_ms + 3 * HOUR_MS);
    return stored();
  };
  const timedOf = (rows: Awaited<ReturnType<typeof stored>>) =>
    [...rows.values()].filter(({ hours }) => hours !== null).length;
  // Some weeks later the model has nothing to be judged on. It writes no hours, and nobody has lost theirs yet.
  const kept = await after(UNTIL_MS + 30 * DAY_MS);
  expect((await model())?.['status']).toBe('waiting');
  expect(timedOf(kept)).toBe(MANY - 12);
  // Also while it is not on, hours go that are over.
  const left = await after(late_ms);
  expect((await model())?.['status']).toBe('waiting');
  expect(timedOf(left)).toBeLessThanOrEqual(1);
  const fresh = Array.from({ length: 260 }, (_, i): Player => {
    const sessions_ms = Array.from(
      { length: 28 },
      (_one, n) => late_ms - (3 * n + 1) * DAY_MS + (16 + (i % 8)) * HOUR_MS,
    );
    return { player_id: randomUUID(), timezone: 'UTC', sessions_ms };
  });
  await store(fresh);
  const then = await after(late_ms);
  expect((await model())?.['status']).toBe('on');
  for (const player of fresh) expect(then.get(player.player_id)?.hours).toBe(expected(player, late_ms));
});

it('writes no hours of a player who was erased or deleted, and none of another project', async () => {
  const { postgres } = fixture.platform;
  const [a, b, c] = players.slice(100, 103).map(({ player_id }) => player_id);
  if (a === undefined || b === undefined || c === undefined) throw new Error('there are players');
  await postgres.service`update players set session_hours = null where player_id in (${a}, ${b}, ${c})`;
  await postgres.service`update players set erased_at = now() where player_id = ${a}`;
  await postgres.service`update players set deleted_at = now() where player_id = ${b}`;
  const session_hours = packHours(countHours([1, 1, 2, 2, 3]));
  const other = await fixture.makeTenant();
  const write = (of: Tenant) =>
    postgres.service.begin((tx) =>
      writeHours(
        tx,
        of,
        [a, b, c].map((player_id) => ({ player_id, session_hours })),
      ),
    );
  await write(other);
  expect((await stored()).get(c)?.hours).toBeNull();
  await write(tenant);
  const after = await stored();
  expect([a, b, c].map((id) => after.get(id)?.hours)).toEqual([null, null, session_hours.toString('hex')]);
});

it('of a project without sessions stores nothing', async () => {
  const { tenant_id, project_id, session } = await fixture.makeTenant();
  await runSendTimeJob(fixture.platform, { tenant_id, project_id }, new AbortController().signal);
  const { body } = await fixture.as(session, '/v1/models');
  expect(body.data).toEqual([]);
});
