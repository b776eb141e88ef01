import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../engines/http-client.ts';
import { faultsInBothThemes, openConsole, show, type ConsoleBrowser } from './browser.ts';
import { openAs, overflows } from './members.ts';

// Reports: what of a dashboard is sent to whom, and when.

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_?.close());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const API = { method: 'POST' } as const;

async function make(path: string, body: object): Promise<string> {
  const { base_url, session_token } = console_.service;
  const { status, text, data } = await call(base_url + path, session_token, { ...API, body });
  expect(status, text).toBe(201);
  return String(data['id']);
}

test('a report is written, changed over another change, read by viewers, and deleted', async () => {
  await make('/v1/dashboards', { name: 'Monday <b>' });
  const page = await console_.open('insights');
  await page.getByRole('link', { name: /What arrives by itself/ }).click();
  await page.getByText('No report yet').waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
  await page.getByRole('link', { name: 'New report' }).click();
  expect(await button(page, 'Create the report').isDisabled()).toBe(true);
  await page.getByLabel('Name', { exact: true }).fill('Figures <i>');
  await page.getByLabel('Dashboard', { exact: true }).selectOption({ label: 'Monday <b>' });
  await page.getByLabel('Weekday').selectOption({ label: 'Tuesday' });
  await page.getByLabel('Hour').fill('x');
  await page.getByText('must be a whole number').waitFor();
  await page.getByLabel('Hour').fill('6');
  // What it would say is asked before anybody receives it.
  await button(page, 'What would it say now?').click();
  const preview = page.getByRole('region', { name: 'The report of now' });
  await preview.getByText('Report: Figures <i>').waitFor();
  await preview.getByRole('group', { name: 'Message' }).getByText('Monday <b>').waitFor();
  await page.getByLabel('Address of receiver 1').fill('no address');
  await button(page, 'Add a receiver').click();
  await page.getByLabel('Receiver 2 by').selectOption({ label: 'Signed webhook' });
  await page.getByLabel('URL of receiver 2').fill('https://operator.example/reports');
  await button(page, 'Create the report').click();
  // What the API refuses is said at its field.
  await page.getByText('must be an email address').first().waitFor();
  await page.getByLabel('Address of receiver 1').fill('owner@operator.example');
  expect(await faultsInBothThemes(page)).toEqual([]);
  await button(page, 'Create the report').click();
  await page.getByText('Nothing was sent yet.').waitFor();
  const id = new URL(page.url()).searchParams.get('report') ?? '';

  // Somebody else changes it meanwhile.
  await page.getByLabel('Hour').fill('7');
  const { base_url, session_token } = console_.service;
  const changed = await call(`${base_url}/v1/reports/${id}`, session_token, {
    method: 'PATCH',
    body: { name: 'Figures of others' },
  });
  expect(changed.status, changed.text).toBe(200);
  await button(page, 'Save').click();
  await page.getByRole('alert').getByRole('button').last().click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await show(page, 'insights/reports');
  const row = page.getByRole('row', { name: /Figures of others/ });
  await row.getByText('Every Tuesday at 7:00').waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);

  const viewer = await openAs(console_, 'viewer', `insights/reports?report=${id}`);
  await viewer.getByRole('heading', { name: 'Figures of others' }).waitFor();
  expect(await viewer.getByLabel('Hour').isDisabled()).toBe(true);
  expect(await viewer.getByRole('button', { name: /^(Save|Delete)/ }).count()).toBe(0);

  const narrow = await console_.open(`insights/reports?report=${id}`, { width: 390 });
  await narrow.getByLabel('Hour').waitFor();
  expect(await overflows(narrow)).toBe(false);

  await show(page, `insights/reports?report=${id}`);
  await page.getByLabel('Sending').selectOption({ label: 'Off' });
  await button(page, 'Save').click();
  // While it is saved, its fields cannot be changed; then there is nothing to save.
  await expect
    .poll(async () => [await page.getByLabel('Sending').isEnabled(), await button(page, 'Save').isDisabled()])
    .toEqual([true, true]);
  await show(page, 'insights/reports');
  await row.getByText('Off').waitFor();
  await row.click();
  await button(page, 'Delete the report').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the report' }).click();
  await page.getByText('No report yet').waitFor();
});

test('what was sent, and why it could not be made, is said', async () => {
  const { service } = console_;
  const dashboard_id = await make('/v1/dashboards', { name: 'Board' });
  const id = await make('/v1/reports', {
    name: 'Sent',
    dashboard_id,
    schedule: { every: 'month', day: 31, hour: 0 },
    receivers: [{ kind: 'webhook', url: 'https://operator.example/reports' }],
  });
  const { tenant_id, project_id } = service;
  await service.platform.postgres.service`
    update reports set next_at = 'infinity', failures = 2, error_code = 'RATE_LIMITED', failed_at = now(),
      error_message = 'the seconds are used'
    where report_id = ${id}`;
  await service.platform.postgres.service`
    insert into insight_notices (tenant_id, project_id, notice_id, owner_id, receiver, lane, content, status, next_at, error,
      created_at, completed_at)
    values (${tenant_id}, ${project_id}, gen_random_uuid(), ${id},
      '{"kind": "webhook", "url": "https://operator.example/reports"}', 'operator.example', '{}', 'failed', now(),
      'WEBHOOK_HTTP_ERROR', now(), now())`;
  const page = await console_.open(`insights/reports?report=${id}`);
  await page
    .getByText('It could not be made: the seconds are used. It is tried again (failed 2 times).')
    .waitFor();
  const sent = page.getByRole('region', { name: 'What was sent' });
  await sent.getByText('WEBHOOK_HTTP_ERROR').waitFor();
  expect(await page.getByLabel('Day of the month').inputValue()).toBe('31');
  expect(await faultsInBothThemes(page)).toEqual([]);
});
