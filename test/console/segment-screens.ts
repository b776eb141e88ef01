// The screens of segments with a few players, for the files that test them.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { waitUntilCaughtUp } from '../../src/analytics/caught-up.ts';
import { auditNothing } from '../../src/http/audit.ts';
import { createFrozenSegment } from '../../src/segments/change.ts';
import { fillFrozenSegment } from '../../src/segments/freeze.ts';
import { refreshJob } from '../../src/segments/refresh-job.ts';
import { segmentClient, type SegmentClient } from '../segments/segment-client.ts';
import { openConsole, type ConsoleBrowser } from './browser.ts';

export type Body = Record<string, unknown>;

/** Players of whom the n-th has deposited n × 10 euros. */
const PLAYERS = 12;
const EUROS = 10;

export let front: ConsoleBrowser;
export let client: SegmentClient;
export let player_ids: string[] | undefined;
let names = 0;

/** Starts the service and the browser that the tests of a file share. */
export async function openScreens(): Promise<void> {
  front = await openConsole();
  client = segmentClient(front.service);
  // One worker runs several files: the players of an earlier one are in another service.
  player_ids = undefined;
}

/** Seeds once, behind the test of the empty state. */
export async function seed(): Promise<void> {
  if (player_ids !== undefined) return;
  player_ids = [];
  for (let n = 1; n <= PLAYERS; n++) {
    const player_id = await client.identify({ country: 'SE' }, { external_id: `crm-${n}` });
    await client.deposit(player_id, n * EUROS * 100);
    player_ids.push(player_id);
  }
  await waitUntilCaughtUp(front.service.platform, 60_000);
}

export const depositedOver = (value: number): Body => ({
  type: 'trait',
  field: 'total_deposited',
  op: 'gt',
  value,
});

/** A stored segment whose members are computed; returns its id. */
export async function stored(
  name: string,
  conditions = [depositedOver(0)],
  rest: Body = {},
): Promise<string> {
  const id = await client.make(conditions, { name, ...rest });
  const { status } = await client.api('POST', `/v1/segments/${id}/refresh`);
  expect(status).toBe(200);
  return id;
}

/** A frozen segment of the players; returns its id. */
export async function frozen(name: string, ids: string[]): Promise<string> {
  const { platform, tenant_id, project_id } = front.service;
  const { segment_id } = await createFrozenSegment(
    { ...platform, audit: auditNothing },
    { tenant_id, project_id },
    { name, description: '' },
    refreshJob,
  );
  const ref = { tenant_id, project_id, segment_id };
  await fillFrozenSegment(platform, ref, () => Promise.resolve({ total: ids.length, pages: pageOf(ids) }));
  return segment_id;
}

async function* pageOf(ids: string[]) {
  yield ids;
}

export const newName = () => `Segment ${++names}`;
export const live = (page: Page) => page.getByRole('region', { name: 'Audience' }).locator('[data-state]');
/** Waits until the live size is this. */
export async function sizeIs(page: Page, text: string): Promise<void> {
  await page.locator('[data-state="counted"]', { hasText: new RegExp(`^${text}$`) }).waitFor();
}
export const conditions = (page: Page) => page.getByRole('group', { name: /^Condition: / });
export const saved = (page: Page) => page.waitForURL(/\/segments\/[0-9a-f-]{36}(\?|$)/);
export const definitionOf = async (id: string) =>
  (await client.api('GET', `/v1/segments/${id}`)).data['definition'];
export const idIn = (page: Page) => /segments\/([0-9a-f-]{36})/.exec(page.url())?.[1] ?? '';

/** The builder with a name and one condition about the deposits. */
export async function openBuilder(options?: Parameters<ConsoleBrowser['open']>[1]): Promise<Page> {
  const page = await front.open('segments/new', options);
  await page.getByLabel('Name', { exact: true }).fill(newName());
  await page.getByRole('button', { name: 'Add a condition' }).click();
  return page;
}

/** Answers a path of the API with something of one's own. */
export async function answer(
  page: Page,
  path: string | RegExp,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  await page.route(path, (route) =>
    route.fulfill({
      status,
      headers: { 'content-type': 'application/json', 'x-request-id': 'req-test', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  );
}
export const failure = (code: string, details: Body = {}) => ({
  error: { code, message: `this is ${code}`, details },
});

// Scripts for the page are texts: the tests are compiled without the types of the browser.
/** The accessible name of what has the focus, as far as labels and contents give it; empty when nothing has it. */
export const FOCUSED = `((e) => e === document.body ? '' : e?.getAttribute('aria-label') ?? e?.labels?.[0]?.textContent ?? e?.textContent ?? '')(document.activeElement)`;
/** By how much the page is wider than its window. */
export const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth';

/** Waits until lists of choices have these entries: before, they take no letters for them. */
export async function hasChoices(page: Page, ...names: string[]): Promise<void> {
  for (const name of names)
    await page.locator('option', { hasText: name }).first().waitFor({ state: 'attached' });
}

/** Presses Tab until the element with this accessible name has the focus. */
export async function tabTo(page: Page, name: string | RegExp, key = 'Tab'): Promise<void> {
  const seen: string[] = [];
  for (let i = 0; i < 120; i++) {
    const focused = await page.evaluate<string>(FOCUSED);
    if (typeof name === 'string' ? focused.trim() === name : name.test(focused)) return;
    seen.push(focused.trim().slice(0, 30));
    await page.keyboard.press(key);
  }
  throw new Error(`no focus on ${name}: ${seen.join(' | ')}`);
}
