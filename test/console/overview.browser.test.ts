import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../engines/http-client.ts';
import { sunk } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import {
  accessibilityFaults,
  becomesOld,
  faultsInBothThemes,
  openConsole,
  show,
  type ConsoleBrowser,
} from './browser.ts';
import { overflows } from './members.ts';

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_.close());

/** Sends events as an operator does. */
async function sendEvents(events: readonly object[]): Promise<string> {
  const { ingest_url, api_key } = console_.service;
  const response = await call(`${ingest_url}/v1/events/batch`, api_key, { body: { events } });
  expect(response.status).toBe(202);
  return String(response.data['ingestion_id']);
}

const deposit = (player: string, amount: number, id: string) => ({
  event: 'deposit_confirmed',
  anonymous_id: player,
  properties: { amount, currency: 'EUR', transaction_id: id, payment_method: 'card' },
});

describe('an empty project', () => {
  test.each([
    ['overview', 'No events yet'],
    ['events?tab=live', 'Waiting for events…'],
    ['events?tab=search', 'No event matches'],
    ['events?tab=rejected', 'No accepted event failed later'],
    ['players', 'No players yet'],
  ])('%s says what would be here', async (path, text) => {
    const page = await console_.open(path);
    await page.getByText(text).first().waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

test('an empty project has a list of what to set up, with what is done, and examples to begin with', async () => {
  const page = await console_.open('overview', { width: 390 });
  const setup = page.getByRole('region', { name: 'Set up this project' });
  // The tests' tenant has an API key.
  await setup.getByText('1 of 7 steps are done.').waitFor();
  await setup.getByRole('link', { name: 'Write a template' }).click();
  await page.getByRole('button', { name: 'Use it: the example “Welcome”' }).click();
  await page.getByRole('heading', { level: 1, name: 'Welcome' }).waitFor();
  await show(page, 'overview');
  await setup.getByText('2 of 7 steps are done.').waitFor();
  expect(await overflows(page)).toBe(false);
});

describe('with events', () => {
  let ingestion_id: string;
  beforeAll(async () => {
    ingestion_id = await sendEvents([
      deposit('anna', 123_456, 'a-1'),
      deposit('bert', 1, 'b-1'),
      deposit('anna', 100, 'a-1'),
    ]);
    await sunk(console_.service.platform);
  });

  test('the overview has the exact deposits of today', async () => {
    const page = await console_.open('overview');
    await page.getByText('€1,234.57').first().waitFor();
    await page.getByRole('button', { name: 'As table' }).first().click();
    await page.getByRole('cell', { name: '€1,234.57' }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).first().click();
    const csv = await readFile(await (await download).path(), 'utf8');
    expect(csv.split('\r\n')[0]).toMatch(/,EUR$/);
    expect(csv).toMatch(/\r\n\d{4}-\d\d-\d\dT[\d:.]+Z,1234\.57(?:\r\n|$)/);
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('an event that is sent now appears in the live tail, and its way can be followed', async () => {
    const page = await console_.open('events');
    await page.getByRole('status').getByText('Live').waitFor();
    await sendEvents([deposit('carla', 4_200, 'c-1')]);
    const row = page.getByRole('row', { name: /carla/ });
    await row.waitFor();
    await row.click();
    const drawer = page.getByRole('dialog', { name: 'Event trace' });
    await drawer.getByText('applied').waitFor();
    await drawer.getByText('€42.00').first().waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });

  test('a search finds events by name; one that conflicts is among the rejected, with the reason', async () => {
    const page = await console_.open('events?tab=search&event=deposit_confirmed');
    await page
      .getByRole('row', { name: /deposit_confirmed/ })
      .first()
      .waitFor();
    await page.goto(`${console_.service.base_url}/console/events?tab=rejected`);
    await page.getByRole('row', { name: /It came before with other content/ }).click();
    await page.getByRole('dialog').getByText('came before with another content').waitFor();
    // It is dealt with, and has no tick for that.
    await show(page, `events?trace=${ingestion_id}/2`);
    const step = page.getByRole('dialog').locator('dl').filter({ hasText: 'Folded into totals' });
    await step.getByText(/^✕ conflicts with/).waitFor();
    expect(await step.getByText('✓').count()).toBe(0);
  });

  test('a player is found by the device, and the profile has totals, money and reachability', async () => {
    const page = await console_.open('players?q=anna');
    await page.getByRole('row', { name: /by device id/ }).waitFor();
    await page.getByRole('row', { name: /by device id/ }).press('Enter');
    await page.getByText('€1,234.56').first().waitFor();
    await page.getByRole('link', { name: 'Money' }).click();
    await page.getByRole('row', { name: /deposit_confirmed.*€1,234.56/ }).waitFor();
    await page.getByRole('link', { name: 'Reachability' }).click();
    await page.getByText('Cannot be reached').first().waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('an excluded player shows the shield first', async () => {
    const { base_url, session_token } = console_.service;
    const headers = { authorization: `Bearer ${session_token}`, 'content-type': 'application/json' };
    const id = await until('bert is a player', async (saw) => {
      const found = saw(await fetch(`${base_url}/v1/players/search?q=bert`, { headers }));
      return saw(((await found.json()) as { data: { id: string }[] }).data[0]?.id);
    });
    const body = JSON.stringify({ status: 'self_excluded' });
    await fetch(`${base_url}/v1/players/${id}`, { method: 'PATCH', headers, body });
    const page = await console_.open(`players/${id}`);
    await page.getByText('Excluded from gambling.', { exact: false }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

describe('when the API fails', () => {
  test.each([
    ['garbage', { status: 200, body: '<html>' }, 'ANSWER_UNREADABLE'],
    [
      'an error with its request id',
      {
        status: 500,
        headers: { 'x-request-id': 'r-1' },
        body: '{"error":{"code":"INTERNAL_ERROR","message":"it broke"}}',
      },
      'r-1',
    ],
    ['429', { status: 429, body: '{"error":{"code":"RATE_LIMITED","message":"slow down"}}' }, 'RATE_LIMITED'],
  ])('%s is shown, and trying again mends it', async (_what, answer, text) => {
    const page = await console_.open('players');
    await page.route('**/v1/overview*', (route) => route.fulfill(answer));
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('alert').getByText(text).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.unroute('**/v1/overview*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Active players').waitFor();
  });

  test('old figures stay, with their age', async () => {
    const page = await console_.open('overview', { is_private: true });
    await page.clock.install();
    await page.reload();
    await page.getByText('Active players').waitFor();
    await page.route('**/v1/overview*', (route) => route.abort());
    await becomesOld(page);
    await page.getByText('Active players').waitFor();
  });

  test('names from outside are text, whatever is in them', async () => {
    const name = '<img src=x onerror=alert(1)>\u202Eابج';
    await sendEvents([deposit(`${name}${'x'.repeat(200)}`, 5, 'h-1')]);
    const page = await console_.open('events?tab=search');
    await sunk(console_.service.platform);
    await page.reload();
    await page
      .getByRole('row', { name: /deposit_confirmed/ })
      .first()
      .waitFor();
    expect(await page.locator('img').count()).toBe(0);
  });
});

test.each(['overview', 'events?tab=search', 'players'])(
  'in light and dark and a narrow window axe finds nothing on %s',
  async (path) => {
    const page = await console_.open(path, { width: 420 });
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
  },
);
