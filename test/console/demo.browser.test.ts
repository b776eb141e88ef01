import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Purchase } from '../../scripts/cdnow.ts';
import { fillDemo, movedTo } from '../../scripts/demo-kept.ts';
import { packageRoot } from '../../src/package-root.ts';
import { messagingClient } from '../engage/messaging/messaging-client.ts';
import { openConsole, show, type ConsoleBrowser } from './browser.ts';
import { HOSTILE, misplacement, wideParts } from './members.ts';

/** Whether the pictures of README are made anew. */
const MAKES_PICTURES = process.env['UPDATE_PICTURES'] === '1';
const CUSTOMERS = 130;

/** Each customer bought once in June 1998, one to eight records. */
const purchases: Purchase[] = Array.from({ length: CUSTOMERS }, (_none, n) => {
  const customer_id = String(n).padStart(5, '0');
  const [cds, day] = [1 + (n % 8), 1 + ((n * 7) % 30)];
  const date = `1998-06-${String(day).padStart(2, '0')}`;
  return { row: n + 1, customer_id, date, cds, amount_cents: 1_999 * cds };
});

let console_: ConsoleBrowser;
beforeAll(async () => {
  console_ = await openConsole();
});
afterAll(async () => console_?.close());

it('purchases are moved by whole days', () => {
  const [one] = movedTo(purchases, '2024-03-01');
  expect(one).toEqual({ ...purchases[0], date: '2024-02-01' });
});

it('the kept demo has something for each screen, and no message or bonus for who is protected', async () => {
  const { service } = console_;
  const { api } = messagingClient(service);
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await fillDemo(service, purchases);
  await expect(fillDemo(service, purchases)).rejects.toThrow('the demo is filled already');
  printed.mockRestore();

  const list = async (path: string) => (await api<Record<string, unknown>[]>('GET', path)).data;
  const players = await list('/v1/players?limit=200');
  const protected_ids = new Set<unknown>();
  for (const { id } of players) {
    const channels = await list(`/v1/players/${String(id)}/reachability`);
    const codes = channels.flatMap((channel) => channel['codes'] as string[]);
    if (codes.some((code) => /SELF_EXCLUDED|COOLDOWN/.test(code))) protected_ids.add(id);
  }
  expect(protected_ids.size).toBe(5);

  const campaigns = await list('/v1/campaigns');
  expect(campaigns.map(({ status }) => String(status)).toSorted()).toEqual(['scheduled', 'sent']);
  const sent = campaigns.find(({ status }) => status === 'sent');
  const recipients = await list(`/v1/campaigns/${String(sent?.['id'])}/recipients?limit=200`);
  const reached = recipients.filter(({ status }) => status === 'sent');
  expect(reached.length).toBeGreaterThan(CUSTOMERS / 2);
  expect(reached.filter(({ player_id }) => protected_ids.has(player_id))).toEqual([]);

  const grants = await list('/v1/bonus-grants?limit=200');
  expect(grants.length).toBeGreaterThan(30);
  expect(grants.filter(({ player_id }) => protected_ids.has(player_id))).toEqual([]);
  expect(await list('/v1/segments')).toHaveLength(3);
  expect(await list('/v1/vip-tiers')).toHaveLength(3);
  const [journey] = await list('/v1/journeys');
  expect(await list(`/v1/journeys/${String(journey?.['id'])}/runs?limit=200`)).toHaveLength(80);
});

/** The screens in README: the path from what the list of the API has first, and what is there when all of it is painted. */
const PICTURES = [
  ['overview', async () => 'overview?range=month', (page: Page) => page.getByText('GGR').first()],
  [
    'segment',
    async () =>
      `segments/${await first('/v1/segments', ({ name }) => String(name).startsWith('Over 100'))}/edit`,
    (page: Page) => page.getByRole('group', { name: 'Reachable now' }).getByText('Email'),
  ],
  [
    'campaign',
    async () => `campaigns/${await first('/v1/campaigns', ({ status }) => status === 'sent')}`,
    (page: Page) => page.getByText('is better than', { exact: false }).or(page.getByText('chance')).first(),
  ],
  [
    'journey',
    async () => `journeys/${await first('/v1/journeys')}`,
    (page: Page) => page.locator('.react-flow__node').last(),
  ],
  [
    'proof',
    async () => `compliance/${await first('/v1/compliance/exclusions')}`,
    (page: Page) => page.getByText('0 messages, 0 bonuses handed over while excluded'),
  ],
] as const;

async function first(
  path: string,
  is_it: (row: Record<string, unknown>) => boolean = () => true,
  id: 'id' | 'player_id' = 'player_id',
) {
  const { api } = messagingClient(console_.service);
  const { data } = await api<Record<string, unknown>[]>('GET', path);
  const row = data.find(is_it);
  return String(row?.[id] ?? row?.['id']);
}

it.each(PICTURES)('the console shows it: %s', async (name, path, painted) => {
  const page = await console_.open(await path(), { width: 1280, height: 860 });
  await painted(page).waitFor();
  await page.getByText('Loading', { exact: false }).first().waitFor({ state: 'detached' });
  if (MAKES_PICTURES) await page.screenshot({ path: join(packageRoot, 'docs', 'pictures', `${name}.png`) });
});

/** Every screen that needs no record, and every tab of it. */
const LISTS =
  `overview events events?tab=search events?tab=rejected players segments segments/new campaigns campaigns/new
  campaigns?view=calendar journeys journeys/new templates templates/new bonuses bonuses?tab=grants bonuses?tab=campaigns
  bonuses/templates/new bonuses/campaigns/new vip vip?tab=moves vip/new compliance compliance?tab=blocked
  compliance?tab=kyc compliance?tab=conflicts compliance?tab=licence compliance?tab=audit developers?tab=keys
  developers?tab=snippets developers?tab=events developers?tab=reference developers?tab=adapters developers?tab=webhooks
  settings settings?tab=currencies settings?tab=providers settings?tab=suppressions settings?tab=members
  settings?tab=sessions system`.split(/\s+/);

it('every screen fits a window of 390 pixels, with long names, and cells are below their heads', async () => {
  const { api } = messagingClient(console_.service);
  const long = { name: HOSTILE.long };
  await api('POST', '/v1/templates', { ...long, channel: 'sms', body: HOSTILE.long });
  const condition = { type: 'trait', field: 'total_deposited', op: 'gt', value: 0 };
  await api('POST', '/v1/segments', { ...long, definition: { operator: 'AND', conditions: [condition] } });
  const paths = [
    ...LISTS,
    `players/${await first('/v1/players')}`,
    `players/${await first('/v1/players')}?tab=money`,
    `segments/${await first('/v1/segments', ({ name }) => name === HOSTILE.long)}`,
    `segments/${await first('/v1/segments')}/edit`,
    `campaigns/${await first('/v1/campaigns', ({ status }) => status === 'sent')}`,
    `campaigns/${await first('/v1/campaigns', ({ status }) => status === 'scheduled')}`,
    `journeys/${await first('/v1/journeys')}`,
    `templates/${await first('/v1/templates', ({ name }) => name === HOSTILE.long)}`,
    `bonuses/grants/${await first('/v1/bonus-grants', () => true, 'id')}`,
    `compliance/${await first('/v1/compliance/exclusions')}`,
  ];
  const page = await console_.open('overview', { width: 390, height: 844 });
  const faults: string[] = [];
  for (const path of paths) {
    await show(page, path);
    faults.push(...(await wideParts(page)).map((part) => `${path}: ${part}`));
    const misplaced = await misplacement(page);
    if (misplaced >= 1) faults.push(`${path}: cells are ${misplaced} px beside their heads`);
  }
  expect(faults).toEqual([]);
});

it('the filters of a list are one line', async () => {
  const page = await console_.open('overview', { width: 1280 });
  const faults: string[] = [];
  for (const path of LISTS) {
    await show(page, path);
    const tops = await page.evaluate<number[]>(`[...document.querySelectorAll('search > *')].map((one) =>
      (one.querySelector('input, select') ?? one).getBoundingClientRect().top)`);
    // A second line is further below than a field is high.
    if (Math.max(...tops) - Math.min(...tops) > 32) faults.push(`${path}: ${tops.join()}`);
  }
  expect(faults).toEqual([]);
});
