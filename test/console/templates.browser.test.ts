import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { messagingClient, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import {
  accessibilityFaults,
  faultsInBothThemes,
  openConsole,
  show,
  type ConsoleBrowser,
} from './browser.ts';
import { HOSTILE, openAs, overflows } from './members.ts';

let console_: ConsoleBrowser;
let client: MessagingClient;
beforeAll(async () => {
  console_ = await openConsole();
  client = messagingClient(console_.service);
});
afterAll(() => console_?.close());
beforeEach(async () => {
  const { platform, tenant_id } = console_.service;
  await platform.postgres.service`update templates set deleted_at = now() where tenant_id = ${tenant_id}`;
});

/** What the policy of the preview's frame refuses of a hostile template. */
const IMAGE = /Loading the image .* "img-src data:"/;

/** What a test reads of a field, whose type is the browser's. */
interface Selected {
  value: string;
  selectionStart: number;
  selectionEnd: number;
}

const body = (page: Page) => page.getByRole('textbox', { name: /Liquid/ });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });
const stored = async (id: string) => (await client.api('GET', `/v1/templates/${id}`)).data;

describe('the list', () => {
  test('says what a template is when there is none, and leads to the first', async () => {
    const page = await console_.open('templates');
    await page.getByRole('heading', { name: 'No templates yet' }).waitFor();
    await page.getByRole('button', { name: 'New template' }).click();
    await page.getByRole('heading', { name: 'New template' }).waitFor();
  });

  test('filters by its address alone, and opens by keyboard', async () => {
    await client.template({ name: 'a mail' });
    const sms = await client.template({ name: 'a text', channel: 'sms', subject: undefined, body: 'hi' });
    const page = await console_.open('templates');
    await page.getByText('a mail').waitFor();
    await page.getByLabel('Channel').selectOption('sms');
    await page.getByText('a mail').waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('channel')).toBe('sms');
    const shared = await console_.open('templates?channel=sms');
    await shared.getByText('a text').waitFor();
    expect(await shared.getByText('a mail').count()).toBe(0);
    await shared.getByRole('row').nth(1).focus();
    await shared.keyboard.press('Enter');
    await shared.waitForURL(`**/templates/${sms}**`);
    const none = await console_.open('templates?status=archived');
    await none.getByText('No template matches').waitFor();
  });

  test('stays readable when the API fails, is slow or talks nonsense', async () => {
    await client.template({ name: 'still here' });
    const page = await console_.open('templates');
    await page.getByText('still here').waitFor();
    const answer = (status: number, text: string) => async () => {
      await page.unrouteAll();
      await page.route('**/v1/templates?*', (route) =>
        route.fulfill({ status, body: text, contentType: 'application/json' }),
      );
      await page.reload();
    };
    const error = { error: { code: 'FORBIDDEN', message: 'not for you', details: {} } };
    await answer(403, JSON.stringify(error))();
    await page.getByRole('alert').getByText('not for you').waitFor();
    await answer(200, '<html>a proxy</html>')();
    await page.getByRole('alert').getByText('ANSWER_UNREADABLE').waitFor();
    await answer(200, '{"data":[]}')();
    await page.getByText('No templates yet').waitFor();
    await page.unrouteAll();
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/v1/templates?*', async (route) => {
      await held;
      await route.continue();
    });
    await page.reload();
    await page.getByText('Loading templates').waitFor();
    release();
    await page.getByText('still here').waitFor();
  });
});

describe('the editor', () => {
  test('makes a template, and saves only what was changed', async () => {
    const page = await console_.open('templates/new');
    await page.getByLabel('Name').fill('Welcome');
    await page.getByLabel('Subject').fill('Hello {{first_name}}');
    await body(page).fill('<p>Dear </p>');
    await page.getByText('Variables', { exact: true }).click();
    await page.getByRole('button', { name: 'external_id' }).click();
    await page.getByRole('button', { name: 'Create template' }).click();
    await page.getByRole('heading', { name: 'Welcome' }).waitFor();
    const id = /templates\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';
    expect(await stored(id)).toMatchObject({
      name: 'Welcome',
      channel: 'email',
      subject: 'Hello {{first_name}}',
      body: '<p>Dear </p>{{ external_id }}',
    });
    // Somebody else changes two fields meanwhile: of both sides the user chooses, and the other field stays.
    await page.getByLabel('Name').fill('Welcome back');
    await client.api('PATCH', `/v1/templates/${id}`, { name: 'Goodbye', subject: 'of somebody else' });
    await save(page).click();
    await page.getByRole('row', { name: 'name "Welcome back" "Goodbye"' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect((await stored(id))['name']).toBe('Goodbye');
    await page.getByRole('button', { name: 'Save mine over it' }).click();
    await page.getByRole('heading', { name: 'Welcome back' }).waitFor();
    expect(await stored(id)).toMatchObject({ name: 'Welcome back', subject: 'of somebody else' });
  });

  test('shows the errors of the server at their line, and goes there', async () => {
    const id = await client.template({ name: 'faulty' });
    const page = await console_.open(`templates/${id}`);
    await body(page).fill('<p>one</p>\n<p>{{ a | nope }}</p>\nthree');
    await save(page).click();
    await page.getByRole('button', { name: 'Line 2, column 11' }).click();
    const selected = await body(page).evaluate((field) => {
      const { value, selectionStart, selectionEnd } = field as unknown as Selected;
      return value.slice(selectionStart, selectionEnd);
    });
    expect(selected).toBe('<p>{{ a | nope }}</p>');
    expect((await stored(id))['body']).toBe('<p>Dear {{first_name}}</p>');
    // The sentence is said once, where the fault is.
    expect(await page.getByText('undefined filter: nope').count()).toBe(1);
    expect(await page.getByText('TEMPLATE_INVALID').count()).toBe(0);
    await page.getByText('Not saved: a field below has an error').waitFor();
    await body(page).fill('<p>mended</p>');
    await save(page).click();
    await expect.poll(async () => (await stored(id))['body']).toBe('<p>mended</p>');
    expect(await page.getByRole('button', { name: /^Line/ }).count()).toBe(0);
  });

  test('asks before unsaved work is left, and keeps it in its tabs', async () => {
    const id = await client.template({ name: 'kept' });
    const page = await console_.open(`templates/${id}`);
    await body(page).fill('half done');
    await page.getByRole('link', { name: 'Preview' }).click();
    await page.getByText('The preview shows what is saved').waitFor();
    await page.getByRole('link', { name: 'Text' }).click();
    expect(await body(page).inputValue()).toBe('half done');
    await page.getByRole('link', { name: 'Players' }).click();
    const asked = page.getByRole('dialog', { name: 'Leave without saving?' });
    await asked.waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await body(page).inputValue()).toBe('half done');
    await page.getByRole('link', { name: 'Players' }).click();
    await asked.getByRole('button', { name: 'Leave without saving' }).click();
    await page.waitForURL('**/console/players**');
    expect((await stored(id))['body']).toBe('<p>Dear {{first_name}}</p>');
  });

  test('has the fields of the channel', async () => {
    const page = await console_.open('templates/new');
    await page.getByLabel('Preheader').waitFor();
    await page.getByLabel('Channel').selectOption('sms');
    await page.getByLabel('Preheader').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Subject').count()).toBe(0);
    await page.getByLabel('Name').fill('short');
    await body(page).fill('Hi');
    await page.getByRole('button', { name: 'Create template' }).click();
    await page.getByRole('heading', { name: 'short' }).waitFor();
  });

  test('takes a text of 10,000 characters and 1,000 lines', async () => {
    const text = `${'a line\n'.repeat(1_000)}${'y'.repeat(3_000)}`;
    const id = await client.template({ name: 'long', body: text });
    const page = await console_.open(`templates/${id}`);
    expect(await body(page).inputValue()).toBe(text);
    await body(page).press('End');
    await body(page).fill(`${text}!`);
    await save(page).click();
    await expect.poll(async () => (await stored(id))['body']).toBe(`${text}!`);
  });
});

describe('the preview', () => {
  test('renders for a player in a frame in which nothing runs, at two widths', async () => {
    const [ada = ''] = await client.players(1);
    const id = await client.template({
      name: 'framed',
      subject: 'For {{first_name}}',
      body: `<p style="color: rgb(200, 0, 0)">Dear {{first_name}} {{nobody_has_this}}</p>${HOSTILE.script}`,
    });
    const page = await console_.open(`templates/${id}?tab=preview&player=${ada}`, { blocked: IMAGE });
    await page.getByText('For Ada').waitFor();
    await page.getByText('nobody_has_this').waitFor();
    const frame = page.frameLocator('iframe');
    await frame.getByText('Dear Ada').waitFor();
    const red = await frame.locator('p').evaluate((p) => {
      const { getComputedStyle } = globalThis as unknown as {
        getComputedStyle: (of: unknown) => { color: string };
      };
      return getComputedStyle(p).color;
    });
    expect(red).toBe('rgb(200, 0, 0)');
    expect(await page.title()).toBe('framed · Console');
    const width = async () => (await page.locator('iframe').boundingBox())?.width ?? 0;
    expect(await width()).toBeGreaterThan(700);
    await page.getByRole('radio', { name: 'Phone' }).click();
    await expect.poll(width).toBeLessThan(400);
    expect(new URL(page.url()).searchParams.get('width')).toBe('phone');
    expect(await accessibilityFaults(page)).toEqual([]);
  });

  test('finds the player by an address', async () => {
    const [ada = ''] = await client.players(1);
    const page = await console_.open(`templates/${await client.template()}?tab=preview`);
    await page.frameLocator('iframe').getByText('Dear Alex').waitFor();
    await page.getByRole('searchbox').fill(`${ada}@example.com`);
    await page.getByRole('button', { name: /•••@example\.com/ }).click();
    await page.frameLocator('iframe').getByText('Dear Ada').waitFor();
    expect(new URL(page.url()).searchParams.get('player')).toBe(ada);
  });

  test('says why there is none for a player who does not exist', async () => {
    const id = await client.template();
    const page = await console_.open(
      `templates/${id}?tab=preview&player=00000000-0000-4000-8000-000000000000`,
    );
    await page.getByRole('alert').getByText('PLAYER_NOT_FOUND').waitFor();
    expect(await page.locator('iframe').count()).toBe(0);
  });
});

test('a test is sent to one address', async () => {
  const provider_id = await client.provider();
  const id = await client.template({ name: 'tested' });
  const page = await console_.open(`templates/${id}`);
  await page.getByRole('button', { name: 'Send a test' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send a test of “tested”' });
  await dialog.getByLabel('To').fill('me@example.com');
  await dialog.getByRole('button', { name: 'Send the test' }).click();
  await dialog.getByText('Sent to me@example.com').waitFor();
  expect((await client.messages(provider_id)).map(({ recipient }) => recipient)).toEqual(['me@example.com']);
});

test('who changed it and what uses it are shown, also before it is deleted', async () => {
  const id = await client.template({ name: 'used' });
  await client.campaign({ name: 'its campaign', template_id: id });
  await client.api('PATCH', `/v1/templates/${id}`, { name: 'renamed' });
  const page = await console_.open(`templates/${id}?tab=usedBy`);
  await page.getByRole('link', { name: 'its campaign' }).waitFor();
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText(/name: "used" → "renamed"/).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete the template “renamed”?' });
  await dialog.getByText('It is used by 1 campaign or journey').waitFor();
  await dialog.getByRole('button', { name: 'Delete the template' }).click();
  await page.waitForURL('**/console/templates**');
  await page.getByText('No templates yet').waitFor();
});

test('a viewer reads everything and changes nothing', async () => {
  const id = await client.template({ name: 'read only' });
  const page = await openAs(console_, 'viewer', `templates/${id}`);
  await page.getByText('Your role is viewer').waitFor();
  expect(await page.getByLabel('Name').isDisabled()).toBe(true);
  expect(await body(page).isDisabled()).toBe(true);
  for (const name of ['Save', 'Delete', 'Send a test', 'New template']) {
    expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
  }
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('The audit log is for compliance officers').waitFor();
  await page.getByRole('link', { name: 'Preview' }).click();
  await page.frameLocator('iframe').getByText('Dear Alex').waitFor();
});

test('hostile names and texts are shown as what they are', async () => {
  const page = await console_.open('templates/new', { width: 400, blocked: IMAGE });
  for (const name of Object.values(HOSTILE)) {
    const id = await client.template({ name, subject: name, body: `<p>${HOSTILE.script}</p>` });
    await client.campaign({ name, template_id: id });
    for (const tab of ['edit', 'preview', 'usedBy', 'audit']) {
      await show(page, `templates/${id}?tab=${tab}`);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      expect(await page.title()).toBe(`${name} · Console`);
    }
  }
  await page.getByRole('link', { name: 'Templates' }).click();
  await page.getByText(HOSTILE.rtl).first().waitFor();
  expect(await page.locator('main script, main img').count()).toBe(0);
  expect(await overflows(page)).toBe(false);
});

describe('in light and dark axe finds nothing', () => {
  test('on the lists, the editor and the history', async () => {
    const page = await console_.open('templates');
    await page.getByText('No templates yet').waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
    const id = await client.template();
    for (const path of [
      'templates',
      'templates/new',
      `templates/${id}`,
      `templates/${id}?tab=usedBy`,
      `templates/${id}?tab=history`,
    ]) {
      await show(page, path);
      expect([path, await faultsInBothThemes(page)]).toEqual([path, []]);
    }
  });

  test('in the dialogs, in a narrow window', async () => {
    const page = await console_.open(`templates/${await client.template()}`, { width: 400 });
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('No campaign and no journey').waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
  });
});
