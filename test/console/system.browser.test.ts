import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  accessibilityFaults,
  becomesOld,
  faultsInBothThemes,
  goTo,
  openConsole,
  type ConsoleBrowser,
} from './browser.ts';
import { HOSTILE, openAs, overflows } from './members.ts';

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_?.close());

const STATE = {
  at: '2026-11-26T12:00:00.000Z',
  engines: [
    { name: 'postgres', status: 'ok', version: '18.1' },
    { name: 'clickhouse', status: 'failed', version: null },
  ],
  versions: { service: '0.1.0', node: '20.0.0' },
  time_zones: { release: '2024a', is_old: true },
  consumers: [{ name: 'player-fold', events_behind: 1_000 }],
  queues: [
    { name: 'messages', items: 10_000, oldest_at: '2026-11-26T11:00:00.000Z' },
    { name: 'webhooks', items: null, oldest_at: null },
  ],
  jobs_given_up: [
    {
      task: 'refresh-segment',
      attempts: 5,
      last_error: HOSTILE.script,
      created_at: '2026-11-26T10:00:00.000Z',
      given_up_at: '2026-11-26T11:00:00.000Z',
    },
  ],
  last_reconcile: { ended_at: '2026-11-26T04:00:00.000Z', differences: 2 },
};

test('shows that engines answer and nothing waits, and goes stale when the service does not answer', async () => {
  // Its clock is that of all pages of the browser.
  const page = await console_.open('system', { is_private: true });
  await page.getByText('Answers').first().waitFor();
  expect(await page.getByText('Does not answer').count()).toBe(0);
  await page.getByRole('row', { name: 'Totals of players' }).waitFor();
  await page.getByText('Not yet.').waitFor();
  await page.clock.install();
  await page.reload();
  await page.getByText('Answers').first().waitFor();
  await page.route('**/v1/system', (route) => route.abort());
  await becomesOld(page);
  await page.getByText('Answers').first().waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
});

test('says what is wrong, in light and dark and a narrow window', async () => {
  const page = await console_.open('overview', { width: 400 });
  await page.route('**/v1/system', (route) => route.fulfill({ json: { data: STATE } }));
  await goTo(page, 'system');
  await page.getByText('Does not answer').waitFor();
  await page.getByRole('row', { name: 'Totals of players up to 1,000' }).waitFor();
  await page.getByRole('row', { name: 'Messages to send 10,000 or more' }).waitFor();
  await page.getByRole('row', { name: 'Webhooks to call Not known now' }).waitFor();
  await page.getByText('2 differences').waitFor();
  await page.getByText('May be older than a year: update the service').waitFor();
  await page.getByText(HOSTILE.script).waitFor();
  expect(await page.title()).toBe('System · Console');
  expect(await faultsInBothThemes(page)).toEqual([]);
  expect(await overflows(page)).toBe(false);
});

test('is for admins, and an error can be tried again', async () => {
  const editor = await openAs(console_, 'editor', 'system');
  await editor.getByText('The state of the system is for administrators').waitFor();
  const page = await console_.open('overview');
  const error = { error: { code: 'SERVICE_UNAVAILABLE', message: 'not now', details: {} } };
  await page.route('**/v1/system', (route) => route.fulfill({ status: 503, json: error }));
  await page.getByRole('link', { name: 'System' }).click();
  await page.getByRole('alert').getByText('not now').waitFor({ timeout: 30_000 });
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Answers').first().waitFor();
});
