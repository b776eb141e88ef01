// What is typed is never lost to a save that is under way: editors take nothing until it is answered.
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client, depositedOver, failure, front, openScreens } from './segment-screens.ts';

beforeAll(openScreens, 120_000);
afterAll(() => front?.close());

const GRAPH = { start_node_id: 'end', nodes: [{ id: 'end', type: 'end' }] };

/** Creates a record by the API; returns its id. */
async function made(path: string, body: Record<string, unknown>): Promise<string> {
  const { status, data, error } = await client.api('POST', path, body);
  expect(status, JSON.stringify(error)).toBe(201);
  return String(data['id']);
}

/** An editor: where a record is changed, by which field, and how it is saved. */
interface EditorCase {
  open: () => Promise<string>;
  field: (page: Page) => Locator;
  save: (page: Page) => Promise<void>;
  /** Saved by the keyboard, so that the field has the focus meanwhile. */
  by_keys: boolean;
}

const name = (page: Page) => page.getByLabel('Name').first();
const byKeys = (page: Page) => page.keyboard.press('Control+s');
const byButton = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click();

const EDITORS = {
  'a segment': {
    open: async () => `segments/${await client.make([depositedOver(1)], { name: 'Slow' })}/edit`,
    field: name,
    save: byKeys,
    by_keys: true,
  },
  'a journey': {
    open: async () => {
      const body = { name: 'Slow', trigger: { kind: 'api' }, graph: GRAPH, settings: {} };
      return `journeys/${await made('/v1/journeys', body)}/edit`;
    },
    field: name,
    save: byKeys,
    by_keys: true,
  },
  'a template': {
    open: async () => {
      const body = { name: 'Slow', channel: 'sms', body: 'hi', status: 'active' };
      return `templates/${await made('/v1/templates', body)}`;
    },
    field: name,
    save: byButton,
    by_keys: false,
  },
  'the configuration': {
    open: () => Promise.resolve('settings?tab=config'),
    field: (page) => page.getByLabel('Email: maximum per day'),
    save: async (page) => {
      await page.getByRole('button', { name: 'Review changes' }).click();
      await page.getByRole('button', { name: 'Save 1 change' }).click();
    },
    by_keys: false,
  },
} satisfies Readonly<Record<string, EditorCase>>;

describe.each(Object.entries<EditorCase>(EDITORS))('%s', (_, editor) => {
  test('takes nothing while it is saved, and has everything that was typed when that has failed', async () => {
    const page = await front.open(await editor.open());
    const field = editor.field(page);
    await field.fill('7');
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route(/\/v1\//, async (route) => {
      if (route.request().method() === 'PATCH') {
        await held;
        await route.fulfill({ status: 500, json: failure('INTERNAL') });
      } else await route.continue();
    });
    await editor.save(page);
    await expect.poll(() => field.isDisabled()).toBe(true);
    await page.keyboard.press('Control+z');
    await page.keyboard.type('8');
    release();
    await page.getByRole('alert').getByText('INTERNAL').waitFor();
    await expect.poll(() => field.isDisabled()).toBe(false);
    expect(await field.inputValue()).toBe('7');
    if (editor.by_keys) {
      await page.keyboard.type('8');
      expect(await field.inputValue()).toBe('78');
    }
  });
});

test('a session that has ended when something is saved is begun again, and what was typed is saved', async () => {
  const page = await front.open(await EDITORS['a template'].open(), { is_private: true });
  await name(page).fill('After');
  await page.context().clearCookies();
  await byButton(page);
  const dialog = page.getByRole('dialog', { name: 'Sign in again' });
  await dialog.waitFor();
  await front.signInElsewhere(page);
  await dialog.waitFor({ state: 'detached' });
  expect(await name(page).inputValue()).toBe('After');
  await byButton(page);
  await page.getByRole('heading', { name: 'After', exact: true }).waitFor();
});
