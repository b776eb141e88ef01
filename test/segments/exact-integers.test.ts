import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sentJson, storedJson } from '../../src/analytics/stored-json.ts';
import { exactJson, parseExact } from '../../src/platform/exact-json.ts';
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

it('events that ClickHouse could not read are healed', async () => {
  const { clickhouse } = on.service.platform;
  const ref = { tenant_id: randomUUID(), project_id: randomUUID() };
  const unreadable = [
    '{"wei":25000000000000000000,"text":"\\":25000000000000000000,","n":1}',
    '{"list":[25000000000000000000,25000000000000000001,1,-25000000000000000002],"n":1}',
    '{"deep":{"wei":25000000000000000000,"l":[[25000000000000000001]]},"wei":25000000000000000002,"n":1}',
    '{"within":9223372036854775808,"l":[18446744073709551615,-9223372036854775808],"wei":25000000000000000000,"n":1}',
    '{"ids":"[25000000000000000000,25000000000000000001,1]","list":[25000000000000000000],"n":1}',
    '{"a\\\\":25000000000000000000,"{\\"":"}","deep":{"]":-18446744073709551616},"n":1}',
    `{"long":${'9'.repeat(90)},"deep":{"long":-${'9'.repeat(90)}},"fraction":1.5,"n":1}`,
  ];
  const readable = '{"text":":25000000000000000000,","n":1}';
  const lines = [...unreadable, readable].map((properties, event_index) =>
    JSON.stringify({
      ...ref,
      event: 'custom_wei',
      player_id: randomUUID(),
      occurred_at: 0,
      received_at: 0,
      ingestion_id: randomUUID(),
      event_index,
      properties,
    }),
  );
  await clickhouse.insertLines('events', lines, randomUUID());
  for (const name of ['010_exact_numbers', '011_healed_numbers']) {
    const sql = await readFile(new URL(`../../clickhouse/${name}.sql`, import.meta.url), 'utf8');
    for (const statement of sql.replace(/^\s*--.*$/gm, '').split(/;\s*$/m)) {
      if (statement.trim() !== '') await clickhouse.command(`${statement} settings mutations_sync = 1`);
    }
  }
  for (const table of ['events', 'events_by_player']) {
    const rows = await clickhouse.query<{ properties: string; n: string }>(
      `select properties, JSONExtractInt(properties, 'n') as n from ${table} final
      where tenant_id = {tenant_id:UUID} order by event_index`,
      ref,
    );
    expect(rows.map(({ n }) => Number(n))).toEqual([...unreadable, readable].map(() => 1));
    // As they would be written now, and so with what was sent.
    const written = unreadable.map((sent) => storedJson(parseExact(sent) as Record<string, unknown>));
    expect(rows.map(({ properties }) => properties)).toEqual([...written, readable]);
    expect(rows.map(({ properties }) => sentJson(properties))).toEqual(
      [...unreadable, readable].map((sent) => exactJson(parseExact(sent))),
    );
    expect(rows[0]?.properties).toBe(
      unreadable[0]?.replace('25000000000000000000', '25000000000000000000e+00'),
    );
  }
});
