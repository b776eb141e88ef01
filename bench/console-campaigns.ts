import type { Page } from 'playwright-core';
import { waitUntilCaughtUp } from '../src/analytics/caught-up.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { TestService } from '../test/engines/service.ts';
import { messagingClient } from '../test/engage/messaging/messaging-client.ts';
import { click, COMPLETE, shows, untilPainted } from './console-page.ts';
import { percentile, result, type Result } from './measure.ts';
import { insertSent, makeMembers } from './messaging-seed-queries.ts';
import { postgresUrlOf } from './platform.ts';

const ROUNDS = 20;
const EXACT_ROUNDS = 5;
/** The mirror copies every message of the report. */
const MIRRORED_MS = 600_000;

/** A campaign to all players of the project that is a draft, and one that was sent to all of them. */
export interface SeededCampaigns {
  draft_id: string;
  sent_id: string;
}

/** Makes both, and waits until the messages are in ClickHouse; the players of the project get addresses and time zones. */
export async function seedCampaigns(service: TestService): Promise<SeededCampaigns> {
  const sql = connectPool(postgresUrlOf(service.platform), { max: 1 });
  const client = messagingClient(service);
  try {
    const segment_id = await client.segment([]);
    await makeMembers(sql, service, segment_id);
    await client.configure({
      frequency_caps: { email: { per_day: 3, per_week: 10 } },
      quiet_hours: { start: '00:00', end: '00:01', default_timezone: 'Europe/Malta' },
    });
    const provider_id = await client.provider();
    const template_id = await client.template();
    const goal = { goal_event: 'deposit_confirmed', goal_value_property: 'amount' };
    const body = { segment_id, template_id, provider_id, ...goal };
    const draft_id = await client.campaign({ ...body, name: 'Draft to all' });
    const sent_id = await client.campaign({ ...body, name: 'Sent to all' });
    const variant = async (name: string) => {
      const made = { name, label: name, template_id, weight: 50 };
      const { data } = await client.api('POST', `/v1/campaigns/${sent_id}/variants`, made);
      return String(data['id']);
    };
    await insertSent(sql, service, sent_id, [await variant('A'), await variant('B')]);
    await waitUntilCaughtUp(service.platform, MIRRORED_MS);
    return { draft_id, sent_id };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Whom a campaign to all players reaches, from a sample and exactly, and the report of one that was sent to all. */
export async function benchCampaigns(
  page: Page,
  base_url: string,
  { draft_id, sent_id }: SeededCampaigns,
): Promise<Result[]> {
  const sample_ms: number[] = [];
  const exact_ms: number[] = [];
  const report_ms: number[] = [];
  const rowOf = (name: string) =>
    `[...document.querySelectorAll('[role=grid] [data-index]')].find((row) => row.textContent.includes('${name}')).click()`;
  for (let round = 0; round < ROUNDS; round++) {
    // Opened anew, so that no answer of an earlier round is in the page's cache.
    await page.goto(`${base_url}/console/campaigns/${draft_id}?step=time`);
    await page.getByRole('link', { name: '4 Review' }).waitFor();
    const review = click('main nav a[href*="step=review"]');
    sample_ms.push(await untilPainted(page, review, shows('Estimated from')));
    if (round < EXACT_ROUNDS) {
      await page
        .getByRole('button', { name: 'Ask about every member' })
        .evaluate((button) => button.setAttribute('data-bench', 'exact'));
      exact_ms.push(await untilPainted(page, click('[data-bench=exact]'), shows('Every member was asked')));
    }
    await page.goto(`${base_url}/console/campaigns`);
    await page.getByRole('row', { name: /Sent to all/ }).waitFor();
    const complete = `location.pathname.includes('${sent_id}') && ${shows('Funnel')} && ${shows('95 % interval')} && ${shows('Over time')} && ${COMPLETE}`;
    report_ms.push(await untilPainted(page, rowOf('Sent to all'), complete));
  }
  const line = (what: string, times_ms: readonly number[], at_most: number) =>
    result(
      `console: ${what}, click → painted, p95 in ms`,
      [percentile(times_ms, 0.95)],
      { at_most },
      `p50 ${percentile(times_ms, 0.5).toFixed(0)} ms of ${times_ms.length}`,
    );
  return [
    line('audience of a campaign to all, from a sample', sample_ms, 300),
    line('audience of a campaign to all, exact', exact_ms, 8_000),
    line('report of a campaign that was sent to all', report_ms, 500),
  ];
}
