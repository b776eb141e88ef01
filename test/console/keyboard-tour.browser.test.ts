import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import { messagingClient, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import { accept, depositOf } from './events/event-client.ts';
import { openConsole, type ConsoleBrowser } from './browser.ts';
import { hasChoices, tabTo } from './segment-screens.ts';

/** Of them the n-th has deposited n × 10 euros, one has excluded itself, and one has no address. */
const PLAYERS = 80;

let console_: ConsoleBrowser;
let client: MessagingClient;
let provider_id: string;
let players: string[];
let excluded: string;
/** Filled by the tasks in their order, which is that of a campaign's life. */
let campaign_id = '';
beforeAll(async () => {
  console_ = await openConsole();
  client = messagingClient(console_.service);
  provider_id = await client.provider({ name: 'sandbox' });
  for (const name of ['Come back', 'We miss you']) await client.template({ name });
  players = await client.players(PLAYERS);
  [excluded = ''] = players;
  const { service } = console_;
  await accept(service, service, ...players.map((id, n) => depositOf(id, `t-${n}`, (n + 1) * 1_000)));
  await client.event(excluded, 'self_exclusion_set');
  await waitUntilCaughtUp(service.platform, 60_000);
}, 120_000);
afterAll(() => console_?.close());

/** Opens a screen whose pointer is watched: a task by keyboard never moves or presses it. */
async function open(path: string): Promise<Page> {
  const page = await console_.open(path);
  await page.evaluate(
    `globalThis.pointed = 0; addEventListener('pointerdown', () => { globalThis.pointed++; }, true)`,
  );
  return page;
}
const pointed = (page: Page) => page.evaluate<number>('globalThis.pointed');

/** Goes to what has this accessible name with Tab, and presses Enter. */
async function press(page: Page, name: string | RegExp): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

/** Goes to a field with Tab and types; in a list of choices this takes the entry that begins so. */
async function type(page: Page, name: string | RegExp, text: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.type(text);
}

/** Leaves for a screen by its two letters. */
async function go(page: Page, letter: string, heading: string): Promise<void> {
  await page.keyboard.press('g');
  await page.keyboard.press(letter);
  await page.getByRole('heading', { name: heading, exact: true }).waitFor();
}

describe('by keyboard alone', () => {
  test('a CRM manager builds a segment, and sees its exact size grow and shrink', async () => {
    const page = await open('overview');
    await go(page, 's', 'Segments');
    await press(page, 'New segment');
    await page.getByLabel('Name', { exact: true }).waitFor();
    await type(page, 'Name', 'Deposited over 100 euros');
    const size = page.getByRole('region', { name: 'Audience' }).locator('[data-state="counted"]');
    await press(page, 'Add a condition');
    await type(page, 'Type of condition', 'Events of the');
    await type(page, 'Aggregate', 'Sum');
    await type(page, 'Comparison', 'is more');
    await tabTo(page, 'Value');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('100');
    await size.getByText('70 players', { exact: true }).waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('200');
    await size.getByText('60 players', { exact: true }).waitFor();
    await page.keyboard.press('Control+s');
    await page.waitForURL(/\/segments\/[0-9a-f-]{36}(\?|$)/);
    await page.getByRole('heading', { name: 'Deposited over 100 euros' }).waitFor();
    expect(await pointed(page)).toBe(0);
  });

  test('a CRM manager makes an A/B campaign, reads who cannot be reached, and sends it', async () => {
    const segment_id = await client.segment(players);
    const { data } = await client.api('GET', `/v1/segments/${segment_id}`);
    const page = await open('overview');
    await go(page, 'c', 'Campaigns');
    await press(page, 'New campaign');
    await hasChoices(page, String(data['name']));
    await type(page, 'Name', 'Spring');
    await type(page, 'Segment', String(data['name']));
    await press(page, 'Create draft');
    await hasChoices(page, 'Come back', 'We miss you');
    await type(page, 'Goal event', 'login');
    await type(page, /^Attribution window \(days\)/, '3');
    for (const [name, template] of [
      ['A', 'Come'],
      ['B', 'We miss'],
    ] as const) {
      await type(page, 'Name of the variant', name);
      await tabTo(page, 'Template');
      await page.keyboard.type(template);
      await press(page, 'Add the variant');
      await page.getByRole('button', { name: `Remove ${name}` }).waitFor();
      // The form is emptied when everything was asked again, which may be later.
      await expect.poll(() => page.getByLabel('Name of the variant').inputValue()).toBe('');
    }
    await press(page, 'Save and go on');
    await page.getByLabel('When it is sent').waitFor();
    await press(page, 'Save and go on');
    await page.getByText('Excluded themselves from gambling').waitFor();
    await press(page, 'Send now');
    await page.getByRole('dialog', { name: 'Send “Spring”' }).waitFor();
    await press(page, `Send to ${PLAYERS - 1} players`);
    campaign_id = /campaigns\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
    await client.reaches(campaign_id, 'sent');
    await page.getByText('Funnel').first().waitFor();
    expect(await client.messages(provider_id)).toHaveLength(PLAYERS - 1);
    expect(await pointed(page)).toBe(0);
  });

  test('a CRM manager reads which variant has won, and that it is not chance', async () => {
    const rows = await client.recipients(campaign_id);
    const { data: variants } = await client.api<{ name: string; template_id: string }[]>(
      'GET',
      `/v1/campaigns/${campaign_id}/variants`,
    );
    const winner = variants.find(({ name }) => name === 'A')?.template_id;
    for (const row of rows) {
      if (row.status !== 'sent' || row.template_id !== winner) continue;
      await client.event(row.player_id, 'login', { session_id: row.player_id });
    }
    await waitUntilCaughtUp(console_.service.platform, 60_000);
    const page = await open('campaigns');
    await page.getByRole('row', { name: /^Spring/ }).waitFor();
    await press(page, /^Spring/);
    await page.getByText('Funnel').first().waitFor();
    await page.getByText('A is better than B', { exact: false }).waitFor();
    await press(page, 'Not sent');
    await page.getByRole('row', { name: /Excluded themselves from gambling, .* 1/ }).waitFor();
    expect(await pointed(page)).toBe(0);
  });

  test('a compliance officer proves that an excluded player has got nothing', async () => {
    const page = await open('overview');
    await go(page, 'l', 'Compliance');
    // Its masked address, and the end of its id.
    const shown = new RegExp(`•••@.* …${excluded.slice(-6)}`);
    await page.getByRole('row', { name: shown }).waitFor();
    await press(page, shown);
    await page.waitForURL(new RegExp(`/compliance/${excluded}`));
    await page.getByText('0 messages, 0 bonuses handed over while excluded').waitFor();
    await page.getByText(/Message: 1 time \(Excluded themselves from gambling/).waitFor();
    expect(await pointed(page)).toBe(0);
  });

  test('an engineer finds why an event was rejected, and has it looked at again', async () => {
    const { service } = console_;
    const again = depositOf(players[1] ?? '', 't-1', 77);
    await accept(service, service, again);
    await waitUntilCaughtUp(service.platform, 60_000);
    const page = await open('overview');
    await go(page, 'e', 'Events');
    await press(page, 'Rejected');
    await page.getByRole('row', { name: /It came before with other content/ }).waitFor();
    await press(page, /It came before with other content/);
    const drawer = page.getByRole('dialog');
    await drawer.getByText('came before with another content').waitFor();
    await press(page, 'Replay');
    await drawer.getByText(/^1 /).waitFor();
    expect(await pointed(page)).toBe(0);
  });
});
