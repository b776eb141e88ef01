import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

const config = async () => (await client.api('GET', '/v1/tenant/config')).data;

describe('the configuration', () => {
  test('takes what a licence suggests, shows every difference, and saves only those', async () => {
    const page = await console_.open('settings');
    await page.getByLabel('Licence').selectOption('mga');
    await page.getByRole('button', { name: 'Apply the suggestions of the licence' }).click();
    await page.getByLabel('Email: maximum per day').fill('3');
    await page.getByLabel('Quiet hours from').fill('22:00');
    await page.getByLabel('until').fill('08:00');
    await page.getByLabel('Time zone of players').fill('Europe/Malta');
    await page.getByRole('button', { name: 'Review changes' }).click();
    const review = page.getByRole('dialog', { name: 'Save these changes?' });
    await review.getByRole('row', { name: 'Licence — mga' }).waitFor();
    await review.getByRole('row', { name: 'Email: maximum per day — 3' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect((await config())['license_jurisdiction']).toBeNull();
    await review.getByRole('button', { name: /^Save \d+ changes/ }).click();
    await review.waitFor({ state: 'detached' });
    await expect.poll(async () => (await config())['license_jurisdiction']).toBe('mga');
    expect(await config()).toMatchObject({
      config: {
        messaging: {
          frequency_caps: { email: { per_day: 3 } },
          quiet_hours: { start: '22:00', end: '08:00', default_timezone: 'Europe/Malta' },
        },
      },
    });
  });

  test('of two people who change it, each sees what the other has saved', async () => {
    const quiet_hours = { start: '22:00', end: '08:00', default_timezone: 'Europe/Malta' };
    await client.api('PATCH', '/v1/tenant/config', {
      kyc_model: 'none',
      config: { messaging: { quiet_hours } },
    });
    const page = await console_.open('settings?tab=config');
    await page.getByLabel('KYC model').selectOption('crm_owns');
    await page.getByLabel('Quiet hours from').fill('21:00');
    await client.api('PATCH', '/v1/tenant/config', {
      kyc_model: 'dual',
      config: { messaging: { frequency_caps: { sms: { per_day: 1 } }, quiet_hours: { end: '09:00' } } },
    });
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Save 2 changes' }).click();
    await page.getByRole('row', { name: 'kyc_model "crm_owns" "dual"' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    // Another screen, and another tab of this one.
    for (const name of ['Players', 'Members']) {
      await page.getByRole('link', { name }).click();
      await page.getByRole('dialog', { name: 'Leave without saving?' }).getByText('Stay').click();
    }
    await page.getByRole('button', { name: 'Save mine over it' }).click();
    await expect.poll(async () => (await config())['kyc_model']).toBe('crm_owns');
    expect(await config()).toMatchObject({
      config: {
        messaging: {
          frequency_caps: { sms: { per_day: 1 } },
          quiet_hours: { ...quiet_hours, start: '21:00', end: '09:00' },
        },
      },
    });
  });
});

test('the settings of bonuses and what is changed of rules are reviewed, and what allows more needs a reason', async () => {
  await client.api('PATCH', '/v1/tenant/config', { license_jurisdiction: 'ukgc' });
  const page = await console_.open('settings?tab=config');
  await page.getByText('Pause all bonuses').click();
  await page.getByLabel('Active bonuses when').selectOption('cancel');
  await page.getByLabel('Maximum bonuses per player').fill('3');
  const rule = page.getByRole('group', { name: /^Bonus funds are wagered at most 10 times/ });
  await rule.getByLabel('Maximum wagering multiple').fill('8');
  await page.getByText('Empty: 10, as the rule says').waitFor();
  expect(await page.getByText('denmark_').count()).toBe(0);
  const save = async (verb: string) => {
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: verb }).click();
  };
  await page.getByRole('button', { name: 'Review changes' }).click();
  await page.getByRole('row', { name: /^Bonus funds .*: Maximum wagering multiple — 8$/ }).waitFor();
  await page.getByRole('row', { name: 'Maximum bonuses per player in 24 hours — 3' }).waitFor();
  await page.getByRole('row', { name: 'Pause all bonuses no yes' }).waitFor();
  await page.getByRole('button', { name: 'Save 4 changes' }).click();
  await expect.poll(config).toMatchObject({
    config: {
      bonuses: { paused: true, on_exclusion: 'cancel', grants_per_day: 3 },
      license_rules: { ukgc_max_wagering: { params: { multiple: 8 } } },
    },
  });
  // Without the stricter number the rule allows more than before.
  await rule.getByLabel('Maximum wagering multiple').fill('');
  await page.getByText('Pause all bonuses').click();
  await save('Save 2 changes');
  await page.getByText('must be given, because the rule would allow more').last().waitFor();
  await rule.getByLabel('Reason for the change').fill('The law is enough');
  expect(await accessibilityFaults(page)).toEqual([]);
  await client.api('PATCH', '/v1/tenant/config', {
    config: { license_rules: { ukgc_max_wagering: { params: { multiple: 7 } } } },
  });
  await save('Save 3 changes');
  await page.getByRole('row', { name: 'rule.ukgc_max_wagering.multiple "" "7"' }).waitFor();
  await page.getByRole('button', { name: 'Save mine over it' }).click();
  await expect
    .poll(async () => (await config())['config'])
    .toMatchObject({
      bonuses: { paused: false, grants_per_day: 3 },
      license_rules: { ukgc_max_wagering: { reason: 'The law is enough' } },
    });
  expect(JSON.stringify(await config())).not.toContain('"multiple":7');
});

test('a manual rate is set once by a double click, and shown to the digit', async () => {
  const rate = '11.1234567890123456789012345678901234567';
  const page = await console_.open('settings?tab=currencies');
  await page.getByRole('row').filter({ hasText: 'CHF' }).click();
  await page.getByText('No rates yet').waitFor();
  expect(new URL(page.url()).searchParams.get('currency')).toBe('CHF');
  await page.getByRole('button', { name: 'Set a rate' }).click();
  const dialog = page.getByRole('dialog', { name: 'Set the rate from EUR to CHF' });
  await dialog.getByLabel('1 EUR in CHF').fill('eleven');
  expect(await dialog.getByRole('button', { name: 'Set a rate' }).isDisabled()).toBe(true);
  await dialog.getByLabel('1 EUR in CHF').fill(rate);
  await dialog.getByRole('button', { name: `Set 1 EUR = ${rate} CHF` }).dblclick();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText(rate, { exact: true }).waitFor();
  const { data } = await client.api<{ rate: string }[]>('GET', '/v1/currencies/rates?base=EUR&quote=CHF');
  expect(data.map((one) => one.rate)).toEqual([rate]);
  // Crypto is kept in the other direction.
  await page.getByRole('button', { name: 'All currencies' }).click();
  await page.getByRole('row').filter({ hasText: 'BTC' }).click();
  await page.getByRole('heading', { name: 'Rates from BTC to EUR' }).waitFor();
});

test('a provider is made paused, activated, tested and removed', async () => {
  await client.template({ name: 'Test text' });
  const page = await console_.open('settings?tab=providers');
  await page.getByText('No providers yet').waitFor();
  await page.getByRole('button', { name: 'New provider' }).click();
  await page.getByLabel('Name').fill('Kept mail');
  await page.getByLabel('Kind').selectOption('sandbox');
  await page.getByLabel('Settings (JSON)').fill('[1]');
  await page.getByText('must be a JSON object').waitFor();
  await page.getByLabel('Settings (JSON)').fill('{}');
  await page.getByRole('button', { name: 'Create provider' }).click();
  const row = page.getByRole('row').filter({ hasText: 'Kept mail' });
  await row.getByText('Paused').waitFor();
  await row.getByRole('button', { name: 'Activate: Kept mail' }).click();
  await page.getByRole('button', { name: 'Activate the provider' }).click();
  await row.getByText('Active').waitFor();
  await row.getByRole('button', { name: 'Test: Kept mail' }).click();
  await page.getByLabel('Template').selectOption('Test text');
  await page.getByLabel('To', { exact: true }).fill('ada@example.com');
  await page.getByRole('button', { name: 'Send the test' }).click();
  await page.getByText('Sent to ada@example.com').waitFor();
  await page.keyboard.press('Escape');
  await row.getByRole('button', { name: 'Remove: Kept mail' }).click();
  await page.getByRole('button', { name: 'Remove the provider' }).click();
  await page.getByText('No providers yet').waitFor();
});

test('a provider is changed over what somebody else has saved, and keeps secrets that are not typed', async () => {
  const id = await client.provider({
    name: 'Changed texts',
    kind: 'twilio',
    channel: 'sms',
    config: { account_sid: 'AC1', auth_token: 'kept-secret', from: '+356100' },
  });
  const path = `/v1/messaging-providers/${id}`;
  const page = await console_.open('settings?tab=providers');
  await page.getByRole('row').filter({ hasText: 'Changed texts' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Changed texts' }).waitFor();
  expect(new URL(page.url()).searchParams.get('provider')).toBe(id);
  await page.getByLabel('From').fill('+356200');
  await page.getByLabel('Maximum messages per second').fill('fast');
  await page.getByText('must be a whole number').waitFor();
  await page.getByLabel('Maximum messages per second').fill('5');
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('dialog', { name: 'Leave without saving?' }).getByText('Stay').click();
  await client.api('PATCH', path, { name: 'Renamed texts', config: { from: '+356300' } });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('row', { name: 'config.from "+356200" "+356300"' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  const saves = page.waitForResponse((response) => response.request().method() === 'PATCH');
  await page.getByRole('button', { name: 'Save mine over it' }).click();
  expect((await saves).request().postDataJSON()).toEqual({ rate_per_second: 5, config: { from: '+356200' } });
  await page.getByRole('heading', { name: 'Renamed texts' }).waitFor();
  expect((await client.api('GET', path)).data).toMatchObject({
    name: 'Renamed texts',
    rate_per_second: 5,
    config: { account_sid: 'AC1', from: '+356200' },
  });
  await page.getByLabel('Auth token').fill('new-secret');
  const replaces = page.waitForResponse((response) => response.request().method() === 'PATCH');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  expect((await replaces).request().postDataJSON()).toEqual({ config: { auth_token: 'new-secret' } });
  await expect.poll(() => page.getByLabel('Auth token').inputValue()).toBe('');
  const audit = page.getByRole('grid', { name: 'Audit log' });
  await audit.getByRole('row').filter({ hasText: '+356200' }).first().waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  expect(await page.content()).not.toContain('new-secret');
  await client.api('DELETE', path);
});

test('an address that is suppressed here gets no message, and does when it is taken back', async () => {
  const [ada = ''] = await client.players(1);
  const verdict = async () => {
    const path = `/v1/players/${ada}/reachability`;
    const { data } = await client.api<{ channel: string; suppressed: boolean }[]>('GET', path);
    return data.find(({ channel }) => channel === 'email')?.suppressed;
  };
  const page = await console_.open('settings?tab=suppressions');
  await page.getByText('No address is suppressed').waitFor();
  await page.getByRole('button', { name: 'Suppress an address' }).click();
  const dialog = page.getByRole('dialog', { name: 'Suppress an address' });
  await dialog.getByLabel('Address').fill('nobody');
  await dialog.getByRole('button', { name: 'Suppress the address' }).click();
  await dialog.getByText('must be an email address').first().waitFor();
  await dialog.getByLabel('Address').fill(`${ada}@EXAMPLE.com`);
  await dialog.getByRole('button', { name: 'Suppress the address' }).click();
  const row = page.getByRole('row').filter({ hasText: `${ada}@example.com` });
  await row.getByText('Entered here').waitFor();
  expect(await verdict()).toBe(true);
  await page.getByLabel('Reason').selectOption('bounce');
  await page.getByText('Nothing matches').waitFor();
  await page.getByLabel('Reason').selectOption('');
  await row.getByRole('button', { name: /^Remove/ }).click();
  await page.getByRole('button', { name: 'Remove the suppression' }).click();
  await page.getByText('No address is suppressed').waitFor();
  expect(await verdict()).toBe(false);
});

test('members are added, get another role and leave; the last owner stays', async () => {
  const page = await console_.open('settings?tab=members');
  await page.getByRole('button', { name: 'Add a member' }).click();
  await page.getByRole('textbox', { name: 'User' }).fill(HOSTILE.rtl);
  await page.getByLabel('Role', { exact: true }).selectOption('editor');
  await page.getByRole('button', { name: 'Add as Editor' }).click();
  const row = page.getByRole('row').filter({ hasText: 'abc' });
  await row.getByText('Editor').waitFor();
  await row.getByRole('button', { name: /^Change the role/ }).click();
  await page.getByRole('dialog').getByLabel('Role', { exact: true }).selectOption('admin');
  await page.getByRole('button', { name: 'Editor → Admin' }).click();
  await row.getByText('Admin').waitFor();
  await row.getByRole('button', { name: /^Remove/ }).click();
  await page.getByRole('button', { name: 'Remove the member' }).click();
  await row.waitFor({ state: 'detached' });
  const own = page.getByRole('row').filter({ hasText: 'you' });
  await own.getByRole('button', { name: /^Remove/ }).click();
  await page.getByRole('button', { name: 'Remove the member' }).click();
  await page.getByRole('alert').getByText('this is the last owner').waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
});

test('a session is ended from another one, which goes on', async () => {
  const other = await console_.open('settings?tab=sessions', { is_private: true });
  await other.getByText('this one').waitFor();
  const page = await console_.open('settings?tab=sessions', { is_private: true });
  await page.getByText('this one').waitFor();
  const before = await page.getByRole('button', { name: 'End' }).count();
  const foreign = page.getByRole('row').nth(2);
  await foreign.getByRole('button', { name: 'End' }).click();
  await page.getByRole('button', { name: 'End the session' }).click();
  await expect.poll(() => page.getByRole('button', { name: 'End' }).count()).toBe(before - 1);
  await page.getByText('this one').waitFor();
  await page.getByLabel('Sessions of').selectOption('members');
  await page.getByText('this one').waitFor();
});

test('a viewer sees what a viewer may read, and no button of others', async () => {
  const id = await client.provider({ name: 'Read only' });
  const page = await openAs(console_, 'viewer', 'settings?tab=members');
  await page.getByRole('row').filter({ hasText: 'CHF' }).click();
  await page.getByRole('heading', { name: 'Rates from EUR to CHF' }).waitFor();
  expect(await page.getByRole('button', { name: 'Set a rate' }).count()).toBe(0);
  const tabs = page.getByRole('navigation', { name: 'Settings' }).getByRole('link');
  expect(await tabs.allTextContents()).toEqual(['Currencies and rates', 'Providers', 'Sessions']);
  await tabs.filter({ hasText: 'Providers' }).click();
  await page.getByText('Read only').click();
  expect(await page.getByLabel('Name').isDisabled()).toBe(true);
  expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
  await client.api('DELETE', `/v1/messaging-providers/${id}`);
});

test('accessible in light and dark, in a narrow window', async () => {
  await client.provider({ name: 'shown' });
  await client.api('POST', '/v1/suppressions', { channel: 'sms', address: '+46700000' });
  const page = await console_.open('settings', { width: 400 });
  const paths = [
    'config',
    'currencies',
    'currencies&currency=CHF',
    'providers',
    'suppressions',
    'members',
    'sessions',
  ];
  for (const path of paths) {
    await show(page, `settings?tab=${path}`);
    expect([path, await faultsInBothThemes(page)]).toEqual([path, []]);
    expect([path, await overflows(page)]).toEqual([path, false]);
  }
});
