import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import { messagingClient, type Body, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import {
  accessibilityFaults,
  faultsInBothThemes,
  openConsole,
  show,
  type ConsoleBrowser,
} from './browser.ts';
import { HOSTILE, openAs, overflows } from './members.ts';

let console_: ConsoleBrowser;
let client: MessagingClient;
let provider_id: string;
let template_id: string;
beforeAll(async () => {
  console_ = await openConsole();
  client = messagingClient(console_.service);
  provider_id = await client.provider({ name: 'sandbox' });
  template_id = await client.template({ name: 'the template' });
});
afterAll(() => console_?.close());
beforeEach(async () => {
  await console_.service.platform.postgres
    .service`update campaigns set deleted_at = now() where tenant_id = ${console_.service.tenant_id}`;
});

/** A campaign to players, of whom some cannot be reached. */
async function campaign(rest: Body = {}, players?: readonly string[]): Promise<string> {
  const segment_id = await client.segment(players ?? (await client.players(3)));
  return client.campaign({ segment_id, template_id, provider_id, ...rest });
}
async function sent(rest: Body = {}, players?: readonly string[]): Promise<string> {
  const id = await campaign(rest, players);
  await client.send(id);
  await client.reaches(id, 'sent');
  return id;
}
const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const link = (page: Page, name: string) => page.getByRole('link', { name });
const fact = (page: Page, name: string) =>
  page.locator('dl > div', { has: page.getByText(name, { exact: true }) }).locator('dd');
const stored = async (id: string) => (await client.api('GET', `/v1/campaigns/${id}`)).data;

test('an A/B campaign, from nothing to its report', async () => {
  const players = await client.players(80);
  const [excluded = '', banned = ''] = players;
  await client.event(excluded, 'self_exclusion_set');
  await client.api('PATCH', `/v1/players/${banned}`, { status: 'banned' });
  const segment = await client.segment(players);
  const { data } = await client.api('GET', `/v1/segments/${segment}`);
  const [short, long] = [await client.template({ name: 'short' }), await client.template({ name: 'long' })];

  const page = await console_.open('campaigns');
  await button(page, 'New campaign').click();
  await field(page, 'Name').fill('Spring test');
  await field(page, 'Segment').selectOption({ label: String(data['name']) });
  await button(page, 'Create draft').click();
  await field(page, 'Goal event').fill('login');
  await field(page, 'Attribution window (days)').fill('3');
  for (const [name, label] of [
    ['A', 'short'],
    ['B', 'long'],
  ] as const) {
    await field(page, 'Name of the variant').fill(name);
    await page.getByRole('region', { name: 'Variants' }).getByLabel('Template').selectOption({ label });
    await button(page, 'Add the variant').click();
    await button(page, `Remove ${name}`).waitFor();
    // The form is emptied when everything was asked again, which may be later.
    await expect.poll(() => field(page, 'Name of the variant').inputValue()).toBe('');
  }
  // Each is shown as a player gets it, and can be tried out.
  await page.getByText('The weights sum to 100.').waitFor();
  await expect.poll(() => page.getByLabel('Weight of A in percent').inputValue()).toBe('50');
  await page.getByLabel('Weight of A in percent').fill('60');
  await page.getByText('The weights sum to 110; make it 100.').waitFor();
  expect(await button(page, 'Save the weights').isDisabled()).toBe(true);
  await button(page, 'Divide equally').click();
  await page.getByRole('article', { name: 'B' }).locator('iframe').waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await button(page, 'Send a test of A').click();
  const trial = page.getByRole('dialog', { name: 'Send a test of “short”' });
  await trial.getByLabel('To').fill('me@example.com');
  await trial.getByRole('button', { name: 'Send the test' }).click();
  await trial.getByText('Sent to me@example.com').waitFor();
  await trial.getByRole('button', { name: 'Close' }).last().click();
  await button(page, 'Save and go on').click();
  await field(page, 'When it is sent').waitFor();
  await button(page, 'Save and go on').click();
  await expect.poll(() => fact(page, 'Will get it').textContent(), { timeout: 20_000 }).toBe('78');
  await page.getByText('Excluded themselves from gambling').waitFor();
  await page.getByText('Banned by you').waitFor();
  const id = /campaigns\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
  expect(await stored(id)).toMatchObject({
    status: 'draft',
    goal_event: 'login',
    goal_attribution_days: 3,
  });

  await button(page, 'Send now').click();
  const dialog = page.getByRole('dialog', { name: 'Send “Spring test”' });
  await dialog.getByRole('button', { name: 'Send to 78 players' }).click();
  await client.reaches(id, 'sent');
  const rows = await client.recipients(id);
  const of = (variant: string) => rows.filter((row) => row.template_id === variant && row.status === 'sent');
  expect(of(short).length + of(long).length).toBe(78);
  const messages = await client.messages(provider_id);
  const addresses = new Set(messages.map(({ recipient }) => recipient));
  for (const player of [excluded, banned]) expect(addresses.has(`${player}@example.com`)).toBe(false);
  // All of one variant come back, and none of the other.
  for (const { player_id } of of(short)) await client.event(player_id, 'login', { session_id: player_id });

  await page.getByText('Funnel').first().waitFor();
  await page.getByRole('row', { name: /^In the audience 80/ }).waitFor();
  await page.getByRole('row', { name: /^Sent 78/ }).waitFor();
  await waitUntilCaughtUp(console_.service.platform, 60_000);
  await page.reload();
  await page.getByText('A is better than B', { exact: false }).waitFor();
  await page.getByRole('slider', { name: /^Sent:/ }).waitFor();
  await button(page, 'As table').click();
  await page.getByRole('cell', { name: '78', exact: true }).last().waitFor();
  await link(page, 'Not sent').click();
  await page.getByRole('row', { name: /Excluded themselves from gambling, .* 1/ }).waitFor();
  await link(page, 'Recipients').click();
  await field(page, 'Show').selectOption('SKIPPED_BANNED');
  await page
    .getByRole('gridcell', { name: `Banned ${banned.slice(0, 1)}•••@example.com …${banned.slice(-6)}` })
    .waitFor();
  await expect.poll(() => page.getByRole('grid').getByRole('row').count()).toBe(2);
  await button(page, 'Duplicate').click();
  await page.getByRole('heading', { level: 1, name: 'Copy of Spring test' }).waitFor();
  await link(page, '2 Content').click();
  await button(page, 'Remove B').waitFor();
});

describe('sending', () => {
  test('by a double click sends once', async () => {
    const [player = ''] = await client.players(1);
    const id = await campaign({ name: 'once' }, [player]);
    const page = await console_.open(`campaigns/${id}?step=review`);
    const keys: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/send')) keys.push(request.headers()['idempotency-key']);
    });
    await button(page, 'Send now').click();
    await button(page, 'Send to 1 player').dblclick();
    await client.reaches(id, 'sent');
    await page.getByText('Funnel').first().waitFor();
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    const got = (await client.messages(provider_id)).filter(
      ({ recipient }) => recipient === `${player}@example.com`,
    );
    expect(got).toHaveLength(1);
  });

  test('an attempt whose answer is lost is repeated under the same key', async () => {
    const [player = ''] = await client.players(1);
    const id = await campaign({ name: 'lost answer' }, [player]);
    const page = await console_.open(`campaigns/${id}?step=review`);
    const keys: (string | undefined)[] = [];
    await page.route('**/send', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    // The page must not find out by itself that it was sent.
    await page.route(`**/v1/campaigns/${id}`, (route) =>
      keys.length === 1 ? new Promise(() => undefined) : route.continue(),
    );
    await button(page, 'Send now').click();
    await button(page, 'Send to 1 player').click();
    await page.getByRole('dialog').getByText('UNREACHABLE').waitFor();
    await button(page, 'Send to 1 player').click();
    await expect.poll(() => keys.length).toBe(2);
    expect(new Set(keys).size).toBe(1);
    await client.reaches(id, 'sent');
    const got = (await client.messages(provider_id)).filter(
      ({ recipient }) => recipient === `${player}@example.com`,
    );
    expect(got).toHaveLength(1);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('to more than 10,000 players asks for the number, estimated until every member is asked', async () => {
    const id = await campaign({ name: 'many' }, await client.players(12_000));
    const page = await console_.open(`campaigns/${id}?step=review`);
    await page.getByText(/Estimated from/).waitFor();
    await button(page, 'Count every member').click();
    await page.getByText('Every member was counted.').waitFor();
    expect(await fact(page, 'Will get it').textContent()).toBe('12,000');
    await button(page, 'Send now').click();
    const dialog = page.getByRole('dialog', { name: 'Send “many”' });
    const act = dialog.getByRole('button', { name: 'Send to 12,000 players' });
    await act.waitFor();
    expect(await act.isDisabled()).toBe(true);
    await dialog.getByLabel('Type 12,000 to confirm').fill('12,00');
    expect(await act.isDisabled()).toBe(true);
    await dialog.getByLabel('Type 12,000 to confirm').fill('12000');
    expect(await act.isDisabled()).toBe(false);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await stored(id)).toMatchObject({ status: 'draft' });
  });

  test('is not offered while something is missing, and says what', async () => {
    const id = await client.campaign({ name: 'empty' });
    const page = await console_.open(`campaigns/${id}?step=review`);
    await page.getByText('Choose a segment: without one there are no recipients.').waitFor();
    await page.getByText('Choose a template, or add variants.').waitFor();
    expect(await button(page, 'Send now').isDisabled()).toBe(true);
    await page.getByText('Nobody would get it.').waitFor();
    expect(await page.getByText('Every member can be reached.').count()).toBe(0);
  });
});

describe('the editor', () => {
  test('schedules in the chosen zone, and takes it back', async () => {
    const id = await campaign({ name: 'timed' });
    const page = await console_.open(`campaigns/${id}?step=time`);
    await field(page, 'When it is sent').selectOption('later');
    await field(page, 'Time in UTC').fill('2031-03-30T09:30');
    await button(page, 'Save and go on').click();
    await page.getByText(/Scheduled$/).waitFor();
    expect(await stored(id)).toMatchObject({
      status: 'scheduled',
      schedule_at: '2031-03-30T09:30:00.000Z',
    });
    await link(page, '3 Time').click();
    await field(page, 'When it is sent').selectOption('now');
    await button(page, 'Save and go on').click();
    await expect.poll(async () => (await stored(id))['status']).toBe('draft');
  });

  test('keeps what is typed across its steps, and asks before it is left', async () => {
    const id = await campaign({ name: 'typed' });
    const page = await console_.open(`campaigns/${id}`);
    await field(page, 'Name').fill('typed anew');
    await link(page, '2 Content').click();
    await field(page, 'Goal event').fill('custom_goal');
    await link(page, '4 Review').click();
    await page.getByText('Save your changes first.').waitFor();
    expect(await button(page, 'Send now').isDisabled()).toBe(true);
    await page.goBack();
    expect(await field(page, 'Goal event').inputValue()).toBe('custom_goal');
    await link(page, 'Templates').click();
    const asked = page.getByRole('dialog', { name: 'Leave without saving?' });
    await asked.getByRole('button', { name: 'Stay' }).click();
    await link(page, '1 Audience').click();
    expect(await field(page, 'Name').inputValue()).toBe('typed anew');
    await button(page, 'Save and go on').click();
    await expect.poll(async () => (await stored(id))['name']).toBe('typed anew');
    // The next step is shown once the page itself knows that it is saved.
    await field(page, 'Goal event').waitFor();
    expect(await stored(id)).toMatchObject({ goal_event: 'custom_goal' });
    await link(page, 'Templates').click();
    await page.getByRole('heading', { name: 'Templates' }).waitFor();
  });

  test('of two who change the same, the second one is asked', async () => {
    const id = await campaign({ name: 'contested' });
    const page = await console_.open(`campaigns/${id}`);
    await field(page, 'Name').fill('mine');
    await client.api('PATCH', `/v1/campaigns/${id}`, { name: 'theirs' });
    await button(page, 'Save and go on').click();
    await page.getByText('Somebody else has saved this since you began', { exact: false }).waitFor();
    await button(page, 'Discard mine').click();
    await expect.poll(() => field(page, 'Name').inputValue()).toBe('theirs');
    expect(await stored(id)).toMatchObject({ name: 'theirs' });
  });

  test('says at the field what the server refuses', async () => {
    const page = await console_.open('campaigns/new');
    await field(page, 'Name').fill('triggered');
    await field(page, 'Sent').selectOption('triggered');
    await field(page, 'Event').fill('no_such_event');
    await button(page, 'Create draft').click();
    await page
      .locator('[role="alert"]', { hasText: 'must be a name of the event catalogue' })
      .last()
      .waitFor();
    expect(await field(page, 'Event').getAttribute('aria-invalid')).toBe('true');
    await field(page, 'Event').fill('login');
    await button(page, 'Create draft').click();
    await page.getByRole('heading', { name: 'triggered' }).waitFor();
  });

  test('cancels and deletes after it has asked', async () => {
    const id = await campaign({ name: 'unwanted' });
    const page = await console_.open(`campaigns/${id}`);
    await button(page, 'Cancel the campaign').click();
    const dialog = page.getByRole('dialog', { name: 'Cancel “unwanted”?' });
    await dialog.getByRole('button', { name: 'Not now' }).click();
    expect(await stored(id)).toMatchObject({ status: 'draft' });
    await button(page, 'Cancel the campaign').click();
    await dialog.getByRole('button', { name: 'Cancel the campaign' }).click();
    await page.getByText(/Cancelled$/).waitFor();
    await link(page, 'Audit log').click();
    const { owner } = console_.service;
    const cancelled = new RegExp(`${owner} Cancelled .*status: "draft" → "cancelled"`);
    await page.getByRole('row', { name: cancelled }).waitFor();
    await page.getByRole('row', { name: new RegExp(`${owner} Created .*: — → `) }).waitFor();
    const other = await campaign({ name: 'superfluous' });
    await page.goto(`${console_.service.base_url}/console/campaigns/${other}`);
    await button(page, 'Delete').click();
    await button(page, 'Delete the campaign').click();
    await page.waitForURL(/\/console\/campaigns(\?|$)/);
    expect((await stored(other))['deleted_at']).not.toBeNull();
  });
});

describe('the calendar', () => {
  test('shows a campaign on its day, by its address, and opens it', async () => {
    const id = await campaign({ name: 'on a day', schedule_at: '2031-05-17T08:00:00Z' });
    const page = await console_.open('campaigns?view=calendar&month=2031-04');
    await page.getByText('Nothing is sent in this month').waitFor();
    await link(page, 'Month after').click();
    await page.getByRole('heading', { name: 'May 2031', exact: true }).waitFor();
    const day = page.getByRole('listitem').filter({ has: page.locator('time[datetime="2031-05-17"]') });
    await day.getByText('08:00').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await day.getByRole('link', { name: 'on a day (Scheduled)' }).click();
    await page.waitForURL(`**/campaigns/${id}**`);
  });
});

describe('the list', () => {
  test('says what a campaign is when there is none, and filters by its address', async () => {
    const page = await console_.open('campaigns');
    await page.getByText('No campaigns yet').waitFor();
    await campaign({ name: 'a draft' });
    const filtered = await console_.open('campaigns?status=sent');
    await filtered.getByText('No campaign matches').waitFor();
    await filtered.getByLabel('Status').selectOption('draft');
    await filtered.getByText('a draft').waitFor();
    await filtered.getByRole('row').nth(1).focus();
    await filtered.keyboard.press('e');
    await filtered.getByRole('heading', { name: 'a draft' }).waitFor();
  });
});

describe('when the API fails', () => {
  test.each([
    ['an error', 500, '{"error":{"code":"INTERNAL","message":"broken","details":{}}}', 'INTERNAL'],
    ['nonsense', 200, '<html>', 'ANSWER_UNREADABLE'],
  ])('%s in the report leaves the rest', async (_what, status, text, code) => {
    const id = await sent({ name: 'reported' });
    const page = await console_.open('campaigns');
    // The headline asks for the figures in every tab, so they fail from the beginning.
    await page.route('**/stats', (route) =>
      route.fulfill({ status, body: text, contentType: 'application/json' }),
    );
    await show(page, `campaigns/${id}?tab=recipients`);
    await page.getByRole('grid').waitFor();
    await link(page, 'Results').click();
    await page.getByRole('alert').getByText(code).waitFor();
    await page.getByRole('region', { name: 'Variants' }).waitFor();
    await page.unrouteAll();
    await button(page, 'Try again').click();
    await page.getByRole('row', { name: /^Sent 3/ }).waitFor();
  });

  test('a slow count of the audience can be stopped, and ends at the server, too', async () => {
    const id = await campaign({ name: 'slow' }, await client.players(12_000));
    const page = await console_.open(`campaigns/${id}?step=review`);
    await page.getByText(/Estimated from/).waitFor();
    const aborted = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/audience'));
    await page.route('**/audience', () => undefined);
    await button(page, 'Count every member').click();
    await button(page, 'Stop counting').click();
    await aborted;
    await page.getByText(/Estimated from/).waitFor();
    await button(page, 'Count every member').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('an empty audience and an empty report are said in words', async () => {
    const id = await sent({ name: 'nobody' }, []);
    const page = await console_.open(`campaigns/${id}`);
    await page.getByText('Nothing was sent yet').waitFor();
    await link(page, 'Not sent').click();
    await page.getByText('Every message was sent').waitFor();
    await link(page, 'Recipients').click();
    await page.getByText('No recipients').waitFor();
  });
});

test('a viewer sees whom it would reach, and can neither change nor send it', async () => {
  const id = await campaign({ name: 'read only' });
  const page = await openAs(console_, 'viewer', `campaigns/${id}?step=review`);
  await expect.poll(() => fact(page, 'Will get it').textContent()).toBe('3');
  for (const name of ['Send now', 'Cancel the campaign', 'Delete', 'Save and go on', 'Add the variant']) {
    expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
  }
  await link(page, '1 Audience').click();
  expect(await field(page, 'Name').isDisabled()).toBe(true);
  await link(page, 'Audit log').click();
  await page.getByText('The audit log is for compliance officers').waitFor();
});

test('hostile names are shown as what they are', async () => {
  const page = await console_.open('campaigns', { width: 400 });
  for (const name of Object.values(HOSTILE)) {
    const template = await client.template({ name, body: 'y'.repeat(10_000) });
    const draft = await campaign({ name, template_id: template, schedule_at: '2032-01-10T00:00:00Z' });
    await client.api('POST', `/v1/campaigns/${draft}/variants`, { name, template_id: template, weight: 1 });
    const done = await sent({ name });
    for (const path of [
      `campaigns/${draft}`,
      `campaigns/${draft}?step=content`,
      `campaigns/${draft}?step=review`,
      `campaigns/${done}`,
    ]) {
      await show(page, path);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect(await page.title()).toBe(`${name} · Console`);
      expect(await page.locator('main script, main img').count()).toBe(0);
      expect(await overflows(page)).toBe(false);
    }
  }
  for (const path of ['campaigns', 'campaigns?view=calendar&month=2032-01']) {
    await show(page, path);
    await page.getByText(HOSTILE.script).first().waitFor();
    expect(await page.title()).toBe('Campaigns · Console');
  }
});

test('a segment is found by its name among more than a page has', async () => {
  const { data } = await client.api('GET', `/v1/segments/${await client.segment([])}`);
  const page = await console_.open('campaigns', { width: 390 });
  await page.route('**/v1/segments?*', async (route) => {
    const is_last = new URL(route.request().url()).searchParams.has('cursor');
    const rows = Array.from({ length: 200 }, (_none, n) => ({
      ...data,
      id: `00000000-0000-4000-8000-${is_last ? 1 : 0}${String(n).padStart(11, '0')}`,
      name: `${is_last ? 'Late' : 'Early'} ${n} ${HOSTILE.long}`,
    }));
    await route.fulfill({ json: { data: rows, meta: { next_cursor: is_last ? null : 'more' } } });
  });
  await show(page, 'campaigns/new');
  await page.getByRole('searchbox', { name: 'Search: Segment' }).fill('199 late');
  await expect.poll(() => field(page, 'Segment').locator('option').count()).toBe(2);
  await field(page, 'Segment').selectOption({ index: 1 });
  // What is chosen stays, whatever is searched then.
  await page.getByRole('searchbox', { name: 'Search: Segment' }).fill('nothing has this name');
  await page.getByText('Nothing matches').waitFor();
  expect(await field(page, 'Segment').locator('option:checked').textContent()).toContain('Late 199');
  expect(await overflows(page)).toBe(false);
  expect(await accessibilityFaults(page)).toEqual([]);
});

describe('in light and dark axe finds nothing', () => {
  test('on the list, the editor’s steps, the dialogs and the report', async () => {
    const [draft, done] = [await campaign({ name: 'draft' }), await sent({ goal_event: 'login' })];
    const paths = [
      'campaigns',
      'campaigns/new',
      `campaigns/${draft}`,
      `campaigns/${draft}?step=content`,
      `campaigns/${draft}?step=time`,
      `campaigns/${draft}?step=review`,
      `campaigns/${draft}?step=audit`,
      `campaigns/${done}`,
      `campaigns/${done}?tab=reasons`,
      `campaigns/${done}?tab=recipients`,
      `campaigns/${done}?tab=audit`,
    ];
    const page = await console_.open('campaigns');
    for (const path of paths) {
      await show(page, path);
      expect([path, await faultsInBothThemes(page)]).toEqual([path, []]);
    }
    await show(page, `campaigns/${draft}?step=review`);
    await button(page, 'Send now').click();
    await button(page, 'Send to 3 players').waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await button(page, 'Cancel the campaign').click();
    expect(await faultsInBothThemes(page)).toEqual([]);
  });
});
