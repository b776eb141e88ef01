import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
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
let player_id: string | undefined;
beforeAll(async () => {
  console_ = await openConsole();
  on = grantsFixture(console_.service);
});
afterAll(() => console_?.close());

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const rung = (page: Page, name: string) => page.getByRole('article', { name, exact: true });
const tier = async (code: string, rank: number, rest: object = {}) => {
  const { status, data, error } = await on.client.api('POST', '/v1/vip-tiers', {
    code,
    name: code,
    rank,
    requirements: { lifetime_wagered_subunit: 10 ** 12 },
    ...rest,
  });
  expect(status, JSON.stringify(error)).toBe(201);
  return String(data['id']);
};
const stored = async (id: string) => (await on.client.api('GET', `/v1/vip-tiers/${id}`)).data;
const move = async (id: string, to_code: string, reason: string) => {
  const { status } = await on.client.api('POST', `/v1/players/${id}/tier`, { to_code, reason });
  expect(status).toBe(200);
};

/** Three tiers and a player who moved between two of them, once, and behind the test of the empty state. */
async function seed(): Promise<string> {
  if (player_id !== undefined) return player_id;
  const { data } = await on.client.api<{ code: string }[]>('GET', '/v1/vip-tiers');
  if (!data.some(({ code }) => code === 'gold')) await tier('gold', 30, { name: 'Gold' });
  await tier('silver', 20);
  await tier('bronze', 10, { is_active: false });
  const [id = ''] = await on.client.players(1);
  player_id = id;
  await on.sql`update players set external_id = 'crm-vip' where player_id = ${id}`;
  await move(id, 'silver', 'a good customer');
  await move(id, 'gold', 'a better one');
  await move(id, 'silver', 'asked for it');
  await waitUntilCaughtUp(console_.service.platform, 60_000);
  return id;
}

test('says what tiers are when there are none, and makes the first, with amounts to the digit', async () => {
  const page = await console_.open('vip');
  await page.getByRole('heading', { name: 'No VIP tiers yet' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.getByRole('link', { name: 'Tier changes' }).click();
  await page.getByRole('heading', { name: 'No tier changes' }).waitFor();
  await page.getByRole('link', { name: 'Ladder' }).click();
  await button(page, 'New tier').click();
  await field(page, 'Name').fill('Gold');
  await field(page, 'Code').fill('gold');
  await field(page, 'Rank').fill('30');
  await field(page, 'Colour').fill('gold');
  await field(page, 'Lifetime stakes (EUR)').fill('90071992547409.91');
  await field(page, 'Demote after days of inactivity').fill('90');
  await field(page, 'Cashback, percent').fill('2.5');
  await button(page, 'Create tier').click();
  await page.getByRole('alert').getByText('must be a colour such as #D4AF37').first().waitFor();
  await field(page, 'Colour').fill('#D4AF37');
  await button(page, 'Create tier').click();
  await page.getByRole('heading', { level: 1, name: 'Gold' }).waitFor();
  const { data } = await on.client.api<Record<string, unknown>[]>('GET', '/v1/vip-tiers');
  expect(data[0]).toMatchObject({
    code: 'gold',
    rank: 30,
    color: '#D4AF37',
    requirements: { lifetime_wagered_subunit: Number.MAX_SAFE_INTEGER, lifetime_deposit_subunit: 0 },
    demotion: { inactivity_days: 90, grace_days: 0 },
    perks: { cashback_pct: 2.5 },
  });
  await page.getByRole('link', { name: 'VIP' }).click();
  await rung(page, 'Gold').getByText('€90,071,992,547,409.91 staked').waitFor();
  await rung(page, 'Gold').getByText('one rank after 90 days without activity').waitFor();
});

test('the ladder has the highest rank on top, and counts the players of each tier', async () => {
  await seed();
  const page = await console_.open('vip');
  await rung(page, 'silver').getByText('1 player', { exact: true }).waitFor();
  await rung(page, 'Gold').getByText('0 players').waitFor();
  await rung(page, 'bronze').getByText('Not active').waitFor();
  expect(await page.getByRole('article').getByRole('link').allInnerTexts()).toEqual([
    'Gold',
    'silver',
    'bronze',
  ]);
  await rung(page, 'silver').getByRole('link').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'silver' }).waitFor();
});

test('who moved is told with direction and reason, within days that are in the address', async () => {
  const player_id = await seed();
  const page = await console_.open('vip?tab=moves');
  const first = page.getByRole('row').nth(1);
  await first.getByText('Gold → silver').waitFor();
  await first.getByText('Down').waitFor();
  await first.getByText(`${console_.service.owner}: asked for it`).waitFor();
  await page.getByRole('row').nth(2).getByText('Up').waitFor();
  expect(await page.getByRole('row').count()).toBe(4);
  // As it is while the year is being typed.
  await field(page, 'To day').fill('0002-01-01');
  expect(await page.getByRole('row').count()).toBe(4);
  await field(page, 'To day').fill('2020-01-01');
  await page.getByText('No tier changes').waitFor();
  const today = new Date().toISOString().slice(0, 10);
  await page.goto(`${console_.service.base_url}/console/vip?tab=moves&from=${today}&to=${today}`);
  await page.getByRole('row').nth(3).waitFor();
  await first.focus();
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/players/${player_id}**`);
  await page.getByRole('gridcell', { name: 'gold → silver' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  const { data } = await on.grant(await on.template({ name: 'for the profile' }), player_id);
  await page.getByRole('link', { name: 'Bonuses' }).last().click();
  await page.getByText('€0.00 of €100.00').waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.getByRole('row').nth(1).click();
  await page.waitForURL(`**/bonuses/grants/${data.id}**`);
});

describe('a tier', () => {
  test('that two people change keeps what the other one has changed elsewhere', async () => {
    const id = await tier('shared', 40, { perks: { cashback_pct: 1, lounge: 'A' } });
    const page = await console_.open(`vip/${id}`);
    await page.getByText('Other perks, which stay as they are: lounge').waitFor();
    await field(page, 'Cashback, percent').fill('3');
    await field(page, 'Lifetime deposits (EUR)').fill('100');
    await on.client.api('PATCH', `/v1/vip-tiers/${id}`, {
      name: 'theirs',
      requirements: { min_days_active: 7, lifetime_deposit_subunit: 5 },
    });
    await button(page, 'Save').click();
    await page.getByRole('row', { name: 'requirements.lifetime_deposit_subunit 10000 5' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await button(page, 'Save mine over it').click();
    await page.getByRole('heading', { level: 1, name: 'theirs' }).waitFor();
    await expect
      .poll(() => stored(id))
      .toMatchObject({
        name: 'theirs',
        requirements: { min_days_active: 7, lifetime_deposit_subunit: 10_000 },
        perks: { cashback_pct: 3, lounge: 'A' },
      });
    // What is typed stays while one looks at who changed the tier.
    await field(page, 'Name').fill('typed');
    await page.getByRole('link', { name: 'Audit log' }).click();
    const { owner } = console_.service;
    const updated = new RegExp(`${owner} Changed .*perks.cashback_pct: 1 → 3`);
    await page.getByRole('row', { name: updated }).waitFor();
    await page.getByRole('row', { name: new RegExp(`${owner} Created .*: — → `) }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.goBack();
    expect(await field(page, 'Name').inputValue()).toBe('typed');
  });

  test('is made not active only after asking, with the number of players who lose it', async () => {
    const id = await tier('leaving', 50);
    const page = await console_.open(`vip/${id}`);
    await field(page, 'Status').selectOption('Not active');
    await button(page, 'Save').click();
    const dialog = page.getByRole('dialog', { name: 'Deactivate “leaving”?' });
    await dialog.getByText('0 players of this project lose the tier').waitFor();
    // When somebody else has saved it meanwhile, it is asked again.
    await on.client.api('PATCH', `/v1/vip-tiers/${id}`, { rank: 51 });
    await dialog.getByRole('button', { name: 'Deactivate' }).click();
    await dialog.waitFor({ state: 'detached' });
    await button(page, 'Save mine over it').click();
    await dialog.getByText('0 players of this project lose the tier').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect((await stored(id))['is_active']).toBe(true);
    await dialog.getByRole('button', { name: 'Deactivate' }).click();
    await expect.poll(async () => (await stored(id))['is_active']).toBe(false);
    await page.getByRole('link', { name: 'VIP' }).click();
    await rung(page, 'leaving').getByText('Not active').waitFor();
  });

  test('is read by a viewer, and changed by none', async () => {
    await seed();
    const page = await openAs(console_, 'viewer', 'vip');
    await rung(page, 'Gold').waitFor();
    expect(await button(page, 'New tier').count()).toBe(0);
    await rung(page, 'Gold').getByRole('link').click();
    await page.getByText('Your role is viewer').waitFor();
    expect(await field(page, 'Name').isDisabled()).toBe(true);
    expect(await button(page, 'Save').count()).toBe(0);
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByText('The audit log is for compliance officers').waitFor();
  });
});

test('in light and dark axe finds nothing, with hostile names', async () => {
  const names = [HOSTILE.rtl, HOSTILE.script.slice(0, 100)];
  const ids = [];
  for (const [i, name] of names.entries())
    ids.push(await tier(`hostile_${i}`, 100 + i, { name, glyph: '★' }));
  const page = await console_.open('vip', { width: 400 });
  for (const path of [
    'vip',
    'vip?tab=moves',
    'vip/new',
    ...ids.map((id) => `vip/${id}`),
    `vip/${ids[0]}?tab=audit`,
  ]) {
    await show(page, path);
    expect([path, await faultsInBothThemes(page), await overflows(page)]).toEqual([path, [], false]);
    expect(await page.title()).toMatch(/ · Console$/);
  }
});
