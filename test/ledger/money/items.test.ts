import { expect, it } from 'vitest';
import {
  changeLine,
  encodePlayerEvent,
  reduceLine,
  type PlayerEvent,
} from '../../../src/ingest/events/envelope.ts';
import { itemOf, itemOfPlaced, takenItem } from '../../../src/ledger/money/items.ts';

it('an event says what its bet is about by the properties of its product', () => {
  const properties = { game_id: 'book', game_category: 'slots', sport: 'tennis', bet_type: 'single' };
  expect(itemOf('bet_won', properties)).toEqual({ item: 'book', item_group: 'slots' });
  expect(itemOf('sport_cashout', properties)).toEqual({ item: 'tennis', item_group: 'single' });
  expect(itemOf('deposit_confirmed', properties)).toEqual({ item: '', item_group: '' });
  expect(itemOf('bet_won', { game_id: 7 })).toEqual({ item: '', item_group: '' });
});

it('the ledger keeps it of placed bets, where Postgres can', () => {
  expect(itemOfPlaced('bet_placed', { game_id: 'book' })).toEqual({ item: 'book', item_group: '' });
  expect(itemOfPlaced('bet_won', { game_id: 'book' })).toBeNull();
  expect(itemOfPlaced('bet_placed', {})).toBeNull();
  expect(itemOfPlaced('bet_placed', { game_id: 'a\u0000b' })).toBeNull();
  expect(itemOfPlaced('sport_bet_placed', { sport: 'tennis', bet_type: '\ud800' })).toBeNull();
});

it('an event takes what it does not say, and never the group of another item', () => {
  const placed = { item: 'book', item_group: 'slots' };
  expect(takenItem({ item: '', item_group: '' }, placed)).toEqual(placed);
  expect(takenItem({ item: 'book', item_group: '' }, placed)).toEqual(placed);
  expect(takenItem({ item: '', item_group: 'live' }, placed)).toEqual({ item: 'book', item_group: 'live' });
  expect(takenItem(placed, placed)).toBeUndefined();
  expect(takenItem({ item: 'dead', item_group: '' }, placed)).toBeUndefined();
  expect(takenItem({ item: '', item_group: '' }, undefined)).toBeUndefined();
});

const event: PlayerEvent = {
  tenant_id: '01900000-0000-7000-8000-00000000000a',
  project_id: '01900000-0000-7000-8000-00000000000b',
  event: 'bet_won',
  player_id: '01900000-0000-7000-8000-00000000000c',
  occurred_at: 1,
  received_at: 2,
  ingestion_id: '01900000-0000-7000-8000-00000000000d',
  event_index: 0,
  base_amount: null,
  base_payout: 5n,
  item: 'a "book", "properties":{}',
  item_group: 'slots\\',
  properties: { bet_id: 'b', payout: 5, currency: 'EUR', note: 'x' },
};

it('a line of an event says it next to the properties, and no more when the player was erased', () => {
  const line = encodePlayerEvent(event);
  expect(JSON.parse(line)).toMatchObject({ item: event.item, item_group: event.item_group });
  const other = JSON.parse(changeLine(line, { item: 'dead', item_group: 'live' })) as object;
  expect(other).toMatchObject({ item: 'dead', item_group: 'live', revision: 1 });
  for (const one of [line, changeLine(line, {})]) {
    const reduced = JSON.parse(reduceLine(one)) as object;
    expect(reduced).not.toHaveProperty('item');
    expect(reduced).not.toHaveProperty('item_group');
    expect(reduced).toMatchObject({
      base_payout: 5,
      properties: { bet_id: 'b', payout: 5, currency: 'EUR' },
    });
  }
  const { item: _, item_group: __, ...plain } = event;
  expect(encodePlayerEvent(plain)).not.toContain('item');
});
