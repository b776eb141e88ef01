import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { segmentClient, type SegmentClient } from '../segments/segment-client.ts';
import {
  accessibilityFaults,
  faultsInBothThemes,
  openConsole,
  show,
  type ConsoleBrowser,
} from './browser.ts';
import { openAs, overflows } from './members.ts';
import { answer, failure, tabTo } from './segment-screens.ts';

// A segment is tested on the past. The figures are tested where they are computed.

const DAY_MS = 86_400_000;
const PLAYERS = 200;

let console_: ConsoleBrowser;
let client: SegmentClient;
beforeAll(async () => {
  console_ = await openConsole();
  client = segmentClient(console_.service);
});
afterAll(() => console_?.close());

/** Active players who deposited 60 days ago; 30 of them again 20 days ago, one of whom lost 100 euros then. */
async function insertPast(): Promise<void> {
  const { tenant_id, project_id, platform } = console_.service;
  const project = { tenant_id, project_id };
  const ago = (days: number) => Date.now() - days * DAY_MS;
  const ids = Array.from({ length: PLAYERS }, () => randomUUID());
  const event = (player_id: string, name: string, days: number, row: object) =>
    JSON.stringify({
      ...project,
      player_id,
      event: name,
      occurred_at: ago(days),
      received_at: ago(days),
      ingestion_id: randomUUID(),
      event_index: 0,
      properties: {},
      revision: 1,
      ...row,
    });
  const money = { base_amount: 1_000, stake_counted: 1_000 };
  const players = ids.map((player_id) =>
    JSON.stringify({
      ...project,
      player_id,
      created_at: ago(90),
      status: 'active',
      custom_attributes: '{}',
      revision: 1,
    }),
  );
  const events = [
    ...ids.map((id) => event(id, 'deposit_confirmed', 60, money)),
    ...ids.slice(0, 30).map((id) => event(id, 'deposit_confirmed', 20, money)),
    ...ids.slice(0, 1).map((id) => event(id, 'bet_placed', 20, { stake_counted: 10_000 })),
  ];
  await platform.clickhouse.insertLines('players', players, randomUUID());
  await platform.clickhouse.insertLines('events', events, randomUUID());
}

const result = (page: Page) => page.getByRole('region', { name: 'Result' });
const figure = (page: Page, name: string) =>
  result(page).locator('dt', { hasText: name }).first().locator('xpath=../dd');

test('by keyboard: members then, what they did, what could be shown, and what was read as it is today', async () => {
  await insertPast();
  const id = await client.make([
    { type: 'trait', field: 'total_deposited', op: 'gte', value: 1_000 },
    { type: 'trait', field: 'status', op: 'eq', value: 'active' },
    { type: 'trait', field: `custom_attributes.${'x'.repeat(60)}`, op: 'not_exists' },
  ]);
  const page = await console_.open(`segments/${id}`);
  await tabTo(page, 'Backtest');
  await page.keyboard.press('Enter');
  await page.getByLabel('As of').waitFor();
  expect(await result(page).count()).toBe(0);
  expect(await accessibilityFaults(page)).toEqual([]);
  await tabTo(page, 'Days after it');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('28');
  await page.keyboard.press('Enter');
  await page.getByText('200 players would have been members.').waitFor();
  expect(await figure(page, 'Deposited in the 28 days after it').textContent()).toBe('15% (30 of 200)');
  expect(await figure(page, 'NGR per member').textContent()).toBe('€0.50');
  expect(await figure(page, 'NGR of all of them').textContent()).toBe('€100.00');
  expect(await figure(page, 'With 10% held out').textContent()).toMatch(/^\+23\.\d points$/);
  await result(page).getByRole('listitem').getByText('status', { exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get('days')).toContain('28');
  expect(await faultsInBothThemes(page)).toEqual([]);

  // The address is the question, which viewers may ask, too.
  const { pathname, search } = new URL(page.url());
  const link = (pathname + search).replace('/console/', '');
  const viewer = await openAs(console_, 'viewer', link);
  await viewer.getByText('200 players would have been members.').waitFor();
  const narrow = await console_.open(link, { width: 390 });
  await narrow.getByText('200 players would have been members.').waitFor();
  expect(await overflows(narrow)).toBe(false);
});

test('days that are not over, nobody, and a refusal are said', async () => {
  const id = await client.make([{ type: 'trait', field: 'total_deposited', op: 'gte', value: 1_000 }]);
  const of = (days_ago: number, days: number) =>
    `segments/${id}?tab=backtest&days=%22${days}%22&as_of=${new Date(Date.now() - days_ago * DAY_MS).toISOString()}`;
  const page = await console_.open(of(30, 60));
  await page.getByText('The days after it are not over', { exact: false }).waitFor();
  await page.getByText('All conditions are read as they were.').waitFor();
  await show(page, of(700, 60));
  await page.getByRole('heading', { name: 'Nobody would have been in this segment' }).waitFor();
  await answer(page, '**/v1/segments/backtest**', 422, failure('SEGMENT_TOO_EXPENSIVE'));
  await show(page, of(600, 60));
  await page.getByRole('alert').getByText('SEGMENT_TOO_EXPENSIVE', { exact: true }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
});
