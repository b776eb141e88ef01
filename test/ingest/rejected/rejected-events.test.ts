import { describe, expect, it } from 'vitest';
import {
  FURTHER,
  MAX_CAUSES,
  RejectedEvents,
  type Rejection,
} from '../../../src/ingest/rejected/rejected-events.ts';
import type { RejectionRow } from '../../../src/ingest/rejected/queries.ts';
import { shapeOf, withoutContacts } from '../../../src/ingest/rejected/shape.ts';
import { parseExact } from '../../../src/platform/exact-json.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';

const MINUTE_MS = 60_000;
const key = { tenant_id: 't', project_id: 'p', key_id: 'k' };
const refusal = (changes: Partial<Rejection> = {}): Rejection => ({
  key,
  code: 'PROPERTIES_INVALID',
  reason: 'properties.amount is required',
  name: 'deposit_confirmed',
  sent: { event: 'deposit_confirmed' },
  client: 'sdk',
  ...changes,
});

function start(write?: (rows: readonly RejectionRow[]) => Promise<void>) {
  const clock = { at_ms: Date.parse('2026-03-01T12:00:00Z'), now_ms: () => clock.at_ms };
  const metrics = createMetrics();
  const written: RejectionRow[] = [];
  const events = new RejectedEvents({
    clock,
    metrics,
    logger: createLogger('silent'),
    write: write ?? (async (rows) => void written.push(...rows)),
  });
  const dropped = async () =>
    Object.fromEntries(
      (await metrics.rejectionsDropped.get()).values.map(({ labels, value }) => [labels.cause, value]),
    );
  return { clock, written, events, dropped };
}

describe('refusals', () => {
  it('of one cause are one row, with the first of them and the time of the last', async () => {
    const { clock, written, events } = start();
    events.note(refusal({ index: 3, sent: { event: 'deposit_confirmed', amount: 'x' } }));
    const first_at = new Date(clock.at_ms);
    clock.at_ms += 500;
    for (let one = 0; one < 9_999; one++) events.note(refusal({ index: one, sent: { other: 1 } }));
    await events.flush();
    expect(written).toEqual([
      {
        ...key,
        rejection_key: expect.stringMatching(/^[\da-f]{32}$/) as string,
        code: 'PROPERTIES_INVALID',
        reason: 'properties.amount is required',
        event: 'deposit_confirmed',
        client: 'sdk',
        event_index: 3,
        shape: '{"event":"text(17)","amount":"text(1)"}',
        rejections: 10_000,
        first_at,
        last_at: new Date(clock.at_ms),
      },
    ]);
    await events.close();
    expect(written).toHaveLength(1);
  });

  it('of a cause are written at once, and then once a minute', async () => {
    const { clock, written, events } = start();
    for (let second = 0; second < 150; second++) {
      events.note(refusal());
      await events.flush();
      clock.at_ms += 1_000;
    }
    expect(written.map(({ rejections }) => rejections)).toEqual([1, 60, 60]);
    expect(new Set(written.map(({ rejection_key }) => rejection_key)).size).toBe(1);
    await events.close();
    expect(written.at(-1)?.rejections).toBe(29);
  });

  it('of different keys, codes, names, clients and reasons are different rows; those of another day, too', async () => {
    const { clock, written, events } = start();
    const all = [
      refusal(),
      refusal({ key: { ...key, key_id: 'other' } }),
      refusal({ code: 'VALIDATION_ERROR' }),
      refusal({ name: 'login' }),
      refusal({ client: 'browser' }),
      refusal({ reason: 'another' }),
    ];
    for (const one of all) events.note(one);
    await events.flush();
    clock.at_ms += 24 * 60 * MINUTE_MS;
    events.note(refusal());
    await events.close();
    expect(new Set(written.map(({ rejection_key }) => rejection_key)).size).toBe(all.length + 1);
  });

  it('of many causes are kept one by one for the first of a minute, and then counted by their code', async () => {
    const { clock, written, events } = start();
    for (let one = 0; one < 20_000; one++) events.note(refusal({ reason: `reason ${one}` }));
    events.note(refusal({ code: 'BODY_MALFORMED', reason: 'one more' }));
    events.note(refusal({ key: { ...key, project_id: 'neighbour' }, reason: 'of a neighbour' }));
    await events.flush();
    expect(written).toHaveLength(MAX_CAUSES + 3);
    expect(written.reduce((sum, { rejections }) => sum + rejections, 0)).toBe(20_002);
    const further = written.filter(({ reason }) => reason === FURTHER);
    expect(further.map(({ code, rejections, key_id }) => [code, rejections, key_id])).toEqual([
      ['PROPERTIES_INVALID', 20_000 - MAX_CAUSES, null],
      ['BODY_MALFORMED', 1, null],
    ]);
    expect(written.map(({ reason }) => reason)).toContain('of a neighbour');
    clock.at_ms += MINUTE_MS;
    await events.flush();
    events.note(refusal({ reason: 'a minute later' }));
    await events.flush();
    expect(written.at(-1)?.reason).toBe('a minute later');
  });

  it('of very many projects are bounded in memory, and what is not kept is counted', async () => {
    const { written, events, dropped } = start();
    for (let one = 0; one < 12_000; one++) events.note(refusal({ key: { ...key, project_id: `p${one}` } }));
    await events.close();
    expect(written).toHaveLength(10_000);
    expect(await dropped()).toEqual({ too_many: 2_000 });
  });

  it('that cannot be stored are counted and forgotten: they may have been stored', async () => {
    let is_away = true;
    const written: RejectionRow[] = [];
    const { clock, events, dropped } = start(async (rows) => {
      if (is_away) throw new Error('away');
      written.push(...rows);
    });
    for (let one = 0; one < 7; one++) events.note(refusal());
    await events.flush();
    expect(await dropped()).toEqual({ not_stored: 7 });
    is_away = false;
    clock.at_ms += MINUTE_MS;
    events.note(refusal());
    await events.flush();
    expect(written.map(({ rejections }) => rejections)).toEqual([1]);
  });

  it('that differ in contacts only are one row without them', async () => {
    const { written, events } = start();
    for (const who of ['ann@casino.example', 'bob@casino.example'])
      events.note(
        refusal({
          name: `hello ${who}`,
          reason: `unknown event "hello ${who}": see from 0 to 9007199254740991`,
        }),
      );
    await events.flush();
    expect(written).toMatchObject([
      { event: 'hello …', reason: 'unknown event "hello …": see from 0 to 9007199254740991', rejections: 2 },
    ]);
  });

  it('with texts of any length and kind are cut', async () => {
    const { written, events } = start();
    const long = 'x'.repeat(100_000);
    events.note(refusal({ reason: long, name: long, client: long, sent: { [long]: long } }));
    events.note(refusal({ name: 7, sent: null }));
    await events.flush();
    for (const { reason, event, client, shape } of written)
      expect([reason, event ?? '', client, shape ?? ''].map(({ length }) => length <= 300)).not.toContain(
        false,
      );
    expect(written.map(({ event }) => event?.length)).toEqual([100, undefined]);
  });
});

describe('the shape of an event', () => {
  it.each([
    ['{"event":"login","ok":true,"none":null}', '{"event":"text(5)","ok":true,"none":null}'],
    ['{"amount":25.5,"phone":35699123456}', '{"amount":25.5,"phone":"number"}'],
    ['{"n":123456789012345678901234567890}', '{"n":"number"}'],
    ['{"list":[1,"a@b.example"],"a":{"b":{"c":{"d":1}}}}', '{"list":"list(2)","a":{"b":{"c":"object"}}}'],
    ['{"ann@casino.example":1,"+35699123456":2,"a b":3}', '{"…":2,"a b":3}'],
    ['"ann@casino.example"', '"text(18)"'],
    ['[1,2]', '"list(2)"'],
    ['null', 'null'],
    ['{"__proto__":1}', '{"__proto__":1}'],
  ])('%s', (sent, shape) => {
    expect(shapeOf(parseExact(sent))).toBe(shape);
  });

  it('is bounded', () => {
    const wide = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, one) => [`field_${one}_${'x'.repeat(30)}`, one]),
    );
    expect(shapeOf(wide).length).toBeLessThanOrEqual(1_000);
    expect(shapeOf({ a: 'x'.repeat(1_000_000) })).toBe('{"a":"text(1000000)"}');
  });
});

it.each([
  ['ann@casino.example', '…'],
  ['call +356 9912 3456 now', 'call … now'],
  ['id 12345678', 'id …'],
  ['http://127.0.0.1:18490', 'http://127.0.0.1:18490'],
  ['http://localhost:18490', 'http://localhost:18490'],
  ['http://[::1]:18490', 'http://[::1]:18490'],
  ['http://203.0.113.7:18490', 'http://…:18490'],
  ['127.0.0.1 99123456', '…'],
  ['ann@127.0.0.1', '…'],
  ['page_2 of 12', 'page_2 of 12'],
  ['custom_level_42_done', 'custom_level_42_done'],
])('contacts are taken out of %s', (text, shown) => {
  expect(withoutContacts(text)).toBe(shown);
});
