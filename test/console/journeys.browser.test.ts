import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityFaults, faultsInBothThemes } from './browser.ts';
import {
  client,
  counted,
  DAY_MS,
  END,
  front,
  make,
  makeActive,
  openJourneys,
  SORTS,
  runTo,
  stored,
} from './journey-screens.ts';
import { HOSTILE, openAs, overflows } from './members.ts';

beforeAll(openJourneys);
afterAll(() => front?.close());

/** How rows call a player without an id of the operator's. */
const shownName = (id: string) => `${id.slice(0, 1)}•••@example.com …${id.slice(-6)}`;

describe('the list', () => {
  test('says what a journey is when there is none', async () => {
    const page = await front.open('journeys');
    await page.getByRole('heading', { name: 'No journeys yet' }).waitFor();
    await page.getByText('curl -X POST').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('shows status, start and active runs, filters by its address, and opens by keyboard', async () => {
    const [ada = '', bob = ''] = await client.players(2);
    const id = await makeActive(`Comes back ${HOSTILE.script}`);
    await runTo(id, ada, 10, 'day');
    await runTo(id, bob, 10, 'day');
    await make('Only a draft', {
      trigger: { kind: 'event', event: 'deposit_confirmed', where: { amount: 7 } },
    });
    const page = await front.open('journeys');
    const row = page.getByRole('row', { name: /Comes back/ });
    await row.getByRole('gridcell', { name: '2', exact: true }).waitFor();
    await row.getByText('Active').waitFor();
    await row.getByText('A call of the API').waitFor();
    await page.getByText('deposit_confirmed with amount = 7').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Status').selectOption('draft');
    await row.waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('status')).toBe('draft');
    await page.goto(`${front.service.base_url}/console/journeys?status=active`);
    await row.waitFor();
    expect(await page.getByText('Only a draft').count()).toBe(0);
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('e');
    await page.waitForURL(`**/journeys/${id}**`);
    await page.getByRole('heading', { name: 'Comes back <script>' }).waitFor();
    expect(await page.title()).toBe(`Comes back ${HOSTILE.script} · Console`);
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Journeys', level: 1 }).waitFor();
    await page.getByLabel('Status').selectOption('paused');
    await page.getByText('No journey matches').waitFor();
  });

  test('says why when the API refuses, and tries again', async () => {
    const page = await front.open('overview');
    const error = { error: { code: 'FORBIDDEN', message: 'not for you', details: {} } };
    await page.route('**/v1/journeys?*', (route) => route.fulfill({ status: 403, json: error }));
    await page.getByRole('link', { name: 'Journeys' }).click();
    await page.getByRole('alert').getByText('not for you').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Only a draft').waitFor();
  });
});

describe('one journey', () => {
  test('is a list of its steps with the numbers of each, and says when its draft is not live', async () => {
    const [ada = '', bob = ''] = await client.players(2);
    const id = await makeActive('Counted');
    await runTo(id, ada, 9_000, 'again');
    await runTo(id, bob, 10, 'day');
    await counted(id, 'size', 2);
    const saved = await client.api('PATCH', `/v1/journeys/${id}?draft=true`, {
      settings: { goal: { event: 'deposit_confirmed', window_days: 7 } },
    });
    expect(saved.status).toBe(200);
    const page = await front.open(`journeys/${id}`);
    const numbers = (of: string) => page.getByRole('list', { name: `Numbers of ${of}` });
    await numbers('Wait 1 day').getByText('1 here now').waitFor();
    await numbers('Size of the deposit').getByText('2 went on').waitFor();
    const ways = page.getByRole('list', { name: 'Size of the deposit', exact: true });
    const big = ways.getByRole('list', { name: 'if big (trigger_payload.amount ≥ 5000)' });
    await big.getByText('Wait for custom_again, at most 3 days').waitFor();
    await big.getByText('Set came_again').waitFor();
    // What follows all ways is outside of them.
    expect(await ways.getByText('End', { exact: true }).count()).toBe(0);
    await page.getByText('it would be version 2').waitFor();
    await page.getByText('deposit_confirmed within 7 days').waitFor();
    await numbers('Wait 1 day').getByRole('link', { name: '1 here now' }).click();
    await page.getByRole('gridcell', { name: bob }).waitFor();
    expect(await page.getByRole('gridcell', { name: ada }).count()).toBe(0);
  });

  test('is a canvas of focusable nodes with their numbers, in light and dark', async () => {
    const [ada = ''] = await client.players(1);
    const id = await makeActive('Drawn');
    await runTo(id, ada, 10, 'day');
    await counted(id, 'day', 1);
    const page = await front.open(`journeys/${id}`);
    const day = page.getByRole('group', { name: 'Wait 1 day, 1 came, 1 here now' });
    await day.waitFor();
    expect(await page.locator('.react-flow__edge').count()).toBe(6);
    // By keyboard: the list marks what the canvas selects.
    await day.focus();
    await page.keyboard.press('Enter');
    await page.locator('[data-node="day"][aria-current="step"]').waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
    await page.getByLabel('Show').selectOption('list');
    await page.locator('.react-flow').waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('view')).toBe('list');
    await page.setViewportSize({ width: 380, height: 800 });
    await page.getByLabel('Show').selectOption('both');
    await day.waitFor();
    expect(await overflows(page)).toBe(false);
    expect(await faultsInBothThemes(page)).toEqual([]);
  });

  test('is activated, paused with a hold, and activated again, each time after having said what happens', async () => {
    const [ada = ''] = await client.players(1);
    const template_id = await client.template({ name: 'Come back' });
    const provider_id = await client.provider({ name: 'Mailer' });
    const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'day' };
    const day = { id: 'day', type: 'wait', duration_ms: DAY_MS, next: 'end' };
    const id = await make('Acts', { graph: { start_node_id: 'mail', nodes: [mail, day, END] } });
    const page = await front.open(`journeys/${id}`);
    const dialog = page.getByRole('dialog');
    const act = (name: string) => page.getByRole('button', { name, exact: true });
    await act('Activate').click();
    await dialog.getByText('From now on runs start for players with: A call of the API.').waitFor();
    await dialog.getByRole('row', { name: 'Message template Come back' }).waitFor();
    await dialog.getByRole('row', { name: 'Provider Mailer' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Activate' }).click();
    await act('Trigger').click();
    await dialog.getByRole('searchbox').fill(`${ada}@example.com`);
    await dialog.getByRole('button', { name: /@example.com/ }).click();
    await dialog.getByLabel('Context as JSON').fill('{"coupon":');
    await dialog.getByText('This is no JSON object').waitFor();
    expect(await dialog.getByRole('button', { name: 'Trigger' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Context as JSON').fill('{"coupon": "A1", "email": "ada@example.com"}');
    // The answer is lost: another try is the same action.
    const keys: (string | undefined)[] = [];
    await page.route('**/trigger', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await dialog.getByRole('button', { name: 'Trigger' }).click();
    await dialog.getByText('UNREACHABLE').waitFor();
    await dialog.getByRole('button', { name: 'Trigger' }).click();
    await dialog.getByRole('button', { name: 'Show it' }).click();
    expect(keys).toEqual([keys[0], keys[0]]);
    expect((await client.api<unknown[]>('GET', `/v1/journeys/${id}/runs`)).data).toHaveLength(1);
    // The drawer with the run: the message with its outcome, and until when it waits.
    await dialog.getByRole('row', { name: /Send “Come back” Done the message was queued/ }).waitFor();
    await dialog.getByRole('row', { name: /Wait 1 day Here now — .* Due 20/ }).waitFor();
    await dialog.getByText('Context', { exact: true }).click();
    await dialog.getByText('"coupon": "A1"').waitFor();
    await dialog.getByText('"email": "a•••@example.com"').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await act('Pause').click();
    await dialog.getByText('1 run is running. Without a hold it goes on').waitFor();
    await dialog.getByRole('checkbox').check();
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.locator('dd', { hasText: 'Held' }).waitFor();
    await page.getByRole('gridcell', { name: 'held' }).waitFor();
    await act('Activate').click();
    await dialog.getByLabel('Runs that came due').selectOption('are cancelled');
    await dialog.getByRole('button', { name: 'Activate' }).click();
    await act('Pause').waitFor();
    expect((await stored(id))['status']).toBe('active');
  });

  test('says what hinders its activation', async () => {
    const mail = { id: 'mail', type: 'send_message', template_id: 'none', provider_id: 'none', next: 'end' };
    const id = await make('Hindered', { graph: { start_node_id: 'mail', nodes: [mail, END] } });
    const page = await front.open(`journeys/${id}`);
    await page.getByRole('group', { name: 'Warnings' }).getByText('mail').first().waitFor();
    await page.getByRole('button', { name: 'Activate' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('alert').getByText('Fix these first').waitFor();
    expect(await dialog.getByRole('button', { name: 'Activate' }).isDisabled()).toBe(true);
  });
});

describe('a simulation', () => {
  test('shows the path of a player with the reasons, also to a viewer, and does nothing', async () => {
    const [ada = ''] = await client.players(1);
    const template_id = await client.template({ name: 'Thanks' });
    const provider_id = await client.provider();
    const nodes = SORTS.nodes.map((node) => (node.id === 'day' ? { ...node, next: 'mail' } : node));
    const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'end' };
    const id = await make('Simulated', { graph: { ...SORTS, nodes: [...nodes, mail] } });
    const page = await openAs(front, 'viewer', `journeys/${id}`);
    await page.getByRole('button', { name: 'Simulate' }).click();
    const drawer = page.getByRole('dialog', { name: 'Simulate “Simulated”' });
    await drawer.getByRole('searchbox').fill(`${ada}@example.com`);
    await drawer.getByRole('button', { name: /@example.com/ }).click();
    await drawer.getByLabel('Data of the trigger').fill('{"amount": 100}');
    await drawer.getByRole('button', { name: 'Simulate' }).click();
    await drawer.getByRole('row', { name: /Size of the deposit Done no branch held at once/ }).waitFor();
    await drawer.getByRole('row', { name: /Wait 1 day Done the time was over 1 day/ }).waitFor();
    await drawer.getByText(/^Send “Thanks”: Email to /).click();
    await drawer.getByText('Hello Ada').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await drawer.getByLabel('Data of the trigger').fill('{"amount": 5000}');
    await drawer.getByRole('button', { name: 'Simulate' }).click();
    await drawer
      .getByRole('row', { name: /Wait for custom_again.* the event did not come in time 3 days/ })
      .waitFor();
    expect((await client.api<unknown[]>('GET', `/v1/journeys/${id}/runs`)).data).toEqual([]);
  });
});

describe('runs', () => {
  test('are filtered in the address, and end by hand: one, and all at a step', async () => {
    const [ada = '', bob = '', eve = ''] = await client.players(3);
    const id = await makeActive('Ended by hand');
    const run_id = await runTo(id, ada, 9_000, 'again');
    await runTo(id, bob, 10, 'day');
    await runTo(id, eve, 10, 'day');
    await counted(id, 'day', 2);
    const page = await front.open(`journeys/${id}?tab=runs&node=again`);
    const row = page.getByRole('row', { name: shownName(ada) });
    await row
      .getByRole('gridcell', { name: /^20\d\d-.* UTC$/ })
      .first()
      .waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('Enter');
    const drawer = page.getByRole('dialog', { name: 'Run', exact: true });
    await drawer.getByRole('row', { name: /Size of the deposit Done took the branch big/ }).waitFor();
    expect(new URL(page.url()).searchParams.get('run')).toBe(run_id);
    await drawer.getByRole('button', { name: 'Cancel the run' }).click();
    const asked = page.getByRole('dialog', { name: `Cancel the run of player ${ada}?` });
    await asked.getByRole('button', { name: 'Cancel the run' }).click();
    await drawer.getByText(`cancelled by ${front.service.owner}`).waitFor();
    await asked.waitFor({ state: 'detached' });
    expect(await drawer.getByRole('button', { name: 'Cancel the run' }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.getByLabel('Step').selectOption('day');
    await page.getByRole('button', { name: 'Cancel runs…' }).click();
    const all = page.getByRole('dialog', { name: 'Cancel the running runs of “Ended by hand”?' });
    await all.getByText('2 runs stand at “Wait 1 day” now').waitFor();
    await all.getByRole('button', { name: 'Cancel 2 runs' }).click();
    await page.getByRole('gridcell', { name: 'Cancelled' }).nth(1).waitFor();
    // While it is open, nothing behind it takes the focus.
    await all.waitFor({ state: 'detached' });
    // Nothing personal that is typed comes into the address.
    const filters = page.getByRole('search');
    await filters.getByRole('searchbox').fill(`${bob}@example.com`);
    const found = filters.getByRole('button', { name: /@example.com/ });
    await found.waitFor();
    expect(page.url()).not.toContain('example.com');
    await found.click();
    await page.getByRole('row', { name: shownName(eve) }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: shownName(bob) }).waitFor();
    expect(new URL(page.url()).searchParams.get('player')).toBe(bob);
  });
});

describe('versions', () => {
  test('are compared with each other, and published again', async () => {
    const id = await makeActive('Versions', {
      graph: {
        start_node_id: 'day',
        nodes: [{ id: 'day', type: 'wait', duration_ms: DAY_MS, next: 'end' }, END],
      },
    });
    const graph = {
      start_node_id: 'day',
      nodes: [
        { id: 'day', type: 'wait', duration_ms: 2 * DAY_MS, next: 'mark' },
        { id: 'mark', type: 'update_player', set: { traits: { seen: true } }, next: 'end' },
        END,
      ],
    };
    await client.api('PATCH', `/v1/journeys/${id}`, { graph, settings: { re_entry: { mode: 'once' } } });
    const page = await front.open(`journeys/${id}?tab=versions`);
    const table = page.getByRole('group', { name: 'Difference' });
    await table
      .getByRole('row', { name: 'Wait 2 days day duration_ms changed 86400000 172800000' })
      .waitFor();
    await table.getByRole('row', { name: /Set seen mark added/ }).waitFor();
    await table.getByRole('row', { name: /Rules re_entry added/ }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('From').selectOption('Version 2');
    await page.getByText('Both are the same.').waitFor();
    await page.getByRole('button', { name: 'Publish again: 1' }).click();
    await page.getByRole('dialog').getByText('Its content becomes version 3').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish again' }).click();
    await page.getByRole('row', { name: /^3 Live/ }).waitFor();
    expect((await stored(id))['version']).toBe(3);
  });
});

describe('runs on an old version', () => {
  const wait = (id: string, next: string) => ({ id, type: 'wait', duration_ms: DAY_MS, next });
  const versionOf = async (run_id: string, id: string) =>
    (await client.api('GET', `/v1/journeys/${id}/runs/${run_id}`)).data['journey_version'];

  test('move to another after they were counted: those without a place where somebody sends them', async () => {
    const [ada = '', bob = ''] = await client.players(2);
    const nodes = [...SORTS.nodes.filter(({ id }) => id !== 'day'), wait('day', 'end')];
    const id = await makeActive('Moved', { graph: { ...SORTS, nodes } });
    const kept = await runTo(id, ada, 9_000, 'again');
    const mapped = await runTo(id, bob, 10, 'day');
    const graph = {
      start_node_id: 'size',
      nodes: [
        ...SORTS.nodes
          .filter((node) => node.id !== 'day')
          .map((node) => (node.id === 'size' ? { ...node, else_next: 'later' } : node)),
        wait('later', 'end'),
      ],
    };
    expect((await client.api('PATCH', `/v1/journeys/${id}`, { graph })).status).toBe(200);
    const page = await front.open(`journeys/${id}?tab=versions`);
    await page.getByRole('button', { name: 'Move runs…' }).press('Enter');
    const form = page.getByRole('dialog', { name: 'Move runs of “Moved” to another version' });
    expect(await form.getByLabel('From version').inputValue()).toBe('1');
    expect(await form.getByLabel('To version').inputValue()).toBe('2');
    await form.getByRole('row', { name: /^Wait for custom_again.* again the same step —$/ }).waitFor();
    const act = form.getByRole('button', { name: 'Move the runs…' });
    expect(await act.isDisabled()).toBe(true);
    // What concerns many must be typed.
    await page.route('**/migrate-runs', (route) =>
      route.fulfill({ json: { data: { moved: 12_000, stayed: 0, exited: 345, by_node: { day: 12_345 } } } }),
    );
    await form.getByRole('button', { name: 'Count the runs' }).click();
    await form.getByRole('row', { name: /^Wait 1 day day has no place.* 12,345$/ }).waitFor();
    await act.click();
    const asked = page.getByRole('dialog', { name: 'Move the runs of “Moved” from version 1 to 2?' });
    const move = asked.getByRole('button', { name: /^Move [\d,]+ runs?$/ });
    expect(await move.isDisabled()).toBe(true);
    await asked.getByLabel('Type 12,345').fill('12345');
    expect(await move.isEnabled()).toBe(true);
    await asked.getByText('345 runs end where they stand').waitFor();
    await asked.getByRole('button', { name: 'Not now' }).click();
    await page.unrouteAll();
    // Another choice has to be counted again.
    await form.getByLabel('Runs whose step has no place').selectOption('leave the journey');
    await form.getByText('Count the runs first').waitFor();
    await form.getByRole('button', { name: 'Count the runs' }).click();
    await form.getByText('1 run would move, 0 runs would stay, 1 run would leave the journey.').waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
    await page.setViewportSize({ width: 380, height: 800 });
    expect(await overflows(page)).toBe(false);
    await form.getByLabel('Where runs at “Wait 1 day” go').selectOption('later');
    await form.getByLabel('Count waits anew').check();
    await form.getByRole('button', { name: 'Count the runs' }).click();
    await form.getByText('2 runs would move, 0 runs would stay').waitFor();
    await act.click();
    await asked.getByText('2 runs go on by the steps of the new version.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    // The answer is lost: another try is the same action.
    const keys: (string | undefined)[] = [];
    await page.route('**/migrate-runs', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await move.click();
    await asked.getByText('UNREACHABLE').waitFor();
    await move.click();
    await page.getByText('Done: 2 runs moved, 0 runs stayed, 0 runs left the journey.').waitFor();
    expect(keys).toEqual([expect.any(String), keys[0]]);
    expect([await versionOf(kept, id), await versionOf(mapped, id)]).toEqual([2, 2]);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByRole('row', { name: /^1 .* 0 Publish again: 1$/ }).waitFor();
    await page.getByRole('link', { name: 'Audit log' }).click();
    const { owner } = front.service;
    await page.getByRole('row', { name: new RegExp(`${owner} Runs moved .*moved: — → 2`) }).waitFor();
    await page.getByRole('row', { name: `${owner} Created` }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('says why the service refuses to count them', async () => {
    const id = await makeActive('Not moved');
    await client.api('PATCH', `/v1/journeys/${id}`, { settings: { holdout_percent: 1 } });
    const page = await front.open(`journeys/${id}?tab=versions`);
    await page.getByRole('button', { name: 'Move runs…' }).click();
    const error = { error: { code: 'JOURNEY_VERSION_NOT_FOUND', message: 'no such version', details: {} } };
    await page.route('**/migrate-runs', (route) => route.fulfill({ status: 404, json: error }));
    const form = page.getByRole('dialog');
    await form.getByRole('button', { name: 'Count the runs' }).click();
    await form.getByRole('alert').getByText('no such version').waitFor();
    await page.unrouteAll();
    await form.getByRole('button', { name: 'Count the runs' }).click();
    await form.getByText('0 runs would move').waitFor();
    expect(await form.getByRole('button', { name: 'Move the runs…' }).isDisabled()).toBe(true);
  });
});

describe('roles and ends', () => {
  test('a viewer sees everything and no button that changes something', async () => {
    const [ada = ''] = await client.players(1);
    const id = await makeActive('Viewed');
    const run_id = await runTo(id, ada, 10, 'day');
    const page = await openAs(front, 'viewer', `journeys/${id}?tab=runs&run=${run_id}`);
    await page.getByRole('dialog').getByText('Here now').waitFor();
    for (const name of ['Cancel the run', 'Cancel runs…', 'Activate', 'Pause', 'Trigger', 'Delete', 'Edit']) {
      expect([name, await page.getByRole('button', { name }).count()]).toEqual([name, 0]);
    }
    await client.api('PATCH', `/v1/journeys/${id}`, { settings: { holdout_percent: 1 } });
    await page.goto(`${front.service.base_url}/console/journeys/${id}?tab=versions`);
    await page.getByRole('row', { name: /^2 Live/ }).waitFor();
    expect(await page.getByRole('button', { name: /Publish|Move runs/ }).count()).toBe(0);
  });

  test('is deleted after having said how many runs end, and can still be read', async () => {
    const [ada = ''] = await client.players(1);
    const id = await makeActive('Deleted');
    await runTo(id, ada, 10, 'day');
    const page = await front.open(`journeys/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete the journey “Deleted”?' });
    await dialog.getByText('1 run is running and will be cancelled').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete “Deleted”' }).click();
    await page.getByRole('heading', { name: 'Journeys', level: 1 }).waitFor();
    await page.goto(`${front.service.base_url}/console/journeys/${id}`);
    await page.getByText('Deleted', { exact: true }).first().waitFor();
    expect(await page.getByRole('button', { name: 'Activate' }).count()).toBe(0);
    await page.goto(`${front.service.base_url}/console/journeys/00000000-0000-4000-8000-000000000000`);
    await page.getByRole('alert').getByText('JOURNEY_NOT_FOUND').waitFor();
  });
});
