import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantPlayerColumns } from '../../../src/bonuses/grants/issue-queries.ts';
import { KYC_KINDS, MAX_RELEVANT, stateOf, type KycDecision } from '../../../src/protection/kyc/decide.ts';
import { readKyc } from '../../../src/protection/kyc/decision-queries.ts';
import { lapseOnce } from '../../../src/players/kyc/lapse.ts';
import { runs } from '../../engines/effort.ts';
import { startTestService, sunk, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { KycClient } from './kyc-client.ts';

// What a player's KYC is held by: the names of players, the ends of approvals, floods of statements, merges.

let service: TestService;
let client: KycClient;
let players = 0;

beforeAll(async () => {
  service = await startTestService();
  client = await KycClient.open(service, 'dual');
});
afterAll(() => service?.close());

async function person(): Promise<{ id: string; external_id: string }> {
  const external_id = `person-${++players}`;
  return { id: await client.identify(external_id), external_id };
}

/** The same hour is the same time for all events of this file: a repeated event is one statement. */
const STARTED_MS = Date.now();
const hoursAgo = (hours: number) => new Date(STARTED_MS - hours * 3_600_000).toISOString();

describe('what a platform says', () => {
  it('is about the player that it was told of, also once it has an external_id or was merged', async () => {
    const known_as = async (anonymous_id: string) => {
      const ids = { anonymous_id };
      const { data } = await client.api('POST', '/v1/players/identify', ids, client.tenant.api_key);
      return String(data['player_id']);
    };
    const say = (event: string, player_external_id: string) =>
      client.webhook({ event, level: 1, player_external_id });
    const named = await known_as('named-later');
    expect(await say('kyc.approved', named)).toMatchObject({ data: { new_status: 'approved' } });
    expect(await client.identify('named-now', 'named-later')).toBe(named);
    expect(await say('kyc.rejected', named)).toMatchObject({ data: { new_status: 'rejected' } });
    const { id: survivor, external_id } = await person();
    const merged = await known_as('merged-later');
    await say('kyc.approved', merged);
    expect(await client.identify(external_id, 'merged-later')).toBe(survivor);
    expect(await say('kyc.expired', merged)).toMatchObject({ data: { new_status: 'expired' } });
    expect(await client.kyc(survivor)).toMatchObject({ kyc_status: 'expired' });
    await client.api('DELETE', `/v1/players/${survivor}`);
    expect((await say('kyc.approved', merged)).status).toBe(404);
  });

  it('counts whatever the version of its event_id is, once', async () => {
    const { external_id: player_external_id } = await person();
    const event = { event: 'kyc.approved', level: 1, player_external_id };
    for (const [version, variant] of [
      ['0', '0'],
      ['1', 'c'],
      ['9', 'f'],
      ['f', '8'],
      ['a', '4'],
    ] as const) {
      const event_id = `${randomUUID().slice(0, 14)}${version}${randomUUID().slice(15, 19)}${variant}${randomUUID().slice(20)}`;
      const ts = new Date().toISOString();
      expect(await client.webhook({ ...event, ts, event_id }), event_id).toMatchObject({
        status: 200,
        data: { new_status: 'approved' },
      });
      expect(await client.webhook({ ...event, ts, event_id: event_id.toUpperCase() })).toMatchObject({
        data: { replay: true },
      });
    }
  });

  it('is not lost because of a field that does not matter; a time that no store holds is refused', async () => {
    const { id, external_id: player_external_id } = await person();
    const say = (event: string, fields: object) => client.webhook({ event, player_external_id, ...fields });
    await say('kyc.approved', { ts: hoursAgo(3), level: 100, data: { expires_at: '2099-03-31' } });
    expect(await client.kyc(id)).toMatchObject({ expires_at: '2099-03-31T00:00:00.000Z' });
    const data = { reason: 'x'.repeat(3_000), expires_at: 'never' };
    expect(await say('kyc.rejected', { level: 101, data })).toMatchObject({
      data: { new_status: 'rejected' },
    });
    const { history } = await client.kyc(id);
    expect(history[0]).toMatchObject({ level: 100, reason: 'x'.repeat(500) });
    const wrong = [
      { ts: '0000-01-01T00:00:00Z' },
      { level: 101 },
      { data: { expires_at: '0000-01-01T00:00:00Z' } },
      { data: { expires_at: '2027-02-30' } },
    ];
    for (const fields of wrong)
      expect(await say('kyc.approved', { level: 1, ...fields }), JSON.stringify(fields)).toMatchObject({
        status: 422,
      });
    const body = { level: 1, expires_at: '0000-01-01T00:00:00Z' };
    expect(await client.decide(id, 'approve', body)).toMatchObject({ status: 422 });
    await client.decide(id, 'approve', { level: 100 });
    expect(await client.decide(id, 'request')).toMatchObject({
      data: { requested_level: null, kyc_level: 100 },
    });
  });
});

describe('an approval', () => {
  /** Ends what has ended an hour from now. */
  const lapse = (postgres = service.platform.postgres) =>
    lapseOnce({ ...service.platform, postgres, clock: { now_ms: () => Date.now() + 3_600_000 } });
  const inHours = (hours: number) => hoursAgo(-hours);
  const eventsOf = async (id: string) => {
    await sunk(service.platform);
    const { data } = await client.api('GET', `/v1/players/${id}/timeline?limit=50`);
    return (data as unknown as { event: string }[]).map(({ event }) => event);
  };

  it('that ends becomes expired, as a decision of the clock; a renewal told later still counts', async () => {
    const { id, external_id: player_external_id } = await person();
    const said = { event: 'kyc.approved', level: 1, player_external_id };
    const expires_at = inHours(0.5);
    const first = await client.webhook({ ...said, ts: hoursAgo(5), data: { expires_at } });
    expect(first).toMatchObject({ data: { new_status: 'approved' } });
    await lapse();
    const { history, ...kyc } = await client.kyc(id);
    expect(kyc).toMatchObject({
      kyc_status: 'expired',
      kyc_level: 1,
      expires_at: null,
      decided_at: expires_at,
    });
    expect(history[0]).toMatchObject({ decision: 'lapsed', source: 'clock', occurred_at: expires_at });
    const until = inHours(2);
    const renewed = await client.webhook({ ...said, ts: hoursAgo(3), data: { expires_at: until } });
    expect(renewed).toMatchObject({ data: { applied: true, new_status: 'approved' } });
    await lapse();
    expect(await client.kyc(id)).toMatchObject({ kyc_status: 'approved', expires_at: until });
  });

  it('that is over when it is told gives no right, and is no event of an approval', async () => {
    const { id, external_id: player_external_id } = await person();
    const said = { event: 'kyc.approved', level: 1, player_external_id, data: { expires_at: hoursAgo(1) } };
    expect(await client.webhook({ ...said, ts: hoursAgo(5) })).toMatchObject({
      data: { new_status: 'expired' },
    });
    expect((await client.kyc(id)).history).toMatchObject([
      { decision: 'lapsed', source: 'clock' },
      { decision: 'approved', kyc_status: 'expired' },
    ]);
    await until('its end is in the timeline', async (saw) => saw(await eventsOf(id)).includes('kyc_expired'));
    expect(await eventsOf(id)).not.toContain('kyc_approved');
  });

  it('that ended gives no right before its end is written, and one that fails holds up no other', async () => {
    const sql = service.platform.postgres.service;
    const ids = await Promise.all([1, 2, 3].map(async () => (await person()).id));
    for (const id of ids) await client.decide(id, 'approve', { level: 1, expires_at: inHours(0.5) });
    // In one transaction, because the service looks for ends, too, and would write what the decisions say.
    const statuses = await sql.begin(async (tx) => {
      await tx`
        update players set kyc_expires_at = now() - interval '1 second'
        where player_id = ${ids[0] ?? ''} and tenant_id = ${client.tenant.tenant_id}`;
      return tx<{ kyc_status: string }[]>`
        select ${grantPlayerColumns(tx)} from players p
        where p.player_id = any(${`{${ids.join(',')}}`}::text::uuid[]) and p.tenant_id = ${client.tenant.tenant_id}`;
    });
    expect(statuses.map(({ kyc_status }) => kyc_status).sort()).toEqual(['approved', 'approved', 'expired']);
    let calls = 0;
    const { postgres } = service.platform;
    const asTenant: typeof postgres.asTenant = (tenant_id, work) =>
      ++calls === 1 ? Promise.reject(new Error('this one fails')) : postgres.asTenant(tenant_id, work);
    await lapse({ ...postgres, asTenant });
    const states = async () => Promise.all(ids.map(async (id) => (await client.kyc(id))['kyc_status']));
    expect((await states()).filter((one) => one === 'expired')).toHaveLength(2);
    await lapse();
    expect(await states()).toEqual(['expired', 'expired', 'expired']);
  });
});

describe('a flood of statements', () => {
  it('of submissions does not bring a revoked approval back', async () => {
    const { id, external_id: player_external_id } = await person();
    await client.webhook({ event: 'kyc.approved', ts: hoursAgo(9), level: 2, player_external_id });
    await client.decide(id, 'revoke', { reason: 'forged' });
    const uploads = Array.from({ length: 100 }, () => ({ event: 'kyc_submitted', properties: { level: 2 } }));
    for (const round of [1, 2, 3, 4])
      await client.events(
        id,
        ...uploads.map((one, i) => ({
          ...one,
          timestamp: new Date(Date.now() + 60_000 * round + i).toISOString(),
        })),
      );
    await client.webhook({ event: 'kyc.submitted', player_external_id });
    expect(await client.kyc(id)).toMatchObject({ kyc_status: 'pending', kyc_level: 2 });
  });

  it('is read from Postgres as far as it matters, whatever its order', async () => {
    const { tenant_id, project_id } = client.tenant;
    const { id: player_id } = await person();
    const sql = service.platform.postgres.service;
    const statement: fc.Arbitrary<KycDecision> = fc.record({
      kind: fc.constantFrom(...KYC_KINDS),
      at_ms: fc.integer({ min: 1, max: 9 }),
      level: fc.option(fc.integer({ min: 0, max: 3 })),
      expires_at_ms: fc.option(fc.integer({ min: 1, max: 9 })),
    });
    const flood = fc
      .tuple(statement, fc.constantFrom(0, 2, MAX_RELEVANT + 5))
      .map(([one, size]) => Array.from({ length: size }, () => one));
    await fc.assert(
      fc.asyncProperty(fc.array(statement, { maxLength: 9 }), flood, flood, async (...parts) => {
        const said = parts.flat();
        const rows = said.map(({ kind, at_ms, level, expires_at_ms }) => ({
          kind,
          level,
          occurred_at: new Date(at_ms),
          expires_at: expires_at_ms === null ? null : new Date(expires_at_ms),
        }));
        await sql`delete from kyc_decisions where player_id = ${player_id} and tenant_id = ${tenant_id}`;
        await sql`
          insert into kyc_decisions (tenant_id, project_id, player_id, decision_id, kind, source, occurred_at, received_at,
            level, expires_at, applied, kyc_status)
          select ${tenant_id}, ${project_id}, ${player_id}, gen_random_uuid(), kind, 'event', occurred_at, occurred_at, level,
            expires_at, true, 'none'
          from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
            as r (kind text, occurred_at timestamptz, level integer, expires_at timestamptz)`;
        const known = await readKyc(sql, [{ tenant_id, project_id, player_id }]);
        const { last, ...state } = stateOf(known.get(player_id)?.decisions ?? []);
        const { last: expected_last, ...expected } = stateOf(said);
        expect({ ...state, at_ms: last?.at_ms }).toEqual({ ...expected, at_ms: expected_last?.at_ms });
      }),
      { numRuns: runs(60) },
    );
  });
});

describe('merged players', () => {
  it('have the KYC that the decisions about both come to', async () => {
    const { id, external_id } = await person();
    const device = `device-${external_id}`;
    const { data } = await client.api(
      'POST',
      '/v1/players/identify',
      { anonymous_id: device },
      client.tenant.api_key,
    );
    const other = String(data['player_id']);
    await client.events(id, { event: 'kyc_rejected', timestamp: hoursAgo(2), properties: { level: 3 } });
    await client.events(other, { event: 'kyc_approved', timestamp: hoursAgo(3), properties: { level: 2 } });
    expect(await client.identify(external_id, device)).toBe(id);
    // The refusal of level 3 came after the approval of level 2: a failed upgrade.
    const kyc = await client.kyc(other);
    expect(kyc).toMatchObject({ player_id: id, kyc_status: 'approved', kyc_level: 2 });
    expect(kyc.history).toHaveLength(2);
  });
});
