import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { messagingClient, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import { faultsInBothThemes, openConsole, show, type ConsoleBrowser } from './browser.ts';
import { openAs, overflows } from './members.ts';
import { tabTo } from './segment-screens.ts';

// What campaigns add, next to who gets nothing: the report itself is tested where it is computed.

let console_: ConsoleBrowser;
let client: MessagingClient;
beforeAll(async () => {
  console_ = await openConsole();
  client = messagingClient(console_.service);
});
afterAll(() => console_?.close());

async function campaign(fields: object): Promise<string> {
  const segment_id = await client.segment(await client.players(20));
  const template_id = await client.template({ name: 'the template' });
  const provider_id = await client.provider({ name: 'sandbox' });
  return client.campaign({ segment_id, template_id, provider_id, ...fields });
}

const harmless = { difference: 0, interval: { low: -0.01, high: 0.01 }, is_worse: false };
const heldOut = {
  players: 1_000,
  conversions: 80,
  rate: 0.08,
  ngr: 1_000_000,
  ngr_per_player: 1_000,
  harmed: { exclusions: 1, limits_reached: 0, cooldowns: 2 },
};
const arm = {
  ...heldOut,
  arm: 'treated',
  name: null,
  players: 19_000,
  conversions: 2_090,
  rate: 0.11,
  ngr: 20_900_000,
  ngr_per_player: 1_100,
  harmed: { exclusions: 90, limits_reached: 0, cooldowns: 2 },
  verdict: { decision: 'more', reason: null },
  rate_effect: {
    difference: 0.03,
    interval: { low: 0.012, high: 0.046 },
    p_value: 0.0031,
    method: 'newcombe',
  },
  money_effect: {
    difference: 98.4,
    interval: { low: -20.2, high: 217 },
    p_value: 0.1,
    method: 'permutation',
    explained: 0.1,
    skew: 3,
    is_skewed: false,
    cut: { cap: 90_000, difference: -3, interval: { low: -90, high: 84 }, cut_players: 4, rests_on: 4 },
  },
  harm: { exclusions: { ...harmless, is_worse: true }, limits_reached: harmless, cooldowns: harmless },
  return: { incremental_ngr: 1_869_600, interval: { low: -383_800, high: 4_123_000 } },
};
const report = {
  kind: 'campaign',
  experiment_id: '0197ab6e-0000-7000-8000-000000000001',
  as_of: '2026-07-01T00:00:00.000Z',
  looks: 'once',
  is_final: true,
  closes_at: '2026-06-30T00:00:00.000Z',
  window_days: 7,
  before_days: 28,
  holdout_percent: 5,
  goal_event: 'deposit_confirmed',
  primary: 'rate',
  waiting: 0,
  in_two_arms: 1,
  balance: { p_value: 0.4, is_uneven: false },
  held_out: heldOut,
  arms: [arm],
};

async function answerEffect(page: Page, data: object): Promise<void> {
  await page.route(/\/uplift\?/, (route) => route.fulfill({ json: { data } }));
}

test('a campaign is given a holdout, and its effect is said when it was sent', async () => {
  const id = await campaign({ goal_event: 'login', goal_attribution_days: 3 });
  const page = await console_.open(`campaigns/${id}?step=content`);
  await page.getByLabel('Held out (percent)').fill('50');
  await page.getByRole('button', { name: 'Save and go on' }).click();
  await page.waitForURL(/step=time/);
  expect((await client.api('GET', `/v1/campaigns/${id}`)).data['holdout_percent']).toBe(50);
  await show(page, `campaigns/${id}?step=review`);
  await page.getByText(/About \d+ of them are held out/).waitFor();
  await client.send(id);
  await client.reaches(id, 'sent');
  await show(page, `campaigns/${id}?tab=effect`);
  await page
    .getByText('no verdict yet: the time in which players are counted is not over', { exact: false })
    .waitFor();
  await page
    .getByRole('group', { name: 'Groups' })
    .getByRole('row', { name: /^Held out/ })
    .waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
});

test('without a holdout the tab says what is missing', async () => {
  const id = await campaign({});
  await client.send(id);
  await client.reaches(id, 'sent');
  const page = await console_.open(`campaigns/${id}?tab=effect`);
  await page.getByRole('heading', { name: 'Nobody is held out' }).waitFor();
});

test('the verdict comes first, then figures with their intervals, and harm though money rose', async () => {
  const id = await campaign({});
  await client.send(id);
  await client.reaches(id, 'sent');
  const page = await console_.open(`campaigns/${id}`, { width: 390 });
  await answerEffect(page, report);
  await show(page, `campaigns/${id}?tab=effect`);
  await page.getByText('Those who got it: +3 points, more than without.').waitFor();
  await page.getByText('Those who got it: more self-exclusions than without.').waitFor();
  await page
    .getByRole('row', { name: 'Share of players +3 points +1.2 points to +4.6 points 0.0031' })
    .waitFor();
  await page.getByRole('row', { name: 'NGR per player +€0.98 -€0.20 to +€2.17 0.10' }).waitFor();
  await page.getByText('the difference rests on 4 players', { exact: false }).waitFor();
  await page.getByRole('row', { name: 'Those who got it 90 Worse 0 2' }).waitFor();
  await page.getByText('Final: this stays.').waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
  expect(await overflows(page)).toBe(false);
});

test('own hours are compared with the message at once, where members get it at their own', async () => {
  const id = await campaign({ goal_event: 'login', goal_attribution_days: 3 });
  const page = await console_.open(`campaigns/${id}?step=time`);
  await page.getByLabel('Hour of each member').selectOption('player');
  await page.getByRole('button', { name: 'Save and go on' }).click();
  await page.waitForURL(/step=review/);
  expect((await client.api('GET', `/v1/campaigns/${id}`)).data['send_time']).toBe('player');
  await client.send(id);
  await client.reaches(id, 'sent');
  const asked: string[] = [];
  await page.route(/\/uplift\?/, (route) => {
    asked.push(new URL(route.request().url()).search);
    const own_hour = { ...arm, arm: 'own_hour', name: 'own_hour' };
    return route.fulfill({ json: { data: { ...report, holdout_percent: 10, arms: [own_hour] } } });
  });
  await show(page, `campaigns/${id}?tab=effect`);
  await page
    .getByRole('row', { name: /^Held out/ })
    .first()
    .waitFor();
  await page.getByLabel('Compare').selectOption('send_time');
  await page.getByText('At their own hour: +3 points, more than without.').waitFor();
  await page
    .getByRole('row', { name: /^At once/ })
    .first()
    .waitFor();
  expect(asked).toContain('?compare=send_time');
  expect(await faultsInBothThemes(page)).toEqual([]);
});

test('an administrator sets the holdout of the project; an editor reads it', async () => {
  const page = await console_.open('insights');
  await page.getByRole('link', { name: /Does all of it add anything/ }).click();
  await page.getByRole('heading', { name: 'Nobody is held out' }).waitFor();
  await page.getByRole('button', { name: 'Change the holdout' }).click();
  await page.getByLabel('Held out (percent)').fill('11');
  expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  await page.getByLabel('Held out (percent)').fill('5');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('definition').filter({ hasText: '5%' }).first().waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
  const editor = await openAs(console_, 'editor', 'insights/holdout');
  await editor.getByRole('definition').filter({ hasText: '5%' }).first().waitFor();
  expect(await editor.getByRole('button', { name: 'Change the holdout' }).count()).toBe(0);
});

test('by keyboard: past rounds of the project, and what one of them has added', async () => {
  const { tenant_id, platform } = console_.service;
  await client.api('PUT', '/v1/experiments/global', { holdout_percent: 6 });
  // As if it had been set some quarters ago.
  for (const table of ['global_holdouts', 'global_holdout_shares'])
    await platform.postgres.service`
      update ${platform.postgres.service(table)} set changed_at = now() - interval '200 days'
      where tenant_id = ${tenant_id} and holdout_percent = 6`;
  const { data } = await client.api<{ rounds: { name: string }[] }>('GET', '/v1/experiments/global');
  const last = data.rounds[0]?.name ?? '';
  const page = await console_.open('insights/holdout');
  await page
    .getByRole('group', { name: 'Past rounds' })
    .getByRole('row', { name: new RegExp(`^${last} .* 6%$`) })
    .waitFor();
  await tabTo(page, last);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: `Round ${last}` }).waitFor();
  await page
    .getByRole('group', { name: 'Groups' })
    .getByRole('row', { name: /^Held out/ })
    .waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 800 });
  expect(await overflows(page)).toBe(false);
  await tabTo(page, 'The present round');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Holdout of the project' }).waitFor();
  await show(page, 'insights/holdout?round=2020-Q1.9');
  await page.getByRole('alert').getByText('VALIDATION_ERROR', { exact: true }).waitFor();
});
