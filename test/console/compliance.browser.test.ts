import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folded, setKycModel } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { messagingClient, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import { Operator } from '../players/identity/operator.ts';
import { accessibilityFaults, faultsInBothThemes, openConsole, type ConsoleBrowser } from './browser.ts';
import { openAs, overflows } from './members.ts';

let console_: ConsoleBrowser;
let client: MessagingClient;
let operator: Operator;
/** Excluded by an event after a first message, before a second one. */
let excluded: string;
beforeAll(async () => {
  console_ = await openConsole();
  client = messagingClient(console_.service);
  operator = new Operator(console_.service, console_.service);
});
afterAll(() => console_?.close());

async function newPlayer(external_id: string): Promise<string> {
  const traits = { email: `${external_id}@example.com`, phone: '+35679012345' };
  return (await operator.identify({ external_id, traits })).player_id;
}

async function campaignTo(name: string, player_id: string): Promise<string> {
  const segment_id = await client.segment([player_id]);
  const [template_id, provider_id] = [await client.template(), await client.provider()];
  const campaign_id = await client.campaign({ name, segment_id, template_id, provider_id });
  await client.send(campaign_id);
  await client.reaches(campaign_id, 'sent');
  return campaign_id;
}

async function conflict(external_id: string): Promise<string> {
  await operator.identify({ anonymous_id: `tablet of ${external_id}`, external_id: `first ${external_id}` });
  return (await operator.identify({ anonymous_id: `tablet of ${external_id}`, external_id })).player_id;
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const link = (page: Page, name: string) => page.getByRole('main').getByRole('link', { name, exact: true });
const row = (page: Page, name: RegExp) => page.getByRole('row', { name });
const audited = async (id: string) =>
  (await client.api<{ action: string; after: object }[]>('GET', `/v1/audit-log?resource_id=${id}`)).data;

test('says that nobody is excluded while nobody is', async () => {
  const page = await console_.open('compliance');
  await page.getByRole('heading', { name: 'Nobody is excluded' }).waitFor();
});

describe('with a player who is excluded', () => {
  beforeAll(async () => {
    excluded = await newPlayer('excluded-1');
    await campaignTo('before', excluded);
    await operator.fold({ event: 'self_exclusion_set', player_id: excluded });
    await campaignTo('after', excluded);
  }, 120_000);

  describe('exclusions', () => {
    test('are listed with times and cause, and lead by keyboard to the proof that nothing was sent', async () => {
      const page = await console_.open('players');
      await page.keyboard.press('g');
      await page.keyboard.press('l');
      await page.waitForURL(/\/compliance/);
      await page.getByRole('heading', { name: 'Compliance' }).waitFor();
      const found = row(page, /excluded-1/);
      await found.waitFor();
      for (const text of ['Self-exclusion', 'In force', 'open', 'Event'])
        expect(await found.textContent()).toContain(text);
      await found.focus();
      await page.keyboard.press('Enter');
      await page.waitForURL(new RegExp(`/compliance/${excluded}`));
      await page.getByText('0 messages, 0 bonuses handed over while excluded').waitFor();
      await page.getByText(/0 messages, 0 bonuses handed over between/).waitFor();
      await page.getByText(/Message: 1 time \(Excluded themselves from gambling/).waitFor();
      expect(await page.getByRole('table').count()).toBe(0);
    });

    test('list everything that was handed over in spite of one, and save it as CSV', async () => {
      const player_id = await newPlayer('given-1');
      await operator.fold({ event: 'self_exclusion_set', player_id });
      const campaign_id = await campaignTo('in spite of it', player_id);
      // The gate does not let this happen, so the row is changed.
      await console_.service.platform.postgres.service`
      update message_sends set status = 'sent', error_code = null, sent_at = now() + interval '2 s',
        counted_at = now() + interval '1 s' where campaign_id = ${campaign_id}`;
      const page = await console_.open(`compliance/${player_id}`);
      await page.getByText('1 message, 0 bonuses handed over while excluded').waitFor();
      await page.getByRole('cell', { name: 'in spite of it' }).waitFor();
      const download = page.waitForEvent('download');
      await button(page, 'CSV').click();
      const csv = await readFile(await (await download).path(), 'utf8');
      expect(csv).toContain('Handed over while excluded: Message');
      expect(csv.split('\r\n')).toHaveLength(3);
      // On paper there is the page alone.
      await page.emulateMedia({ media: 'print' });
      await page.getByRole('navigation', { name: 'Screens' }).waitFor({ state: 'hidden' });
      await page.getByText('1 message, 0 bonuses handed over while excluded').waitFor();
    });

    test('are narrowed by state, kind and player; the address holds it', async () => {
      const page = await console_.open('compliance');
      await page.getByRole('searchbox', { name: 'Player' }).fill('excluded-1@example.com');
      await button(page, 'excluded-1').click();
      await page.waitForURL(new RegExp(`player=${excluded}`));
      expect(page.url()).not.toMatch(/@|%40/);
      await row(page, /excluded-1/).waitFor();
      await page.getByLabel('State').selectOption('Ended');
      await button(page, 'Show').click();
      await page.getByRole('heading', { name: 'Nothing matches' }).waitFor();
      await page.waitForURL(/state=ended/);
      await page.goBack();
      await row(page, /excluded-1/).waitFor();
    });
  });

  test('an officer excludes a player who is found by email, and ends it, with reasons; an editor does not', async () => {
    const player_id = await newPlayer('by-letter-1');
    const editor = await openAs(console_, 'editor', `compliance/${player_id}`);
    await editor.getByText('This player was never excluded').waitFor();
    expect(await button(editor, 'Exclude a player').count()).toBe(0);
    const page = await openAs(console_, 'compliance', 'compliance');
    await button(page, 'Exclude a player').click();
    const dialog = page.getByRole('dialog', { name: 'Exclude a player' });
    await dialog.getByRole('searchbox', { name: 'Player' }).fill('by-letter-1@example.com');
    await dialog.getByRole('button', { name: 'by-letter-1' }).click();
    const act = dialog.getByRole('button', { name: 'Exclude', exact: true });
    expect(await act.isDisabled()).toBe(true);
    await dialog.getByLabel('Reason').fill('letter of 2 May');
    expect(await accessibilityFaults(page)).toEqual([]);
    await act.click();
    await page.waitForURL(new RegExp(`compliance/${player_id}`));
    await button(page, 'End the exclusion').waitFor();
    await page.getByText('In force').waitFor();
    await button(page, 'End the exclusion').click();
    const lift = page.getByRole('dialog', { name: 'End the self-exclusion of by-letter-1?' });
    await lift.getByLabel('Reason').fill('the term is over');
    await lift.getByRole('button', { name: 'End the exclusion' }).click();
    await page.getByText('Ended').waitFor();
    expect((await audited(player_id)).map(({ action }) => action)).toEqual(['lift', 'exclude']);
  });

  test('the proof of a period says in one line what all excluded players got', async () => {
    const page = await openAs(console_, 'viewer', 'compliance?tab=period');
    await page.getByText(/\d+ messages?, 0 bonuses handed over to \d+ excluded players from/).waitFor();
    await row(page, /excluded-1/).waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
    await page.getByLabel('First day').fill('2020-01-01');
    await page.getByLabel('Last day').fill('2020-01-31');
    await page.getByRole('heading', { name: 'Nobody was excluded in this period' }).waitFor();
    await page.waitForURL(/from=2020-01-01&to=2020-01-31/);
  });

  test('blocked messages say why and of which campaign, and can be filtered by reason', async () => {
    const page = await console_.open('compliance?tab=blocked');
    const found = row(page, /excluded-1.*after/);
    await found.waitFor();
    await page.getByLabel('Reason').selectOption({ index: 4 });
    await button(page, 'Show').click();
    await page.getByRole('heading', { name: 'No blocked messages' }).waitFor();
  });

  test('an officer resolves a conflict with a note; a viewer is offered nothing', async () => {
    const player_id = await conflict('guest-1');
    const viewer = await openAs(console_, 'viewer', 'compliance?tab=conflicts');
    await row(viewer, /guest-1/).waitFor();
    expect(await button(viewer, 'Resolve…').count()).toBe(0);
    const page = await openAs(console_, 'compliance', 'compliance?tab=conflicts');
    await row(page, /guest-1/)
      .getByRole('button', { name: 'Resolve…' })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Resolve the conflict of guest-1' });
    expect(await dialog.getByRole('button', { name: 'Resolve', exact: true }).isDisabled()).toBe(true);
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByLabel('Note').fill('two brothers');
    await dialog.getByRole('button', { name: 'Resolve', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'No conflicts' }).waitFor();
    expect(await audited(player_id)).toMatchObject([{ action: 'resolve', after: { note: 'two brothers' } }]);
  });

  test('email and phone are masked until an officer reveals them, which is kept', async () => {
    const page = await openAs(console_, 'compliance', `players/${excluded}`);
    await page.getByText('e•••@example.com').waitFor();
    expect(await page.getByRole('main').textContent()).not.toContain('excluded-1@example.com');
    await button(page, 'Reveal…').click();
    await page.getByLabel('Reason (optional)').fill('a complaint');
    await button(page, 'Reveal').last().click();
    await page.getByText('excluded-1@example.com').waitFor();
    await page.getByText('+35679012345').waitFor();
    const [entry] = await audited(excluded);
    expect(entry).toMatchObject({ action: 'reveal', after: { reason: 'a complaint' } });
    const viewer = await openAs(console_, 'viewer', `players/${excluded}`);
    await viewer.getByText('e•••@example.com').waitFor();
    expect(await button(viewer, 'Reveal…').count()).toBe(0);
  });

  test('an editor changes a player, and what somebody else saves meanwhile is shown, masked, and not written over', async () => {
    const player_id = await newPlayer('edited-1');
    const path = `/v1/players/${player_id}`;
    const viewer = await openAs(console_, 'viewer', `players/${player_id}`);
    await viewer.getByText('e•••@example.com').waitFor();
    expect(await button(viewer, 'Edit…').count()).toBe(0);
    const page = await openAs(console_, 'editor', `players/${player_id}`);
    await button(page, 'Edit…').click();
    const dialog = page.getByRole('dialog', { name: 'Edit edited-1' });
    await dialog.getByText('Stays e•••@example.com while this is empty.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const email = dialog.getByLabel('New email');
    await email.fill('e•••@example.com');
    await dialog.getByText('This is masked').waitFor();
    expect(await button(page, 'Save').isDisabled()).toBe(true);
    await email.fill('');
    await dialog.getByLabel('Time zone').fill('Europe/Malta');
    await dialog.getByLabel('Remove the phone').check();
    // Events between do not count; another editor does.
    await operator.fold({ event: 'session_start', player_id });
    await client.api('PATCH', path, { email: 'theirs@example.com', timezone: 'Europe/Paris' });
    await button(page, 'Save').click();
    const both = dialog.getByRole('alert');
    await both.getByRole('row', { name: /timezone.*Europe\/Malta.*Europe\/Paris/ }).waitFor();
    expect(await both.textContent()).not.toContain('+35679012345');
    expect(await accessibilityFaults(page)).toEqual([]);
    await button(page, 'Save mine over it').click();
    await dialog.waitFor({ state: 'detached' });
    const { data } = await client.api('GET', path);
    expect(data).toMatchObject({ email: 'theirs@example.com', phone: null, timezone: 'Europe/Malta' });
  });

  test('an editor deletes a player after a question, and a viewer does not', async () => {
    const player_id = await newPlayer('deleted-1');
    const path = `players/${player_id}`;
    const viewer = await openAs(console_, 'viewer', path);
    await viewer.getByText('deleted-1').first().waitFor();
    expect(await button(viewer, 'Delete…').count()).toBe(0);
    const page = await openAs(console_, 'editor', path);
    await button(page, 'Delete…').click();
    const dialog = page.getByRole('dialog', { name: 'Delete deleted-1' });
    await dialog.getByText('Nothing takes this back.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect((await client.api('GET', `/v1/${path}`)).data).toMatchObject({ status: 'active' });
    await button(page, 'Delete…').click();
    await button(page, 'Delete the player').click();
    await dialog.waitFor({ state: 'detached' });
    await button(page, 'Delete…').waitFor({ state: 'detached' });
    expect((await client.api('GET', `/v1/${path}`)).data).toMatchObject({ status: 'deleted' });
  });

  test('KYC that waits, limits, and the licence with its rules', async () => {
    const { service } = console_;
    await setKycModel(service, service);
    const player_id = await newPlayer('waiting-1');
    await operator.fold({ event: 'kyc_submitted', player_id, properties: { level: 2 } });
    await folded(service.platform);
    const page = await console_.open('compliance?tab=kyc');
    await row(page, /waiting-1/)
      .getByRole('button', { name: 'Approve…' })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Approve the verification of waiting-1' });
    expect(await dialog.getByLabel('Level').inputValue()).toBe('2');
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByLabel('Note').fill('passport seen');
    await dialog.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'Nothing pending' }).waitFor();
    const { data } = await client.api('GET', `/v1/players/${player_id}/kyc`);
    expect(data).toMatchObject({ kyc_status: 'approved', kyc_level: 2 });
    await link(page, 'deposit_limit_reached').click();
    await page.waitForURL(/events\?.*event=deposit_limit_reached/);
    await page.goBack();
    await link(page, 'Licence').click();
    await page.getByText('not configured').waitFor();
    await page.getByText('Nothing to players who are excluded, banned or cooling down').waitFor();
  });

  test('erasures, with reason and state; a row opens what is left of the player', async () => {
    const player_id = await newPlayer('to-forget');
    const path = `/v1/players/${player_id}/erase`;
    const asked = await client.api<Record<string, unknown>>('POST', path, {
      reason: 'the person asked',
      basis: 'GDPR Art. 17',
    });
    expect(asked.status).toBe(202);
    const page = await console_.open('compliance?tab=erasures');
    await row(page, /the person asked.*GDPR Art. 17/).waitFor();
    await row(page, /Not confirmed/).waitFor();
    const { confirmation_token } = asked.data;
    expect((await client.api('POST', path, { confirmation_token })).status).toBe(202);
    await until('the player is erased', async (saw) => {
      const { data } = await client.api<{ status: string }[]>('GET', `/v1/erasures?player_id=${player_id}`);
      return saw(data)[0]?.status === 'done';
    });
    await page.reload();
    await row(page, new RegExp(`${player_id}.*Done`)).click();
    await page.waitForURL(new RegExp(`players/${player_id}`));
    await page.getByText('Not verified, level 0').waitFor();
  });

  test('the audit log has its filters in the address, and is not for viewers', async () => {
    await client.api('PATCH', `/v1/players/${excluded}`, { custom_attributes: { note: 'seen' } });
    const page = await openAs(
      console_,
      'compliance',
      `compliance?tab=audit&resource=${excluded}&action=update`,
    );
    await row(page, /Changed.*seen/).waitFor();
    expect(await page.getByLabel('Record id', { exact: true }).inputValue()).toBe(excluded);
    for (const [label, text] of [
      ['User', 'ada@example.com'],
      ['Record id', '+35621234567'],
      ['Record id', '35621234567'],
      ['User', 'Ada Lovelace'],
    ] as const) {
      await page.getByLabel(label, { exact: true }).fill(text);
      await page.getByRole('button', { name: 'Show' }).click();
      await page.getByText('must be an id, not an email').waitFor();
      expect(new URL(page.url()).searchParams.get('resource')).toBe(excluded);
      expect(page.url()).not.toContain(encodeURIComponent(text));
      await page.getByLabel(label, { exact: true }).fill('');
    }
    await page.getByLabel('User', { exact: true }).fill('auth0|5f7c');
    await page.getByRole('button', { name: 'Show' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('user')).toBe('auth0|5f7c');
    const viewer = await openAs(console_, 'viewer', 'compliance?tab=audit');
    await viewer.getByText('The audit log is for compliance officers and administrators.').waitFor();
  });

  test('says what is wrong, tries again, and keeps old rows', async () => {
    const page = await console_.open('players');
    const path = /\/v1\/compliance\/exclusions\?/;
    const body = JSON.stringify({ error: { code: 'INTERNAL', message: 'no' } });
    await page.route(path, (route) => route.fulfill({ status: 500, contentType: 'application/json', body }));
    await page.getByRole('link', { name: 'Compliance' }).click();
    await page.getByRole('alert').getByText('INTERNAL').waitFor();
    await page.unroute(path);
    await button(page, 'Try again').click();
    await row(page, /excluded-1/).waitFor();
  });

  test('nothing is inaccessible or too wide, in light and dark', async () => {
    await conflict('guest-2');
    const page = await console_.open(`compliance/${excluded}`, { width: 400 });
    await page.getByText('0 messages, 0 bonuses handed over while excluded').waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
    expect(await overflows(page)).toBe(false);
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Compliance' }).click();
    await row(page, /excluded-1/).waitFor();
    expect(await faultsInBothThemes(page)).toEqual([]);
    for (const [tab, text] of [
      ['Blocked messages', /excluded-1/],
      ['KYC and limits', /deposit_limit_set/],
      ['Conflicts', /guest-2/],
      ['Licence', /Rules in force/],
      ['Erasures', /GDPR Art. 17/],
      ['Audit log', /resolve|update|create/],
    ] as const) {
      await link(page, tab).click();
      await page.getByText(text).last().waitFor();
      expect(await faultsInBothThemes(page), tab).toEqual([]);
      expect(await overflows(page), tab).toBe(false);
    }
  });
});
