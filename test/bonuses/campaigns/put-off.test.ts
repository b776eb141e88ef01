import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { openTestPlatform } from '../../engines/wiring.ts';
import { campaignsFixture, consistent, type CampaignsFixture } from './campaigns-fixture.ts';

const MINUTE_MS = 60_000;
/** By how much the service's clock is ahead. */
let ahead_ms = 0;
let service: TestService;
beforeAll(async () => {
  service = await startTestService({}, async (config) => ({
    ...(await openTestPlatform(config)),
    clock: { now_ms: () => Date.now() + ahead_ms },
  }));
});
afterAll(async () => service?.close());

type Adapter = Awaited<ReturnType<CampaignsFixture['adapter']>>;
type Answer = NonNullable<Parameters<Adapter['fake']['control']>[0]['answer']>;

/** The platform does nothing now, and says that it is to be called later, or when. */
const BUSY: Answer = { status: 429, body: '' };
const later = (seconds: number): Answer => ({ ...BUSY, headers: { 'retry-after': String(seconds) } });

/** Lets time pass for the service and the platform. */
async function pass(adapter: Adapter, ms: number): Promise<void> {
  ahead_ms += ms;
  await adapter.fake.control({ faults: { clock_skew_ms: ahead_ms } });
}

/** A campaign whose platform has put off every grant, for the `calls`th time. */
async function putOff(
  on: CampaignsFixture,
  adapter: Adapter,
  { members, answer, calls = 1 }: { members: number; answer: Answer; calls?: number },
) {
  await adapter.fake.control({ answer, faults: { clock_skew_ms: ahead_ms } });
  const players = await on.client.players(members);
  const segment_id = await on.client.segment(players);
  const { data } = await on.create({ template_id: await on.template(), segment_id, rate_per_second: 100 });
  await on.config({ paused: true });
  await on.issue(data.id);
  await on.config({ paused: false });
  await until('every grant is put off', async (saw) => {
    // As if the calls between the first and the last had been made.
    await on.sql`
      update bonus_grants set calls = ${calls - 1}, next_attempt_at = now()
      where campaign_id = ${data.id} and outcome = 'unsent' and calls between 1 and ${calls - 2}`;
    const tried = saw(
      await on.sql`
      select from bonus_grants where campaign_id = ${data.id} and outcome = 'unsent' and calls >= ${calls}`,
    );
    return tried.length === members;
  });
  return { id: data.id, players };
}

const callsOf = async ({ fake }: Adapter) =>
  (await fake.ledger()).calls.filter(({ method }) => method === 'POST');

describe('grants of a campaign that its platform has put off', () => {
  it('are sent at the rate of the campaign, however many are due at the same moment', async () => {
    const on = await campaignsFixture(service);
    const adapter = await on.adapter({ max_rps: 50 });
    const members = 12;
    const { id } = await putOff(on, adapter, { members, answer: later(600) });
    await on.sql`update bonus_campaigns set rate_per_second = 2 where campaign_id = ${id}`;
    await adapter.fake.control({ answer: null });
    const before = (await callsOf(adapter)).length;
    await pass(adapter, 11 * MINUTE_MS);
    await on.reaches(id, ({ status }) => status === 'issued');
    const calls = (await callsOf(adapter)).slice(before);
    expect(calls).toHaveLength(members);
    const [first, last] = [calls.at(0)?.at_ms ?? NaN, calls.at(-1)?.at_ms ?? NaN];
    // Eleven halves of a second; the first may have come late.
    expect(last - first).toBeGreaterThan(4_000);
    await consistent(on, id);
    await adapter.close();
  });

  it('go on soon after it takes grants again, but for one that it wants later', async () => {
    const on = await campaignsFixture(service);
    const adapter = await on.adapter();
    const { id, players } = await putOff(on, adapter, { members: 5, answer: BUSY, calls: 6 });
    const [asked = ''] = players;
    await adapter.fake.control({ answer: later(3_600) });
    await on.sql`
      update bonus_grants set next_attempt_at = now() where campaign_id = ${id} and player_id = ${asked}`;
    const stateOfAsked = async () => {
      const [row] = await on.sql<{ calls: number; outcome: string }[]>`
        select calls, outcome from bonus_grants where campaign_id = ${id} and player_id = ${asked}`;
      return `${row?.outcome} after ${row?.calls} calls`;
    };
    await until('it is asked to wait', async (saw) => saw(await stateOfAsked()) === 'unsent after 7 calls');
    await adapter.fake.control({ answer: null });
    await pass(adapter, 10 * MINUTE_MS);
    await on.reaches(id, ({ stats }) => stats.granted === 4);
    expect(await stateOfAsked()).toBe('unsent after 7 calls');
    await pass(adapter, 70 * MINUTE_MS);
    await on.reaches(id, ({ status }) => status === 'issued');
    await consistent(on, id);
    await adapter.close();
  });
});

it('a grant that names a campaign, but is of none of its members, waits for no share', async () => {
  const on = await campaignsFixture(service);
  const adapter = await on.adapter();
  await adapter.fake.control({ answer: BUSY, faults: { clock_skew_ms: ahead_ms } });
  const player_id = await on.player();
  expect((await on.grant(await on.template(), player_id)).status).toBe(503);
  const [grant] = await on.sql<{ grant_id: string }[]>`
    update bonus_grants set campaign_id = gen_random_uuid() where player_id = ${player_id} returning grant_id`;
  const { grant_id = '' } = grant ?? {};
  await until('it is put off again', async (saw) => {
    const [row] = saw(
      await on.sql`
      select from bonus_grants where grant_id = ${grant_id} and calls = 2 and outcome = 'unsent'`,
    );
    return row;
  });
  await adapter.fake.control({ answer: null });
  await on.hurry(grant_id);
  await on.reached(grant_id, ({ status }) => status === 'active');
  await adapter.close();
});
