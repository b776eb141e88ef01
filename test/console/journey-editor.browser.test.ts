import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityFaults } from './browser.ts';
import {
  client,
  DAY_MS,
  END,
  front,
  make,
  makeActive,
  openJourneys,
  SORTS,
  stored,
} from './journey-screens.ts';
import { openAs, overflows } from './members.ts';
import { hasChoices, tabTo } from './segment-screens.ts';

beforeAll(openJourneys);
afterAll(() => front?.close());

const WAITS = {
  start_node_id: 'day',
  nodes: [{ id: 'day', type: 'wait', duration_ms: DAY_MS, next: 'end' }, END],
};
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });
const toggle = (page: Page, name: string | RegExp) => page.getByRole('button', { name, expanded: false });
const idIn = (page: Page) => /journeys\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
const shown = (page: Page) => page.waitForURL(/\/journeys\/[0-9a-f-]{36}(\?|$)/);

/** Opens the menu at a place by keyboard, and takes the entry with this name. */
async function add(page: Page, place: string, type: string): Promise<void> {
  await tabTo(page, new RegExp(`^${place}: `));
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: type, exact: true }).waitFor();
  await tabTo(page, type, 'ArrowDown');
  await page.keyboard.press('Enter');
}

describe('the editor', () => {
  test('builds a journey of a wait, a branch and a message by keyboard alone, and it is activated', async () => {
    const template_id = await client.template({ name: 'Come back' });
    const provider_id = await client.provider({ name: 'Mailer' });
    const page = await front.open('journeys');
    await page.getByRole('link', { name: 'New journey' }).first().waitFor();
    await tabTo(page, 'New journey');
    await page.keyboard.press('Enter');
    await page.getByLabel('Name of the journey').waitFor();
    await tabTo(page, /^Name of the journey/);
    await page.keyboard.type('Lapsed');
    await add(page, 'Add before “End”', 'Wait');
    await tabTo(page, /^How long/);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('3');
    await add(page, 'Add after “Wait 3 days”', 'Branch');
    await tabTo(page, /^Value/);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('5000');
    await add(page, 'Add after “Branch in 2 ways”, if total_deposited > 5000', 'Send a message');
    await hasChoices(page, 'Come back', 'Mailer');
    await tabTo(page, 'Template');
    await page.keyboard.press('c');
    await tabTo(page, 'Provider');
    await page.keyboard.press('m');
    await page.getByRole('group', { name: 'Send “Come back”' }).waitFor();
    await page.keyboard.press('Control+s');
    await shown(page);
    const id = idIn(page);
    expect(await stored(id)).toMatchObject({
      name: 'Lapsed',
      status: 'draft',
      settings: { re_entry: { mode: 'after_exit' } },
      graph: {
        start_node_id: 'wait',
        nodes: [
          { id: 'end', type: 'end' },
          { id: 'wait', type: 'wait', duration_ms: 3 * DAY_MS, next: 'branch' },
          {
            id: 'branch',
            branches: [
              { condition: { field: 'total_deposited', op: 'gt', value: 5_000 }, next: 'send_message' },
            ],
            else_next: 'end',
          },
          { id: 'send_message', template_id, provider_id, next: 'end' },
        ],
      },
    });
    await page.getByRole('button', { name: 'Activate', exact: true }).waitFor();
    await tabTo(page, 'Activate');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await tabTo(page, 'Activate');
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await stored(id))['status']).toBe('active');
  });

  test('adds, branches, redirects and deletes by buttons, with every step taken back and repeated', async () => {
    const id = await make('Rearranged', { graph: WAITS });
    const page = await front.open(`journeys/${id}/edit`);
    const menu = async (place: string, type: string) => {
      await page.getByRole('button', { name: `${place}: + Add a step` }).click();
      await page.getByRole('menuitem', { name: type, exact: true }).click();
    };
    await menu('Add after “Wait 1 day”', 'Random split');
    await page.getByRole('button', { name: 'Add a branch' }).click();
    await page.getByLabel('Name of branch 3').fill('rest');
    await page.getByLabel('Weight of branch 3').fill('100');
    await page.getByText('rest: 50%', { exact: true }).waitFor();
    await menu('Add after “Random split in 3”, A: 25%', 'End');
    // The way B goes on at the new end, and the step before both ends is added once for all that lead there.
    await toggle(page, /^Random split in 3/).click();
    await page.getByRole('group', { name: 'Branch 2' }).getByLabel('Goes on').selectOption('End (end-2)');
    await menu('Add before “Wait 1 day”', 'Change the player');
    await page.getByLabel('Attributes to set').fill('{"vip": tru');
    await save(page).click();
    await page.getByRole('alert').getByText('set.traits This is not JSON.').waitFor();
    await page.getByLabel('Attributes to set').fill('{"vip": true}');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Delete “Set vip”' }).click();
    await page.getByText('Set vip').first().waitFor({ state: 'detached' });
    await page.keyboard.press('Control+z');
    await page.getByText('Set vip').first().waitFor();
    await page.keyboard.press('Control+Shift+z');
    await page.getByText('Set vip').first().waitFor({ state: 'detached' });
    await save(page).click();
    await shown(page);
    expect((await stored(id))['graph']).toEqual({
      start_node_id: 'day',
      nodes: [
        { id: 'day', type: 'wait', duration_ms: DAY_MS, next: 'split' },
        END,
        {
          id: 'split',
          type: 'split',
          branches: [
            { name: 'A', weight: 50, next: 'end-2' },
            { name: 'B', weight: 50, next: 'end-2' },
            { name: 'rest', weight: 100, next: 'end' },
          ],
        },
        { id: 'end-2', type: 'end' },
      ],
    });
  });

  test('keeps what it has no form for, and shows what the service refuses at its step', async () => {
    const condition = { operator: 'OR', conditions: [{ type: 'random', percent: 10, salt: 'x' }] };
    const nodes = [
      { id: 'which', type: 'branch', branches: [{ condition, next: 'call' }], else_next: 'end' },
      {
        id: 'call',
        type: 'call_webhook',
        url: 'https://example.com/hook',
        retry: { max_attempts: 2 },
        next: 'end',
      },
      END,
    ];
    const id = await make('Kept', { graph: { start_node_id: 'which', nodes } });
    const page = await front.open(`journeys/${id}/edit`);
    await toggle(page, /^Branch in 2 ways/).click();
    expect(await page.getByLabel('Condition as JSON').inputValue()).toContain('"random"');
    await toggle(page, /^Call https/).click();
    await page.getByLabel('URL').fill('http://169.254.169.254/');
    await toggle(page, /^Branch in 2 ways/).click();
    await save(page).click();
    const card = page.locator('[data-node="call"]');
    await card.getByRole('alert').getByText(/^url /).waitFor();
    await page.getByRole('group', { name: /^Call http:.* something is wrong with it$/ }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await card.getByLabel('URL').fill('https://example.com/other');
    await card.getByRole('alert').waitFor({ state: 'detached' });
    await save(page).click();
    await shown(page);
    expect((await stored(id))['graph']).toEqual({
      start_node_id: 'which',
      nodes: [nodes[0], { ...nodes[1], url: 'https://example.com/other' }, END],
    });
  });

  test('edits what starts it and its rules', async () => {
    const id = await make('Rules', { graph: WAITS });
    const page = await front.open(`journeys/${id}`);
    await page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor();
    await client.api('PATCH', `/v1/journeys/${id}`, { name: 'Newer rules' });
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    // What is edited is what is stored now, not what the page before had.
    expect(await page.getByLabel('Name of the journey').inputValue()).toBe('Newer rules');
    await page.locator('summary', { hasText: 'Trigger' }).click();
    await page.getByLabel('Starts with').selectOption('An event of the player');
    await page.getByRole('button', { name: 'Only with…' }).click();
    await page.getByLabel('Value', { exact: true }).fill('5000');
    await page.getByRole('button', { name: 'Only with…' }).click();
    await page.getByLabel('Property 2').fill('method');
    await page.getByLabel('Comparison').nth(1).selectOption('one of');
    await page.getByLabel('Values, with commas').fill('card, bank');
    await page.getByText('Rules', { exact: true }).click();
    await page.getByLabel('Re-entry').selectOption('never');
    await page.getByRole('button', { name: 'End runs on an event…' }).click();
    await page.getByLabel('Track a goal').check();
    await page.getByLabel('Attribution window (days)').fill('14');
    await page.getByLabel('Holdout (percent of the players)').fill('10');
    expect(await accessibilityFaults(page)).toEqual([]);
    await save(page).click();
    await shown(page);
    expect(await stored(id)).toMatchObject({
      trigger: {
        kind: 'event',
        event: 'deposit_confirmed',
        where: [
          { property: 'amount', op: 'gte', value: 5_000 },
          { property: 'method', op: 'in', value: ['card', 'bank'] },
        ],
      },
      settings: {
        re_entry: { mode: 'once' },
        exit_on: [{ event: 'withdrawal_confirmed' }],
        goal: { event: 'deposit_confirmed', window_days: 14 },
        holdout_percent: 10,
      },
    });
  });

  test('shows both sides when somebody else has saved, and asks before unsaved work is left', async () => {
    const id = await make('Twice edited', { graph: WAITS });
    const page = await front.open(`journeys/${id}/edit`);
    await toggle(page, /^Wait 1 day/).click();
    await page.getByRole('textbox', { name: 'How long' }).fill('2');
    const theirs = { ...WAITS, nodes: [{ ...WAITS.nodes[0], duration_ms: 5 * DAY_MS }, END] };
    await client.api('PATCH', `/v1/journeys/${id}`, { name: 'Renamed', graph: theirs });
    await page.getByRole('link', { name: 'Players' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
    await save(page).click();
    await page.getByRole('row', { name: 'Wait 2 days day duration_ms 432000000 172800000' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect((await stored(id))['graph']).toEqual(theirs);
    await page.getByRole('button', { name: 'Save mine over it' }).click();
    await shown(page);
    const { name, graph } = await stored(id);
    expect([name, (graph as typeof WAITS).nodes[0]]).toEqual([
      'Renamed',
      { ...WAITS.nodes[0], duration_ms: 2 * DAY_MS },
    ]);
  });

  test('saves an active journey as a draft, which is published on its page', async () => {
    const id = await makeActive('Live', { graph: WAITS });
    const page = await front.open(`journeys/${id}/edit`);
    await page.getByText('The journey is active.').waitFor();
    await toggle(page, /^Wait 1 day/).click();
    const span = page.getByRole('textbox', { name: 'How long' });
    await span.press('Control+a');
    await span.pressSequentially('1.25');
    expect(await span.inputValue()).toBe('1.25');
    expect(await page.getByLabel('Unit: How long').inputValue()).toBe('days');
    await save(page).click();
    await page.getByRole('button', { name: 'Publish version 2' }).click();
    expect((await stored(id))['version']).toBe(1);
    await page.getByRole('dialog').getByText('It becomes version 2').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish version 2' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const day = { ...WAITS.nodes[0], duration_ms: 1.25 * DAY_MS };
    expect(await stored(id)).toMatchObject({ version: 2, draft_version: null, graph: { nodes: [day, END] } });
  });

  test('is accessible in dark and in a narrow window, and is not for viewers', async () => {
    const id = await make('Narrow', { graph: SORTS });
    const page = await front.open(`journeys/${id}/edit`, { theme: 'dark', width: 380 });
    await toggle(page, /^Size of the deposit/).click();
    await page.getByRole('group', { name: 'Branch 1' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overflows(page)).toBe(false);
    const viewer = await openAs(front, 'viewer', `journeys/${id}/edit`);
    await viewer.getByText('You may look at journeys here, not change them').waitFor();
    expect(await viewer.getByRole('button', { name: 'Save' }).count()).toBe(0);
  });
});
