import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { launchBrowser } from '../test/console/chromium.ts';
import { freePort } from '../test/engines/free-port.ts';
import { startTestService, type TestService } from '../test/engines/service.ts';
import { lighthouseScores } from './console-lighthouse.ts';
import { benchCampaigns, seedCampaigns } from './console-campaigns.ts';
import { click, COMPLETE, has, shows, type, untilPainted } from './console-page.ts';
import { benchTail } from './console-tail.ts';
import { percentile, result, type Result } from './measure.ts';
import { openBenchPlatform, postgresUrlOf } from './platform.ts';
import { mergeParts, seedEvents, seedMirroredPlayers } from './segment-seed-queries.ts';
import { seedPlayers } from './seed-queries.ts';
import { sendSteadily } from './steady.ts';

const PLAYERS = Number(process.env['BENCH_CONSOLE_PLAYERS'] ?? 1_000_000);
const EVENTS = Number(process.env['BENCH_CONSOLE_EVENTS'] ?? 20_000_000);
const EVENTS_PER_SECOND = 500;
const ROUNDS = 40;
const WARM_UP_MS = 5_000;
const GRID_ROW = '[role=grid] [data-index="0"]';
const ONE_ROW = `document.querySelectorAll('[role=grid] [data-index]').length === 1`;
const SEARCH = 'input[type=search]';

/**
 * The console of a project with many players and events, while more come: from the click to what was asked for, painted in
 * Chromium; then the live tail, and Lighthouse on each screen.
 */
export async function benchConsole(): Promise<Result[]> {
  const service = await startTestService({}, openBenchPlatform);
  const debugging_port = await freePort();
  const browser = await launchBrowser(debugging_port);
  const stop = new AbortController();
  let load: Promise<unknown> = Promise.resolve();
  try {
    const player_ids = await seed(service);
    const campaigns = await seedCampaigns(service);
    const { ingest_url, api_key } = service;
    load = sendSteadily({ ingest_url, api_key }, stop.signal, EVENTS_PER_SECOND);
    await sleep(WARM_UP_MS);
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const sign_in = service.service.auth?.dev_issuer?.issueSignIn(service.owner) ?? '';
    await page.goto(`${service.base_url}/console/players#sign-in=${sign_in}`);
    await page.locator(GRID_ROW).waitFor();
    const screens = await benchScreens(page, service.base_url, player_ids);
    const size = await benchLiveSize(page);
    const sent = await benchCampaigns(page, service.base_url, campaigns);
    stop.abort();
    await load;
    await page.close();
    const live = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const tail = await benchTail(live, service);
    await live.close();
    return [
      ...screens,
      size,
      ...sent,
      ...tail,
      ...(await lighthouseScores(service.base_url, debugging_port)),
    ];
  } finally {
    stop.abort();
    await load.catch(() => undefined);
    await browser.close();
    await service.close();
  }
}

/** Returns ids of some of the players. */
async function seed({ tenant_id, project_id, platform }: TestService): Promise<string[]> {
  const project = { tenant_id, project_id };
  const player_ids = await seedPlayers(postgresUrlOf(platform), project, PLAYERS);
  await seedMirroredPlayers(platform.clickhouse, project, PLAYERS);
  await seedEvents(platform.clickhouse, project, PLAYERS, EVENTS);
  await mergeParts(platform.clickhouse);
  return player_ids;
}

async function benchScreens(page: Page, base_url: string, player_ids: readonly string[]): Promise<Result[]> {
  const times_ms: Record<'list' | 'search' | 'profile' | 'overview', number[]> = {
    list: [],
    search: [],
    profile: [],
    overview: [],
  };
  const link = (screen: string) => click(`nav a[href$="/${screen}"]`);
  for (let round = 0; round < ROUNDS; round++) {
    const player_id = player_ids[(round * 37) % player_ids.length] ?? '';
    // Opened anew, so that no answer of an earlier round is in the page's cache.
    await page.goto(`${base_url}/console/events?tab=search`);
    await page.locator('main nav a[aria-current=page]').waitFor();
    times_ms.overview.push(
      await untilPainted(page, link('overview'), `${shows('GGR')} && ${COMPLETE} && ${has('main svg')}`),
    );
    times_ms.list.push(await untilPainted(page, link('players'), has(GRID_ROW)));
    times_ms.search.push(
      await untilPainted(page, type(SEARCH, player_id), `${shows('by player_id')} && ${ONE_ROW}`),
    );
    const complete = `${shows('Timeline')} && ${shows(player_id.slice(-8))} && ${COMPLETE}`;
    times_ms.profile.push(await untilPainted(page, click(GRID_ROW), complete));
  }
  const line = (name: keyof typeof times_ms, what: string, at_most: number) => {
    const measured = times_ms[name];
    const note = `p50 ${percentile(measured, 0.5).toFixed(0)} ms of ${measured.length}; ${PLAYERS} players, ${EVENTS} events, ${EVENTS_PER_SECOND} more a second`;
    return result(
      `console: ${what}, click → painted, p95 in ms`,
      [percentile(measured, 0.95)],
      { at_most },
      note,
    );
  };
  return [
    line('list', 'list of players', 300),
    line('search', 'search of an id', 200),
    line('profile', 'profile of a player, complete', 500),
    line('overview', 'overview', 800),
  ];
}

/** The builder's size after a changed value. */
async function benchLiveSize(page: Page): Promise<Result> {
  await page.evaluate(click('nav a[href$="/segments"]'));
  await page.getByRole('link', { name: 'New segment' }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  const condition = page.getByRole('group', { name: /^Condition: / }).first();
  await condition.getByLabel('What is looked at').selectOption({ label: 'Events of the player' });
  await condition.getByLabel('What of the events').selectOption({ label: 'Sum' });
  const value = condition.getByLabel('Value');
  await value.evaluate((field) => field.setAttribute('data-bench', 'value'));
  const counted = has('[data-state=counted]');
  await page.locator('[data-state=counted]').waitFor();
  const times_ms: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const act = type('[data-bench=value]', String(50 + round));
    times_ms.push(await untilPainted(page, act, counted));
  }
  const note = `p50 ${percentile(times_ms, 0.5).toFixed(0)} ms of ${times_ms.length}`;
  return result(
    'console: live size of a segment, key → painted, p95 in ms',
    [percentile(times_ms, 0.95)],
    { at_most: 1_500 },
    note,
  );
}
