import { afterAll, beforeAll, expect, test } from 'vitest';
import { storeModel } from '../../src/players/scores/model-queries.ts';
import type { ModelFit } from '../../src/players/scores/schema.ts';
import { storeSendTimeModel } from '../../src/players/scores/send-time/model-queries.ts';
import { accessibilityFaults, faultsInBothThemes, openConsole, type ConsoleBrowser } from './browser.ts';
import { openAs, overflows } from './members.ts';
import { answer, failure, tabTo } from './segment-screens.ts';

// The models of a project. What they find is tested where they are fitted.

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(() => console_?.close());

const accuracy = {
  players: 2_357,
  returned: 130,
  brier: 0.0506,
  brier_recency: 0.0542,
  auc: 0.828,
  auc_recency: null,
};
const FIT: ModelFit = {
  players: 2_400,
  sampled: 2_357,
  parameters: { r: 0.525, alpha: 6.183, a: 0.891, b: 1.614, p: 6.25, q: 3.744, v: 1544.4 },
  backtest: {
    ...accuracy,
    windows: [{ from: '2026-06-01T00:00:00.000Z', to: '2026-07-01T00:00:00.000Z', ...accuracy }],
  },
  calibration: [{ from: 0.2, to: 0.3, players: 40, predicted: 0.244, returned: 0.25 }],
};
const times = { as_of: new Date('2026-07-01T00:00:00Z'), fitted_at: new Date('2026-07-01T03:20:00Z') };

/** Stores fits as a night does. */
async function store(status: 'on' | 'off' | 'waiting', fit: ModelFit): Promise<void> {
  const { platform, tenant_id, project_id } = console_.service;
  const sums = { ngr: '-9007199254740993', total_deposited: '1000000' };
  await storeModel(platform.postgres.service, { tenant_id, project_id }, { status, ...times, ...sums, fit });
}

test('by keyboard: before the first night, a model that is on with its proof, and where own scores come from', async () => {
  const page = await console_.open('insights');
  await tabTo(page, /^Can the scores be trusted/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No model yet' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);

  await store('on', FIT);
  const { platform, tenant_id, project_id } = console_.service;
  const profile = Array.from({ length: 168 }, (_, hour) => (hour === 20 ? 0.5 : 0.5 / 167));
  await storeSendTimeModel(
    platform.postgres.service,
    { tenant_id, project_id },
    {
      status: 'off',
      ...times,
      fit: {
        players: 900,
        timed_players: 400,
        sampled: 400,
        parameters: { weight: 20, profile },
        held_out: {
          from: '2026-06-17T00:00:00.000Z',
          to: '2026-07-01T00:00:00.000Z',
          players: 300,
          sessions: 2_000,
          log_loss: 4.9,
          log_loss_profile: 4.8,
        },
      },
    },
  );
  const shown = await openAs(console_, 'viewer', 'insights/models');
  const scores = shown.getByRole('region', { name: /^Scores: churn/ });
  await scores.getByText('✓ On', { exact: true }).waitFor();
  await scores.getByText('2026-07-01 03:20:00 UTC').waitFor();
  await scores.getByText('-€90,071,992,547,409.93').waitFor();
  await scores.getByRole('row', { name: 'All windows 2,357 130 0.0506 0.0542 0.828 —' }).waitFor();
  await scores.getByRole('row', { name: /^2026-06-01 to 2026-06-30 2,357 130/ }).waitFor();
  await scores.getByRole('row', { name: '20% to 30% 40 24.4% 25%' }).waitFor();
  await scores.getByRole('row', { name: /^alpha 6\.183 How often/ }).waitFor();
  const hours = shown.getByRole('region', { name: /^Send time/ });
  await hours.getByText('! Off', { exact: true }).waitFor();
  await hours.getByRole('row', { name: '2026-06-17 to 2026-06-30 300 2,000 4.9000 4.8000' }).waitFor();
  await hours.getByRole('gridcell', { name: '50%', exact: true }).waitFor();
  expect(await faultsInBothThemes(shown)).toEqual([]);
  await tabTo(shown, 'The call in the reference');
  await shown.keyboard.press('Enter');
  await shown.getByRole('row', { name: /POST \/v1\/scores/ }).waitFor();

  const narrow = await console_.open('insights/models', { width: 390 });
  await narrow.getByRole('region', { name: /^Send time/ }).waitFor();
  expect(await overflows(narrow)).toBe(false);
});

test('a model that waits says what is missing, and an error is said', async () => {
  await store('waiting', { ...FIT, parameters: null, backtest: null, calibration: [] });
  const page = await console_.open('insights/models');
  await page.getByText('There are too few players: 200 with a deposit', { exact: false }).waitFor();
  await store('waiting', { ...FIT, backtest: null, calibration: [] });
  await page.reload();
  await page.getByText('There is no past window of 30 days yet', { exact: false }).waitFor();
  await answer(page, '**/v1/models**', 403, failure('FORBIDDEN'));
  await page.reload();
  await page.getByRole('alert').getByText('FORBIDDEN', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Scores of your own' }).waitFor();
});
