import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CampaignRelease } from '../../../src/bonuses/campaigns/release.ts';
import { internally } from '../../engines/http-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import {
  campaignsFixture,
  consistent,
  countOf,
  release,
  reserved,
  type CampaignsFixture,
} from './campaigns-fixture.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

const fresh = () => campaignsFixture(service);

describe('the release of a campaign', () => {
  it('does not wait for decisions about other members, which hold the campaign’s limits', async () => {
    const on = await fresh();
    const players = await on.client.players(3);
    const id = await reserved(on, players, { template_id: await on.template(), rate_per_second: 100 });
    await on.config({ paused: true });
    await release(on, id);
    await on.sql.begin(async (tx) => {
      await tx`select from bonus_campaign_budgets where campaign_id = ${id} for no key update`;
      await on.config({ paused: false });
      await on.reaches(id, ({ stats }) => stats.granted === 3);
    });
    await on.reaches(id, ({ status }) => status === 'issued');
    await consistent(on, id);
  });

  it('goes on behind a member whose player is held', async () => {
    const on = await fresh();
    const players = (await on.client.players(4)).sort();
    const id = await reserved(on, players, { template_id: await on.template(), rate_per_second: 4 });
    const [first = ''] = players;
    await on.sql.begin(async (tx) => {
      await tx`select from players where player_id = ${first} for update`;
      await release(on, id);
      await until('all others are released', async (saw) => saw(await countOf(on, id, 'reserved')) === 1);
    });
    expect((await on.reaches(id, ({ status }) => status === 'issued')).stats.granted).toBe(4);
    await consistent(on, id);
  });

  it('does not wait for a grant that its platform takes later', async () => {
    const on = await fresh();
    const adapter = await on.adapter();
    const later = { status: 429, body: '', headers: { 'retry-after': '3600' } };
    await adapter.fake.control({ answer: later });
    const players = await on.client.players(5);
    const id = await reserved(on, players, { template_id: await on.template(), rate_per_second: 4 });
    await release(on, id);
    const refused = () => on.sql<{ grant_id: string }[]>`
      select grant_id from bonus_grants
      where campaign_id = ${id} and calls > 0 and next_attempt_at > now() + interval '10 minutes'
      order by created_at, grant_id`;
    await until('one is refused for now', async (saw) => saw(await refused()).length > 0);
    await adapter.fake.control({ answer: null });
    await until('all others are granted', async (saw) => {
      // Others may have been refused, too, before the platform changed its answer.
      for (const { grant_id } of (await refused()).slice(1)) await on.hurry(grant_id);
      return saw(await on.show(id)).stats.granted === 4;
    });
    await adapter.close();
  });
});

it('grants that are taken back before they were sent give their shares of the rate back', async () => {
  const on = await fresh();
  const players = await on.client.players(30);
  const id = await reserved(on, players, { template_id: await on.template(), rate_per_second: 1 });
  await release(on, id);
  for (const player_id of players.slice(0, 20)) {
    const response = await internally(service, 'bonus-grant', {
      tenant_id: on.tenant.tenant_id,
      campaign_id: id,
      player_id,
    });
    expect(response.status).toBe(200);
  }
  await on.patch(id, { status: 'paused' });
  await until('what was not sent is taken back', async (saw) => {
    const unsent = saw(
      await on.sql`
      select from bonus_grants where campaign_id = ${id} and status = 'pending' and outcome = 'unsent'`,
    );
    return unsent.length === 0;
  });
  const [budget] = await on.sql<{ ahead_ms: number }[]>`
    select (extract(epoch from released_to - now()) * 1000)::float8 as ahead_ms
    from bonus_campaign_releases where campaign_id = ${id}`;
  expect(budget?.ahead_ms).toBeLessThan(2_000);
  await consistent(on, id);
});

describe('a release that takes too long', () => {
  it('goes on with fewer members at once', async () => {
    const on = await fresh();
    const players = await on.client.players(150);
    const { data } = await on.create({
      template_id: await on.template(),
      segment_id: await on.client.segment(players),
    });
    // As on a machine that is busy: all at once take 3 s, and no statement may take more than 1 s.
    const owner = (statement: string) =>
      on.sql.begin(async (tx) => {
        await tx`set local role none`;
        await tx.unsafe(statement);
      });
    await owner(`
      create function rest_a_while() returns trigger language plpgsql as $$
        begin perform pg_sleep(0.02); return new; end $$;
      create trigger rest_a_while before insert on bonus_grants for each row
        when (new.campaign_id = '${data.id}') execute function rest_a_while()`);
    try {
      await on.issue(data.id);
      const done = await on.reaches(data.id, ({ status }) => status === 'issued');
      expect(done.stats.granted).toBe(150);
      await consistent(on, data.id);
    } finally {
      await owner('drop trigger rest_a_while on bonus_grants; drop function rest_a_while');
    }
  });
});

describe('why a release stands still', () => {
  /** A campaign whose release fails, because this version cannot read what was promised. */
  async function failing(on: CampaignsFixture) {
    const adapter = await on.adapter();
    await adapter.fake.control({ answer: { status: 429, body: '', headers: { 'retry-after': '3600' } } });
    const players = await on.client.players(3);
    const id = await reserved(on, players, { template_id: await on.template(), rate_per_second: 100 });
    const [kept] = await on.sql<{ terms: string }[]>`
      select terms::text from bonus_campaign_terms where campaign_id = ${id}`;
    const setTerms = (terms: string) =>
      on.sql`update bonus_campaign_terms set terms = ${terms}::text::jsonb where campaign_id = ${id}`;
    await setTerms('{}');
    await release(on, id);
    await on.reaches(id, ({ last_error }) => last_error !== null);
    return { adapter, id, players, mend: () => setTerms(kept?.terms ?? '') };
  }

  it('is shown until it goes on, whichever process has noted it', async () => {
    const on = await fresh();
    const { adapter, id, mend } = await failing(on);
    await mend();
    const other = new CampaignRelease(service.platform);
    await until('another process has released them', async (saw) => {
      await other.turn();
      return saw(await countOf(on, id, 'reserved')) === 0;
    });
    const shown = await on.reaches(id, ({ last_error }) => last_error === null);
    expect(shown).toMatchObject({ status: 'issuing', stats: { pending: 3 } });
    await other.close();
    await adapter.close();
  });

  it('is not forgotten because decisions go on', async () => {
    const on = await fresh();
    const { adapter, id, players, mend } = await failing(on);
    // The second is decided when everything is done that follows from the first.
    for (const player_id of players.slice(0, 2)) {
      await on.sql.begin(async (tx) => {
        await tx`update bonus_campaign_budgets set used_base = used_base - 1000, used_grants = used_grants - 1
          where campaign_id = ${id}`;
        await tx`update bonus_budgets set used_base = used_base - 1000 where tenant_id = ${on.tenant.tenant_id}`;
        await tx`update bonus_campaign_rows set status = 'pending', terms_id = null, cost_base = 0, is_open = false
          where campaign_id = ${id} and player_id = ${player_id}`;
      });
      await until('it is decided', async (saw) => saw(await countOf(on, id, 'reserved')) === 3);
    }
    expect((await on.show(id)).last_error).not.toBeNull();
    await mend();
    await on.reaches(id, ({ last_error }) => last_error === null);
    expect(await countOf(on, id, 'reserved')).toBe(0);
    await consistent(on, id);
    await adapter.close();
  });
});
