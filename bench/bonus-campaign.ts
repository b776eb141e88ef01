import { setTimeout as sleep } from 'node:timers/promises';
import { CampaignWork } from '../src/bonuses/campaigns/work.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import { startPolling } from '../src/platform/poll-loop.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { TestService } from '../test/engines/service.ts';
import { GIFT_BASE, makeTemplate, openPlatformsOf } from './bonus-client.ts';
import { costsOf, countMembersOf, isReserving } from './bonus-seed-queries.ts';
import { callApi, makeSegment } from './journey-client.ts';
import { result, timed, type Result } from './measure.ts';
import { insertMembers } from './messaging-seed-queries.ts';
import { postgresUrlOf } from './platform.ts';

const MEMBERS = Number(process.env['BENCH_MEMBERS'] ?? 1_000_000);
/** Members for whom the budget has no room, so that its limit is checked, too. */
const LEFT_OUT = 10;
/** Rarely: with a million members each look reads over many index entries of those who were decided. */
const POLL_MS = 250;
/** As bonus-sender has it. */
const PAUSES = { longest_pause_ms: 5_000, idle_pause_ms: 250 };

/**
 * From the request that issues a campaign of a million members until all of them are reserved. Only the reserving runs:
 * nothing is released, so no grant is made and no platform is called.
 */
export async function benchBonusCampaign(service: TestService): Promise<Result[]> {
  const { platform } = service;
  const owner = connectPool(postgresUrlOf(platform), { max: 1 });
  const platforms = await openPlatformsOf(service);
  try {
    const segment_id = await makeSegment(service);
    await insertMembers(owner, service, segment_id, MEMBERS);
    const limit = (MEMBERS - LEFT_OUT) * GIFT_BASE;
    const template_id = await makeTemplate(service, { budget_base: limit });
    const body = { name: 'bench', template_id, segment_id, max_liability: MEMBERS * GIFT_BASE };
    const campaign_id = String((await callApi(service, 'POST', '/v1/bonus-campaigns', body))['id']);
    const work = new CampaignWork({ ...platform, platforms });
    const options = { name: 'bonus-campaigns', logger: platform.logger, ...PAUSES };
    const loop = startPolling(options, (stop) => work.turn(stop));
    work.onMore = () => loop.wake();
    let issued_ms = 0;
    const { wall_ms, cpu_ms } = await timed(async () => {
      const started_ms = performance.now();
      await callApi(service, 'POST', `/v1/bonus-campaigns/${campaign_id}/issue`);
      issued_ms = performance.now() - started_ms;
      while (await isReserving(owner, campaign_id)) await sleep(POLL_MS);
      return MEMBERS;
    });
    await loop.close();
    await work.close();
    await check(owner, { campaign_id, template_id });
    const per_member = ((cpu_ms * 1_000) / MEMBERS).toFixed(1);
    const note = `POST issue took ${issued_ms.toFixed(0)} ms of it; ${per_member} µs of CPU per member in this process`;
    const [what, seconds] = [`${MEMBERS} members of a bonus campaign reserved, in s`, wall_ms / 1_000];
    return [result(what, [seconds], { at_most: 60 }, note)];
  } finally {
    await owner.end({ timeout: 5 });
  }
}

/** Every member was decided about, and all counts of what they cost are the same, down to the last unit. */
async function check(owner: Db, ids: { campaign_id: string; template_id: string }): Promise<void> {
  const { rows, reserved, over_budget } = await countMembersOf(owner, ids.campaign_id);
  if (rows !== MEMBERS || reserved !== MEMBERS - LEFT_OUT || over_budget !== LEFT_OUT) {
    throw new Error(`of ${rows} members ${reserved} were reserved and ${over_budget} left out`);
  }
  const { by_rows, by_template, by_campaign } = await costsOf(owner, ids);
  const cost = BigInt(reserved) * BigInt(GIFT_BASE);
  if (by_rows !== cost || by_template !== cost || by_campaign !== cost) {
    throw new Error(`${reserved} members cost ${by_rows}; budgets hold ${by_template} and ${by_campaign}`);
  }
}
