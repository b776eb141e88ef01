import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { audienceOf, type AudienceAnswer } from '../../../src/engage/campaigns/audience.ts';
import type { CampaignRow } from '../../../src/engage/campaigns/queries.ts';
import type { ClickHouse } from '../../../src/platform/clickhouse/port.ts';
import type { Fixture } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';

// Where the sample of a large audience is drawn: nobody publishes the changes of the segment here.

const MEMBERS = 20_000;
const REACHABLE = 15_000;
const ref = { tenant_id: '', project_id: '', campaign_id: randomUUID() };
const segment_id = randomUUID();
const now = new Date();
let fixture: Fixture;
let members: string[];
let of_postgres: AudienceAnswer;

beforeAll(async () => {
  fixture = await sharedFixture();
  const { tenant_id, project_id } = Object.assign(ref, await fixture.makeTenant());
  const { service } = fixture.platform.postgres;
  await service`
    insert into segments (tenant_id, project_id, segment_id, name, definition, refresh_strategy, reads, defined_at,
      estimated_size, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${segment_id}, 'large', '{}', 'manual', '{}', ${now}, ${MEMBERS}, ${now}, ${now})`;
  await service`
    insert into players (tenant_id, project_id, player_id, email, default_currency_code, created_at, updated_at)
    select ${tenant_id}, ${project_id}, gen_random_uuid(), case when n <= ${REACHABLE} then n || '@example.com' end,
      'EUR', ${now}, ${now}
    from generate_series(1, ${MEMBERS}) n`;
  const rows = await service<{ player_id: string }[]>`
    insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
    select tenant_id, project_id, ${segment_id}, player_id, ${now} from players where tenant_id = ${tenant_id}
    returning player_id`;
  members = rows.map(({ player_id }) => player_id);
  of_postgres = (await audienceFrom(() => [])).audience;
}, 60_000);
afterAll(() => fixture?.close());

/** The audience while ClickHouse draws the sample like this; whether it was asked. */
async function audienceFrom(draw: () => readonly string[] | Promise<readonly string[]>) {
  let is_asked = false;
  const query = async () => {
    is_asked = true;
    return (await draw()).map((player_id) => ({ player_id }));
  };
  const clickhouse = { ...fixture.platform.clickhouse, query: query as ClickHouse['query'] };
  const campaign = { type: 'broadcast', segment_id, channel: 'email' } as CampaignRow;
  const leaves = new AbortController().signal;
  const engines = { ...fixture.platform, clickhouse };
  const audience = await audienceOf(engines, ref, campaign, { now, exact: false, leaves });
  return { audience, is_asked };
}

it('is drawn from the copy when that is whole', async () => {
  expect(Math.abs(of_postgres.sendable - REACHABLE)).toBeLessThan(700);
  const { audience } = await audienceFrom(() => members.slice(0, 10_000));
  expect(audience).toMatchObject({ members: MEMBERS, exact: false, counted: 10_000 });
});

it.each([
  ['has the members of before only', () => Array.from({ length: 10_000 }, () => randomUUID())],
  ['has few of the members', () => members.slice(0, 7_500)],
  ['has many more', () => members],
])('is drawn from Postgres when the copy %s', async (_, draw) => {
  expect((await audienceFrom(draw)).audience).toEqual(of_postgres);
});

it('is drawn from Postgres while ClickHouse is away, or does not answer in time', async () => {
  const away = () => Promise.reject(new Error('ClickHouse is away'));
  expect(await audienceFrom(away)).toEqual({ audience: of_postgres, is_asked: true });
  const never = () => new Promise<string[]>(() => undefined);
  expect(await audienceFrom(never)).toEqual({ audience: of_postgres, is_asked: true });
});

it('is drawn from Postgres while a change of the segment is not copied', async () => {
  const { service } = fixture.platform.postgres;
  const change = (of: string) => service`
    insert into segment_changes (tenant_id, project_id, segment_id, has_entered, player_ids, changed_at)
    values (${ref.tenant_id}, ${ref.project_id}, ${of}, true, array[${members[0] ?? ''}::uuid], ${now})`;
  const draw = () => members.slice(0, 10_000);
  await change(randomUUID());
  expect((await audienceFrom(draw)).is_asked).toBe(true);
  await change(segment_id);
  expect(await audienceFrom(draw)).toEqual({ audience: of_postgres, is_asked: false });
  await service`delete from segment_changes where tenant_id = ${ref.tenant_id}`;
});
