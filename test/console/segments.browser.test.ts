import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accessibilityFaults, becomesOld, faultsInBothThemes, goTo, show } from './browser.ts';
import { makeMember } from './members.ts';
import {
  OVERFLOW,
  answer,
  client,
  conditions,
  depositedOver,
  failure,
  front,
  newName,
  openBuilder,
  openScreens,
  player_ids,
  saved,
  seed,
  sizeIs,
  stored,
} from './segment-screens.ts';

beforeAll(openScreens, 120_000);
afterAll(() => front.close());

describe('the list', () => {
  test('says what a segment is and what comes next while there is none', async () => {
    const page = await front.open('segments');
    await page.getByRole('heading', { name: 'No segments yet' }).waitFor();
    expect(await page.locator('pre').textContent()).toContain('/v1/segments');
    await page.getByRole('main').getByRole('link', { name: 'New segment' }).last().click();
    await page.getByRole('heading', { name: 'New segment' }).waitFor();
  });

  test('shows size, strategy, evaluation and status, and opens a row by keyboard', async () => {
    await seed();
    const id = await stored('Alpha depositors', [depositedOver(5_000)], {
      refresh_strategy: 'scheduled',
      refresh_interval_minutes: 30,
    });
    const page = await front.open('segments');
    const row = page.getByRole('row', { name: /Alpha depositors/ });
    // Its schedule evaluates it once more.
    await row.getByText('Up to date').waitFor();
    const text = (await row.textContent()) ?? '';
    expect(text).toContain('7');
    expect(text).toContain('Scheduled, every 30 minutes');
    await row.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/segments/${id}`));
  });

  test('finds by name, keeps the search in the address, and has no other state', async () => {
    await seed();
    await stored('Beta whales');
    await stored('Gamma minnows');
    const page = await front.open('segments?q=whales');
    await page.getByRole('row', { name: /Beta whales/ }).waitFor();
    expect(await page.getByRole('row', { name: /Gamma minnows/ }).count()).toBe(0);
    await page.keyboard.press('/');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('Gamma');
    await page.getByRole('row', { name: /Gamma minnows/ }).waitFor();
    await page.waitForURL(/q=gamma/);
    await page.keyboard.type('xyz');
    await page.getByRole('heading', { name: 'No segment has this in its name' }).waitFor();
  });

  test.each([
    ['an error', 500, failure('INTERNAL')],
    ['garbage', 200, '<html>'],
    ['an empty object', 200, {}],
    ['null', 200, 'null'],
  ])('shows %s of the API with another try', async (_, status, body) => {
    const page = await front.open('players');
    await answer(page, /\/v1\/segments\?/, status, body);
    await page.getByRole('link', { name: 'Segments' }).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/INTERNAL|ANSWER_UNREADABLE/);
    await page.unroute(/\/v1\/segments\?/);
    await page.getByRole('button', { name: 'Try again' }).click();
    await alert.waitFor({ state: 'detached' });
  });

  test('says that it loads, and keeps old rows with their age when a later answer fails', async () => {
    await seed();
    await stored('Delta stays');
    const page = await front.open('players', { is_private: true });
    await page.clock.install();
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/\/v1\/segments\?/, async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('link', { name: 'Segments' }).click();
    await page.getByText('Loading segments…').waitFor();
    release();
    await page.getByRole('row', { name: /Delta stays/ }).waitFor();
    await page.unroute(/\/v1\/segments\?/);
    await answer(page, /\/v1\/segments\?/, 400, failure('VALIDATION_ERROR'));
    await becomesOld(page);
    expect(await page.getByRole('row', { name: /Delta stays/ }).count()).toBe(1);
  });
});

describe('one segment', () => {
  beforeEach(seed);

  test('shows size, how it is kept, its history with a table, its members, and refreshes now', async () => {
    const id = await client.make([depositedOver(9_000)], { name: newName() });
    const page = await front.open(`segments/${id}`);
    await page.getByText('Not evaluated yet').waitFor();
    await page.getByRole('button', { name: 'Refresh now' }).click();
    await page.getByText(/3 players match: 3 came in, 0 left/).waitFor();
    await page.getByText('Up to date').first().waitFor();
    await page.getByRole('img', { name: /Players over the last 30 days: between/ }).waitFor();
    await page.getByText('As table').click();
    await page.getByRole('table').getByText('3').first().waitFor();
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('row', { name: /crm-12/ }).waitFor();
    expect(await page.getByRole('grid').getByRole('row').count()).toBe(4);
    await page.getByRole('row', { name: /crm-12/ }).click();
    await page.waitForURL(new RegExp(`/players/${player_ids?.[11]}`));
  });

  test('explains a player, condition by condition, and keeps the player in the address', async () => {
    const id = await stored(newName(), [
      depositedOver(5_000),
      { type: 'trait', field: 'email', op: 'exists' },
    ]);
    const page = await front.open(`segments/${id}?tab=explain`);
    await page.getByLabel('Why is a player in the segment, or not?').fill('crm-9');
    await page.getByRole('button', { name: /^crm-9 / }).click();
    await page.getByText('Does not match the definition now').waitFor();
    const tree = page.getByRole('listitem');
    await tree
      .filter({ hasText: 'total deposited' })
      .filter({ hasText: 'the player has 9000' })
      .last()
      .waitFor();
    await tree.filter({ hasText: 'email has a value' }).filter({ hasText: 'does not hold' }).last().waitFor();
    expect(new URL(page.url()).searchParams.get('player')).toBe(player_ids?.[8]);
    await page.reload();
    await page.getByText('Does not match the definition now').waitFor();
  });

  test('shows what uses it before it is deleted, and that a segment that is referred to is refused', async () => {
    const name = newName();
    const id = await stored(name);
    const user = await client.make([{ type: 'segment', segment_id: id, op: 'in' }], {
      name: 'The user of it',
    });
    const page = await front.open(`segments/${id}?tab=references`);
    await page.getByRole('link', { name: 'The user of it' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: `Delete the segment “${name}”?` });
    await dialog.getByText('The user of it').waitFor();
    expect(await dialog.textContent()).toContain('12 players are in it');
    await dialog.getByRole('button', { name: `Delete “${name}”` }).click();
    await dialog.getByText('CONFLICT').waitFor();
    expect((await client.api('GET', `/v1/segments/${id}`)).data['deleted_at']).toBeNull();
    await client.api('DELETE', `/v1/segments/${user}`);
    await dialog.getByRole('button', { name: `Delete “${name}”` }).click();
    await page.waitForURL(/\/segments$/);
    expect((await client.api('GET', `/v1/segments/${id}`)).data['deleted_at']).not.toBeNull();
    await page.goto(`${front.service.base_url}/console/segments/${id}`);
    await page.getByText('○ Deleted').waitFor();
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  });

  test('wants the number typed before more than 10,000 players are let go', async () => {
    const name = newName();
    const id = await stored(name);
    const page = await front.open('players');
    const { data } = await client.api('GET', `/v1/segments/${id}`);
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(new RegExp(`/v1/segments/${id}$`), (route) =>
      route.request().method() === 'DELETE'
        ? answered.then(() => route.continue())
        : route.fulfill({ json: { data: { ...data, estimated_size: 123_456 } } }),
    );
    await goTo(page, `segments/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: `Delete “${name}”` });
    await dialog.getByText('Nothing uses it.').waitFor();
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('12345');
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('123456');
    await confirm.click();
    // It cannot be left while nobody knows how it ends.
    await dialog.getByRole('button', { name: 'Working…' }).waitFor();
    expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(true);
    answer();
    await page.waitForURL(/\/segments$/);
  });

  test('shows who changed it', async () => {
    const id = await stored(newName());
    await client.api('PATCH', `/v1/segments/${id}`, { description: 'a new word' });
    const page = await front.open(`segments/${id}?tab=audit`);
    const row = page.getByRole('row', { name: /a new word/ });
    await row.waitFor();
    expect(await row.textContent()).toContain(`${front.service.owner}Changed`);
    await page.getByRole('row', { name: `${front.service.owner} Created` }).waitFor();
    await row.click();
    const drawer = page.getByRole('dialog', { name: 'Segment: Changed' });
    await drawer.getByRole('row', { name: /^description .*"a new word"$/ }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('of an unknown id is a refusal with its code, and a hostile id stays a part of its path', async () => {
    const page = await front.open('segments/00000000-0000-4000-8000-000000000000');
    await page.getByText('SEGMENT_NOT_FOUND').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${front.service.base_url}/console/segments/..%2F..%2Ftenant%2Fconfig`);
    await page.getByRole('alert').waitFor();
    expect(asked.filter((path) => path.startsWith('/v1/tenant/'))).toEqual([]);
  });
});

describe('names from outside', () => {
  const HOSTILE = [
    ['a script', '<script>document.title="owned"</script><img src=x onerror="document.title=1">'],
    ['right to left', '\u202Eשלום עולם\u202C مرحبا'],
    ['10,000 characters', 'W'.repeat(10_000)],
  ] as const;

  test.each(HOSTILE)('%s is text in the list, the page, the dialog and the builder', async (_, name) => {
    await seed();
    const id = await stored(newName());
    const page = await front.open('players', { width: 900 });
    const { data } = await client.api('GET', `/v1/segments/${id}`);
    const record = { ...data, name, description: name, last_error: name };
    await answer(page, new RegExp(`/v1/segments/${id}$`), 200, { data: record });
    await answer(page, /\/v1\/segments\?/, 200, { data: [record], meta: { next_cursor: null } });
    await answer(page, new RegExp(`/v1/segments/${id}/references$`), 200, {
      data: [{ type: name, id: 'x', name, status: name }],
    });
    const overflow = () => page.evaluate<number>(OVERFLOW);
    await page.getByRole('link', { name: 'Segments' }).click();
    // Until the screen is loaded the rows are those of the players.
    await page.getByRole('heading', { name: 'Segments', level: 1 }).waitFor();
    const row = page.getByRole('row').nth(1);
    await row.waitFor();
    expect(await row.textContent()).toContain(name);
    expect(await overflow()).toBeLessThanOrEqual(0);
    await row.click();
    await page.getByRole('heading', { name: name.slice(0, 50) }).waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('table').waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Edit' }).click();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe(name);
    expect(await overflow()).toBeLessThanOrEqual(0);
    expect(await page.title()).not.toBe('owned');
    expect(await page.locator('main script, main img[src="x"]').count()).toBe(0);
  });
});

test('list, page, dialog and builder have no faults of accessibility, in light and dark', async () => {
  await seed();
  const id = await stored(newName(), [depositedOver(0), { type: 'random', percent: 100, salt: 'a' }]);
  const page = await front.open('segments');
  await page.getByRole('grid').waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
  await goTo(page, `segments/${id}`);
  await page.getByRole('img').waitFor();
  await page.getByText('total deposited is more than', { exact: false }).waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Nothing uses it.').waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
  await page.keyboard.press('Escape');
  for (const tab of ['members', 'references', `explain&player=${player_ids?.[0]}`, 'audit']) {
    await show(page, `segments/${id}?tab=${tab}`);
    await page
      .getByText(/crm-1\b|Nothing uses this|Is a member|create/)
      .first()
      .waitFor();
    expect(await faultsInBothThemes(page), tab).toEqual([]);
  }
  await goTo(page, `segments/${id}/edit`);
  await sizeIs(page, '12 players');
  await page.getByRole('group', { name: 'Reachable now' }).waitFor();
  await page.getByRole('button', { name: 'Add a group' }).click();
  await conditions(page).nth(2).getByLabel('Value').fill('many');
  await conditions(page).nth(2).getByRole('alert').waitFor();
  await conditions(page).nth(1).getByRole('button', { name: 'As JSON' }).click();
  expect(await faultsInBothThemes(page)).toEqual([]);
  await page.getByRole('link', { name: 'Players', exact: true }).click();
  await page.getByRole('dialog').waitFor();
  expect(await faultsInBothThemes(page)).toEqual([]);
});

test('in a narrow window nothing is cut off, and a segment can be built', async () => {
  await seed();
  const page = await openBuilder({ width: 380, height: 700 });
  const overflow = () => page.evaluate<number>(OVERFLOW);
  await conditions(page).first().getByLabel('Type of condition').selectOption({ label: 'Events in order' });
  expect(await overflow()).toBeLessThanOrEqual(0);
  await page.getByRole('button', { name: 'Save' }).click();
  await saved(page);
  await page.getByText(/deposit_confirmed, then/).waitFor();
  expect(await overflow()).toBeLessThanOrEqual(0);
  await page.getByRole('link', { name: 'Segments' }).click();
  await page.getByRole('grid').waitFor();
  expect(await overflow()).toBeLessThanOrEqual(0);
});

test('the scripts of the list and of the builder are within their budgets', async () => {
  const page = await front.open('players');
  await page.getByRole('heading', { name: 'Players', level: 1 }).waitFor();
  const loaded = () =>
    page.evaluate<number>(
      `performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'))
        .reduce((sum, one) => sum + one.encodedBodySize, 0)`,
    );
  const before = await loaded();
  await page.getByRole('link', { name: 'Segments' }).click();
  await page.getByRole('heading', { name: 'Segments', exact: true }).waitFor();
  const list = (await loaded()) - before;
  expect(list).toBeGreaterThan(0);
  expect(list).toBeLessThan(40_000);
  await page.getByRole('link', { name: 'New segment' }).first().click();
  await page.getByRole('heading', { name: 'New segment' }).waitFor();
  expect((await loaded()) - before).toBeLessThan(110_000);
});

// The last one: from then on the user belongs to two tenants.
test('a viewer sees segments, and has nothing that changes them', async () => {
  await seed();
  const other = await front.service.newTenant();
  await makeMember({ ...front.service, ...other }, front.service.owner, 'viewer');
  const headers = { authorization: `Bearer ${other.session_token}`, 'content-type': 'application/json' };
  const response = await fetch(`${front.service.base_url}/v1/segments`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      name: 'Of the other tenant',
      definition: { operator: 'AND', conditions: [depositedOver(0)] },
    }),
  });
  const { data } = (await response.json()) as { data: { id: string } };
  const page = await front.open(`segments?project=${other.project_id}`);
  await page.getByRole('row', { name: /Of the other tenant/ }).waitFor();
  expect(await page.getByText('New segment').count()).toBe(0);
  await page.getByRole('row', { name: /Of the other tenant/ }).click();
  await page.getByText('total deposited is more than', { exact: false }).waitFor();
  for (const name of ['Refresh now', 'Delete'])
    expect(await page.getByRole('button', { name }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('The audit log is for compliance officers').waitFor();
  for (const path of ['new', `${data.id}/edit`]) {
    await page.goto(`${front.service.base_url}/console/segments/${path}?project=${other.project_id}`);
    await page.getByText('You may look at segments here, not change them').waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
  }
});
