import { afterAll, beforeAll, expect, it } from 'vitest';
import { storedJson } from '../../src/analytics/stored-json.ts';
import { parseExact } from '../../src/platform/exact-json.ts';
import { call } from '../engines/http-client.ts';
import { until } from '../engines/until.ts';
import { openSegmentFixture, type SegmentFixture } from './segment-fixture.ts';

let on: SegmentFixture;
beforeAll(async () => {
  on = await openSegmentFixture();
});
afterAll(async () => on?.service.close());

const DEFINITION = (condition: string) =>
  `{"name":"exact","definition":{"operator":"AND","conditions":[${condition}]}}`;

/** Creates a segment of the raw text of one condition, and refreshes it. */
async function membersOf(condition: string): Promise<string[]> {
  const { base_url, session_token } = on.service;
  const made = await call(`${base_url}/v1/segments`, session_token, {
    raw: DEFINITION(condition),
    headers: { 'content-type': 'application/json' },
  });
  expect(made.status, made.text).toBe(201);
  expect(made.text).toContain(condition);
  const path = `/v1/segments/${String(made.data['id'])}`;
  expect((await on.api('GET', path)).text).toContain(condition);
  expect((await on.api('POST', `${path}/refresh`)).status).toBe(200);
  return (await on.api('GET', `${path}/sample?limit=100`)).data as unknown as string[];
}

async function send(path: string, raw: string): Promise<string> {
  const answer = await call(path, on.service.api_key, {
    raw,
    headers: { 'content-type': 'application/json' },
  });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.text;
}

it('integers of any size are two ids, in profiles and in events, and hide nothing beside them', async () => {
  const { base_url, ingest_url } = on.service;
  const ids: Record<string, string> = {};
  for (const wei of [
    '9007199254740992',
    '9007199254740993',
    '25000000000000000000',
    '25000000000000000001',
  ]) {
    const raw = `{"external_id":"wei-${wei}","traits":{"wei":${wei},"plan":"gold"}}`;
    const answer = JSON.parse(await send(`${base_url}/v1/players/identify`, raw)) as {
      data: { player_id: string };
    };
    const { player_id } = answer.data;
    ids[wei] = player_id;
    const properties = `{"wei":${wei},"list":[${wei}],"big":1e20,"plan":"gold"}`;
    const event = `{"event":"custom_wei","player_id":"${player_id}","properties":${properties}}`;
    const is_batch = wei.endsWith('1');
    await send(
      `${ingest_url}/v1/events${is_batch ? '/batch' : ''}`,
      is_batch ? `{"events":[${event}]}` : event,
    );
    await until('the event is on the timeline', async () => {
      const { text } = await on.api('GET', `/v1/players/${player_id}/timeline`);
      return text.includes(`"properties":${properties}`);
    });
    expect((await on.api('GET', `/v1/players/${player_id}`)).text).toMatch(new RegExp(`"wei": ?${wei}[,}]`));
  }
  await on.caughtUp();
  const all = Object.values(ids).sort();
  expect(
    (await membersOf('{"type":"trait","field":"custom_attributes.plan","op":"eq","value":"gold"}')).sort(),
  ).toEqual(all);
  const where = (clause: string) =>
    `{"type":"event","event":"custom_wei","aggregate":"count","op":"gte","value":1,"where":[${clause}]}`;
  expect((await membersOf(where('{"property":"plan","op":"eq","value":"gold"}'))).sort()).toEqual(all);
  for (const [wei, player_id] of Object.entries(ids)) {
    for (const condition of [
      `{"type":"trait","field":"custom_attributes.wei","op":"eq","value":${wei}}`,
      where(`{"property":"wei","op":"eq","value":${wei}}`),
      where(`{"property":"list","op":"contains","value":${wei}}`),
    ])
      expect(await membersOf(condition), condition).toEqual([player_id]);
  }
  const distinct =
    '{"type":"event","event":"custom_wei","aggregate":"distinct","property":"wei","op":"eq","value":1}';
  expect((await membersOf(distinct)).sort()).toEqual(all);
  const sum =
    '{"type":"event","event":"custom_wei","aggregate":"sum","property":"wei","op":"eq","value":25000000000000000001}';
  expect(await membersOf(sum)).toEqual([ids['25000000000000000001']]);
});

it('attributes are written for ClickHouse by Postgres as events are by the fold', async () => {
  for (const json of [
    '{"wei": 25000000000000000000, "a\\"b\\\\": -9223372036854775809, "deep": {"wei": 18446744073709551616}}',
    '{"list": [18446744073709551616, [1, 18446744073709551615]], "t": "18446744073709551616", "f": 1.5, "n": null}',
    '{"min": -9223372036854775808, "max": 18446744073709551615, "fraction": 12345678901234567890.5, "e": {}, "l": []}',
  ]) {
    const [row] = await on.service.platform.postgres.service<{ text: string }[]>`
      select stored_json(${json}::text::jsonb) as text`;
    const stored = storedJson(parseExact(json) as Record<string, unknown>);
    expect(parseExact(row?.text ?? ''), row?.text).toEqual(parseExact(stored));
    const marks = (text: string) => text.match(/\d+e\+00/gi)?.sort() ?? [];
    expect(marks(row?.text ?? '')).toEqual(marks(stored));
  }
});
