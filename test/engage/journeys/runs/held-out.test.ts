import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readChangedJourneyRows } from '../../../../src/analytics/journey-mirror-queries.ts';
import { MIRROR_START } from '../../../../src/analytics/mirror-queries.ts';
import { globalDraw } from '../../../../src/engage/experiments/global.ts';
import { saveGlobalHoldout } from '../../../../src/engage/experiments/global-queries.ts';
import { readJourney } from '../../../../src/engage/journeys/graph/read-journey.ts';
import { selectVersion } from '../../../../src/engage/journeys/graph/version-queries.ts';
import { enter, isInHoldout, type Entrant } from '../../../../src/engage/journeys/runs/entry.ts';
import { until } from '../../../engines/until.ts';
import { openJourneyFixture, wait, type JourneyFixture } from '../journey-fixture.ts';

// Who is held out of a journey: what that means for entering again, for the cap of an hour, and for the project.

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ROUND_1 = new Date('2026-02-10T12:00:00Z');
const ROUND_2 = new Date('2026-04-10T12:00:00Z');

let journeys: JourneyFixture;
beforeAll(async () => {
  journeys = await openJourneyFixture();
});
afterAll(() => journeys?.fixture.close());

const sql = () => journeys.fixture.platform.postgres.service;

async function newPlayers(many: number): Promise<string[]> {
  const { tenant_id, project_id } = journeys.tenant;
  const now = new Date();
  const ids = Array.from({ length: many }, () => randomUUID()).toSorted();
  const rows = ids.map((player_id) => ({
    tenant_id,
    project_id,
    player_id,
    default_currency_code: 'EUR',
    created_at: now,
    updated_at: now,
  }));
  await sql()`insert into players ${sql()(rows)}`;
  return ids;
}

const entrantOf = (player_id: string): Entrant => ({
  player_id,
  trigger_key: randomUUID(),
  trigger: { kind: 'event', event: 'deposit_confirmed', ingestion_id: randomUUID() },
  context: { trigger_payload: {} },
});

/** Lets players enter version 1 of a journey. */
async function entering(journey_id: string, player_ids: readonly string[], now: Date) {
  const ref = { ...journeys.tenant, journey_id };
  return sql().begin(async (tx) => {
    const [version] = await selectVersion(tx, ref, 1);
    if (version === undefined) throw new Error('the journey has no version');
    const { tenant_id, project_id } = journeys.tenant;
    const entry = {
      version: { tenant_id, project_id, journey_id, version: 1 },
      definition: readJourney(version),
      now,
    };
    return enter(tx, entry, player_ids.map(entrantOf));
  });
}

/** What runs a player has, the first first: `held_out` or their status. */
async function runsOf(journey_id: string, player_id: string): Promise<string[]> {
  const rows = await sql()<{ what: string }[]>`
    select coalesce(outcome, status) as what from journey_runs
    where journey_id = ${journey_id} and player_id = ${player_id} order by started_at, run_id`;
  return rows.map(({ what }) => what);
}

const holdOut = (percent: number, now: Date) =>
  sql().begin((tx) => saveGlobalHoldout(tx, journeys.tenant, percent, now));
const drawAt = (now: Date) => sql().begin((tx) => globalDraw(tx, journeys.tenant, now));

it('whom a round of the project held out may enter once in a later round; whom the journey holds out may not', async () => {
  const once = await journeys.makeActive({
    settings: { re_entry: { mode: 'once' }, holdout_percent: 20 },
  });
  await holdOut(10, new Date('2026-01-05T00:00:00Z'));
  const players = await newPlayers(300);
  const [first, second] = [await drawAt(ROUND_1), await drawAt(ROUND_2)];
  await entering(once, players, ROUND_1);
  await entering(once, players, new Date(ROUND_1.getTime() + DAY_MS));
  const isOwn = (player_id: string) => isInHoldout(once, player_id, 20);
  const firstOf = (player_id: string) => (first(player_id) || isOwn(player_id) ? 'held_out' : 'running');
  for (const player_id of players) expect(await runsOf(once, player_id)).toEqual([firstOf(player_id)]);
  await entering(once, players, ROUND_2);
  await entering(once, players, new Date(ROUND_2.getTime() + DAY_MS));
  const freed = players.filter((player_id) => first(player_id));
  expect(freed.length).toBeGreaterThan(10);
  for (const player_id of players) {
    const later = second(player_id) || isOwn(player_id) ? 'held_out' : 'running';
    const wanted = first(player_id) ? ['held_out', later] : [firstOf(player_id)];
    expect(await runsOf(once, player_id)).toEqual(wanted);
  }
  await holdOut(0, new Date('2026-06-01T00:00:00Z'));
  const both = players.filter((player_id) => first(player_id) && second(player_id));
  await entering(once, players, new Date('2026-06-02T00:00:00Z'));
  for (const player_id of both)
    expect((await runsOf(once, player_id)).at(-1)).toBe(isOwn(player_id) ? 'held_out' : 'running');
});

it('a run that an earlier round held out is no entry to wait after', async () => {
  await holdOut(10, new Date('2026-01-05T00:00:00Z'));
  const spaced = await journeys.makeActive({
    settings: { re_entry: { mode: 'after_exit', min_interval_ms: 90 * DAY_MS } },
  });
  const players = await newPlayers(200);
  const [first, second] = [await drawAt(ROUND_1), await drawAt(ROUND_2)];
  await entering(spaced, players, ROUND_1);
  await entering(spaced, players, ROUND_2);
  const freed = players.filter((player_id) => first(player_id) && !second(player_id));
  expect(freed.length).toBeGreaterThan(3);
  for (const player_id of freed) expect(await runsOf(spaced, player_id)).toEqual(['held_out', 'running']);
  await holdOut(0, new Date('2026-06-01T00:00:00Z'));
});

it('held-out runs take nothing of the cap of an hour, and end where it ends', async () => {
  const capped = await journeys.makeActive({ settings: { holdout_percent: 50, max_entries_per_hour: 10 } });
  const players = await newPlayers(60);
  const now = new Date('2026-07-01T12:00:00Z');
  const isOut = (player_id: string) => isInHoldout(capped, player_id, 50);
  // The members up to the tenth who is not held out: behind that one nobody finds room.
  const treated = players.filter((player_id) => !isOut(player_id));
  const end = players.indexOf(treated[9] ?? '') + 1;
  const { run_ids, held_out, limited } = await entering(capped, players, now);
  expect([run_ids.length, held_out.length, limited]).toEqual([
    10,
    players.slice(0, end).filter(isOut).length,
    players.length - end,
  ]);
  // Nobody enters above the cap, in neither arm; an hour later both do.
  expect(await entering(capped, players.slice(end), now)).toMatchObject({ limited: players.length - end });
  const later = await entering(capped, players.slice(end), new Date(now.getTime() + HOUR_MS + 1));
  expect(later.run_ids).toHaveLength(Math.min(10, treated.length - 10));
});

it("runs of a journey with a service message are in no arm of the project's holdout", async () => {
  await holdOut(10, new Date('2026-08-01T00:00:00Z'));
  const { tenant_id, project_id } = journeys.tenant;
  const [template_id, provider_id, now] = [randomUUID(), randomUUID(), new Date()];
  await sql()`
    insert into templates (tenant_id, project_id, template_id, name, channel, status, subject, body, purpose, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${template_id}, 'T', 'email', 'active', 'S', 'B', 'service', ${now}, ${now})`;
  await sql()`
    insert into messaging_providers (tenant_id, provider_id, name, kind, channel, status, config, created_at, updated_at)
    values (${tenant_id}, ${provider_id}, 'P', 'sandbox', 'email', 'active', '{}', ${now}, ${now})`;
  const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'wait' };
  const graph = { start_node_id: 'mail', nodes: [mail, wait(), { id: 'end', type: 'end' }] };
  const service = await journeys.makeActive({ graph });
  const plain = await journeys.makeActive({});
  const players = await newPlayers(60);
  const [of_service, of_plain] = [players.slice(0, 30), players.slice(30)];
  const at = new Date('2026-08-20T00:00:00Z');
  await entering(service, of_service, at);
  await entering(plain, of_plain, at);
  const copies = new Map<string, number>();
  await until('the runs are readable', async (saw) => {
    const { rows } = saw(await sql().begin((tx) => readChangedJourneyRows(tx, MIRROR_START, 100_000)));
    for (const { table, line } of rows) {
      const row = JSON.parse(line) as { player_id: string; is_held_out_globally: number };
      if (table === 'journey_runs') copies.set(row.player_id, row.is_held_out_globally);
    }
    return players.every((player_id) => copies.has(player_id));
  });
  const draw = await drawAt(at);
  for (const player_id of of_service) expect(copies.get(player_id)).toBe(2);
  for (const player_id of of_plain) expect(copies.get(player_id)).toBe(draw(player_id) ? 1 : 0);
  await holdOut(0, new Date('2026-09-01T00:00:00Z'));
});
