import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fitJob, runFitJob, runScheduleJob } from '../../../src/players/scores/nightly/job.ts';
import { sendTimeJob } from '../../../src/players/scores/send-time/job.ts';
import type { NewJob } from '../../../src/platform/jobs/port.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';
import { insertPlayers } from '../../segments/inserted-players.ts';
import { readCustomers } from './cdnow.ts';

const DAY_MS = 86_400_000;
const NIGHT_MS = Date.parse('1998-07-01T03:20:00Z');

let fixture: Fixture;
let tenant: Tenant;
/** Players in the order of the customers, who have paid something. */
let player_ids: string[];
let last_days: number[];
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
  const customers = [...(await readCustomers()).values()].filter((days) =>
    [...days.values()].some((cents) => cents > 0),
  );
  player_ids = await insertPlayers(fixture.platform, tenant, customers.length);
  last_days = customers.map((days) =>
    Math.max(...[...days].filter(([, cents]) => cents > 0).map(([day]) => day)),
  );
  const { clickhouse } = fixture.platform;
  const { tenant_id, project_id } = tenant;
  const of_project = { tenant_id, project_id };
  const events = customers.flatMap((days, i) =>
    [...days].map(([day, cents]) =>
      JSON.stringify({
        ...of_project,
        player_id: player_ids[i],
        event: 'deposit_confirmed',
        occurred_at: day * DAY_MS + 43_200_000,
        received_at: day * DAY_MS + 43_200_000,
        ingestion_id: randomUUID(),
        event_index: 0,
        base_amount: cents,
        properties: {},
        revision: 1,
      }),
    ),
  );
  await clickhouse.insertLines('events', events, randomUUID());
  const totals = player_ids.map((player_id) =>
    JSON.stringify({ ...of_project, player_id, total_deposited: 10_000, ngr: '2500', revision: 2 }),
  );
  await clickhouse.insertLines('players', totals, randomUUID());
});
afterAll(() => fixture.close());

const deps = (now_ms = NIGHT_MS): Platform => ({ ...fixture.platform, clock: { now_ms: () => now_ms } });
const fit = (now_ms?: number) => {
  const { tenant_id, project_id } = tenant;
  return runFitJob(deps(now_ms), { tenant_id, project_id }, new AbortController().signal);
};
const stored = async () => {
  const rows = await fixture.platform.postgres.service<
    {
      player_id: string;
      churn_score: number;
      ltv_predicted: number | null;
      churn_model: string | null;
      changes: string;
    }[]
  >`
    select player_id, churn_score, ltv_predicted, churn_model, xmin::text as changes from players
    where project_id = ${tenant.project_id}`;
  return new Map(rows.map((row) => [row.player_id, row]));
};
const models = async () => {
  const { body } = await fixture.as(tenant.session, '/v1/models');
  return body.data as unknown as Record<string, unknown>[];
};

it(
  'fits real purchases, scores each player, and writes only what has changed',
  { timeout: 300_000 },
  async () => {
    expect(await models()).toEqual([]);
    const [own = '', excluded = '', deleted = ''] = player_ids;
    const { service } = fixture.platform.postgres;
    await service`update players set self_excluded = true where player_id = ${excluded}`;
    await service`update players set deleted_at = now(), status = 'deleted' where player_id = ${deleted}`;
    const sent = await fixture.as(tenant.api_key, '/v1/scores', {
      method: 'POST',
      body: {
        model: 'ours',
        as_of: '1998-01-01T00:00:00Z',
        scores: [{ player_id: own, churn_score: 0.123, ltv_predicted: 77 }],
      },
    });
    expect(sent.status, sent.text).toBe(200);
    await fit();

    const [model] = await models();
    expect(model).toMatchObject({
      model: 'default',
      status: 'on',
      as_of: '1998-07-01T00:00:00.000Z',
      players: player_ids.length,
      sampled: player_ids.length,
      ngr: 2_500 * player_ids.length,
      total_deposited: 10_000 * player_ids.length,
    });
    const after = await stored();
    expect(after.get(own)).toMatchObject({ churn_score: 0.123, ltv_predicted: 77, churn_model: 'ours' });
    expect(after.get(deleted)).toMatchObject({ churn_score: 0, ltv_predicted: null, churn_model: null });
    expect(after.get(excluded)).toMatchObject({ ltv_predicted: null, churn_model: 'default' });
    const scored = player_ids.slice(3).map((id) => after.get(id));
    expect(scored.filter((one) => one?.churn_model !== 'default')).toEqual([]);
    expect(scored.filter((one) => one?.ltv_predicted === null || (one?.ltv_predicted ?? -1) < 0)).toEqual([]);
    // Of the customers who came last, most have a lower score than any who stayed away for a year.
    const by_last = player_ids
      .slice(3)
      .map((id, i) => ({ score: after.get(id)?.churn_score ?? 0, last: last_days[i + 3] ?? 0 }));
    const lapsed = by_last.filter(({ last }) => last < NIGHT_MS / DAY_MS - 365).map(({ score }) => score);
    expect(Math.min(...lapsed)).toBeGreaterThan(0.9);

    await fit();
    expect(await stored()).toEqual(after);

    // A night later nobody has come: the scores rise a little, most of them by less than is written.
    await fit(NIGHT_MS + DAY_MS);
    const later = await stored();
    const changed = player_ids.filter((id) => later.get(id)?.changes !== after.get(id)?.changes).length;
    expect(changed).toBeLessThan(player_ids.length / 2);
    expect((await models())[0]).toMatchObject({ as_of: '1998-07-02T00:00:00.000Z' });

    // A fit of an earlier day that comes late does nothing.
    await fit();
    expect((await models())[0]).toMatchObject({ as_of: '1998-07-02T00:00:00.000Z' });
  },
);

it(
  'takes its scores away when it knows too little, and leaves those of the operator',
  { timeout: 120_000 },
  async () => {
    // Before the first purchases of most.
    const [own = ''] = player_ids;
    const { service } = fixture.platform.postgres;
    const early_ms = Date.parse('1997-01-20T03:20:00Z');
    await service`delete from score_models where project_id = ${tenant.project_id}`;
    await fit(early_ms);
    expect((await models())[0]).toMatchObject({ status: 'waiting', backtest: null, calibration: [] });
    const first = new Set(
      player_ids.filter((_, i) => (last_days[i] ?? Infinity) < Math.floor(early_ms / DAY_MS)),
    );
    const after = await stored();
    expect(first.size).toBeGreaterThan(50);
    for (const id of first) {
      if (id !== own)
        expect(after.get(id)).toMatchObject({ churn_score: 0, ltv_predicted: null, churn_model: null });
    }
    expect(after.get(own)).toMatchObject({ churn_score: 0.123, churn_model: 'ours' });
  },
);

it('of a project without players stores nothing', async () => {
  const { tenant_id, project_id, session } = await fixture.makeTenant();
  await runFitJob(deps(), { tenant_id, project_id }, new AbortController().signal);
  const { body } = await fixture.as(session, '/v1/models');
  expect(body.data).toEqual([]);
});

it('adds two jobs for each project, with a key and a queue, so that one that fails stops no other', async () => {
  const added: NewJob[] = [];
  const jobs = { ...fixture.platform.jobs, add: async (_: unknown, job: NewJob) => void added.push(job) };
  await runScheduleJob({ ...deps(), jobs }, new AbortController().signal);
  const { tenant_id, project_id } = tenant;
  expect(added).toContainEqual(fitJob({ tenant_id, project_id }));
  const [row] = await fixture.platform.postgres.service<{ projects: number }[]>`
    select count(*)::integer as projects from projects`;
  expect(added).toContainEqual(sendTimeJob({ tenant_id, project_id }, 'scores'));
  expect(new Set(added.map(({ job_key }) => job_key)).size).toBe(2 * (row?.projects ?? 0));
  expect(new Set(added.map(({ queue }) => queue))).toEqual(new Set(['scores']));
});
