import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

let fixture: Fixture;
let tenant: Tenant;
beforeAll(async () => {
  fixture = await sharedFixture();
  tenant = await fixture.makeTenant();
});
afterAll(() => fixture.close());

const identify = async (body: object, key = tenant.api_key) => {
  const answer = await fixture.as(key, '/v1/players/identify', { method: 'POST', body });
  expect(answer.status, answer.text).toBe(200);
  return String(answer.body.data['player_id']);
};
const newPlayer = () => identify({ external_id: randomUUID() });
const send = (body: object, key = tenant.api_key) => fixture.as(key, '/v1/scores', { method: 'POST', body });
const verdicts = async (scores: readonly object[], as_of = '2026-03-01T00:00:00Z', model = 'churn-7') => {
  const answer = await send({ model, as_of, scores });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.data as unknown as { player_id: string | null; verdict: string }[];
};
const read = async (player_id: string) => {
  const { body } = await fixture.as(tenant.session, `/v1/players/${player_id}`);
  const { churn_score, ltv_predicted } = body.data;
  return { churn_score, ltv_predicted };
};
const remove = (player_id: string) =>
  fixture.as(tenant.session, `/v1/players/${player_id}`, { method: 'DELETE' });

describe('POST /v1/scores', () => {
  it('writes scores by either id, once, and marks the players as changed', async () => {
    const external_id = randomUUID();
    const [first, second] = [await newPlayer(), await identify({ external_id })];
    const rows = [
      { player_id: first, churn_score: 0.25, ltv_predicted: 1_800.5 },
      { external_id, ltv_predicted: -20 },
    ];
    const changedAt = async () => {
      const changes = await fixture.platform.postgres.service<{ changed_xid: string }[]>`
        select changed_xid::text from player_totals where player_id in (${first}, ${second}) order by player_id`;
      return changes.map(({ changed_xid }) => changed_xid);
    };
    const before = await changedAt();
    expect(await verdicts(rows)).toEqual([
      { player_id: first, verdict: 'written' },
      { player_id: second, verdict: 'written' },
    ]);
    expect(await read(first)).toEqual({ churn_score: 0.25, ltv_predicted: 1_800.5 });
    expect(await read(second)).toEqual({ churn_score: 0, ltv_predicted: -20 });
    const after = await changedAt();
    expect(after.filter((xid, i) => xid === before[i])).toEqual([]);
    expect((await verdicts(rows)).map(({ verdict }) => verdict)).toEqual(['unchanged', 'unchanged']);
    expect(await changedAt()).toEqual(after);
  });

  it('never replaces newer scores by older ones, each score on its own', async () => {
    const player_id = await newPlayer();
    await verdicts([{ player_id, churn_score: 0.5 }], '2026-03-02T00:00:00Z');
    const older = await verdicts([{ player_id, churn_score: 0.9 }], '2026-03-01T23:59:59Z', 'churn-8');
    expect(older).toEqual([{ player_id, verdict: 'stale' }]);
    const both = await verdicts([{ player_id, churn_score: 0.9, ltv_predicted: 7 }], '2026-03-01T00:00:00Z');
    expect(both).toEqual([{ player_id, verdict: 'written' }]);
    expect(await read(player_id)).toEqual({ churn_score: 0.5, ltv_predicted: 7 });
    await verdicts([{ player_id, churn_score: 0.1, ltv_predicted: null }], '2026-03-03T00:00:00+01:00');
    expect(await read(player_id)).toEqual({ churn_score: 0.1, ltv_predicted: null });
  });

  it('says of each row why it was not written', async () => {
    const other = await fixture.makeTenant();
    const foreign = await identify({ external_id: 'x' }, other.api_key);
    const gone = await newPlayer();
    await remove(gone);
    const erased = await newPlayer();
    await remove(erased);
    await fixture.platform.postgres.service`update players set erased_at = now() where player_id = ${erased}`;
    const anonymous_id = randomUUID();
    const merged = await identify({ anonymous_id });
    const survivor = await newPlayer();
    await identify({ anonymous_id, player_id: survivor });
    const player_id = await newPlayer();
    const ids = [foreign, randomUUID(), gone, erased, merged, player_id, player_id.toUpperCase(), survivor];
    expect(await verdicts(ids.map((id) => ({ player_id: id, churn_score: 0.5 })))).toEqual([
      { player_id: null, verdict: 'unknown' },
      { player_id: null, verdict: 'unknown' },
      { player_id: gone, verdict: 'deleted' },
      { player_id: erased, verdict: 'erased' },
      { player_id: merged, verdict: 'merged', into_player_id: survivor },
      { player_id, verdict: 'written' },
      { player_id, verdict: 'duplicate' },
      { player_id: survivor, verdict: 'written' },
    ]);
    const untouched = await fixture.as(other.session, `/v1/players/${foreign}`);
    expect(untouched.body.data['churn_score']).toBe(0);
  });

  it('takes 1,000 rows, of which one player may be in different transactions', async () => {
    const player_id = await newPlayer();
    const rows = Array.from({ length: 999 }, () => ({ external_id: randomUUID(), churn_score: 1 }));
    const found = await verdicts([
      { player_id, churn_score: 0.5 },
      ...rows.slice(0, 998),
      { player_id, churn_score: 1 },
    ]);
    expect([found.length, found[0]?.verdict, found[999]?.verdict]).toEqual([1_000, 'written', 'duplicate']);
    expect((await read(player_id)).churn_score).toBe(0.5);
    const too_many = await send({
      model: 'm',
      as_of: '2026-03-01T00:00:00Z',
      scores: [...rows, ...rows.slice(0, 2)],
    });
    expect([too_many.status, too_many.body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it.each([
    ['a score above 1', { churn_score: 1.01 }],
    ['no score', {}],
    ['two ids', { external_id: 'x', churn_score: 1 }],
    ['another field', { churn_score: 1, ggr: 5 }],
  ])('refuses %s', async (_, row) => {
    const scores = [{ player_id: randomUUID(), ...row }];
    const answer = await send({ model: 'm', as_of: '2026-03-01T00:00:00Z', scores });
    expect([answer.status, answer.body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('refuses a time in the future, the name of its own model, client keys and sessions', async () => {
    const scores = [{ player_id: await newPlayer(), churn_score: 0.5 }];
    const ahead = new Date(Date.now() + 3_600_000).toISOString();
    expect((await send({ model: 'm', as_of: ahead, scores })).status).toBe(422);
    const as_of = '2026-03-01T00:00:00Z';
    expect((await send({ model: 'default', as_of, scores })).status).toBe(422);
    expect((await send({ model: 'm', as_of, scores }, tenant.session)).status).toBe(401);
    const created = await fixture.as(tenant.session, `/v1/projects/${tenant.project_id}/api-keys`, {
      method: 'POST',
      body: { name: 'page', kind: 'client', allowed_origins: ['https://casino.example'] },
    });
    const client = await send({ model: 'm', as_of, scores }, String(created.body.data['key']));
    expect([client.status, client.body.error?.code]).toEqual([403, 'KEY_KIND_FORBIDDEN']);
  });

  it('is the only way: a PATCH of the player still refuses them', async () => {
    const player_id = await newPlayer();
    const answer = await fixture.as(tenant.session, `/v1/players/${player_id}`, {
      method: 'PATCH',
      body: { churn_score: 0.5 },
    });
    expect(answer.body.error?.code).toBe('FIELD_NOT_WRITABLE');
  });
});

describe('a merge', () => {
  it("keeps the survivor's scores, or those of the player that goes where the survivor has none", async () => {
    const mergeOf = async (survivor: object, gone: object) => {
      const anonymous_id = randomUUID();
      const [old_id, into] = [await identify({ anonymous_id }), await newPlayer()];
      const rows = [
        { player_id: into, ...survivor },
        { player_id: old_id, ...gone },
      ].filter((row) => Object.keys(row).length > 1);
      await verdicts(rows);
      await identify({ anonymous_id, player_id: into });
      return read(into);
    };
    expect(await mergeOf({ churn_score: 0.2 }, { churn_score: 0.7, ltv_predicted: 90 })).toEqual({
      churn_score: 0.2,
      ltv_predicted: 90,
    });
    expect(await mergeOf({ ltv_predicted: null }, { churn_score: 0.7, ltv_predicted: 90 })).toEqual({
      churn_score: 0.7,
      ltv_predicted: null,
    });
  });
});
