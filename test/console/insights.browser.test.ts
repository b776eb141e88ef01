import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { counted } from '../engines/service.ts';
import { accept, depositOf, newPlayer } from './events/event-client.ts';
import {
  accessibilityFaults,
  becomesOld,
  faultsInBothThemes,
  openConsole,
  show,
  type ConsoleBrowser,
} from './browser.ts';
import { OVERFLOW } from './segment-screens.ts';

const DAY_MS = 86_400_000;
/** Days behind those that are asked about, so that no figure changes while the tests run. */
const RANGE = { from: '2026-07-01T00:00:00Z', to: '2026-07-11T00:00:00Z' };

let console_: ConsoleBrowser;
let ann: string;
beforeAll(async () => {
  console_ = await openConsole();
  const { service } = console_;
  ann = await newPlayer(service, service, { external_id: 'ann' });
  const ben = await newPlayer(service, service, { external_id: 'ben' });
  await accept(
    service,
    service,
    at('2026-07-01T09:00:00Z', { event: 'signup', player_id: ann, properties: {} }),
    at('2026-07-02T09:00:00Z', { event: 'signup', player_id: ben, properties: {} }),
    at('2026-07-01T10:00:00Z', depositOf(ann, 'd1', 123_456)),
    at('2026-07-02T10:00:00Z', depositOf(ben, 'd2', 3_000, { payment_method: 'wire' })),
    at('2026-07-02T11:00:00Z', depositOf(ann, 'd3', 1_000)),
    at('2026-07-02T11:05:00Z', { ...depositOf(ann, 'd4', 1_000), event: 'deposit_failed' }),
    at('2026-07-02T12:00:00Z', bet(ann, 'b1', 'book', 1_000, 400)),
    at('2026-07-03T10:00:00Z', bet(ben, 'b2', 'dead', 500, 900)),
    at(new Date(Date.now() - DAY_MS).toISOString(), bet(ben, 'b3', 'dead', 70_000, 0)),
  );
  await counted(service.platform);
}, 120_000);
afterAll(() => console_.close());

const at = (timestamp: string, event: object) => ({ ...event, timestamp });
const bet = (player_id: string, bet_id: string, game_id: string, amount: number, payout: number) => ({
  event: 'bet_settled',
  player_id,
  properties: {
    currency: 'EUR',
    game_id,
    game_category: 'slots',
    bet_id,
    amount,
    payout,
    outcome: payout > 0 ? 'won' : 'lost',
  },
});

/** The path of a query: the address is the query. */
const pathOf = (query: object) => `insights?q=${encodeURIComponent(JSON.stringify(query))}`;
const trend = (series: object[], more: object = {}) =>
  pathOf({ kind: 'trend', range: RANGE, interval: 'day', series, ...more });
const queryOf = (page: Page): unknown => JSON.parse(new URL(page.url()).searchParams.get('q') ?? 'null');
const plot = (page: Page, title: RegExp) => page.getByRole('slider', { name: title });

describe('the questions', () => {
  test('are tiles; one answers about yesterday, compared with the same weekday, by product', async () => {
    const page = await console_.open('overview');
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('heading', { name: 'Insights', level: 1 }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('link', { name: /What did yesterday bring/ }).click();
    await page.getByRole('row', { name: /^Casino €700.00 €0.00/ }).waitFor();
    await page.getByRole('row', { name: /^All others/ }).waitFor();
    await page.getByLabel('Groups', { exact: true }).selectOption('item');
    await page.getByRole('row', { name: /^dead €700.00/ }).waitFor();
    expect(queryOf(page)).toMatchObject({ compare: 'week', breakdown: { by: 'item' } });
    await page.goBack();
    await page.getByRole('row', { name: /^Casino €700.00/ }).waitFor();
  });

  test('failed payments are by method', async () => {
    const page = await console_.open(
      trend([{ metric: 'deposit_success' }, { metric: 'deposits_failed' }], {
        breakdown: { by: 'payment_method' },
      }),
    );
    await page.getByRole('row', { name: /^card 66.7% 1/ }).waitFor();
    await page.getByRole('row', { name: /^wire 100% 0/ }).waitFor();
    await page.getByLabel('The chart shows').selectOption('deposits_failed');
    await plot(page, /^Failed deposits:/).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('an address without a question that can be read says so', async () => {
    const page = await console_.open(pathOf({ kind: 'trend', series: 'all' }));
    await page.getByText('The address has no question that can be read').waitFor();
    await page.getByRole('link', { name: /Which payments fail/ }).waitFor();
  });
});

describe('the chart', () => {
  test('has exact figures by day, with the keyboard, as a table, and as CSV', async () => {
    const page = await console_.open(trend([{ metric: 'deposits' }]));
    const chart = plot(page, /^Deposits:/);
    await chart.waitFor();
    await chart.focus();
    await page.keyboard.press('ArrowRight');
    expect(await chart.getAttribute('aria-valuetext')).toBe('2026-07-02. Deposits: €40.00');
    await page.keyboard.press('Home');
    expect(await chart.getAttribute('aria-valuetext')).toBe('2026-07-01. Deposits: €1,234.56');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'As table' }).click();
    await page.getByRole('row', { name: '2026-07-01 €1,234.56' }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const csv = await readFile(await (await download).path(), 'utf8');
    expect(csv).toContain('Time,Deposits\r\n2026-07-01T00:00:00.000Z,1234.56\r\n');
  });

  test('says what is not there instead of an empty box', async () => {
    const page = await console_.open(trend([{ metric: 'withdrawals' }]));
    await page.getByText('No Withdrawals in this period').waitFor();
  });

  test('shows the figures of the place that is pointed at, with those it is compared with', async () => {
    const page = await console_.open(
      trend([{ metric: 'deposits' }], {
        compare: 'previous',
        range: { ...RANGE, from: '2026-07-06T00:00:00Z' },
      }),
    );
    const box = await plot(page, /^Deposits:/).boundingBox();
    await page.mouse.move((box?.x ?? 0) + 5, (box?.y ?? 0) + 20);
    await page.getByText('Deposits: €0.00 (before €1,234.56)').waitFor();
    await page.getByText('Compared with', { exact: true }).last().waitFor();
  });
});

describe('the editor', () => {
  test('changes the question of the address part by part', async () => {
    const page = await console_.open(trend([{ metric: 'ggr' }]));
    await plot(page, /^GGR:/).waitFor();
    await page.getByLabel('Figure', { exact: true }).selectOption('Active players');
    await plot(page, /^Active players:/).waitFor();
    await page.getByRole('button', { name: 'Add a series' }).click();
    await page
      .getByRole('group', { name: 'Series 2' })
      .getByLabel('Figure', { exact: true })
      .selectOption('An event…');
    const event = page.getByLabel('Event', { exact: true });
    await event.fill('deposit_confirmed');
    await event.press('Enter');
    await page.getByLabel('What of it').selectOption('Sum of');
    await page.getByLabel('Interval').selectOption('Weeks');
    await page.getByText('deposit_confirmed: sum of amount').first().waitFor();
    await page.getByLabel('First day').fill('2026-07-02');
    await expect
      .poll(() => queryOf(page))
      .toMatchObject({
        interval: 'week',
        range: { from: '2026-07-02T00:00:00.000Z', to: '2026-07-11T00:00:00.000Z' },
        series: [
          { metric: 'active_players' },
          { event: 'deposit_confirmed', aggregate: 'sum', property: 'amount' },
        ],
      });
    await page.getByRole('button', { name: 'Remove series 2' }).click();
    await page.getByLabel('Range', { exact: true }).selectOption('Last 28 days');
    await expect
      .poll(() => queryOf(page))
      .toMatchObject({ range: { last: { days: 28 } }, series: [{ metric: 'active_players' }] });
  });

  test('what the service refuses is said, and the question can be mended', async () => {
    const page = await console_.open(trend([{ metric: 'new_players' }], { breakdown: { by: 'item' } }));
    await page.getByRole('alert').getByText('VALIDATION_ERROR').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Groups', { exact: true }).selectOption('None');
    await page.getByRole('region', { name: 'Answer' }).getByText('New players').first().waitFor();
  });
});

/** The players of a figure, as the list beside the page has them. */
const listed = (page: Page, title: string) => page.getByRole('dialog', { name: `Players: ${title}` });

describe('the players of a figure', () => {
  test('open from the chart by keyboard, from tables and totals, and by a link; a row opens the player', async () => {
    const page = await console_.open(
      trend([{ metric: 'deposits' }], { breakdown: { by: 'payment_method' } }),
    );
    const chart = plot(page, /^Deposits:/);
    await chart.focus();
    await page.keyboard.press('Enter');
    const dialog = listed(page, 'Deposits, card, 2026-07-01');
    await dialog.getByRole('row', { name: 'ann €1,234.56' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const linked = page.url();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /^wire/ }).getByRole('button', { name: '€30.00' }).click();
    await listed(page, 'Deposits, wire').getByRole('row', { name: 'ben €30.00' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: '€1,274.56' }).first().click();
    await listed(page, 'Deposits').getByRole('row', { name: 'ann €1,244.56' }).waitFor();
    expect(await listed(page, 'Deposits').getByRole('row').count()).toBe(3);
    await page.goto(linked);
    await dialog.getByRole('row', { name: /^ann/ }).click();
    await page.waitForURL(`**/players/${ann}**`);
  });

  test('become a live segment, or a list', async () => {
    const page = await console_.open(trend([{ metric: 'depositors' }], { interval: 'month' }));
    await page.getByRole('button', { name: '2', exact: true }).first().click();
    await page.getByRole('button', { name: 'Save as segment' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save as segment' });
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByLabel('Name of the segment').fill('July depositors');
    await dialog.getByRole('button', { name: 'Save as segment' }).click();
    await page.waitForURL(/\/segments\/[0-9a-f-]{36}(\?|$)/);
    await page.getByRole('heading', { name: 'July depositors' }).waitFor();
    await page.goto(
      `${console_.service.base_url}/console/${pathOf({ kind: 'lifecycle', range: RANGE, interval: 'week' })}&cell=${encodeURIComponent(JSON.stringify({ at: '2026-07-06T00:00:00.000Z', state: 'churned' }))}`,
    );
    await page.getByRole('button', { name: 'Save as segment' }).click();
    await dialog.getByLabel('Who belongs to it').locator('option').first().waitFor({ state: 'attached' });
    expect(await dialog.getByLabel('Who belongs to it').locator('option').count()).toBe(1);
    await dialog.getByRole('button', { name: 'Save as segment' }).click();
    await page.getByRole('heading', { name: 'Went quiet, 2026-07-06' }).waitFor();
  });

  test('say first how many must be left alone; a sign of harm is said when they are saved', async () => {
    const { service } = console_;
    const may = { from: '2026-05-01T00:00:00Z', to: '2026-05-11T00:00:00Z' };
    const cem = await newPlayer(service, service, { external_id: 'cem', traits: { rg_risk: 'strong' } });
    const dan = await newPlayer(service, service, { external_id: 'dan' });
    const failed = (player_id: string, id: string) =>
      at('2026-05-09T10:00:00Z', { ...depositOf(player_id, id, 500), event: 'deposit_failed' });
    await accept(service, service, failed(cem, 'f1'), failed(dan, 'f2'), {
      event: 'self_exclusion_set',
      player_id: dan,
      properties: { reason: 'asked' },
    });
    await counted(service.platform);
    const cell = encodeURIComponent(JSON.stringify({ at: '2026-05-09T00:00:00.000Z' }));
    const page = await console_.open(
      `${trend([{ metric: 'deposits_failed' }], { range: may })}&cell=${cell}`,
    );
    const left = page.getByRole('region', { name: 'To leave alone' });
    await left.getByText('1 player is protected').waitFor();
    await left.getByText('1 more is at risk').waitFor();
    await left.getByText('Of 2 players').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save as segment' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save as segment' });
    await dialog.getByLabel('Name of the segment').fill('Failed on the 9th');
    await dialog.getByRole('button', { name: 'Save as segment' }).click();
    const saved = page.getByRole('dialog', { name: 'Failed on the 9th is saved' });
    await saved.getByText('Sign of harm: failed deposits').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await saved.getByRole('button', { name: 'Open the segment' }).click();
    await page.getByRole('heading', { name: 'Failed on the 9th' }).waitFor();
  });

  test('are asked of the rest as well', async () => {
    const page = await console_.open(trend([{ metric: 'ggr' }], { breakdown: { by: 'item', top: 1 } }));
    await page
      .getByRole('row', { name: /^All others/ })
      .getByRole('button')
      .click();
    await listed(page, 'GGR, All others').getByRole('row', { name: 'ben -€4.00' }).waitFor();
  });
});

describe('the other kinds', () => {
  test('steps: who took each, and who went no further', async () => {
    const steps = ['signup', 'deposit_confirmed', 'deposit_confirmed'].map((event) => ({ event }));
    const page = await console_.open(pathOf({ kind: 'funnel', range: RANGE, steps, within: { days: 30 } }));
    await page.getByRole('row', { name: '1 signup 2 100% — 0' }).waitFor();
    await page.getByRole('row', { name: '3 deposit_confirmed 1 50% 50% —' }).waitFor();
    const second = page.getByRole('row', { name: '2 deposit_confirmed 2 100% 100% 1' });
    await second.getByRole('button', { name: '1' }).click();
    await listed(page, '2 deposit_confirmed, went no further').getByRole('row', { name: /^ben/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Groups', { exact: true }).selectOption('payment_method');
    await page
      .getByRole('region', { name: 'By group' })
      .getByRole('row', { name: /^All others/ })
      .waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('cohorts: a table of cells with the keyboard', async () => {
    const query = {
      kind: 'retention',
      range: RANGE,
      interval: 'week',
      cohort: 'first_deposit',
      returns: 'bet',
    };
    const page = await console_.open(pathOf({ ...query, value: 'deposits' }));
    const row = page.getByRole('row', { name: /^2026-06-29 2 100% 0%/ });
    await row.waitFor();
    await row.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await listed(page, 'cohort 2026-06-29, First week').getByRole('row', { name: /^ann/ }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByLabel('The cells show').selectOption('Deposits');
    await page.getByRole('row', { name: /^2026-06-29 2 €1,274.56/ }).waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
  });

  test('lifecycle: who came, and who went quiet', async () => {
    const page = await console_.open(pathOf({ kind: 'lifecycle', range: RANGE, interval: 'week' }));
    await page.getByRole('button', { name: 'As table' }).click();
    const quiet = page.getByRole('row', { name: '2026-07-06 0 0 0 2' });
    await quiet.getByRole('button', { name: '2' }).click();
    await listed(page, 'Went quiet, 2026-07-06').getByRole('row', { name: /^ben/ }).waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();
    await page.getByRole('button', { name: 'As chart' }).click();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('distribution: what hangs on the top 1 %', async () => {
    const page = await console_.open(pathOf({ kind: 'distribution', range: RANGE, value: 'deposits' }));
    await page.getByText('97.6%').first().waitFor();
    await page.getByRole('row', { name: /^Tenth 10, the highest €1,244.56 €1,244.56 1 / }).waitFor();
    await page.getByRole('region', { name: 'Parts' }).getByRole('button').first().click();
    await listed(page, 'Deposits, places 1 to 1').getByRole('row', { name: 'ann €1,244.56' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('each question has an answer, and another kind is chosen in the form', async () => {
    const page = await console_.open('insights');
    const questions = page.getByRole('list', { name: 'Questions' }).getByRole('link');
    // The last five lead to effects, alerts, reports and models, which are screens of their own.
    expect(await questions.count()).toBe(12);
    for (let i = 0; i < 7; i++) {
      await show(page, 'insights');
      await questions.nth(i).click();
      await page.getByText('Intervals by the clocks of', { exact: false }).waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    }
    await page.getByLabel('Kind').selectOption('Cohorts');
    await page.getByLabel('They come back with').selectOption('Any activity');
    await expect
      .poll(() => queryOf(page))
      .toMatchObject({ kind: 'retention', cohort: 'first_deposit', returns: 'active', value: 'ngr' });
  });
});

describe('figures that are not final', () => {
  const answer = (more: object) => ({
    json: {
      data: {
        kind: 'trend',
        currency: 'EUR',
        timezone: 'Europe/Malta',
        bonus_cost: 'feed',
        as_of: '2026-07-12T00:00:00.000Z',
        is_stale: false,
        is_exact: true,
        error: null,
        restating_days: 0,
        columns: ['at', 'is_complete', 'ngr'].map((name, i) => ({
          name,
          label: name === 'ngr' ? 'NGR' : name,
          type: ['time', 'bool', 'money'][i],
          series: name === 'ngr' ? 0 : null,
          is_compared: false,
        })),
        rows: [
          ['2026-07-01T22:00:00.000Z', true, -150],
          ['2026-07-02T22:00:00.000Z', false, 900_000_000_000],
        ],
        totals: [[null, false, 899_999_999_850]],
        other: null,
        ...more,
      },
    },
  });

  test('days that are restated, an unfinished interval and the zone are said', async () => {
    const page = await console_.open('insights');
    await page.route('**/v1/insights/query*', (route) =>
      route.fulfill(answer({ restating_days: 2, is_exact: false, error: 0.0041 })),
    );
    await show(page, trend([{ metric: 'ngr' }]));
    await page.getByText('2 days are being restated', { exact: false }).waitFor();
    await page.getByText('Not over yet').waitFor();
    await page.getByText('by the clocks of Europe/Malta', { exact: false }).waitFor();
    await page.getByText('Bonus cost comes from the feed.', { exact: false }).waitFor();
    await page.getByText('a standard error of 0.4%', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'As table' }).click();
    await page.getByRole('row', { name: /^2026-07-03 \(not over yet\)/ }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('old figures stay, with their age', async () => {
    const page = await console_.open('insights', { is_private: true });
    await page.clock.install();
    await show(page, trend([{ metric: 'deposits' }]));
    await plot(page, /^Deposits:/).waitFor();
    await page.route('**/v1/insights/query*', (route) => route.abort());
    await becomesOld(page);
    await plot(page, /^Deposits:/).waitFor();
  });
});

test('in light and dark and a narrow window axe finds nothing, and nothing overflows', async () => {
  const page = await console_.open('insights', { width: 390 });
  for (const path of [
    'insights',
    trend([{ metric: 'ggr' }, { metric: 'hold' }], { compare: 'week' }),
    trend([{ metric: 'ggr' }], { breakdown: { by: 'item' } }),
  ]) {
    await show(page, path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect([path, await faultsInBothThemes(page)]).toEqual([path, []]);
    expect(await page.evaluate(OVERFLOW)).toBeLessThanOrEqual(0);
  }
});
