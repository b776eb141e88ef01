import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../engines/until.ts';
import {
  expectRefused,
  group,
  trait,
  UNKNOWN,
  within,
  openSegmentFixture,
  type SegmentFixture,
} from './segment-fixture.ts';
import { closed, dereferenced } from '../http/dereferenced.ts';

/** The response schemas of the OpenAPI document, by path and method. */
type Documented = Record<
  string,
  Record<string, { responses: Record<string, { content: Record<string, { schema: object }> }> }>
>;

let service: SegmentFixture['service'];
let api: SegmentFixture['api'];
let make: SegmentFixture['make'];
let person: SegmentFixture['person'];
let recompute: SegmentFixture['recompute'];
let caughtUp: SegmentFixture['caughtUp'];
let sizeOf: SegmentFixture['sizeOf'];
let segmentsOf: SegmentFixture['segmentsOf'];
beforeAll(async () => {
  ({ service, api, make, person, recompute, caughtUp, sizeOf, segmentsOf } = await openSegmentFixture());
});
afterAll(async () => service?.close());

describe('members', () => {
  it('are sampled up to a limit of 1 to 100, each once', async () => {
    const players = [await person(), await person(), await person()];
    await caughtUp();
    const path = `/v1/segments/${await make()}`;
    expect((await api('GET', `${path}/sample`)).data).toEqual([]);
    const { data } = await api('POST', `${path}/refresh`);
    for (const limit of ['0', '101', '1.5', 'x', '']) {
      const answer = await api('GET', `${path}/sample?limit=${limit}`);
      expectRefused(answer, 'VALIDATION_ERROR', 'limit');
    }
    expect((await api('GET', `${path}/sample?limit=1`)).data).toHaveLength(1);
    const sample = (await api('GET', `${path}/sample?limit=100`)).data as unknown as string[];
    expect(sample).toEqual(expect.arrayContaining(players));
    expect(new Set(sample).size).toBe(Math.min(Number(data['matched']), 100));
  });

  it('are answered in the form that the OpenAPI document describes', async () => {
    const player = await person();
    await caughtUp();
    const path = `/v1/segments/${await make()}`;
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const served = JSON.parse((await api('GET', '/openapi.json')).text) as Record<string, unknown>;
    const { paths } = dereferenced(served) as { paths: Documented };
    for (const [method, url, documented] of [
      ['GET', `${path}/explain?player_id=${player}`, '/v1/segments/{id}/explain'],
      ['POST', `${path}/refresh`, '/v1/segments/{id}/refresh'],
      ['GET', `${path}/sample`, '/v1/segments/{id}/sample'],
      ['POST', `/v1/players/${player}/refresh-segments`, '/v1/players/{id}/refresh-segments'],
    ] as const) {
      const { status, text } = await api(method, url);
      expect(status, text).toBe(200);
      const schema = paths[documented]?.[method.toLowerCase()]?.responses['200']?.content['application/json'];
      expect(schema, documented).toBeDefined();
      const valid = ajv.validate(closed(schema?.schema ?? {}) as object, JSON.parse(text));
      expect(valid, `${documented} ${text} ${ajv.errorsText()}`).toBe(true);
    }
  });

  it('can be explained for an existing player only', async () => {
    const player = await person({ plan: 'gold' });
    await caughtUp();
    const path = `/v1/segments/${await make(group(trait('custom_attributes.plan', 'eq', 'gold')))}/explain`;
    expect((await api('GET', `${path}?player_id=${player}`)).data).toMatchObject({
      matches: true,
      is_member: false,
    });
    expectRefused(await api('GET', path), 'VALIDATION_ERROR', 'player_id');
    for (const id of [UNKNOWN, 'nonsense', '']) {
      expectRefused(await api('GET', `${path}?player_id=${id}`), 'PLAYER_NOT_FOUND');
    }
  });

  it('include the survivor once instead of merged players', async () => {
    const [old, survivor] = [
      await person({ merging: 1 }, { anonymous_id: 'merging-device' }),
      await person({ merging: 2 }, { external_id: 'merging-person' }),
    ];
    await caughtUp();
    const both = await make(group(trait('custom_attributes.merging', 'exists')));
    const only_old = await make(group(trait('custom_attributes.merging', 'eq', 1)));
    for (const id of [both, only_old]) await api('POST', `/v1/segments/${id}/refresh`);
    expect([await sizeOf(both), await sizeOf(only_old)]).toEqual([2, 1]);
    const ids = { anonymous_id: 'merging-device', external_id: 'merging-person' };
    const merged = await person({}, ids);
    expect([old, survivor]).toContain(merged);
    expect((await segmentsOf(merged)).sort()).toEqual([both, only_old].sort());
    expect([await sizeOf(both), await sizeOf(only_old)]).toEqual([1, 1]);
    for (const id of [both, only_old]) {
      expect((await api('GET', `/v1/segments/${id}/sample`)).data).toEqual([merged]);
    }
  });

  it('do not include a deleted player, and every size changes at once', async () => {
    const [gone, other] = [await person({ leaving: 1 }), await person({ leaving: 1 })];
    await caughtUp();
    const first = await make(group(trait('custom_attributes.leaving', 'exists')));
    const second = await make(group(within(first)));
    await api('POST', `/v1/segments/${second}/refresh`);
    expect([await sizeOf(first), await sizeOf(second)]).toEqual([2, 2]);
    await api('DELETE', `/v1/players/${gone}`);
    expect(await segmentsOf(gone)).toEqual([]);
    expect([await sizeOf(first), await sizeOf(second)]).toEqual([1, 1]);
    await api('DELETE', `/v1/players/${gone}`);
    // The result must not depend on whether ClickHouse has the deletion yet.
    const again = await api('POST', `/v1/segments/${second}/refresh`);
    expect(again.data).toMatchObject({ matched: 1, added: 0, removed: 0 });
    expect((await api('GET', `/v1/segments/${first}/sample`)).data).toEqual([other]);
  });
});

describe('refreshing the segments of one player', () => {
  it('evaluates all segments of the project, including manual ones, after the segments they refer to', async () => {
    const tenant = await service.newTenant();
    const player = await person({ tier: 'gold' }, { external_id: 'one' }, tenant);
    await caughtUp();
    // Created in another order than the one in which they must be evaluated.
    const silver = await make(group(trait('custom_attributes.tier', 'eq', 'silver')), {}, tenant);
    const later = await make(group(within(silver, 'not_in')), {}, tenant);
    const last = await make(group(within(later)), {}, tenant);
    const gold = await make(group(trait('custom_attributes.tier', 'eq', 'gold')), {}, tenant);
    await api('PATCH', `/v1/segments/${later}`, { definition: group(within(gold)) }, tenant);
    const path = `/v1/players/${player}/refresh-segments`;
    const first = await api('POST', path, undefined, tenant);
    expect(first.status, first.text).toBe(200);
    expect(Object.keys(first.data).sort()).toEqual([
      'added',
      'duration_ms',
      'matched_segment_ids',
      'player_id',
      'removed',
      'total_segments_evaluated',
    ]);
    expect(first.data).toMatchObject({ player_id: player, removed: [], total_segments_evaluated: 4 });
    expect((first.data['added'] as string[]).sort()).toEqual([gold, later, last].sort());
    expect((first.data['matched_segment_ids'] as string[]).sort()).toEqual([gold, later, last].sort());
    const second = await api('POST', path, undefined, tenant);
    expect(second.data).toMatchObject({ added: [], removed: [], total_segments_evaluated: 4 });
    await api('PATCH', `/v1/players/${player}`, { custom_attributes: { tier: 'silver' } }, tenant);
    await caughtUp();
    const third = await api('POST', path, undefined, tenant);
    expect(third.data).toMatchObject({ added: [silver], matched_segment_ids: [silver] });
    expect((third.data['removed'] as string[]).sort()).toEqual([gold, later, last].sort());
    const shown = await api('GET', `/v1/players/${player}`, undefined, tenant);
    expect(shown.data['segment_ids']).toEqual([silver]);
  });

  it('is refused for an unknown player', async () => {
    for (const id of [UNKNOWN, 'nonsense']) {
      expectRefused(await api('POST', `/v1/players/${id}/refresh-segments`), 'PLAYER_NOT_FOUND');
    }
  });
});

describe('definitions that exceed one query', () => {
  const steps = (n: number) =>
    Array.from({ length: 10 }, (_, i) => ({
      event: `custom_step_${n}_${i}`,
      where: Array.from({ length: 10 }, (_, k) => ({ property: `p${n}.${i}.${k}`, op: 'gt', value: k })),
    }));

  it('are SEGMENT_TOO_EXPENSIVE', async () => {
    const definition = group(
      ...Array.from({ length: 12 }, (_, n) => ({ type: 'sequence', steps: steps(n) })),
    );
    const player = await person();
    await caughtUp();
    expectRefused(await api('POST', '/v1/segments/preview', { definition }), 'SEGMENT_TOO_EXPENSIVE');
    const id = await make(definition);
    const path = `/v1/segments/${id}`;
    expectRefused(await api('POST', `${path}/refresh`), 'SEGMENT_TOO_EXPENSIVE');
    expect((await api('GET', path)).data['last_error']).toContain('too long');
    expectRefused(await api('GET', `${path}/explain?player_id=${player}`), 'SEGMENT_TOO_EXPENSIVE');
    // The segment must not block the others.
    const fine = await make();
    const refreshed = await api('POST', `/v1/players/${player}/refresh-segments`);
    expect(refreshed.data['matched_segment_ids']).toContain(fine);
    await api('DELETE', path);
  });

  it('are evaluated in several queries when only their total is too large', async () => {
    const tenant = await service.newTenant();
    const player = await person({ a: 1 }, { external_id: 'one' }, tenant);
    await caughtUp();
    const ids: string[] = [];
    for (let n = 0; n < 30; n++) {
      const conditions = Array.from({ length: 49 }, (_, i) =>
        trait(`custom_attributes.key-${n}-${i}`, 'neq', 'x'),
      );
      ids.push(await make(group(trait('custom_attributes.a', 'eq', 1), ...conditions), {}, tenant));
    }
    const refreshed = await api('POST', `/v1/players/${player}/refresh-segments`, undefined, tenant);
    expect(refreshed.status, refreshed.text).toBe(200);
    expect((refreshed.data['added'] as string[]).sort()).toEqual(ids.sort());
  });
});

describe('recomputing players', () => {
  it('refuses invalid requests', async () => {
    const { tenant_id, project_id } = service;
    const sound = { tenant_id, project_id, player_ids: [UNKNOWN] };
    for (const wrong of [
      { player_ids: [] },
      { player_ids: ['nonsense'] },
      { player_ids: Array.from({ length: 10_001 }, () => UNKNOWN) },
      { player_ids: undefined },
      { tenant_id: 'nonsense' },
      { project_id: undefined },
      { events: 'deposit_confirmed' },
      { events: ['x'.repeat(201)] },
      { segment_ids: [] },
    ]) {
      const { status, text, body } = await recompute({ ...sound, ...wrong });
      expect([status, body.error?.code], text).toEqual([422, 'VALIDATION_ERROR']);
    }
  });

  it('evaluates the players in the segments that read these events, or in all', async () => {
    const { tenant_id, project_id, platform } = service;
    const player = await person();
    const never = { type: 'event', event: 'bonus_claimed', aggregate: 'count', op: 'eq', value: 0 };
    const id = await make(group(never), { refresh_strategy: 'realtime' });
    const enters = () => until('the player is in', async (saw) => saw(await segmentsOf(player)).includes(id));
    await enters();
    await caughtUp();
    // Its first refresh, or an evaluation that others wanted, would bring the membership back.
    await until('the segment was refreshed', async (saw) => {
      const { data } = saw(await api('GET', `/v1/segments/${id}`));
      return data['last_computed_at'] !== null && data['refresh_progress'] === null;
    });
    const nobodyWaits = () =>
      until('nobody waits', async (saw) => {
        const waiting = saw(
          await platform.postgres.service`select from dirty_players where project_id = ${project_id}`,
        );
        return waiting.length === 0;
      });
    await nobodyWaits();
    const project = { tenant_id, project_id, player_ids: [player, UNKNOWN] };
    for (const events of [undefined, ['login', 'bonus_claimed']]) {
      // As if the membership had been lost.
      await platform.postgres
        .service`delete from segment_members where segment_id = ${id} and player_id = ${player}`;
      const { status, body } = await recompute({ ...project, ...(events === undefined ? {} : { events }) });
      expect([status, body.data]).toEqual([200, { queued: 2 }]);
      await enters();
      await nobodyWaits();
    }
    await platform.postgres
      .service`delete from segment_members where segment_id = ${id} and player_id = ${player}`;
    await recompute({ ...project, events: ['login'] });
    await nobodyWaits();
    expect(await segmentsOf(player)).not.toContain(id);
  });
});
