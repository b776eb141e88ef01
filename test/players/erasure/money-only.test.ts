import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodePlayerEvent, reduceLine, type PlayerEvent } from '../../../src/ingest/events/envelope.ts';
import { EVENTS } from '../../../src/ingest/events/catalogue.ts';
import { moneyOnly } from '../../../src/ingest/events/money-only.ts';
import { knownOf } from '../../../src/ledger/fold/decide.ts';
import { parseRecord } from '../../../src/ledger/fold/fold-event.ts';
import { runs } from '../../engines/effort.ts';

const PLAYER = '00000000-0000-4000-8000-000000000003';
const AMOUNTS = ['amount', 'payout', 'bonus_stake', 'bonus_payout'];
const IDS = ['transaction_id', 'bet_id', 'movement_id', 'reversal_id'];
const MONEY = [...AMOUNTS, ...IDS, 'currency', 'reason'];
const names = fc.constantFrom(...Object.keys(EVENTS), 'custom_note');
const properties = fc.dictionary(
  fc.oneof(fc.constantFrom(...MONEY), fc.string()),
  fc.oneof(
    fc.nat(),
    fc.stringMatching(/^[0-9]{1,5}$/),
    fc.constantFrom('EUR', 'my name is Bob', 'goodwill'),
    fc.jsonValue(),
  ),
);

it('of the properties of an erased player only those about money stay, as they were', () => {
  fc.assert(
    fc.property(names, properties, (event, given) => {
      for (const [name, value] of Object.entries(moneyOnly(event, given))) {
        expect(MONEY).toContain(name);
        expect(value).toBe(given[name]);
        if (AMOUNTS.includes(name)) expect(String(value)).toMatch(/^[0-9]+$/);
        if (name === 'currency') expect(String(value)).toMatch(/^[A-Za-z0-9]{1,16}$/);
        if (name === 'reason')
          expect([value, event]).toEqual(['goodwill', expect.stringMatching(/^balance_/)]);
      }
    }),
    { numRuns: runs(1_000) },
  );
  expect(moneyOnly('custom_note', { amount: 5, transaction_id: 't' })).toEqual({});
  const deposit = { amount: '12', currency: 'EUR', transaction_id: 't', payment_method: 'card of Bob' };
  expect(moneyOnly('deposit_confirmed', deposit)).toEqual({
    amount: '12',
    currency: 'EUR',
    transaction_id: 't',
  });
  const reversed = { amount: 1, currency: 'EUR', transaction_id: 't', reversal_id: 'r' };
  expect(moneyOnly('deposit_reversed', { ...reversed, reason: 'fee' })).toEqual(reversed);
  const credited = { amount: 1, currency: 'EUR', transaction_id: 't', reason: 'fee' };
  expect(moneyOnly('balance_credited', { ...credited, movement_id: 'm', note: 'Bob' })).toEqual(credited);
  const won = { bet_id: 'b', payout: 7, bonus_payout: 3, currency: 'EUR', movement_id: 'm' };
  expect(moneyOnly('bet_won', { ...won, bonus_stake: 1, dedupe_id: 'e', reason: 'fee' })).toEqual(won);
  expect(moneyOnly('bet_placed', { bonus_stake: 'Bob' })).toEqual({});
  expect(moneyOnly('deposit_failed', { amount: 'Bob', currency: 'my name is Bob' })).toEqual({});
});

it('the fold goes on with what is about money alone, of erased players alone', () => {
  const parsed = parseRecord({
    offset: 0n,
    key: 'k',
    value: JSON.stringify({
      ingestion_id: '00000000-0000-4000-8000-000000000004',
      index: 0,
      tenant_id: '00000000-0000-4000-8000-000000000001',
      project_id: '00000000-0000-4000-8000-000000000002',
      environment: 'dev',
      received_at_ms: 1_700_000_000_000,
      event: { event: 'kyc_rejected', player_id: PLAYER, properties: { reason: 'the passport of Bob' } },
    }),
  });
  if (!('event' in parsed)) throw new Error(parsed.rejection.message);
  const { event } = parsed;
  expect(knownOf(event, PLAYER, { erased: new Set([PLAYER]) }).properties).toEqual({});
  expect(knownOf(event, PLAYER, { erased: new Set() })).toBe(event);
});

it('a line on the log is reduced without touching its other fields', () => {
  fc.assert(
    fc.property(
      names,
      properties,
      fc.option(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n })),
      fc.boolean(),
      (event, given, base_amount, has_revision) => {
        const row: PlayerEvent = {
          tenant_id: '00000000-0000-4000-8000-000000000001',
          project_id: '00000000-0000-4000-8000-000000000002',
          event,
          player_id: '00000000-0000-4000-8000-000000000003',
          occurred_at: 1,
          received_at: 2,
          ingestion_id: '00000000-0000-4000-8000-000000000004',
          event_index: 0,
          base_amount,
          base_payout: null,
          properties: JSON.parse(JSON.stringify(given)) as Record<string, unknown>,
        };
        const line = (one: PlayerEvent) =>
          has_revision ? `${encodePlayerEvent(one).slice(0, -1)},"revision":1}` : encodePlayerEvent(one);
        expect(reduceLine(line(row))).toBe(line({ ...row, properties: moneyOnly(event, row.properties) }));
      },
    ),
    { numRuns: runs(1_000) },
  );
});
