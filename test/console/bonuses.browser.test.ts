import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { grantsFixture, type GrantsFixture } from '../bonuses/grants/grants-fixture.ts';
import {
  accessibilityFaults,
  faultsInBothThemes,
  openConsole,
  show,
  type ConsoleBrowser,
} from './browser.ts';
import { HOSTILE, openAs, overflows } from './members.ts';

let console_: ConsoleBrowser;
let on: GrantsFixture;
beforeAll(async () => {
  console_ = await openConsole();
  on = grantsFixture(console_.service);
});
afterAll(() => console_?.close());

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const fact = (page: Page, name: string) =>
  page.locator('dl > div', { has: page.getByText(name, { exact: true }) }).locator('dd');
/** What the owner has done, as the audit log shows it. */
const changed = (page: Page, what: string) =>
  page.getByRole('row', { name: new RegExp(`${console_.service.owner} ${what}`) });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });
const stored = async (id: string) => (await on.client.api('GET', `/v1/bonus-templates/${id}`)).data;
const idIn = (page: Page) => /[0-9a-f-]{36}/.exec(new URL(page.url()).pathname)?.[0] ?? '';

/** A player with an id of the operator's. */
async function player(external_id: string): Promise<string> {
  const id = await on.player();
  await on.sql`update players set external_id = ${external_id} where player_id = ${id}`;
  return id;
}

/** A grant of a new template to a player. */
async function granted(player_id: string, template: Record<string, unknown> = {}): Promise<string> {
  const { status, data, error } = await on.grant(await on.template(template), player_id);
  expect(status, JSON.stringify(error)).toBe(201);
  return data.id;
}

test('says what bonuses are when there are none, and leads to the first', async () => {
  const page = await console_.open('bonuses');
  await page.getByRole('heading', { name: 'No bonus templates yet' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.getByRole('link', { name: 'Grants' }).click();
  await page.getByRole('heading', { name: 'No bonuses granted yet' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.getByRole('link', { name: 'Templates' }).last().click();
  await button(page, 'New template').click();
  await page.getByRole('heading', { name: 'New template' }).waitFor();
});

describe('a template', () => {
  test('is made by keyboard and mouse, with its amounts to the digit', async () => {
    const page = await console_.open('bonuses/templates/new');
    await field(page, 'Name').fill('In wei');
    await field(page, 'Type').selectOption('free_spins');
    await field(page, 'Currency').selectOption('ETH');
    await field(page, 'Number of spins').fill('10');
    await field(page, 'Value of a spin (ETH)').fill('1234567.000000000000000001');
    await page.getByText('= 1,234,567.000000000000000001 ETH').waitFor();
    await field(page, 'Games, one per line').fill('book-of-x\nstarlight');
    await field(page, 'Wagering requirement (times)').fill('12.5');
    await field(page, 'Maximum winnings (ETH)').fill('0.0000000000000000001');
    await page.getByText('at most 18 digits after the point').waitFor();
    expect(await button(page, 'Create template').isDisabled()).toBe(true);
    await field(page, 'Maximum winnings (ETH)').fill('');
    await button(page, 'Create template').click();
    await page.getByRole('heading', { name: 'In wei' }).waitFor();
    const id = idIn(page);
    expect(await stored(id)).toMatchObject({
      type: 'free_spins',
      config: {
        count: 10,
        value_per_spin: '1234567000000000000000001',
        currency: 'ETH',
        eligible_games: ['book-of-x', 'starlight'],
      },
      wagering_requirement_multiplier: 12.5,
      max_win_cap: null,
    });
    await page.reload();
    await expect
      .poll(() => field(page, 'Value of a spin (ETH)').inputValue())
      .toBe('1234567.000000000000000001');
    await page.goto(`${console_.service.base_url}/console/bonuses?type=free_spins`);
    await page.getByText('12,345,670.00000000000000001 ETH').waitFor();
  });
});

describe('a template that two people change', () => {
  test('keeps what the other one has changed elsewhere in its config', async () => {
    const id = await on.template({
      name: 'shared',
      type: 'deposit_match',
      config: { match_percent: 50, cap_amount: 10_000, currency: 'EUR' },
    });
    const page = await console_.open(`bonuses/templates/${id}`);
    await expect.poll(() => field(page, 'Maximum bonus (EUR)').inputValue()).toBe('100.00');
    await field(page, 'Maximum bonus (EUR)').fill('250');
    await field(page, 'Name').fill('mine');
    await on.client.api('PATCH', `/v1/bonus-templates/${id}`, {
      name: 'theirs',
      config: { match_percent: 75, cap_amount: 20_000, currency: 'EUR' },
    });
    await save(page).click();
    await page.getByRole('row', { name: 'config.cap_amount 25000 20000' }).waitFor();
    await page.getByRole('row', { name: 'name "mine" "theirs"' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await stored(id)).toMatchObject({ name: 'theirs', config: { cap_amount: 20_000 } });
    await button(page, 'Save mine over it').click();
    await page.getByRole('heading', { name: 'mine', exact: true }).waitFor();
    expect(await stored(id)).toMatchObject({
      name: 'mine',
      config: { match_percent: 75, cap_amount: 25_000 },
    });
    expect(await fact(page, 'Version').textContent()).toBe('3');
    await page.getByRole('link', { name: 'Audit log' }).click();
    await changed(page, 'Changed .*name: "theirs" → "mine"').waitFor();
    await changed(page, 'Created .*: — → ').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('shows what the API refuses at its field, guards unsaved work, and is deleted by name', async () => {
    const page = await console_.open(`bonuses/templates/${await on.template({ name: 'refused' })}`);
    await field(page, 'Minimum odds').waitFor({ state: 'detached' });
    await field(page, 'Amount (EUR)').fill('0');
    await save(page).click();
    await page.getByRole('alert').getByText('BONUS_CONFIG_INVALID').waitFor();
    expect(await field(page, 'Amount (EUR)').getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('link', { name: 'Players' }).click();
    await button(page, 'Stay').click();
    expect(await field(page, 'Amount (EUR)').inputValue()).toBe('0');
    await field(page, 'Amount (EUR)').fill('5');
    await save(page).click();
    await expect.poll(() => save(page).isDisabled()).toBe(true);
    await button(page, 'Delete').click();
    const dialog = page.getByRole('dialog', { name: 'Delete the bonus template “refused”?' });
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete the template' }).click();
    await page.waitForURL(/\/console\/bonuses(\?|$)/);
  });
});

describe('grants', () => {
  test('are filtered by the address alone: player, status and template', async () => {
    const [ada, bob] = [await player('crm-ada'), await player('crm-bob')];
    const of_ada = await granted(ada, { name: 'for ada' });
    await granted(bob, { name: 'for bob' });
    const page = await console_.open('bonuses?tab=grants');
    await page.getByRole('gridcell', { name: 'crm-bob' }).waitFor();
    await page.getByRole('searchbox', { name: 'Player' }).fill('crm-ada');
    await button(page, 'crm-ada').click();
    await page.getByRole('gridcell', { name: 'crm-bob' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('player')).toBe(ada);
    await field(page, 'Status').selectOption('active');
    await page.getByRole('gridcell', { name: 'for ada' }).waitFor();
    const shared = page.url();
    await field(page, 'Status').selectOption('failed');
    await page.getByText('No grant matches').waitFor();
    await page.goto(shared);
    const row = page.getByRole('row').nth(1);
    await row.getByText('€10.00').waitFor();
    await row.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/bonuses/grants/${of_ada}**`);
  });

  test('show their state path with time and reason, what is wagered, and are cancelled by name', async () => {
    const eve = await player('crm-eve');
    const id = await granted(eve, { name: 'ten euros' });
    await on.sql`
      update bonus_grants set wagering_progress = 2500, progress_source = 'events' where grant_id = ${id}`;
    const page = await console_.open(`bonuses/grants/${id}`);
    const path = page.getByRole('region', { name: 'State path' });
    await path.getByText('Active', { exact: false }).waitFor();
    expect(await path.getByRole('listitem').count()).toBe(2);
    await page.getByText('€25.00 of €100.00 (25%)').waitFor();
    expect(await page.getByRole('progressbar', { name: '25% wagered' }).count()).toBe(1);
    expect(await fact(page, 'Still to wager').textContent()).toBe('€75.00');
    expect(await fact(page, 'Outcome').textContent()).toBe('It has the bonus');
    await button(page, 'Cancel the bonus').click();
    const dialog = page.getByRole('dialog', { name: 'Cancel the bonus of €10.00 of crm-eve?' });
    await dialog.getByText('from crm-eve').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByLabel('Reason').fill('granted by mistake');
    const [request] = await Promise.all([
      page.waitForRequest((one) => one.url().endsWith('/cancel')),
      dialog.getByRole('button', { name: 'Cancel the bonus' }).click(),
    ]);
    expect(request.headers()['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
    await path.getByText('Reason: granted by mistake').waitFor();
    expect(await path.getByRole('listitem').count()).toBe(3);
    expect(await button(page, 'Cancel the bonus').count()).toBe(0);
    expect((await on.get(id)).status).toBe('cancelled');
    await page.getByText('History').click();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('are made by hand once, whatever is clicked twice', async () => {
    const hand = await player('crm-hand');
    await on.template({
      name: 'a match',
      type: 'deposit_match',
      config: { match_percent: 50, cap_amount: 10_000, currency: 'EUR' },
      max_grants_per_player: 1,
    });
    const page = await console_.open('bonuses?tab=grants');
    await button(page, 'Grant a bonus').click();
    const dialog = page.getByRole('dialog', { name: 'Grant a bonus manually' });
    const act = dialog.getByRole('button', { name: 'Grant the bonus' });
    await dialog.getByLabel('Template').selectOption({ label: 'a match' });
    await dialog.getByRole('searchbox', { name: 'Player' }).fill('crm-hand');
    await dialog.getByRole('button', { name: 'crm-hand' }).click();
    expect(await act.isDisabled()).toBe(true);
    await dialog.getByLabel('Deposit (EUR)').fill('30.50');
    await dialog.getByText('crm-hand gets at most €100.00, at once.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const sent: string[] = [];
    page.on('request', (one) => {
      if (one.method() === 'POST' && one.url().endsWith('/v1/bonus-grants')) sent.push(one.url());
    });
    // Both before the page can show that it works.
    await act.evaluate((button) => {
      const { click } = button as unknown as { click: () => void };
      click.call(button);
      click.call(button);
    });
    await page.getByRole('heading', { name: 'Bonus of crm-hand' }).waitFor();
    await expect.poll(() => fact(page, 'Bonus').textContent()).toBe('€15.25');
    const { data } = await on.client.api('GET', `/v1/bonus-grants?player_id=${hand}`);
    expect(data).toHaveLength(1);
    expect(sent).toHaveLength(1);

    // The second one is refused by the template, and one to the excluded by the law: both are said in words.
    await page.goBack();
    await button(page, 'Grant a bonus').click();
    await dialog.getByLabel('Template').selectOption({ label: 'a match' });
    await dialog.getByRole('searchbox', { name: 'Player' }).fill('crm-hand');
    await dialog.getByRole('button', { name: 'crm-hand' }).click();
    await dialog.getByLabel('Deposit (EUR)').fill('10');
    await act.click();
    await dialog.getByText('as often as the template allows').waitFor();
    const excluded = await player('crm-excluded');
    await on.client.api('PATCH', `/v1/players/${excluded}`, { status: 'banned' });
    await dialog.getByRole('button', { name: 'Choose another' }).click();
    await dialog.getByRole('searchbox', { name: 'Player' }).fill('crm-excluded');
    await dialog.getByRole('button', { name: 'crm-excluded' }).click();
    await dialog.getByText('as often as the template allows').waitFor({ state: 'detached' });
    await act.click();
    await dialog.getByText('The player is banned.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

describe('a campaign', () => {
  test('is made, counted and issued within its budget, and says who got nothing and why', async () => {
    const players = await on.client.players(4);
    await on.client.api('PATCH', `/v1/players/${players[0] ?? ''}`, { status: 'banned' });
    const segment_id = await on.client.segment(players);
    const { data } = await on.client.api('GET', `/v1/segments/${segment_id}`);
    await on.template({ name: 'ten for all' });
    await on.template({
      name: 'of a deposit',
      type: 'deposit_match',
      config: { match_percent: 50, cap_amount: 10_000, currency: 'EUR' },
    });
    const page = await console_.open('bonuses?tab=campaigns');
    await page.getByRole('heading', { name: 'No bonus campaigns yet' }).waitFor();
    await button(page, 'New campaign').click();
    await field(page, 'Name').fill('Summer');
    await field(page, 'Bonus template').selectOption({ label: 'of a deposit' });
    await field(page, 'Fixed deposit for all (EUR)').fill('ten');
    // What does not belong to the other template is not asked for any more.
    await field(page, 'Bonus template').selectOption({ label: 'ten for all' });
    await field(page, 'Segment').selectOption({ label: String(data['name']) });
    await field(page, 'Budget (EUR)').fill('20.00');
    await button(page, 'Create draft').click();
    await page.getByRole('heading', { name: 'Summer' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const count = '**/issue?dry_run=true';
    await page.route(count, (route) =>
      route.fulfill({ status: 409, json: { error: { code: 'CONFLICT', message: 'not counted' } } }),
    );
    await button(page, 'Issue…').click();
    const dialog = page.getByRole('dialog', { name: 'Issue “Summer”?' });
    await dialog.getByText('not counted').waitFor();
    expect(await dialog.getByRole('button', { name: 'Grant 0 bonuses' }).isDisabled()).toBe(true);
    // It can be left, or tried again.
    expect(await dialog.getByRole('button', { name: 'Not now' }).isEnabled()).toBe(true);
    await page.unroute(count);
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByText('2 players get a bonus, for €20.00 in all.').waitFor();
    await dialog.getByText('The player is banned.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Grant 2 bonuses' }).click();
    await page.getByText('€20.00 of €20.00 (100%) is granted.').waitFor({ timeout: 40_000 });
    expect(await fact(page, 'Skipped').textContent()).toBe('2');
    await page.getByText('The budget or the number of bonuses was used up').waitFor();
    expect(await fact(page, 'Liability: still running').textContent()).toBe('€20.00');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'Its grants' }).click();
    await expect.poll(() => page.getByRole('gridcell', { name: 'ten for all' }).count()).toBe(2);
  });

  test('with a daily budget says who waits for the next day', async () => {
    const segment_id = await on.client.segment(await on.client.players(4));
    const { data: segment } = await on.client.api('GET', `/v1/segments/${segment_id}`);
    await on.template({ name: 'ten a day' });
    const page = await console_.open('bonuses/campaigns/new');
    await field(page, 'Name').fill('Slowly');
    await field(page, 'Bonus template').selectOption({ label: 'ten a day' });
    await field(page, 'Segment').selectOption({ label: String(segment['name']) });
    await field(page, 'Daily budget (EUR)').fill('10.00');
    await field(page, 'Pace of a day').selectOption({ label: 'As soon as the day begins' });
    await button(page, 'Create draft').click();
    await page.getByRole('heading', { name: 'Slowly' }).waitFor();
    await button(page, 'Issue…').click();
    const dialog = page.getByRole('dialog', { name: 'Issue “Slowly”?' });
    await dialog.getByRole('button', { name: 'Grant 4 bonuses' }).click();
    await page.getByText('Waits for its daily budget').waitFor({ timeout: 40_000 });
    await page.getByText(/\d members? goe?s? on from/).waitFor();
    expect(await fact(page, 'Daily budget').textContent()).toBe('€10.00 of €10.00');
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('that is being issued is paused, goes on and is cancelled, each by name', async () => {
    const segment_id = await on.client.segment(await on.client.players(40));
    const body = { name: 'Slow', template_id: await on.template(), segment_id, rate_per_second: 1 };
    const { data } = await on.client.api('POST', '/v1/bonus-campaigns', body);
    const id = String(data['id']);
    await on.client.api('POST', `/v1/bonus-campaigns/${id}/issue`);
    const status = async () => (await on.client.api('GET', `/v1/bonus-campaigns/${id}`)).data['status'];
    const page = await console_.open(`bonuses/campaigns/${id}`);
    for (const [name, title, reached] of [
      ['Pause', 'Pause “Slow”?', 'paused'],
      ['Resume', 'Resume “Slow”?', 'issuing'],
      ['Cancel the campaign', 'Cancel “Slow”?', 'cancelled'],
    ] as const) {
      await button(page, name).click();
      const dialog = page.getByRole('dialog', { name: title });
      await dialog.getByRole('button', { name, exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      await expect.poll(status).toBe(reached);
    }
    await expect.poll(() => fact(page, 'Status').textContent()).toContain('Cancelled');
    expect(await button(page, 'Resume').count()).toBe(0);
    await page.getByRole('link', { name: 'Audit log' }).click();
    await changed(page, '.*status: "paused" → "issuing"').waitFor();
    await changed(page, 'Created .*: — → ').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});

test('a viewer reads everything and changes nothing', async () => {
  const id = await granted(await player('crm-viewed'), { name: 'read only' });
  const page = await openAs(console_, 'viewer', `bonuses/grants/${id}`);
  await page.getByText('Your role is viewer').waitFor();
  expect(await button(page, 'Cancel the bonus').count()).toBe(0);
  await page.getByRole('link', { name: 'read only' }).click();
  await page.getByRole('heading', { name: 'read only' }).waitFor();
  expect(await field(page, 'Name').isDisabled()).toBe(true);
  for (const name of ['Save', 'Delete']) expect(await button(page, name).count()).toBe(0);
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('The audit log is for compliance officers').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Its grants' }).click();
  await page.getByRole('gridcell', { name: 'crm-viewed' }).waitFor();
  expect(await button(page, 'Grant a bonus').count()).toBe(0);
});

test('in light and dark axe finds nothing on the lists and the pages, in a narrow window, with hostile names', async () => {
  const names = Object.values(HOSTILE);
  const templates = await Promise.all(names.map((name) => on.template({ name })));
  const grants = await Promise.all(
    names.map(async (name, i) => {
      const { data } = await on.grant(templates[i] ?? '', await player(name));
      return data.id;
    }),
  );
  const page = await console_.open('bonuses', { width: 400 });
  const paths = [
    'bonuses',
    'bonuses?tab=grants',
    'bonuses?tab=campaigns',
    'bonuses/campaigns/new',
    'bonuses/templates/new',
    ...templates.map((id) => `bonuses/templates/${id}`),
    ...grants.map((id) => `bonuses/grants/${id}`),
  ];
  for (const path of paths) {
    await show(page, path);
    expect([path, await faultsInBothThemes(page), await overflows(page)]).toEqual([path, [], false]);
    expect(await page.title()).toMatch(/ · Console$/);
  }
});
