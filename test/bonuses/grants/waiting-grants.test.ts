import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lossOf } from '../../../src/bonuses/grants/loss.ts';
import { ProtectionSweep } from '../../../src/bonuses/grants/protection.ts';
import { reserveGrants } from '../../../src/bonuses/grants/reserve.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

let service: TestService;
let on: GrantsFixture;
let casino: Awaited<ReturnType<GrantsFixture['adapter']>>;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());
beforeEach(async () => {
  on = grantsFixture(service, await service.newTenant());
  casino = await on.adapter();
});
afterEach(async () => casino?.close());

/** The platform does nothing now, and nothing is tried by itself while a test runs. */
const BUSY = { status: 429, body: '', headers: { 'retry-after': '3600' } };

/** A grant that was reserved so many milliseconds ago, as by a slow campaign, and is due now. */
async function reservedBefore(ago_ms: number, template_id: string, player_id: string): Promise<string> {
  const { clock, postgres } = service.platform;
  const grant_id = randomUUID();
  const by = {
    granted_by_kind: 'journey',
    granted_by_id: randomUUID(),
    deposit_amount: null,
    qualifying_product: null,
  } as const;
  const then = { now_ms: () => clock.now_ms() - ago_ms };
  await postgres.service.begin(async (tx) => {
    const grant = { ...on.tenant, player_id, template_id, grant_id, ...by };
    expect(await reserveGrants(tx, then, [grant])).toEqual(new Map());
  });
  return grant_id;
}

/** A grant that was refused for the moment by the platform, and has waited for an hour when the platform answers again. */
async function waited(template_id: string, player_id: string, meanwhile: () => Promise<unknown>) {
  await casino.fake.control({ answer: BUSY });
  const { error } = await on.grant(template_id, player_id);
  const id = String(error.details['grant_id']);
  await on.sql`
    update bonus_grants set created_at = created_at - interval '1 hour', next_attempt_at = now() + interval '1 day'
    where grant_id = ${id}`;
  await meanwhile();
  await casino.fake.control({ answer: null });
  await casino.fake.settle();
  await on.hurry(id);
  return on.reached(id, ({ status }) => status !== 'pending');
}

const sentOf = async () =>
  (await casino.fake.ledger()).calls.map(
    ({ body }) => JSON.parse(body) as { grant_id: string; template: { expires_at: string } },
  );
const set = (player_id: string, attributes: object) => on.sql`
  update players set custom_attributes = custom_attributes || ${JSON.stringify(attributes)}::text::jsonb
  where player_id = ${player_id}`;

describe('a grant that has waited for more than a minute', () => {
  it.each(['AT_RISK', 'KYC_LEVEL', 'NOT_IN_SEGMENT', 'LICENCE_RULE'])(
    'ends as %s when the player may not have it any more; its place and budget are free',
    async (code) => {
      const player_id = await on.player();
      const eligible_segment_id = await on.client.segment([player_id]);
      await on.sql`update players set kyc_status = 'approved', kyc_level = 1 where player_id = ${player_id}`;
      const template_id = await on.template({
        min_kyc_level: 1,
        eligible_segment_id,
        max_grants_per_player: 1,
      });
      const changes: Record<string, () => Promise<unknown>> = {
        AT_RISK: () => set(player_id, { rg_risk: 'strong' }),
        KYC_LEVEL: () => on.sql`update players set kyc_status = 'revoked' where player_id = ${player_id}`,
        NOT_IN_SEGMENT: () => on.sql`delete from segment_members where player_id = ${player_id}`,
        LICENCE_RULE: () => set(player_id, { birth_date: '2015-01-01' }),
      };
      const ended = await waited(template_id, player_id, async () => changes[code]?.());
      expect(ended).toMatchObject({ status: 'cancelled', outcome: 'unsent', status_reason: code });
      expect(await sentOf()).toEqual([]);
      const [counted] = await on.sql<{ used: string }[]>`
        select used_base::text as used from bonus_budgets where template_id = ${template_id}`;
      expect(counted?.used).toBe('0');
    },
  );

  it('does not count itself, and is sent to a player who may have it', async () => {
    const license = { license_jurisdiction: 'spelinspektionen' };
    const patched = await on.client.api('PATCH', '/v1/tenant/config', license);
    expect(patched.status, JSON.stringify(patched.error)).toBe(200);
    const template_id = await on.template({ time_limit_hours: 60 * 24 });
    const player_id = await on.player();
    await set(player_id, { birth_date: '1980-01-01' });
    const sent = await waited(template_id, player_id, () => Promise.resolve());
    expect(sent.status).toBe('active');
    // A first bonus that was credited is the first one, also when it is cancelled later.
    expect((await on.cancel(sent.id)).status).toBe(200);
    const second = await on.grant(template_id, player_id);
    expect(second.code).toBe('BONUS_PLAYER_NOT_ELIGIBLE');
    expect((second.error as { details: object }).details).toMatchObject({
      rule_id: 'sweden_first_bonus_only',
    });
  });

  it('has its whole time limit from its first sending on, and later attempts keep it', async () => {
    const template_id = await on.template({ time_limit_hours: 24 });
    await casino.fake.control({ answer: BUSY });
    const begun_ms = Date.now();
    const id = await reservedBefore(36 * 3_600_000, template_id, await on.player());
    await on.reached(id, ({ last_error }) => last_error !== null);
    await casino.fake.control({ answer: null });
    await on.hurry(id);
    const { expires_at } = await on.reached(id, ({ status }) => status === 'active');
    expect(Date.parse(String(expires_at))).toBeGreaterThanOrEqual(begun_ms + 24 * 3_600_000);
    const orders = await sentOf();
    expect(orders.length).toBeGreaterThan(1);
    const told = new Set(orders.map(({ template }) => template.expires_at));
    expect(told.size).toBe(1);
    expect(Date.parse([...told][0] ?? '')).toBeGreaterThanOrEqual(begun_ms + 24 * 3_600_000);
  });

  it('has it anew when it was over before the platform took the grant', async () => {
    const template_id = await on.template({ time_limit_hours: 24 });
    await casino.fake.control({ answer: BUSY });
    const id = await reservedBefore(0, template_id, await on.player());
    await on.reached(id, ({ last_error }) => last_error !== null);
    // As if nothing had been sent for two days.
    await on.sql`
      update bonus_grants set created_at = created_at - interval '48 hours', expires_at = expires_at - interval '48 hours',
        order_body = jsonb_set(order_body::jsonb, '{template,expires_at}',
          to_jsonb(to_char((expires_at - interval '48 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))::text
      where grant_id = ${id}`;
    await casino.fake.control({ answer: null });
    const begun_ms = Date.now();
    await on.hurry(id);
    await on.reached(id, ({ status }) => status === 'active');
    const told = (await sentOf()).at(-1)?.template.expires_at ?? '';
    expect(Date.parse(told)).toBeGreaterThanOrEqual(begun_ms + 24 * 3_600_000);
  });

  it('is marked for review a day after its first call, not after it was stored', async () => {
    await casino.fake.control({ answer: BUSY });
    const id = await reservedBefore(36 * 3_600_000, await on.template(), await on.player());
    const first = await on.reached(id, ({ last_error }) => last_error !== null);
    expect(first.needs_review).toBe(false);
    await on.sql`
      update bonus_grants set first_called_at = first_called_at - interval '25 hours' where grant_id = ${id}`;
    await on.hurry(id);
    await on.reached(id, ({ needs_review }) => needs_review);
  });
});

it('one bonus that cannot be read holds up no other of the sweep of protected players', async () => {
  await casino.fake.control({ answer: BUSY });
  const template_id = await on.template();
  const players = await on.client.players(2);
  const ids: string[] = [];
  for (const player_id of players) {
    const { error } = await on.grant(template_id, player_id);
    ids.push(String(error.details['grant_id']));
  }
  const [broken = '', other = ''] = ids.sort();
  await on.sql`update bonus_grants set next_attempt_at = now() + interval '1 day' where grant_id in ${on.sql(ids)}`;
  await on.sql`update bonus_grants set terms = '{}' where grant_id = ${broken}`;
  await on.sql`update players set status = 'banned' where player_id in ${on.sql(players)}`;
  try {
    await new ProtectionSweep(service.platform).turn();
    expect((await on.get(other)).status).toBe('cancelled');
  } finally {
    await on.sql`delete from bonus_grants where grant_id = ${broken}`;
  }
});

it('the sweep of protected players rests between its pages', async () => {
  await casino.fake.control({ answer: BUSY });
  const template_id = await on.template();
  for (const player_id of await on.client.players(2)) await on.grant(template_id, player_id);
  const rests: number[] = [];
  const rest = (ms: number) => Promise.resolve(rests.push(ms));
  const sweep = new ProtectionSweep(service.platform, { page: 1, rest });
  let pages = 1;
  while (await sweep.turn()) pages += 1;
  expect(pages).toBeGreaterThanOrEqual(3);
  expect(rests).toHaveLength(pages - 1);
  for (const ms of rests) expect(ms).toBeGreaterThan(0);
});

it('a loss that cannot be read is an error, not a loss of nothing', async () => {
  const template_id = await on.template({
    type: 'cashback',
    config: {
      percent: 10,
      window_days: 7,
      min_loss: 0,
      currency: 'EUR',
      cap_amount: 1_000,
      basis: 'net_loss',
    },
  });
  const { postgres, clickhouse, clock } = service.platform;
  let reads = 0;
  const failing: typeof postgres = Object.create(postgres, {
    readAsTenant: {
      value: (...given: Parameters<typeof postgres.readAsTenant>) =>
        ++reads > 1 ? Promise.reject(new Error('Postgres is away')) : postgres.readAsTenant(...given),
    },
  }) as typeof postgres;
  const asked = { template_id, player_id: await on.player() };
  const deps = { postgres: failing, clickhouse, clock };
  await expect(lossOf(deps, on.tenant, asked)).rejects.toThrow('Postgres is away');
  const nobody = { template_id, player_id: randomUUID() };
  expect(await lossOf({ postgres, clickhouse, clock }, on.tenant, nobody)).toEqual({});
});
