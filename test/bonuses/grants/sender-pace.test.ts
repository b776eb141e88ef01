import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig, ROLES } from '../../../src/config.ts';
import { platformsOpener } from '../../../src/app/bonus-platforms.ts';
import { Sender } from '../../../src/bonuses/grants/sender.ts';
import { startPolling } from '../../../src/platform/poll-loop.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { grantsFixture } from './grants-fixture.ts';

/** More than the calls that one platform takes at once. */
const GRANTS = 50;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ roles: new Set(ROLES.filter((role) => role !== 'bonus-sender')) });
});
afterAll(() => service?.close());

it('a lane goes on as soon as one of its calls has ended, without another look at the clock', async () => {
  const on = grantsFixture(service);
  const casino = await on.adapter();
  const template_id = await on.template();
  const busy = { status: 429, body: '', headers: { 'retry-after': '3600' } };
  await casino.fake.control({ answer: busy });
  for (const player_id of await on.client.players(GRANTS)) await on.grant(template_id, player_id);
  await casino.fake.control({ answer: null });
  const due_at = new Date(Date.now() - 60_000);
  await on.sql`update bonus_grants set next_attempt_at = ${due_at} where next_attempt_at is not null`;
  const { platform, data_dir } = service;
  const platforms = await platformsOpener(
    readConfig({ DATA_DIR: data_dir }),
    platform,
    service.service.notifications,
  )();
  const sender: Sender = new Sender({ ...platform, platforms }, () => loop.wake());
  const pauses = { idle_pause_ms: 3_600_000, longest_pause_ms: 3_600_000 };
  const loop = startPolling({ name: 'sender', logger: platform.logger, ...pauses }, (stop) =>
    sender.turn(stop),
  );
  const count = async () => {
    const [row] = await on.sql<{ active: number; untaken: number }[]>`
      select count(*) filter (where status = 'active')::integer as active,
        count(*) filter (where next_attempt_at = ${due_at})::integer as untaken from bonus_grants`;
    return row;
  };
  try {
    await until('each call had its place', async (saw) => saw(await count())?.untaken === 0);
    // On a loaded machine a call may miss the time in which it may leave: it is due again a second later.
    await until('each call was made', async (saw) => {
      loop.wake();
      return saw(await count())?.active === GRANTS;
    });
    expect((await casino.fake.ledger()).bonuses).toHaveLength(GRANTS);
  } finally {
    await loop.close();
    await sender.close();
    await casino.close();
  }
});
