import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import {
  campaignsFixture,
  consistent,
  holdRelease,
  release,
  type CampaignsFixture,
} from './campaigns-fixture.ts';

/** More than are released at the same time. */
const SLOW = 10;
/** Looks at the sessions in which some wait. */
const LOOKS = 100;

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

/** A campaign of which all of these players are reserved, and none is released. */
async function reserved(on: CampaignsFixture, template_id: string, players: readonly string[]) {
  const segment_id = await on.client.segment([...players]);
  const { data } = await on.create({ template_id, segment_id, rate_per_second: 100 });
  await on.config({ paused: true });
  await on.issue(data.id);
  await holdRelease(on, data.id);
  await on.config({ paused: false });
  await until('all are reserved', async (saw) => {
    const rows = saw(
      await on.sql`
      select from bonus_campaign_rows where campaign_id = ${data.id} and status = 'reserved'`,
    );
    return rows.length === players.length;
  });
  return data.id;
}

it('slow campaigns of a tenant leave places of the release to other tenants', async () => {
  const slow = await campaignsFixture(service);
  const other = await campaignsFixture(service);
  const template_id = await slow.template({ max_grants_per_player: 1 });
  const players = await slow.client.players(SLOW);
  const ids: string[] = [];
  for (const player_id of players) ids.push(await reserved(slow, template_id, [player_id]));
  const other_id = await reserved(other, await other.template(), await other.client.players(20));
  // The players have the bonus already: each campaign gives back what it holds, and waits for the template's budget.
  for (const player_id of players) expect((await slow.grant(template_id, player_id)).status).toBe(201);
  await slow.sql.begin(async (tx) => {
    await tx`select from bonus_budgets where template_id = ${template_id} for update`;
    // Behind each other: only the first of them is blocked by this transaction itself.
    const waiting = async () => {
      const rows = await slow.sql`
        select distinct l.pid from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted and a.datname = current_database()`;
      return rows.length;
    };
    for (const id of ids) await release(slow, id);
    let most = 0;
    let looks = 0;
    await until('they wait', async (saw) => {
      const count = saw(await waiting());
      most = Math.max(most, count);
      if (count > 0) looks++;
      return looks >= LOOKS;
    });
    expect(most).toBeLessThanOrEqual(4);
    await release(other, other_id);
    await other.reaches(other_id, ({ status }) => status === 'issued');
  });
  for (const id of ids) await slow.reaches(id, ({ status }) => status === 'issued');
  await consistent(slow, ids[0] ?? '');
});
