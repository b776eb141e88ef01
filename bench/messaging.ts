import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FanOut } from '../src/engage/campaigns/fan-out.ts';
import { sendCampaign } from '../src/engage/campaigns/send.ts';
import { Messenger } from '../src/engage/messaging/messenger.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { TestService } from '../test/engines/service.ts';
import { messagingClient, type MessagingClient } from '../test/engage/messaging/messaging-client.ts';
import { alternate, perSecond, ratios, result, timed, type Result, type Sample } from './measure.ts';
import {
  copyRows,
  countSends,
  emptyCopy,
  emptySends,
  hasRanges,
  insertMembers,
  prepareCopy,
} from './messaging-seed-queries.ts';
import { postgresUrlOf } from './platform.ts';

const PLAYERS = Number(process.env['BENCH_MESSAGING_PLAYERS'] ?? 1_000_000);
const MESSAGES = Math.min(PLAYERS, 40_000);
const ROUNDS = 3;
const LANES = 2;

/** The fan-out with all rules of the gate against a bare COPY of its rows, and the messenger with the sandbox. */
export async function benchMessaging(service: TestService): Promise<Result[]> {
  const owner = connectPool(postgresUrlOf(service.platform), { max: 1 });
  const client = messagingClient(service);
  try {
    const segment_id = await client.segment([]);
    await insertMembers(owner, service, segment_id, PLAYERS);
    await client.configure({
      frequency_caps: { email: { per_day: 3, per_week: 10 } },
      quiet_hours: { start: '00:00', end: '00:01', default_timezone: 'Europe/Malta' },
    });
    return [...(await fanOut(service, owner, client, segment_id)), await messenger(service, owner, client)];
  } finally {
    await owner.end({ timeout: 5 });
  }
}

async function newCampaign(client: MessagingClient, segment_id: string): Promise<string> {
  const provider_id = await client.provider();
  const template_id = await client.template();
  const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
  for (const [name, weight] of [
    ['a', 70],
    ['b', 30],
  ] as const) {
    const body = { name, label: name, template_id, weight, sort_order: weight };
    await client.api('POST', `/v1/campaigns/${campaign_id}/variants`, body);
  }
  return campaign_id;
}

async function fanOut(
  service: TestService,
  owner: Db,
  client: MessagingClient,
  segment_id: string,
): Promise<Result[]> {
  const dir = await mkdtemp(join(tmpdir(), 'bench-messaging-'));
  await chmod(dir, 0o777);
  const file = join(dir, 'rows');
  const sent_in_ms: number[] = [];
  const ours = async (): Promise<Sample> => {
    await emptySends(owner);
    const campaign_id = await newCampaign(client, segment_id);
    const sample = await timed(async () => {
      sent_in_ms.push(await fanOutWhole(service, owner, campaign_id));
      return PLAYERS;
    });
    const { total } = await countSends(owner, campaign_id);
    if (total !== PLAYERS) throw new Error(`the fan-out made ${total} rows`);
    await prepareCopy(owner, file);
    return sample;
  };
  const bare = async (): Promise<Sample> => {
    await emptyCopy(owner);
    return timed(() => copyRows(owner, file));
  };
  try {
    const pairs = await alternate(ROUNDS, ours, bare);
    const rates = pairs.map(({ a }) => perSecond(a));
    const note = `${rates.map((rate) => rate.toFixed(0)).join(', ')} rows/s; POST send took ${sent_in_ms.map((ms) => ms.toFixed(0)).join(', ')} ms of it`;
    return [
      result(`fan-out of ${PLAYERS} members ÷ COPY`, ratios(pairs, perSecond), { at_least: 0.5 }, note),
    ];
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Sends the campaign and processes all ranges; returns how long the sending alone took, in milliseconds. */
async function fanOutWhole(
  { platform, ...project }: TestService,
  owner: Db,
  campaign_id: string,
): Promise<number> {
  const { tenant_id, project_id } = project;
  const started_ms = performance.now();
  const audit = () => Promise.resolve();
  await sendCampaign({ ...platform, audit }, { tenant_id, project_id, campaign_id }, (start) =>
    platform.postgres.asTenant(tenant_id, start),
  );
  const took_ms = performance.now() - started_ms;
  const fanOut = new FanOut(platform);
  const lane = async () => {
    for (;;) {
      if (await fanOut.turn()) continue;
      // While one lane cuts the last range into further ones, the other waits for them.
      if (!(await hasRanges(owner, campaign_id))) return;
      await sleep(5);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return took_ms;
}

async function messenger(service: TestService, owner: Db, client: MessagingClient): Promise<Result> {
  const { platform } = service;
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    await emptySends(owner);
    const rows = await owner<{ player_id: string }[]>`
      select player_id from players where tenant_id = ${service.tenant_id} limit ${MESSAGES}`;
    const segment_id = await client.segment(rows.map(({ player_id }) => player_id));
    const campaign_id = await newCampaign(client, segment_id);
    await fanOutWhole(service, owner, campaign_id);
    const sender = new Messenger(platform, {
      credentials_keys: { current: '00'.repeat(32), previous: undefined },
      link_key: Buffer.alloc(32),
      public_url: 'http://localhost',
    });
    const sample = await timed(async () => {
      while (await sender.turn());
      return (await countSends(owner, campaign_id)).sent;
    });
    await sender.close();
    if (sample.items !== MESSAGES) throw new Error(`${sample.items} of ${MESSAGES} messages were sent`);
    if (round > 0) rates.push(perSecond(sample));
  }
  const note = `${MESSAGES} messages, rendered, with unsubscribe links, into the sandbox`;
  return result('messenger with the sandbox, messages/s', rates, { at_least: 2_000 }, note);
}
