import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isInHoldout } from '../../../src/engage/journeys/runs/entry.ts';
import { openJourneyFixture, type JourneyFixture } from '../journeys/journey-fixture.ts';

// The effect of a journey whose holdout was changed: both arms are of players who were drawn with one share.

const DAY_MS = 86_400_000;
const NOW_MS = Date.now();
const daysAgo = (days: number) => NOW_MS - days * DAY_MS;
/** When each version was published. */
const PUBLISHED = { 1: daysAgo(90), 2: daysAgo(60), 3: daysAgo(50) } as const;
const SHARE = { 1: 10, 2: 50, 3: 50 } as const;

let journeys: JourneyFixture;
beforeAll(async () => {
  journeys = await openJourneyFixture();
});
afterAll(() => journeys?.fixture.close());

/** A journey with three versions, of which the first holds out another share. */
async function publishedThrice(): Promise<string> {
  const journey_id = await journeys.makeActive({ settings: { holdout_percent: SHARE[1] } });
  const sql = journeys.fixture.platform.postgres.service;
  await sql`update journey_versions set published_at = ${new Date(PUBLISHED[1])} where journey_id = ${journey_id}`;
  for (const version of [2, 3] as const) {
    await sql`
      insert into journey_versions (tenant_id, project_id, journey_id, version, trigger, graph, settings, published_at)
      select tenant_id, project_id, journey_id, ${version}, trigger, graph,
        settings || jsonb_build_object('holdout_percent', ${SHARE[version]}::integer), ${new Date(PUBLISHED[version])}
      from journey_versions where journey_id = ${journey_id} and version = 1`;
    await sql`update journeys set version = ${version} where journey_id = ${journey_id}`;
  }
  return journey_id;
}

interface Run {
  player_id: string;
  version: 1 | 2 | 3;
  at_ms: number;
  /** The version that the run has now. */
  moved_to?: number;
}

async function storeRuns(journey_id: string, runs: readonly Run[]): Promise<void> {
  const { tenant_id, project_id } = journeys.tenant;
  const lines = runs.map(({ player_id, version, at_ms, moved_to }) =>
    JSON.stringify({
      tenant_id,
      project_id,
      journey_id,
      run_id: randomUUID(),
      version: moved_to ?? version,
      player_id,
      is_held_out: Number(isInHoldout(journey_id, player_id, SHARE[version])),
      is_held_out_globally: 0,
      started_at: at_ms,
      is_archived: 0,
      revision: 1,
    }),
  );
  await journeys.fixture.platform.clickhouse.insertLines('journey_runs', lines, randomUUID());
}

it('compares only players who were drawn with the share that is held out now', async () => {
  const journey_id = await publishedThrice();
  const some = (many: number) => Array.from({ length: many }, () => randomUUID());
  const [early, late, latest, racing] = [some(400), some(200), some(100), some(20)];
  const isOut = (player_id: string) => isInHoldout(journey_id, player_id, 50);
  await storeRuns(journey_id, [
    // Whose share was 10 %; a run of those who got something was moved to the newest version.
    ...early.map((player_id, i) => ({
      player_id,
      version: 1 as const,
      at_ms: daysAgo(80) + i,
      ...(isInHoldout(journey_id, player_id, 10) ? {} : { moved_to: 3 }),
    })),
    // Some of them come again, of whom half is held out now.
    ...early.slice(0, 200).map((player_id) => ({ player_id, version: 2 as const, at_ms: daysAgo(55) })),
    // A transaction that has read the version before, just after the next was published.
    ...racing.map((player_id) => ({ player_id, version: 1 as const, at_ms: PUBLISHED[2] + 500 })),
    // One share, two versions. Those who got something were moved back to the first version.
    ...late.map((player_id, i) => ({
      player_id,
      version: 2 as const,
      at_ms: PUBLISHED[2] + 3_600_000 + i,
      ...(isOut(player_id) ? {} : { moved_to: 1 }),
    })),
    ...latest.map((player_id, i) => ({ player_id, version: 3 as const, at_ms: PUBLISHED[3] + i })),
  ]);
  const answer = await journeys.api('GET', `/v1/journeys/${journey_id}/uplift`);
  expect(answer.status, answer.text).toBe(200);
  const counted = [...late, ...latest];
  expect(answer.body.data).toMatchObject({
    holdout_percent: 50,
    drawn_since: new Date(PUBLISHED[2]).toISOString(),
    in_two_arms: 0,
    waiting: 0,
    balance: { is_uneven: false },
    held_out: { players: counted.filter(isOut).length },
    arms: [{ players: counted.filter((player_id) => !isOut(player_id)).length }],
  });
});

it('counts everybody of a journey that has always held out the same share', async () => {
  const journey_id = await journeys.makeActive({ settings: { holdout_percent: 10 } });
  const players = Array.from({ length: 50 }, () => randomUUID());
  await storeRuns(
    journey_id,
    players.map((player_id) => ({ player_id, version: 1, at_ms: daysAgo(40) })),
  );
  const held_out = players.filter((player_id) => isInHoldout(journey_id, player_id, 10)).length;
  const answer = await journeys.api('GET', `/v1/journeys/${journey_id}/uplift`);
  expect(answer.body.data).toMatchObject({
    drawn_since: null,
    held_out: { players: held_out },
    arms: [{ players: 50 - held_out }],
  });
});
