import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { counted } from '../engines/service.ts';
import { faultsInBothThemes, openConsole, show, type ConsoleBrowser } from './browser.ts';
import { newPlayer } from './events/event-client.ts';
import { openAs, overflows } from './members.ts';

// Questions that are saved, and the pages that show them together.

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_?.close());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const tile = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

async function saveAs(page: Page, name: string): Promise<void> {
  await button(page, 'Save').click();
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.waitForURL(/saved=/);
}

test('a question is saved, changed and shown on a dashboard with one range for all', async () => {
  const page = await console_.open('insights');
  await page.getByRole('link', { name: /Who went quiet/ }).click();
  await saveAs(page, 'Quiet <b>ones</b>');
  await show(page, 'insights');
  await page.getByRole('link', { name: /What do bonuses cost/ }).click();
  await saveAs(page, 'Costs');

  // The one that was opened is changed; it keeps its name.
  await page.getByLabel('Bonuses by').selectOption('campaign');
  await button(page, 'Save the change of Costs').click();
  await button(page, 'Save the change of Costs').waitFor({ state: 'detached' });
  await show(page, 'insights');
  await page.getByRole('region', { name: 'Saved insights' }).getByRole('link', { name: 'Costs' }).click();
  expect(await page.getByLabel('Bonuses by').inputValue()).toBe('campaign');

  await show(page, 'insights');
  await button(page, 'New dashboard').click();
  await page.getByRole('dialog').getByLabel('Name').fill('Monday');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Nothing is on it yet' }).waitFor();
  for (const name of ['Quiet <b>ones</b>', 'Costs']) {
    await button(page, 'Add an insight').click();
    await page.getByRole('dialog').getByLabel('Insight').selectOption({ label: name });
    await page.getByRole('dialog').getByRole('button', { name: 'Add an insight' }).click();
    await tile(page, name).waitFor();
  }
  await button(page, 'Make Costs wide').click();
  await button(page, 'Make Costs narrow').waitFor();
  await button(page, 'Move Costs up').click();
  await button(page, 'Move Quiet <b>ones</b> up').waitFor();
  const asked = page.waitForRequest(
    (request) =>
      request.url().endsWith('/v1/insights/query') && request.postData()?.includes('"days":7') === true,
  );
  await page.getByLabel('Range of all').selectOption({ label: 'The last 7 days' });
  await asked;
  await page.reload();
  await tile(page, 'Costs').waitFor();
  expect(await page.getByLabel('Range of all').inputValue()).toBe('7');
  expect(await faultsInBothThemes(page)).toEqual([]);

  // What a dashboard shows is not deleted.
  await show(page, 'insights');
  await button(page, 'Delete Costs').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete Costs' }).click();
  await page.getByRole('alert').getByText('CONFLICT').waitFor();
  await button(page, 'Not now').click();

  const viewer = await openAs(console_, 'viewer', 'insights');
  await viewer.getByRole('link', { name: 'Monday' }).click();
  await tile(viewer, 'Costs').waitFor();
  expect(await viewer.getByRole('button', { name: /^(Add|Remove|Delete|Make|Move)/ }).count()).toBe(0);
  expect(await viewer.getByLabel('Range of all').isDisabled()).toBe(true);

  const narrow = await console_.open('insights', { width: 390 });
  await narrow.getByRole('link', { name: 'Monday' }).click();
  await tile(narrow, 'Costs').waitFor();
  expect(await overflows(narrow)).toBe(false);

  await show(page, 'insights');
  await page.getByRole('link', { name: 'Monday' }).click();
  await button(page, 'Remove Costs').click();
  await tile(page, 'Costs').waitFor({ state: 'detached' });
  await button(page, 'Delete the dashboard').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the dashboard' }).click();
  await page.getByText('No dashboard yet', { exact: false }).waitFor();
});

test('figures and players are exported as files, addresses with a reason alone', async () => {
  const { service } = console_;
  await newPlayer(service, service, { external_id: '=ann' });
  await counted(service.platform);
  const query = {
    kind: 'trend',
    range: { last: { days: 7 } },
    interval: 'day',
    series: [{ metric: 'new_players' }],
  };
  const page = await console_.open(`insights?q=${encodeURIComponent(JSON.stringify(query))}`);
  await button(page, 'Export').click();
  expect(await page.getByLabel('Why addresses are needed').count()).toBe(0);
  await button(page, 'Make the file').click();
  const [figures] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download the file (rows: 7)' }).click(),
  ]);
  expect(figures.suggestedFilename()).toMatch(/^insights-[0-9a-f-]{36}\.csv$/);
  expect(await readFile(await figures.path(), 'utf8')).toContain('new_players');

  await show(
    page,
    `insights?q=${encodeURIComponent(JSON.stringify(query))}&cell=${encodeURIComponent('{"series":0}')}`,
  );
  await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click();
  await page.getByLabel('Why addresses are needed').fill('a letter by post');
  await button(page, 'Make the file').click();
  const [players] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download the file (rows: 1)' }).click(),
  ]);
  expect(await readFile(await players.path(), 'utf8')).toContain('email');
});
