import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityFaults } from './browser.ts';
import { client, counted, front, make, makeActive, openJourneys, runTo } from './journey-screens.ts';
import { HOSTILE } from './members.ts';

beforeAll(openJourneys);
afterAll(() => front?.close());

describe('the list', () => {
  test('says what a journey is when there is none', async () => {
    const page = await front.open('journeys');
    await page.getByRole('heading', { name: 'No journeys yet' }).waitFor();
    await page.getByText('curl -X POST').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('shows status, start and active runs, filters by its address, and opens by keyboard', async () => {
    const [ada = '', bob = ''] = await client.players(2);
    const id = await makeActive(`Comes back ${HOSTILE.script}`);
    await runTo(id, ada, 10, 'day');
    await runTo(id, bob, 10, 'day');
    await make('Only a draft', {
      trigger: { kind: 'event', event: 'deposit_confirmed', where: { amount: 7 } },
    });
    const page = await front.open('journeys');
    const row = page.getByRole('row', { name: /Comes back/ });
    await row.getByRole('gridcell', { name: '2', exact: true }).waitFor();
    await row.getByText('Active').waitFor();
    await row.getByText('A call of the API').waitFor();
    await page.getByText('deposit_confirmed with amount = 7').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Status').selectOption('draft');
    await row.waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('status')).toBe('draft');
    await page.goto(`${front.service.base_url}/console/journeys?status=active`);
    await row.waitFor();
    expect(await page.getByText('Only a draft').count()).toBe(0);
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('e');
    await page.waitForURL(`**/journeys/${id}**`);
    await page.getByRole('heading', { name: 'Comes back <script>' }).waitFor();
    expect(await page.title()).toBe(`Comes back ${HOSTILE.script} · Console`);
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Journeys', level: 1 }).waitFor();
    await page.getByLabel('Status').selectOption('paused');
    await page.getByText('No journey matches').waitFor();
  });

  test('says why when the API refuses, and tries again', async () => {
    const page = await front.open('overview');
    const error = { error: { code: 'FORBIDDEN', message: 'not for you', details: {} } };
    await page.route('**/v1/journeys?*', (route) => route.fulfill({ status: 403, json: error }));
    await page.getByRole('link', { name: 'Journeys' }).click();
    await page.getByRole('alert').getByText('not for you').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Only a draft').waitFor();
  });
});

describe('one journey', () => {
  test('is a list of its steps with the numbers of each, and says when its draft is not live', async () => {
    const [ada = '', bob = ''] = await client.players(2);
    const id = await makeActive('Counted');
    await runTo(id, ada, 9_000, 'again');
    await runTo(id, bob, 10, 'day');
    await counted(id, 'size', 2);
    const saved = await client.api('PATCH', `/v1/journeys/${id}?draft=true`, {
      settings: { goal: { event: 'deposit_confirmed', window_days: 7 } },
    });
    expect(saved.status).toBe(200);
    const page = await front.open(`journeys/${id}`);
    const numbers = (of: string) => page.getByRole('list', { name: `Numbers of ${of}` });
    await numbers('Wait 1 day').getByText('1 here now').waitFor();
    await numbers('Size of the deposit').getByText('2 went on').waitFor();
    const ways = page.getByRole('list', { name: 'Size of the deposit', exact: true });
    const big = ways.getByRole('list', { name: 'if big (trigger_payload.amount ≥ 5000)' });
    await big.getByText('Wait for custom_again, at most 3 days').waitFor();
    await big.getByText('Set came_again').waitFor();
    // What follows all ways is outside of them.
    expect(await ways.getByText('End', { exact: true }).count()).toBe(0);
    await page.getByText('it would be version 2').waitFor();
    await page.getByText('deposit_confirmed within 7 days').waitFor();
    await numbers('Wait 1 day').getByRole('link', { name: '1 here now' }).click();
    await page.getByRole('gridcell', { name: bob }).waitFor();
    expect(await page.getByRole('gridcell', { name: ada }).count()).toBe(0);
  });
});
