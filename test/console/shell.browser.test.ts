import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { messagingClient } from '../engage/messaging/messaging-client.ts';
import {
  accessibilityFaults,
  faultsInBothThemes,
  openConsole,
  show,
  type ConsoleBrowser,
} from './browser.ts';

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_.close());

/** What is wrong in the list that a page comes to show. */
async function faultsOfList(page: Page, path: string, come: () => Promise<unknown>): Promise<string[]> {
  const empty = page.getByRole('heading', { level: 2 });
  try {
    await come();
    await empty.or(page.getByRole('grid')).first().waitFor();
  } catch (error) {
    return [`${path}: ${String(error)}`];
  }
  return (await page.getByRole('alert').allTextContents()).map((text) => `${path}: ${text}`);
}

describe('the frame', () => {
  test('signs in by itself on this machine, and shows where one is and as whom', async () => {
    const page = await console_.open('players', { is_private: true });
    await page.getByText('Development', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Project' }).waitFor();
    expect(await page.title()).toBe('Players · Console');
    await page.getByRole('button', { name: 'User and display' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
    const session = await page.context().cookies();
    expect(session).toMatchObject([
      { name: '__Host-session', httpOnly: true, secure: true, sameSite: 'Lax' },
    ]);
  });

  test('opens by keyboard: search, help, and a screen by two letters', async () => {
    const page = await console_.open('overview');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).waitFor();
    await page.keyboard.type('play');
    await page.getByRole('option', { name: 'Overview' }).waitFor({ state: 'detached' });
    await page.getByRole('option', { name: 'Players' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Players', exact: true }).waitFor();
    await page.keyboard.press('/');
    expect(await page.getByRole('searchbox').evaluate((field) => field.matches(':focus'))).toBe(true);
    for (const group of ['Data', 'Audience', 'Engagement', 'Administration'])
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('group', { name: group }).waitFor();
  });

  test('finds records by their names, and begins new ones, by keyboard', async () => {
    const client = messagingClient(console_.service);
    const id = await client.template({ name: 'Letter for lapsed players' });
    const page = await console_.open('overview');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('lapsed letter');
    await page.getByRole('option', { name: 'Letter for lapsed players Template' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/templates/${id}`));
    await page.getByRole('heading', { name: 'Letter for lapsed players' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('new segm');
    await page.getByRole('option', { name: 'New segment Action' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/segments\/new/);
  });

  test('keeps the theme that was chosen', async () => {
    const page = await console_.open('players');
    await page.getByRole('button', { name: 'User and display' }).click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    await page.reload();
    await page.getByRole('heading', { name: 'Players', exact: true }).waitFor();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
  });

  test('says which screen does not exist, and keeps the frame', async () => {
    const page = await console_.open('no-such-screen');
    await page.getByText('There is no such screen.').waitFor();
  });

  test('lists everything without the filters that do not exist', async () => {
    const page = await console_.open('players');
    const faults: string[] = [];
    for (const path of [
      'players?status=none',
      'templates?channel=none&status=none',
      'campaigns?status=none',
      'journeys?status=none',
      'bonuses?tab=templates&type=none&status=none',
      'bonuses?tab=grants&status=none&player=none&template=none&campaign=none&review=none',
      'bonuses?tab=campaigns&status=none',
      'vip?tab=moves&from=none&to=none',
      'compliance?state=none&kind=none&from=none&to=none',
      'compliance?tab=blocked&code=none&from=none',
      'compliance?tab=audit&action=none&to=none',
      'developers?tab=webhooks&status=none',
      'settings?tab=suppressions&channel=none&reason=none',
      'events?tab=search&from=none&to=none',
    ])
      faults.push(...(await faultsOfList(page, path, () => show(page, path))));
    expect(faults).toEqual([]);
  });

  test('opens screens by their addresses, with filters that do not exist', async () => {
    const page = await console_.open('players');
    const faults: string[] = [];
    for (const path of [
      'bonuses?tab=grants&status=none&player=none&template=none&campaign=none&review=none',
      'campaigns?status=none',
      'developers?tab=webhooks&status=none',
      'settings?tab=suppressions&channel=none&reason=none',
      'templates?channel=none&status=none',
      'vip?tab=moves&from=none&to=none',
    ]) {
      const address = `${console_.service.base_url}/console/${path}`;
      faults.push(...(await faultsOfList(page, path, () => page.goto(address))));
    }
    expect(faults).toEqual([]);
  });

  test.each(['compliance?player=none', 'compliance?tab=blocked&player=none'])(
    'the list of %s is of everybody, and its field says so',
    async (path) => {
      const page = await console_.open(path);
      const player = page.getByRole('searchbox', { name: 'Player' });
      await player.waitFor();
      await expect.poll(() => player.getAttribute('aria-invalid')).toBe('true');
    },
  );

  test('says that an event does not exist whose place in the address is none', async () => {
    const page = await console_.open('events?trace=none');
    await page.getByRole('dialog').getByRole('alert').getByText('NOT_FOUND').waitFor();
  });

  test('asks to sign in again when the session has ended, and keeps what was typed', async () => {
    const page = await console_.open('players', { is_private: true });
    await page.getByRole('searchbox').fill('half a na');
    await page.getByText('No player matches').waitFor();
    await page.context().clearCookies();
    await page.getByRole('searchbox').fill('half a name');
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
    await console_.signInElsewhere(page);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.getByRole('searchbox').inputValue()).toBe('half a name');
    await page.getByText('No player matches').waitFor();
  });

  test('says that it is offline, keeps the page, and opens a screen when there is a network again', async () => {
    const page = await console_.open('players', { is_private: true });
    const bar = page.getByText('You are offline.', { exact: false });
    await page.context().setOffline(true);
    await bar.waitFor();
    await page.getByRole('link', { name: 'System' }).click();
    await page.getByRole('alert').getByText('UNREACHABLE').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().setOffline(false);
    await bar.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'System', exact: true }).waitFor();
  });

  test('cannot be framed, and its cookie reads nothing for another site', async () => {
    const page = await console_.open('players');
    const answer = await page.request.get(`${console_.service.base_url}/v1/players`);
    expect(answer.status()).toBe(403);
  });
});

describe('in light and dark', () => {
  test.each(['players', 'no-such-screen'])('axe finds nothing on %s', async (path) => {
    const page = await console_.open(path);
    expect(await faultsInBothThemes(page)).toEqual([]);
  });

  test.each([
    ['Control+k', 'Go to'],
    ['?', 'Keyboard'],
  ])('axe finds nothing in the dialog of %s', async (key, name) => {
    const page = await console_.open('players');
    await page.keyboard.press(key);
    await page.getByRole('dialog', { name }).waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
  });

  test('axe finds nothing in a menu, nor in a narrow window', async () => {
    const page = await console_.open('players', { width: 400 });
    await page.getByRole('button', { name: 'Time zone' }).click();
    await page.getByRole('menu').waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
  });
});
