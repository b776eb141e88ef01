import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accessibilityFaults, goTo } from './browser.ts';
import {
  type Body,
  FOCUSED,
  answer,
  client,
  conditions,
  definitionOf,
  depositedOver,
  failure,
  front,
  frozen,
  idIn,
  live,
  newName,
  openBuilder,
  openScreens,
  player_ids,
  saved,
  seed,
  sizeIs,
  stored,
  tabTo,
} from './segment-screens.ts';

beforeAll(openScreens, 120_000);
afterAll(() => front.close());

/** How long keys rest before the builder asks, and almost so long. */
const [REST_MS, JUST_BEFORE_MS] = [300, 250];

describe('the builder', () => {
  beforeEach(seed);

  test('builds a segment by mouse, with its live size, and saves what was built', async () => {
    const page = await openBuilder();
    const name = await page.getByLabel('Name', { exact: true }).inputValue();
    await sizeIs(page, '12 players');
    const first = conditions(page).first();
    await first.getByLabel('Type of condition').selectOption({ label: 'Events of the player' });
    await first.getByLabel('Aggregate').selectOption({ label: 'Sum' });
    await first.getByLabel('Comparison').selectOption({ label: 'is more than' });
    await first.getByLabel('Value').fill('50');
    await sizeIs(page, '7 players');
    await first.getByText('7 players alone').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await saved(page);
    await page.getByRole('heading', { name }).waitFor();
    expect(await definitionOf(idIn(page))).toEqual({
      operator: 'AND',
      conditions: [
        {
          type: 'event',
          event: 'deposit_confirmed',
          aggregate: 'sum',
          property: 'amount',
          op: 'gt',
          value: 5_000,
          window: { last: { days: 30 } },
        },
      ],
    });
    await page
      .getByText(/Sum of amount of deposit_confirmed in the last 30 days is more than .50\.00/)
      .waitFor();
  });

  test('builds the same by keyboard alone', async () => {
    const page = await front.open('segments');
    const name = newName();
    await tabTo(page, 'New segment');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'New segment' }).waitFor();
    await tabTo(page, 'Name');
    await page.keyboard.type(name);
    await tabTo(page, 'Add a condition');
    await page.keyboard.press('Enter');
    // The new condition has the focus.
    await tabTo(page, 'Type of condition', 'F24');
    await page.keyboard.type('Events of the');
    await tabTo(page, 'Aggregate');
    await page.keyboard.type('Sum');
    await tabTo(page, 'Comparison');
    await page.keyboard.type('is more');
    await tabTo(page, 'Value');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('50');
    await sizeIs(page, '7 players');
    await page.keyboard.press('Control+s');
    await saved(page);
    await page.getByRole('heading', { name }).waitFor();
    expect(await definitionOf(idIn(page))).toMatchObject({
      conditions: [{ type: 'event', aggregate: 'sum', property: 'amount', op: 'gt', value: 5_000 }],
    });
  });

  test('counts what is typed: the total, each condition alone, the reach and a sample', async () => {
    const page = await openBuilder();
    const first = conditions(page).first();
    await first.getByLabel('Value').fill('80');
    await sizeIs(page, '4 players');
    await page.getByRole('button', { name: 'Add a condition' }).click();
    const second = conditions(page).nth(1);
    await second.getByLabel('Comparison').selectOption({ label: 'is at most' });
    await second.getByLabel('Value').fill('100');
    await sizeIs(page, '2 players');
    await first.getByText('4 players alone').waitFor();
    await second.getByText('10 players alone').waitFor();
    await page.getByLabel('Match').selectOption({ label: 'Any of' });
    await sizeIs(page, '12 players');
    const reach = page.getByRole('group', { name: 'Reachable now' });
    await reach.waitFor();
    expect(await reach.getByRole('row').count()).toBe(4);
    await page.getByText('Sample of ten players').click();
    expect(await page.locator('details a[href*="/players/"]').count()).toBe(10);
  });

  test('says beside a condition that it selects by a sign of harm, until it leaves these players out', async () => {
    const page = await openBuilder();
    const first = conditions(page).first();
    await first.getByLabel('Field').selectOption('ggr');
    await first.getByLabel('Comparison').selectOption({ label: 'is more than' });
    const warning = first.getByText('Sign of harm: losses');
    await warning.waitFor();
    await first.getByText('or leave these players out', { exact: false }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Match').selectOption('NOT');
    await warning.waitFor({ state: 'detached' });
    await page.getByLabel('Match').selectOption('AND');
    await warning.waitFor();
    // It warns, and does not refuse.
    await page.getByRole('button', { name: 'Save' }).click();
    await saved(page);
  });

  test('asks once when the keys rest, aborts the question before, and never blocks a key', async () => {
    const page = await openBuilder({ is_private: true });
    await sizeIs(page, '12 players');
    // Keys rest when the test says so, however busy the machine is.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 3_600_000);
    const asked: Request[] = [];
    const aborted: Request[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/preview') && request.postData()?.includes('per_condition') === true)
        asked.push(request);
    });
    page.on('requestfailed', (request) => aborted.push(request));
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/v1/segments/preview', async (route) => {
      await held;
      await route.continue().catch(() => undefined);
    });
    const value = conditions(page).first().getByLabel('Value');
    await value.fill('');
    await value.pressSequentially('11', { delay: 20 });
    await page.clock.runFor(JUST_BEFORE_MS);
    expect(asked.length).toBe(0);
    await page.clock.runFor(REST_MS - JUST_BEFORE_MS);
    await expect.poll(() => asked.length).toBe(1);
    expect(asked[0]?.postData()).toContain('"value":1100');
    expect(await live(page).textContent()).toBe('Counting…');
    // The first question hangs; the keys go on.
    await value.press('End');
    await value.pressSequentially('5', { delay: 20 });
    expect(await value.inputValue()).toBe('115');
    expect(asked.length).toBe(1);
    await page.clock.runFor(REST_MS);
    await expect.poll(() => asked.length).toBe(2);
    await expect.poll(() => aborted.includes(asked[0] as Request)).toBe(true);
    expect(asked[1]?.postData()).toContain('"value":11500');
    release();
    await page.clock.resume();
    await sizeIs(page, '1 player');
  });

  test('shows what the service refuses at the condition that it names, and only there', async () => {
    const page = await openBuilder();
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await conditions(page).nth(1).getByLabel('Value').fill('many');
    const issues = conditions(page).nth(1).getByRole('alert');
    await issues.waitFor();
    expect(await issues.textContent()).toContain('value "many" is not allowed; it must be a number');
    expect(await page.getByRole('alert').count()).toBe(1);
    await page.getByText('The definition is not right yet', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('SEGMENT_DEFINITION_INVALID').waitFor();
    // The path in the message of the whole names the condition, too; the condition says it once.
    expect(await issues.getByRole('listitem').count()).toBe(1);
    await conditions(page).nth(1).getByLabel('Value').fill('30');
    await issues.waitFor({ state: 'detached' });
    await sizeIs(page, '9 players');
  });

  test('refuses an empty name, an empty group and an interval that is no number, without asking', async () => {
    const page = await front.open('segments/new');
    await page.getByLabel('Updates').selectOption({ label: 'Scheduled' });
    await page.getByLabel('Minutes between evaluations').fill('soon');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Must not be empty').waitFor();
    await page.getByText('Must be a whole number of minutes').waitFor();
    await page.getByRole('alert', { name: 'Errors' }).waitFor();
    expect(await page.evaluate(FOCUSED)).toBe('Name');
    expect(new URL(page.url()).pathname).toBe('/console/segments/new');
  });

  test('takes back and repeats by keys and by buttons; keystrokes of one field are one step', async () => {
    const page = await openBuilder();
    const value = conditions(page).first().getByLabel('Value');
    await value.fill('');
    await value.pressSequentially('123.45', { delay: 10 });
    await page.getByText('"value": 12345').waitFor();
    await page.keyboard.press('Control+z');
    await expect.poll(() => value.inputValue()).toBe('0.00');
    await page.keyboard.press('Control+z');
    await expect.poll(() => conditions(page).count()).toBe(0);
    await page.keyboard.press('Control+z');
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('');
    await expect.poll(() => page.getByRole('button', { name: 'Undo' }).isDisabled()).toBe(true);
    for (let i = 0; i < 3; i++) await page.getByRole('button', { name: 'Redo' }).click();
    await expect.poll(() => value.inputValue()).toBe('123.45');
    await expect.poll(() => page.getByRole('button', { name: 'Redo' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    expect(await conditions(page).count()).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => value.inputValue()).toBe('123.45');
  });

  test('asks before unsaved work is left, by a link, by going back and by closing the window', async () => {
    const page = await front.open('segments');
    await page.getByRole('link', { name: 'New segment' }).first().click();
    await page.getByRole('button', { name: 'Add a condition' }).click();
    const dialog = page.getByRole('dialog', { name: 'Leave without saving?' });
    await page.getByRole('link', { name: 'Players', exact: true }).click();
    await dialog.getByRole('button', { name: 'Stay here' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.evaluate('history.back()');
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await conditions(page).count()).toBe(1);
    const asked = new Promise<string>((resolve) => {
      page.once('dialog', (one) => {
        resolve(one.type());
        void one.dismiss();
      });
    });
    await page.evaluate('void setTimeout(() => location.reload())');
    expect(await asked).toBe('beforeunload');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByRole('button', { name: 'Leave without saving' }).click();
    await page.getByRole('heading', { name: 'Segments', exact: true }).waitFor();
    // Nothing is asked where nothing was changed.
    await page.getByRole('link', { name: 'New segment' }).first().click();
    await page.getByRole('heading', { name: 'New segment' }).waitFor();
    await page.getByRole('link', { name: 'Players', exact: true }).click();
    await page.getByRole('heading', { name: 'Players', level: 1 }).waitFor();
  });

  test('shows the definition as JSON, takes it from there, and does not throw broken JSON away', async () => {
    const page = await openBuilder();
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    const dialog = page.getByRole('dialog');
    const text = dialog.getByRole('textbox');
    await text.fill('{"operator":"AND",');
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await dialog.getByText('This is not JSON.').waitFor();
    await page.keyboard.press('Escape');
    await dialog.getByText('are not applied', { exact: false }).waitFor();
    const definition = {
      operator: 'OR',
      conditions: [depositedOver(10_000), { operator: 'NOT', conditions: [depositedOver(1_000)] }],
    };
    await text.fill(JSON.stringify(definition));
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await sizeIs(page, '3 players');
    expect(await conditions(page).first().getByLabel('Value').inputValue()).toBe('100.00');
    expect(await page.getByLabel('Match').nth(1).inputValue()).toBe('NOT');
    await page.keyboard.press('Control+z');
    await expect.poll(() => conditions(page).count()).toBe(1);
  });

  test('keeps what it has no form for as it is written, through an edit of something else', async () => {
    // A decimal comma of time, an alias, and keys in another order than the builder's.
    const odd = [
      { op: 'eq', value: ' two\nlines ', field: 'custom_attributes.note', type: 'trait' },
      { type: 'trait', field: 'total_deposited', op: '>', value: 12.5 },
      { type: 'trait', field: 'first_seen_at', op: 'after', value: '2020-01-31T00:00:00.123+02:00' },
      { type: 'event', event: 'custom_thing', aggregate: 'count', op: '=', value: 0, window: null },
      { type: 'trait', field: 'custom_attributes.vip', op: 'in', value: [true, 5, '5', 'true'] },
    ];
    const id = await client.make(odd, { name: newName() });
    const page = await front.open(`segments/${id}/edit`);
    await page.getByLabel('Description').fill('touched');
    await page.getByLabel('Part of the definition as JSON').first().waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await saved(page);
    const { data } = await client.api('GET', `/v1/segments/${id}`);
    expect(data['description']).toBe('touched');
    expect(data['definition']).toEqual({ operator: 'AND', conditions: odd });
  });

  test('does not lose a definition of a later version, or numbers beyond 2^53', async () => {
    const id = await client.make([depositedOver(0)], { name: newName() });
    const { data } = await client.api('GET', `/v1/segments/${id}`);
    const page = await front.open('segments');
    const odd = `{"operator":"AND","conditions":[{"type":"later","x":[1,{"y":9007199254740993}]},{"operator":"XOR","conditions":[]},{"type":"trait","field":"total_deposited","op":"gt","value":9007199254740993}]}`;
    const body = JSON.stringify({ data: { ...data, definition: 'HERE' } }).replace('"HERE"', odd);
    await answer(page, new RegExp(`/v1/segments/${id}$`), 200, body);
    await goTo(page, `segments/${id}/edit`);
    await expect
      .poll(() => page.getByLabel('Part of the definition as JSON', { exact: true }).count())
      .toBe(4);
    expect(await conditions(page).getByLabel('Value').inputValue()).toBe('90071992547409.93');
    const json = await page.getByRole('group', { name: 'The definition as JSON', exact: true }).textContent();
    expect((json ?? '').replaceAll(/\s/g, '')).toBe(odd);
  });

  test('saves every digit of a number beyond 2^53', async () => {
    const id = await client.make([depositedOver(0)], { name: newName() });
    const page = await front.open(`segments/${id}/edit`);
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    const dialog = page.getByRole('dialog');
    const condition = `{"type":"trait","field":"custom_attributes.no","op":"eq","value":76561198000000001}`;
    await dialog.getByRole('textbox').fill(`{"operator":"AND","conditions":[${condition}]}`);
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await sizeIs(page, '0 players');
    await page.getByRole('button', { name: 'Save' }).click();
    await saved(page);
    expect((await client.api('GET', `/v1/segments/${id}`)).text).toContain(':76561198000000001}');
  });

  test('takes no amount before it is known in which unit', async () => {
    const id = await client.make([depositedOver(1250)], { name: newName() });
    const page = await front.open('segments');
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/\/v1\/currencies$/, async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${front.service.base_url}/console/segments/${id}/edit`);
    await page.getByRole('status').getByText('the builder').waitFor();
    expect(await conditions(page).count()).toBe(0);
    release();
    expect(await conditions(page).getByLabel('Value').inputValue()).toBe('12.50');
  });

  test('moves, copies, wraps and removes by buttons, with the focus where the work is', async () => {
    const page = await openBuilder();
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await conditions(page).nth(1).getByLabel('Value').fill('70');
    await conditions(page).nth(1).getByRole('button', { name: 'Move up' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => conditions(page).first().getByLabel('Value').inputValue()).toBe('70');
    expect(await page.evaluate(FOCUSED)).toBe('Move up');
    await page.getByRole('button', { name: 'Add a group' }).click();
    await conditions(page).nth(2).getByLabel('Value').fill('90');
    // Down from the second place: into the group behind it.
    await conditions(page).nth(1).getByRole('button', { name: 'Move down' }).press('Enter');
    const inner = page.getByRole('group', { name: 'Group of 2 conditions' }).last();
    expect(await inner.getByRole('group', { name: /^Condition/ }).count()).toBe(2);
    await inner.getByRole('button', { name: 'Duplicate' }).nth(1).press('Enter');
    expect(await conditions(page).count()).toBe(4);
    // NOT takes one: the others go into a group of their own.
    await page.getByLabel('Match').first().selectOption({ label: 'None of' });
    const json = JSON.parse(
      (await page.getByRole('group', { name: 'The definition as JSON', exact: true }).textContent()) ?? '',
    ) as Body;
    expect(json).toMatchObject({ operator: 'NOT', conditions: [{ operator: 'AND' }] });
    expect((json['conditions'] as Body[]).length).toBe(1);
    await conditions(page).first().getByRole('button', { name: 'Remove', exact: true }).press('Enter');
    expect(await page.evaluate('document.activeElement?.tagName')).toBe('SELECT');
  });

  test('has a form for every type of condition whose first state the service accepts', async () => {
    const other = await stored(newName());
    const typesOf = (page: Page) =>
      conditions(page).first().getByLabel('Type of condition').locator('option').allTextContents();
    // Lists are there to choose when there is one.
    expect((await typesOf(await openBuilder())).length).toBe(6);
    await frozen(newName(), player_ids?.slice(0, 3) ?? []);
    const page = await openBuilder();
    const first = conditions(page).first();
    await page.locator('option', { hasText: 'On a list' }).waitFor({ state: 'attached' });
    const types = await typesOf(page);
    expect(types.length).toBe(7);
    for (const label of types) {
      await first.getByLabel('Type of condition').selectOption({ label });
      if (label === 'Another segment') await first.getByLabel('Segment', { exact: true }).selectOption(other);
      await page.locator('[data-state="counted"]', { hasText: /players?$/ }).waitFor();
      expect(await first.getByRole('alert').count(), label).toBe(0);
      if (label === 'On a list') await sizeIs(page, '3 players');
    }
  });

  test('has an operand for every operator of every kind of field, and each is accepted', async () => {
    const page = await openBuilder();
    const first = conditions(page).first();
    for (const field of ['status', 'bet_count', 'first_seen_at', 'total_wagered']) {
      await first.getByLabel('Field').selectOption(field);
      const operators = await first.getByLabel('Comparison').locator('option').allTextContents();
      for (const label of operators) {
        await first.getByLabel('Comparison').selectOption({ label });
        if ((await first.getByLabel('Values, one a line').count()) > 0)
          await first.getByLabel('Values, one a line').fill('1\n20');
        await page.locator('[data-state="counted"]', { hasText: /players?$/ }).waitFor();
        expect(await first.getByRole('alert').count(), `${field} ${label}`).toBe(0);
      }
    }
  }, 120_000);

  test('builds a sequence with properties and time between its steps', async () => {
    const page = await openBuilder();
    const first = conditions(page).first();
    await first.getByLabel('Type of condition').selectOption({ label: 'Events in order' });
    await first.getByRole('button', { name: 'Add a step' }).click();
    const second = first.getByRole('group', { name: 'Step 2' });
    await second.getByRole('button', { name: 'Only events with…' }).click();
    await second.getByLabel('Comparison').selectOption({ label: 'is at least' });
    await second.getByLabel('Value').fill('15');
    await first
      .getByRole('group', { name: 'Step 3' })
      .getByLabel('Event')
      .selectOption('withdrawal_confirmed');
    await first.getByRole('group', { name: 'Step 3' }).getByLabel('How long').fill('36');
    await first.getByRole('group', { name: 'Step 3' }).getByLabel('Unit of time').selectOption('hours');
    await sizeIs(page, '0 players');
    await page.getByText('Nobody matches').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await saved(page);
    expect(await definitionOf(idIn(page))).toMatchObject({
      conditions: [
        {
          type: 'sequence',
          steps: [
            { event: 'deposit_confirmed' },
            { where: [{ property: 'amount', op: 'gte', value: 1_500 }], within: { days: 7 } },
            { event: 'withdrawal_confirmed', within: { hours: 36 } },
          ],
        },
      ],
    });
  });

  test.each([
    ['an error', 500, failure('INTERNAL')],
    ['a refusal', 503, failure('SERVICE_UNAVAILABLE')],
    ['garbage', 200, '{"data":'],
  ])('goes on when the size is answered by %s', async (_, status, body) => {
    const page = await front.open('segments/new');
    await answer(page, '**/v1/segments/preview', status, body);
    await page.getByLabel('Name', { exact: true }).fill(newName());
    await page.getByRole('button', { name: 'Add a condition' }).click();
    const audience = page.getByRole('region', { name: 'Audience' });
    await audience.getByRole('alert').waitFor();
    await conditions(page).first().getByLabel('Value').fill('5');
    await page.unroute('**/v1/segments/preview');
    await page.getByRole('button', { name: 'Save' }).click();
    await saved(page);
  });

  test('shows both versions when somebody else has saved, and loses neither', async () => {
    const id = await client.make([depositedOver(0)], { name: 'As it was' });
    const page = await front.open('segments');
    const sent: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.method() === 'PATCH') sent.push(request.headers()['if-match']);
    });
    await page.getByRole('row', { name: /As it was/ }).click();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await client.api('PATCH', `/v1/segments/${id}`, { name: 'Theirs', description: 'also theirs' });
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog', { name: 'Somebody else has changed this segment' });
    await dialog.waitFor();
    await dialog.getByRole('row', { name: 'name Mine Theirs' }).waitFor();
    await dialog.getByRole('row', { name: /also theirs/ }).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Mine');
    await page.getByRole('button', { name: 'Compare' }).click();
    await dialog.getByRole('button', { name: 'Save yours over it' }).click();
    await saved(page);
    expect(sent).toEqual([expect.stringMatching(/^"/), expect.stringMatching(/^"/)]);
    expect(sent[0]).not.toBe(sent[1]);
    expect((await client.api('GET', `/v1/segments/${id}`)).data).toMatchObject({
      name: 'Mine',
      description: '',
    });
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Mine again');
    await client.api('PATCH', `/v1/segments/${id}`, { name: 'Theirs again' });
    await page.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('button', { name: 'Go on with theirs' }).click();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('Theirs again');
  });
});
