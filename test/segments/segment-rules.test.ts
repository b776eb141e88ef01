import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { COMPUTED_FIELDS } from '../../src/segments/schema.ts';
import { until } from '../engines/until.ts';
import type { Answer } from '../engines/http-client.ts';
import {
  everybody,
  expectRefused,
  group,
  trait,
  UNKNOWN,
  within,
  type Body,
  openSegmentFixture,
  type SegmentFixture,
} from './segment-fixture.ts';

let service: SegmentFixture['service'];
let api: SegmentFixture['api'];
let make: SegmentFixture['make'];
let person: SegmentFixture['person'];
let caughtUp: SegmentFixture['caughtUp'];
beforeAll(async () => {
  ({ service, api, make, person, caughtUp } = await openSegmentFixture());
});
afterAll(async () => service?.close());

describe('the list', () => {
  it('pages through all segments that existed at the start, while others are created and deleted', async () => {
    const tenant = await service.newTenant();
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.unshift(await make(everybody, { name: `segment ${n}` }, tenant));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query = cursor === null ? '' : `&cursor=${cursor}`;
      const page: Answer = await api('GET', `/v1/segments?limit=2${query}`, undefined, tenant);
      expect(page.status, page.text).toBe(200);
      seen.push(...(page.data as unknown as { id: string }[]).map(({ id }) => id));
      cursor = page.next_cursor;
      await make(everybody, { name: 'made meanwhile' }, tenant);
      if (seen.length === 2) await api('DELETE', `/v1/segments/${ids[1] ?? ''}`, undefined, tenant);
      if (seen.length === 4) await api('DELETE', `/v1/segments/${ids[5] ?? ''}`, undefined, tenant);
    } while (cursor !== null);
    expect(seen).toEqual(ids.filter((_, i) => i !== 5));
    const whole = await api('GET', '/v1/segments', undefined, tenant);
    expect(whole.data).toHaveLength(8);
    expect(whole.next_cursor).toBeNull();
  });

  it('accepts limits of 1 to 200 and only its own cursors', async () => {
    const tenant = await service.newTenant();
    await person({}, { external_id: 'a' }, tenant);
    await person({}, { external_id: 'b' }, tenant);
    const { next_cursor } = await api('GET', '/v1/players?limit=1', undefined, tenant);
    const refused = [
      'limit=0',
      'limit=201',
      'limit=1.5',
      'limit=x',
      'limit=',
      'offset=1',
      'cursor=',
      'cursor=x',
    ];
    for (const query of [...refused, `cursor=${next_cursor ?? ''}`]) {
      const path = query.slice(0, query.indexOf('='));
      expectRefused(await api('GET', `/v1/segments?${query}`, undefined, tenant), 'VALIDATION_ERROR');
      expect((await api('GET', `/v1/segments?${query}`, undefined, tenant)).text).toContain(path);
    }
    for (const limit of [1, 200]) {
      expect((await api('GET', `/v1/segments?limit=${limit}`, undefined, tenant)).status).toBe(200);
    }
  });
});

describe('fields', () => {
  it.each([...COMPUTED_FIELDS])('%s is not writable', async (field) => {
    const segment = await make();
    const created = await api('POST', '/v1/segments', { name: 'n', definition: everybody, [field]: null });
    expectRefused(created, 'FIELD_NOT_WRITABLE', field);
    expectRefused(
      await api('PATCH', `/v1/segments/${segment}`, { [field]: null }),
      'FIELD_NOT_WRITABLE',
      field,
    );
  });

  test.each<[string, Body]>([
    ['name', { name: '' }],
    ['name', { name: '   ' }],
    ['name', { name: 'x'.repeat(201) }],
    ['name', { name: null }],
    ['description', { description: 'x'.repeat(2_001) }],
    ['refresh_strategy', { refresh_strategy: 'hourly' }],
    ['refresh_interval_minutes', { refresh_strategy: 'scheduled' }],
    ['refresh_interval_minutes', { refresh_strategy: 'scheduled', refresh_interval_minutes: 0 }],
    ['refresh_interval_minutes', { refresh_strategy: 'scheduled', refresh_interval_minutes: 1.5 }],
    ['refresh_interval_minutes', { refresh_strategy: 'scheduled', refresh_interval_minutes: 44_641 }],
    ['refresh_interval_minutes', { refresh_strategy: 'realtime', refresh_interval_minutes: 5 }],
    ['refresh_interval_minutes', { refresh_interval_minutes: 5 }],
    ['colour', { colour: 'red' }],
  ])('an invalid %s is refused: %j', async (path, fields) => {
    const segment = await make();
    const created = await api('POST', '/v1/segments', { name: 'n', definition: everybody, ...fields });
    expectRefused(created, 'VALIDATION_ERROR');
    const changed = await api('PATCH', `/v1/segments/${segment}`, fields);
    expectRefused(changed, 'VALIDATION_ERROR');
    for (const { text } of [created, changed]) expect(text).toContain(path);
  });

  it('the interval is set and removed with the strategy scheduled', async () => {
    const path = `/v1/segments/${await make()}`;
    const patch = async (fields: Body) => {
      const { status, data, code } = await api('PATCH', path, fields);
      return status === 200 ? [data['refresh_strategy'], data['refresh_interval_minutes']] : [status, code];
    };
    expect(await patch({ refresh_strategy: 'scheduled', refresh_interval_minutes: 5 })).toEqual([
      'scheduled',
      5,
    ]);
    expect(await patch({ refresh_interval_minutes: 7 })).toEqual(['scheduled', 7]);
    expect(await patch({ refresh_strategy: 'scheduled' })).toEqual(['scheduled', 7]);
    expect(await patch({ name: 'other' })).toEqual(['scheduled', 7]);
    expect(await patch({ refresh_interval_minutes: null })).toEqual([422, 'VALIDATION_ERROR']);
    expect(await patch({ refresh_strategy: 'realtime', refresh_interval_minutes: 7 })).toEqual([
      422,
      'VALIDATION_ERROR',
    ]);
    expect(await patch({ refresh_strategy: 'manual' })).toEqual(['manual', null]);
    expect(await patch({ refresh_interval_minutes: null })).toEqual(['manual', null]);
    expect(await patch({ refresh_strategy: 'scheduled' })).toEqual([422, 'VALIDATION_ERROR']);
  });

  it('a PATCH changes the fields that it names; an empty one changes nothing', async () => {
    const path = `/v1/segments/${await make(everybody, { description: 'before' })}`;
    const before = (await api('GET', path)).data;
    const named = await api('PATCH', path, { name: '  after  ' });
    expect(named.data).toMatchObject({ name: 'after', description: 'before', definition: everybody });
    const nothing = await api('PATCH', path, {});
    expect(nothing.data).toMatchObject({
      name: 'after',
      description: 'before',
      created_at: before['created_at'],
    });
    const definition = group(trait('status', 'eq', 'active'));
    const defined = await api('PATCH', path, { definition });
    expect(defined.data).toMatchObject({ name: 'after', definition });
    expect(defined.data['compiled_query']).not.toEqual(before['compiled_query']);
  });
});

describe('references between segments', () => {
  const at = 'definition.conditions.0.segment_id';

  it('are refused when they close a cycle', async () => {
    const a = await make();
    const b = await make(group(within(a)));
    const c = await make(group(trait('email', 'exists'), { operator: 'NOT', conditions: [within(b)] }));
    for (const [from, to] of [
      [a, a],
      [a, b],
      [a, c],
      [b, c],
    ] as const) {
      const answer = await api('PATCH', `/v1/segments/${from}`, { definition: group(within(to)) });
      expectRefused(answer, 'SEGMENT_DEFINITION_INVALID', at);
      expect(answer.text).toContain('circle');
      const shouted = { definition: group(within(to.toUpperCase())) };
      expectRefused(await api('PATCH', `/v1/segments/${from}`, shouted), 'SEGMENT_DEFINITION_INVALID', at);
    }
    // Two paths to the same segment are no cycle.
    const diamond = { definition: group(within(a), within(b, 'not_in')) };
    expect((await api('PATCH', `/v1/segments/${c}`, diamond)).status).toBe(200);
  });

  it('close no cycle when two are changed concurrently', async () => {
    for (let n = 0; n < 5; n++) {
      const [a, b] = [await make(), await make()];
      const both = await Promise.all([
        api('PATCH', `/v1/segments/${a}`, { definition: group(within(b)) }),
        api('PATCH', `/v1/segments/${b}`, { definition: group(within(a)) }),
      ]);
      expect(both.map(({ status }) => status).sort((one, other) => one - other)).toEqual([200, 422]);
    }
  });

  it('are refused for unknown and deleted segments', async () => {
    const mine = await make();
    const gone = await make();
    await api('DELETE', `/v1/segments/${gone}`);
    for (const op of ['in', 'not_in']) {
      for (const id of [UNKNOWN, gone]) {
        const definition = group(within(id, op));
        const answers = [
          await api('POST', '/v1/segments', { name: 'n', definition }),
          await api('PATCH', `/v1/segments/${mine}`, { definition }),
          await api('POST', '/v1/segments/preview', { definition }),
        ];
        for (const answer of answers) expectRefused(answer, 'SEGMENT_DEFINITION_INVALID', at);
      }
    }
  });
});

describe('deleting', () => {
  it('is refused while another segment refers to it', async () => {
    const a = await make();
    const b = await make(group(within(a, 'not_in')));
    const refused = await api('DELETE', `/v1/segments/${a}`);
    expectRefused(refused, 'CONFLICT');
    expect(refused.text).toContain(b);
    expectRefused(await api('DELETE', `/v1/segments/${a.toUpperCase()}`), 'CONFLICT');
    expect((await api('GET', `/v1/segments/${a}`)).data['deleted_at']).toBeNull();
    await api('PATCH', `/v1/segments/${b}`, { definition: everybody });
    expect((await api('DELETE', `/v1/segments/${a}`)).status).toBe(200);
  });

  it('can be repeated; the segment can still be read, but nothing else', async () => {
    const player = await person();
    await caughtUp();
    const id = await make();
    const path = `/v1/segments/${id}`;
    await api('POST', `${path}/refresh`);
    const first = await api('DELETE', path);
    expect(first.data['deleted_at']).not.toBeNull();
    expect((await api('DELETE', path)).data['deleted_at']).toBe(first.data['deleted_at']);
    expect((await api('GET', path)).data['deleted_at']).toBe(first.data['deleted_at']);
    for (const answer of [
      await api('POST', `${path}/refresh`),
      await api('PATCH', path, { name: 'again' }),
      await api('GET', `${path}/sample`),
      await api('GET', `${path}/explain?player_id=${player}`),
    ]) {
      expectRefused(answer, 'SEGMENT_NOT_FOUND');
    }
    expect((await api('POST', `/v1/players/${player}/refresh-segments`)).text).not.toContain(id);
    await until('its members are gone', async (saw) => {
      const { postgres, clickhouse } = service.platform;
      const rows = saw(await postgres.service`select from segment_members where segment_id = ${id}`);
      const sql = 'select player_id from segment_members final where segment_id = {id:UUID}';
      return rows.length + saw((await clickhouse.query(sql, { id })).length) === 0;
    });
  });

  it.each(['nonsense', UNKNOWN, '%00'])('an unknown segment is 404 at every endpoint: %s', async (id) => {
    const path = `/v1/segments/${id}`;
    for (const [method, url, body] of [
      ['GET', path],
      ['PATCH', path, { name: 'n' }],
      ['PATCH', path, { definition: everybody }],
      ['DELETE', path],
      ['POST', `${path}/refresh`],
      ['GET', `${path}/sample`],
      ['GET', `${path}/explain?player_id=${UNKNOWN}`],
    ] as const) {
      expectRefused(await api(method, url, body), 'SEGMENT_NOT_FOUND');
    }
  });
});

describe('a list of external ids', () => {
  // Of the longest that people have, with what a parameter of a statement must escape.
  const listed = (n: number) => `it's-\\${'x'.repeat(50)}-${n}`;
  const ids = Array.from({ length: 10_000 }, (_, n) => listed(n));

  it('of 10,000 selects those players, in a refresh, for one player and in realtime', async () => {
    const tenant = await service.newTenant();
    const [last, other] = [
      await person({}, { external_id: listed(9_999) }, tenant),
      await person({}, { external_id: 'another' }, tenant),
      await person({}, { anonymous_id: 'nobody yet' }, tenant),
    ];
    await caughtUp();
    const inside = await make(group(trait('external_id', 'in', ids)), {}, tenant);
    const outside = await make(group(trait('external_id', 'nin', ids)), {}, tenant);
    const live = await make(group(trait('external_id', 'in', ids)), { refresh_strategy: 'realtime' }, tenant);
    const refresh = (id: string) => api('POST', `/v1/segments/${id}/refresh`, {}, tenant);
    expect((await refresh(inside)).data).toMatchObject({ matched: 1 });
    expect((await refresh(outside)).data).toMatchObject({ matched: 2 });
    const explained = await api('GET', `/v1/segments/${inside}/explain?player_id=${last}`, undefined, tenant);
    expect(explained.data, explained.text.slice(0, 200)).toMatchObject({ matches: true });
    const refreshed = await api('POST', `/v1/players/${other}/refresh-segments`, {}, tenant);
    expect(refreshed.status, refreshed.text).toBe(200);
    const late = await person({}, { external_id: listed(0) }, tenant);
    await until('the late player is a member', async (saw) => {
      const { data } = saw(await api('GET', `/v1/players/${late}`, undefined, tenant));
      return (data['segment_ids'] as string[]).includes(live);
    });
  });

  it('of more, or of more than 768 KiB, is refused', async () => {
    const many = await api('POST', '/v1/segments/preview', {
      definition: group(trait('external_id', 'in', [...ids, 'one more'])),
    });
    expectRefused(many, 'SEGMENT_DEFINITION_INVALID', 'definition.conditions.0.value');
    const longer = ids.map((id) => `${id}-${'y'.repeat(20)}`);
    const long = await api('POST', '/v1/segments/preview', {
      definition: group(trait('external_id', 'in', longer)),
    });
    expectRefused(long, 'SEGMENT_DEFINITION_INVALID', 'definition');
  });
});
