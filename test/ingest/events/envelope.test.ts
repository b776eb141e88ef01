import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  encodePlayerEvent,
  groupByEvent,
  headOf,
  shortOf,
  type PlayerEvent,
} from '../../../src/ingest/events/envelope.ts';
import { runs } from '../../engines/effort.ts';

const HEAD = ['{"tenant_id":"', '","project_id":"', '","event":', ',"player_id":"'] as const;

const hostile = fc
  .array(fc.oneof(fc.constantFrom(...HEAD, '\\', '"', ',', '\\",', '\u0000', '\ud800'), fc.string()), {
    maxLength: 6,
  })
  .map((parts) => parts.join(''));
const row: fc.Arbitrary<PlayerEvent> = fc.record({
  tenant_id: fc.uuid(),
  project_id: fc.uuid(),
  event: hostile,
  player_id: fc.uuid(),
  occurred_at: fc.integer(),
  received_at: fc.nat(),
  ingestion_id: fc.uuid(),
  event_index: fc.nat(),
  base_amount: fc.option(fc.bigInt()),
  base_payout: fc.option(fc.bigInt()),
  properties: fc.dictionary(hostile, hostile),
});

it('a line is JSON, and its head has the fields that were written', () => {
  fc.assert(
    fc.property(row, ({ base_amount, base_payout, ...event }) => {
      const line = encodePlayerEvent({ ...event, base_amount, base_payout });
      const { base_amount: _amount, base_payout: _payout, ...parsed } = JSON.parse(line) as PlayerEvent;
      expect(parsed).toEqual({ ...event, properties: { ...event.properties } });
      const { tenant_id, project_id, event: name, player_id } = event;
      expect(headOf(line)).toEqual({ tenant_id, project_id, event: name, player_id });
      const { occurred_at, received_at } = event;
      expect(shortOf(line)).toEqual({ player_id, occurred_at, received_at });
    }),
    { numRuns: runs(2_000) },
  );
});

it('any other text has no head', () => {
  const id = '0198c0de-0000-7000-8000-000000000001';
  const line = `${HEAD[0]}${id}${HEAD[1]}${id}${HEAD[2]}"login"${HEAD[3]}${id}"}`;
  expect(headOf(line)).toEqual({ tenant_id: id, project_id: id, event: 'login', player_id: id });
  const others = [
    '',
    'not JSON',
    '{}',
    line.slice(0, 120),
    line.replace('"login"', 'login'),
    line.replace('"login"', '7'),
    line.replace('"login"', '"lo"gin"'),
    line.replace('"tenant_id"', '"tenants_id"'),
    line.replace('"project_id"', '"projects_id"'),
    ` ${line}`,
  ];
  for (const other of others) expect(headOf(other), other).toBeUndefined();
  expect(groupByEvent(others.map((value) => ({ value })))).toEqual([]);
});

it('lines are told apart by project and name, however the name is written', () => {
  const ids = ['0198c0de-0000-7000-8000-000000000001', '0198c0de-0000-7000-8000-000000000002'];
  const id = fc.constantFrom(...ids);
  const event = fc.oneof(fc.constantFrom('login', 'custom_é', ...HEAD), hostile);
  const line = fc
    .record({ row, tenant_id: id, project_id: id, event, is_escaped: fc.boolean() })
    .map(({ row: { base_amount: _amount, base_payout: _payout, ...rest }, is_escaped, ...of }) => {
      const encoded = encodePlayerEvent({ ...rest, ...of, base_amount: null, base_payout: null });
      const escaped = JSON.stringify(of.event).replaceAll('o', '\\u006f');
      return is_escaped ? encoded.replace(JSON.stringify(of.event), () => escaped) : encoded;
    });
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 5, arbitrary: line }, { weight: 1, arbitrary: hostile })),
      (lines) => {
        const expected = new Map<string, number[]>();
        for (const [place, one] of lines.entries()) {
          const head = headOf(one);
          if (head === undefined) continue;
          const key = JSON.stringify([head.tenant_id, head.project_id, head.event]);
          expected.set(key, [...(expected.get(key) ?? []), place]);
        }
        const groups = groupByEvent(lines.map((value) => ({ value })));
        const found = groups.map(({ name, places }) => {
          return [JSON.stringify([name.tenant_id, name.project_id, name.event]), places] as const;
        });
        expect(new Map(found)).toEqual(expected);
        expect(found).toHaveLength(expected.size);
      },
    ),
    { numRuns: runs(500) },
  );
});
