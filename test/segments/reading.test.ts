import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import { readSizes, runSizesJob } from '../../src/segments/sizes.ts';
import { call } from '../engines/http-client.ts';
import { startTestService, sunk, type TestService } from '../engines/service.ts';
import { messagingClient } from '../engage/messaging/messaging-client.ts';
import { segmentClient, type SegmentClient } from './segment-client.ts';

let service: TestService;
let client: SegmentClient;
beforeAll(async () => {
  service = await startTestService();
  client = segmentClient(service);
});
afterAll(() => service.close());

type Fields = Record<string, unknown>;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

/** A list with its cursor. */
const list = (path: string, token = service.session_token) => call<Fields[]>(service.base_url + path, token);

async function pages(path: string, limit: number): Promise<Fields[]> {
  const found: Fields[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await list(`${path}?limit=${limit}${cursor}`);
    expect(page.status).toBe(200);
    found.push(...page.data);
    cursor = page.next_cursor === null ? null : `&cursor=${page.next_cursor}`;
  }
  return found;
}

/** Conditions of which players of one colour are members. */
const ofColour = (value: string) => [{ type: 'trait', field: 'custom_attributes.colour', op: 'eq', value }];

async function refreshed(conditions: Fields[], rest: Fields = {}): Promise<string> {
  const id = await client.make(conditions, rest);
  await waitUntilCaughtUp(service.platform, 60_000);
  const { status, error } = await client.api('POST', `/v1/segments/${id}/refresh`);
  expect(status, JSON.stringify(error)).toBe(200);
  return id;
}

describe('members', () => {
  it('are listed by their ids in pages, with what lists show of players', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.push(await client.identify({ colour: 'red', email: `red-${i}@example.com` }));
    }
    await client.identify({ colour: 'blue' });
    const id = await refreshed(ofColour('red'));
    const members = await pages(`/v1/segments/${id}/members`, 2);
    expect(members.map(({ player_id }) => player_id)).toEqual(ids.toSorted());
    const [first] = await pages(`/v1/segments/${id}/members`, 200);
    expect(first).toEqual({
      player_id: ids.toSorted()[0],
      entered_at: expect.stringMatching(/Z$/) as string,
      external_id: expect.stringMatching(/^player-/) as string,
      email: expect.stringMatching(/^red-/) as string,
      phone: null,
      status: 'active',
      current_tier_code: null,
      last_seen_at: expect.stringMatching(/Z$/) as string,
    });
  });

  it('of a segment without any are none; of a deleted, an unknown or a foreign one they are not found', async () => {
    const id = await refreshed(ofColour('nobody'));
    expect(await list(`/v1/segments/${id}/members`)).toMatchObject({
      status: 200,
      data: [],
      next_cursor: null,
    });
    const stranger = await service.newTenant();
    for (const path of ['members', 'history', 'references']) {
      const foreign = await list(`/v1/segments/${id}/${path}`, stranger.session_token);
      expect([foreign.status, foreign.code], path).toEqual([404, 'SEGMENT_NOT_FOUND']);
    }
    await client.api('DELETE', `/v1/segments/${id}`);
    for (const named of [id, UNKNOWN, 'nonsense']) {
      for (const path of ['members', 'history', 'references']) {
        const answer = await list(`/v1/segments/${named}/${path}`);
        expect([answer.status, answer.code], `${named} ${path}`).toEqual([404, 'SEGMENT_NOT_FOUND']);
      }
    }
  });

  it('refuse bad pages, also cursors of another segment', async () => {
    await client.identify({ colour: 'grey' });
    await client.identify({ colour: 'grey' });
    const [one, other] = [await refreshed(ofColour('grey')), await refreshed(ofColour('grey'))];
    const { next_cursor } = await list(`/v1/segments/${one}/members?limit=1`);
    for (const query of ['limit=0', 'limit=201', 'cursor=x', 'offset=1', `cursor=${next_cursor}`]) {
      expect((await list(`/v1/segments/${other}/members?${query}`)).code, query).toBe('VALIDATION_ERROR');
    }
  });
});

describe('the segments of a player', () => {
  it('are listed, the last entered first, without those that are deleted', async () => {
    const player = await client.identify({ colour: 'green' });
    expect((await list(`/v1/players/${player}/segments`)).data).toEqual([]);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift(await refreshed(ofColour('green')));
    const gone = await refreshed(ofColour('green'));
    await client.api('DELETE', `/v1/segments/${gone}`);
    const found = await pages(`/v1/players/${player}/segments`, 2);
    expect(found.map(({ segment_id }) => segment_id)).toEqual(ids);
    expect(found[0]).toEqual({
      segment_id: ids[0],
      name: expect.stringMatching(/^segment/) as string,
      refresh_strategy: 'manual',
      entered_at: expect.stringMatching(/Z$/) as string,
    });
  });

  it('of a merged player are those of its survivor; of one of others they are not found', async () => {
    const survivor = await client.identify({ colour: 'pink' }, { external_id: 'pink-one' });
    const merged = await client.identify({}, { anonymous_id: 'pink-device' });
    const id = await refreshed(ofColour('pink'));
    await client.identify({}, { external_id: 'pink-one', anonymous_id: 'pink-device' });
    const found = await list(`/v1/players/${merged}/segments`);
    expect(found.data.map(({ segment_id }) => segment_id)).toEqual([id]);
    const stranger = await service.newTenant();
    for (const named of [survivor, 'nonsense']) {
      const answer = await list(`/v1/players/${named}/segments`, stranger.session_token);
      expect([answer.status, answer.code]).toEqual([404, 'PLAYER_NOT_FOUND']);
    }
  });
});

describe('the history of a size', () => {
  it('has each change at a full hour, midnights, and the present size; old hours and years are removed', async () => {
    const { postgres } = service.platform;
    const id = await client.make([{ type: 'random', percent: 0, salt: 'nobody' }]);
    const ref = { tenant_id: service.tenant_id, project_id: service.project_id, segment_id: id };
    const start_ms = Date.parse('2031-05-04T22:10:00Z');
    const run = async (at_ms: number, size: number) => {
      await postgres.service`update segments set estimated_size = ${size} where segment_id = ${id}`;
      const clock = { now_ms: () => at_ms };
      await runSizesJob({ postgres, clock }, AbortSignal.timeout(60_000));
      // A second worker writes nothing more.
      await runSizesJob({ postgres, clock }, AbortSignal.timeout(60_000));
    };
    const stored = async () => {
      const rows = await postgres.service<{ counted_at: Date; size: bigint }[]>`
        select counted_at, size from segment_sizes where segment_id = ${id} order by counted_at`;
      return rows.map(({ counted_at, size }) => [counted_at.toISOString().slice(5, 16), Number(size)]);
    };
    await run(start_ms, 5);
    await run(start_ms + HOUR_MS, 5);
    await run(start_ms + 2 * HOUR_MS, 5);
    await run(start_ms + 3 * HOUR_MS, 9);
    await run(start_ms + 4 * HOUR_MS, 9);
    expect(await stored()).toEqual([
      ['05-04T22:00', 5],
      ['05-05T00:00', 5],
      ['05-05T01:00', 9],
    ]);
    const at = (now_ms: number, days: number) =>
      readSizes({ postgres, clock: { now_ms: () => now_ms } }, ref, 12n, days);
    const now_ms = start_ms + 5 * HOUR_MS;
    expect((await at(now_ms, 30)).map(({ size }) => size)).toEqual([5, 5, 9, 12]);
    // What was before the time asked for is its beginning.
    expect(await at(start_ms + 2.5 * DAY_MS, 1)).toEqual([
      { at: new Date(start_ms + 1.5 * DAY_MS).toISOString(), size: 9 },
      { at: new Date(start_ms + 2.5 * DAY_MS).toISOString(), size: 12 },
    ]);
    await run(start_ms + 33 * DAY_MS, 9);
    expect(await stored()).toEqual([
      ['05-05T00:00', 5],
      ['06-06T22:00', 9],
    ]);
    await run(start_ms + 434 * DAY_MS, 9);
    expect(await stored()).toEqual([['07-11T22:00', 9]]);
  });

  it('of a new segment is its present size, over HTTP', async () => {
    await client.identify({ colour: 'black' });
    const id = await refreshed(ofColour('black'));
    const { data } = await list(`/v1/segments/${id}/history?days=7`);
    expect(data).toEqual([{ at: expect.stringMatching(/Z$/) as string, size: 1 }]);
    for (const query of ['days=0', 'days=401', 'days=x', 'from=x']) {
      expect((await list(`/v1/segments/${id}/history?${query}`)).code, query).toBe('VALIDATION_ERROR');
    }
  });
});

describe('references', () => {
  const end = { id: 'end', type: 'end' };
  const create = async (path: string, body: Fields) => {
    const { status, data, error } = await client.api('POST', path, body);
    expect(status, JSON.stringify(error)).toBe(201);
    return String(data['id']);
  };

  it('are all records that use the segment and are not deleted, of each type with its status', async () => {
    const id = await client.make(ofColour('used'));
    expect((await list(`/v1/segments/${id}/references`)).data).toEqual([]);
    const beside = await client.make(ofColour('beside'));
    const by_segment = await client.make([{ type: 'segment', segment_id: id, op: 'in' }]);
    const template_id = await messagingClient(service).template();
    const campaign = { channel: 'email', template_id };
    const by_campaign = await create('/v1/campaigns', { ...campaign, name: 'used', segment_id: id });
    const gone = await create('/v1/campaigns', { ...campaign, name: 'gone', segment_id: id });
    await client.api('DELETE', `/v1/campaigns/${gone}`);
    await create('/v1/campaigns', { ...campaign, name: 'beside', segment_id: beside });
    const journey = (name: string, trigger: Fields, nodes: Fields[] = [end], rest: Fields = {}) =>
      create('/v1/journeys', { name, trigger, graph: { start_node_id: nodes[0]?.['id'], nodes }, ...rest });
    const by_trigger = await journey('by trigger', {
      kind: 'segment_entered',
      segment_id: id.toUpperCase(),
    });
    const condition = { type: 'segment', segment_id: id, op: 'in' };
    const branch = { id: 'ask', type: 'branch', branches: [{ condition, next: 'end' }], else_next: 'end' };
    const by_branch = await journey('by branch', { kind: 'api' }, [branch, end]);
    const by_exit = await journey('by exit', { kind: 'api' }, [end], {
      settings: { exit_on: [{ segment_exited: id }] },
    });
    await journey('beside', { kind: 'segment_entered', segment_id: beside });
    // Only a text that has the id.
    await journey(`about ${id}`, { kind: 'event', event: 'login', where: { note: id } });
    const bonus = await create('/v1/bonus-templates', {
      name: 'used',
      type: 'no_deposit',
      config: { amount: 1, currency: 'EUR' },
      eligible_segment_id: id,
    });
    const bonus_campaign = await create('/v1/bonus-campaigns', {
      name: 'used',
      template_id: bonus,
      segment_id: id,
    });
    const { data } = await list(`/v1/segments/${id}/references`);
    expect(data.map((one) => [one['type'], one['id'], one['status']])).toEqual([
      ['segment', by_segment, null],
      ['campaign', by_campaign, 'draft'],
      ['journey', by_exit, 'draft'],
      ['journey', by_branch, 'draft'],
      ['journey', by_trigger, 'draft'],
      ['bonus_campaign', bonus_campaign, 'draft'],
      ['bonus_template', bonus, 'active'],
    ]);
    expect(data.map(({ name }) => name)).toEqual([
      expect.stringMatching(/^segment/),
      'used',
      'by exit',
      'by branch',
      'by trigger',
      'used',
      'used',
    ]);
  });

  it('of a journey that is live are those of its live version, too', async () => {
    const [live, saved] = [await client.make(ofColour('live')), await client.make(ofColour('saved'))];
    const trigger = (segment_id: string) => ({ kind: 'segment_entered', segment_id });
    const id = await create('/v1/journeys', {
      name: 'moved',
      trigger: trigger(live),
      graph: { start_node_id: 'end', nodes: [end] },
    });
    expect((await client.api('POST', `/v1/journeys/${id}/activate`, {})).status).toBe(200);
    const patched = await client.api('PATCH', `/v1/journeys/${id}?draft=true`, { trigger: trigger(saved) });
    expect(patched.status, JSON.stringify(patched.error)).toBe(200);
    for (const segment_id of [live, saved]) {
      expect((await list(`/v1/segments/${segment_id}/references`)).data).toEqual([
        { type: 'journey', id, name: 'moved', status: 'active' },
      ]);
    }
  });
});

describe('a preview', () => {
  const definition = {
    operator: 'OR',
    conditions: [
      {
        operator: 'AND',
        conditions: [
          { type: 'trait', field: 'custom_attributes.crowd', op: 'eq', value: 'preview' },
          {
            type: 'event',
            event: 'deposit_confirmed',
            aggregate: 'sum',
            property: 'amount',
            op: 'gte',
            value: 300,
          },
        ],
      },
      { operator: 'NOT', conditions: [{ type: 'trait', field: 'custom_attributes.crowd', op: 'exists' }] },
      { type: 'event', event: 'custom_preview', aggregate: 'count', op: 'gte', value: 1 },
    ],
  };
  const preview = async (body: Fields) => {
    const { status, data, error } = await client.api('POST', '/v1/segments/preview', body);
    expect(status, JSON.stringify(error)).toBe(200);
    return data;
  };
  const sizeOf = async (one: Fields) =>
    (await preview({ definition: { operator: 'AND', conditions: [one] } }))['estimated_size'];

  beforeAll(async () => {
    for (let i = 0; i < 6; i++) {
      const player = await client.identify({
        crowd: 'preview',
        ...(i % 2 === 0 ? { email: `p${i}@example.com` } : {}),
      });
      await client.deposit(player, i * 100);
      if (i === 0) await client.send(player, 'custom_preview');
      if (i === 5) await client.api('PATCH', `/v1/players/${player}`, { status: 'banned' });
    }
    await sunk(service.platform);
    await waitUntilCaughtUp(service.platform, 60_000);
  });

  it('without further wishes answers as ever', async () => {
    const asked = await preview({ definition });
    expect(Object.keys(asked)).toEqual(['estimated_size', 'sample', 'compiled_query']);
    const declined = await preview({ definition, per_condition: false, reach: false, warnings: false });
    expect(Object.keys(declined)).toEqual(Object.keys(asked));
  });

  it('counts each condition alone, as a definition of it alone does, and the whole as without', async () => {
    const plain = await preview({ definition });
    const { per_condition, sample, ...whole } = await preview({ definition, per_condition: true });
    expect(whole).toEqual({
      estimated_size: plain['estimated_size'],
      compiled_query: plain['compiled_query'],
    });
    expect(sample).toHaveLength(10);
    const [first, second, third] = definition.conditions as unknown as [Fields, Fields, Fields];
    const leaves = [first['conditions'], second['conditions']] as [[Fields, Fields], [Fields]];
    expect(per_condition).toEqual([
      { path: 'definition.conditions.0.conditions.0', size: 6 },
      { path: 'definition.conditions.0.conditions.1', size: 3 },
      { path: 'definition.conditions.1.conditions.0', size: 6 },
      { path: 'definition.conditions.2', size: 1 },
    ]);
    for (const [i, one] of [...leaves[0], ...leaves[1], third].entries()) {
      expect((per_condition as { size: number }[])[i]?.size).toBe(await sizeOf(one));
    }
  });

  it('asks the gate whom of the members a message would reach', async () => {
    const crowd = {
      operator: 'AND',
      conditions: [{ type: 'trait', field: 'custom_attributes.crowd', op: 'exists' }],
    };
    const { reach, estimated_size } = await preview({ definition: crowd, reach: true });
    expect(estimated_size).toBe(6);
    expect(reach).toEqual([
      {
        channel: 'email',
        sampled: 6,
        reachable: 3,
        by_code: { SKIPPED_BANNED: 1, SKIPPED_NO_RECIPIENT: 2 },
      },
      { channel: 'sms', sampled: 6, reachable: 0, by_code: { SKIPPED_BANNED: 1, SKIPPED_NO_RECIPIENT: 5 } },
      { channel: 'push', sampled: 6, reachable: 0, by_code: { SKIPPED_BANNED: 1, SKIPPED_NO_RECIPIENT: 5 } },
    ]);
    const nobody = { operator: 'AND', conditions: [{ type: 'random', percent: 0, salt: 'x' }] };
    const empty = await preview({ definition: nobody, reach: true, per_condition: true });
    expect(empty['per_condition']).toEqual([{ path: 'definition.conditions.0', size: 0 }]);
    expect(empty['reach']).toEqual(
      ['email', 'sms', 'push'].map((channel) => ({ channel, sampled: 0, reachable: 0, by_code: {} })),
    );
  });

  it('warns of conditions that select by a sign of harm, and makes the segment all the same', async () => {
    const risk = { type: 'trait', field: 'custom_attributes.rg_risk', op: 'eq', value: 'strong' };
    const losers = { type: 'trait', field: 'ggr', op: 'gt', value: 100 };
    const harmful = {
      operator: 'AND',
      conditions: [losers, { operator: 'NOT', conditions: [risk] }],
    };
    const { warnings } = await preview({ definition: harmful, warnings: true });
    expect(warnings).toEqual([
      {
        path: 'definition.conditions.0',
        code: 'LOSSES',
        message: expect.stringMatching(/lose.+sign of harm/),
      },
    ]);
    const turned = await preview({
      definition: { operator: 'NOT', conditions: [harmful] },
      warnings: true,
    });
    expect(turned['warnings']).toMatchObject([
      { path: 'definition.conditions.0.conditions.1.conditions.0', code: 'AT_RISK' },
    ]);
    expect((await preview({ definition, warnings: true }))['warnings']).toEqual([]);
    const body = { name: 'losers', definition: harmful };
    expect((await client.api('POST', '/v1/segments', body)).status).toBe(201);
  });

  it('takes what creates a segment, too', async () => {
    const more = { name: '', description: 'x', refresh_strategy: 'scheduled', refresh_interval_minutes: 60 };
    const body = { definition, ...more };
    expect((await client.api('POST', '/v1/segments/preview', body)).status).toBe(200);
  });

  it('refuses other wishes and bad definitions', async () => {
    for (const rest of [{ per_condition: 1 }, { reach: 'yes' }, { warnings: null }, { sample: 5 }]) {
      const { error } = await client.api('POST', '/v1/segments/preview', { definition, ...rest });
      expect(error, JSON.stringify(rest)).toMatchObject({ code: 'VALIDATION_ERROR' });
    }
    const bad = { operator: 'AND', conditions: [] };
    const { error } = await client.api('POST', '/v1/segments/preview', {
      definition: bad,
      per_condition: true,
      reach: true,
    });
    expect(error).toMatchObject({ code: 'SEGMENT_DEFINITION_INVALID' });
  });
});

it('the vocabulary is served, also to a viewer', async () => {
  const { status, data } = await client.api('GET', '/v1/segments/fields');
  expect(status).toBe(200);
  expect((data['events'] as unknown[]).length).toBeGreaterThan(40);
  for (const name of ['ggr', 'ngr'])
    expect(data['fields']).toContainEqual(expect.objectContaining({ name, harm: 'LOSSES' }));
  expect(data['events']).toContainEqual(expect.objectContaining({ name: 'login', harm: null }));
  expect(data['harm_signs']).toContainEqual({ code: 'AT_RISK', message: expect.any(String) as string });
});
