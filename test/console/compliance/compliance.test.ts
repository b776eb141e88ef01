import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { exclusion, ExclusionProof } from '../../../src/console/compliance/schema.ts';
import { folded, setKycModel, startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type Body, type MessagingClient } from '../../engage/messaging/messaging-client.ts';
import { Operator } from '../../players/identity/operator.ts';
import { api, member } from '../events/event-client.ts';

type Exclusion = z.infer<typeof exclusion>;

let service: TestService;
let client: MessagingClient;
let operator: Operator;
beforeAll(async () => {
  service = await startTestService();
  client = messagingClient(service);
  operator = new Operator(service, service);
});
afterAll(() => service?.close());

let made = 0;
/** A player with an email address, made as an operator does. */
async function newPlayer(): Promise<string> {
  const external_id = `player-${++made}`;
  const traits = { email: `${external_id}@example.com` };
  return (await operator.identify({ external_id, traits })).player_id;
}

/** Sends a campaign to these players, and waits until it is over. */
async function campaignTo(...player_ids: string[]): Promise<string> {
  const segment_id = await client.segment(player_ids);
  const [template_id, provider_id] = [await client.template(), await client.provider()];
  const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
  expect((await client.send(campaign_id)).status).toBe(200);
  await client.reaches(campaign_id, 'sent');
  return campaign_id;
}

async function proofOf(player_id: string): Promise<ExclusionProof> {
  const { status, data } = await client.api<ExclusionProof>(
    'GET',
    `/v1/compliance/exclusions/${player_id}/proof`,
  );
  expect(status).toBe(200);
  return data;
}

async function listed(query: string): Promise<Exclusion[]> {
  const answer = await client.api<Exclusion[]>('GET', `/v1/compliance/exclusions?${query}`);
  expect(answer.status).toBe(200);
  return answer.data;
}

/** What stays when a player was excluded: the times of everything are the machine's. */
const counts = ({ messages, bonuses, exclusions }: ExclusionProof) => ({
  messages,
  bonuses,
  exclusions: exclusions.map((one) => [
    one.kind,
    one.state,
    one.cause.source,
    one.messages,
    one.under_way.length,
  ]),
});

describe('the proof that an excluded player got nothing', () => {
  it('has what was held back after the exclusion, and not what was sent before or after it', async () => {
    const [ann, bob] = [await newPlayer(), await newPlayer()];
    await campaignTo(ann, bob);
    const set = { event: 'self_exclusion_set', player_id: ann };
    const ingestion_id = await operator.send({ event: 'session_start', player_id: bob }, set);
    const second = await campaignTo(ann, bob);
    const proof = await proofOf(ann);
    expect(proof).toMatchObject({ player_id: ann, external_id: 'player-1', messages: 0, bonuses: 0 });
    expect(proof.is_complete).toBe(true);
    expect(proof.exclusions).toMatchObject([
      {
        kind: 'self_exclusion',
        state: 'active',
        until: null,
        end: null,
        messages: 0,
        bonuses: 0,
        cause: {
          source: 'event',
          ingestion_id,
          event_index: 1,
        },
        handed_over: [],
        under_way: [],
        blocked: [
          {
            kind: 'message',
            code: 'SKIPPED_SELF_EXCLUDED',
            count: 1,
          },
        ],
      },
    ]);
    const [sends] = [await client.api<Body[]>('GET', `/v1/compliance/blocked-sends?player_id=${ann}`)];
    expect(sends.data).toMatchObject([
      { player_id: ann, external_id: 'player-1', code: 'SKIPPED_SELF_EXCLUDED', campaign_id: second },
    ]);
    expect(sends.data[0]).toMatchObject({ campaign_name: expect.stringMatching(/^campaign /) as string });
    await operator.fold({ event: 'self_exclusion_lifted', player_id: ann });
    await campaignTo(ann);
    const later = await proofOf(ann);
    expect(counts(later)).toEqual({
      messages: 0,
      bonuses: 0,
      exclusions: [['self_exclusion', 'ended', 'event', 0, 0]],
    });
    expect(later.exclusions[0]?.end).toMatchObject({ source: 'event', event_index: 0 });
    expect(await listed(`player_id=${ann}&state=active`)).toEqual([]);
    expect(await listed(`player_id=${ann}&state=ended`)).toHaveLength(1);
    expect((await proofOf(bob)).exclusions).toEqual([]);
  });

  it('lists each message that a provider was given in spite of the exclusion', async () => {
    const player_id = await newPlayer();
    await operator.fold({ event: 'self_exclusion_set', player_id });
    const campaign_id = await campaignTo(player_id);
    // The gate does not let this happen, so the row is changed.
    const { service: sql } = service.platform.postgres;
    await sql`update message_sends set status = 'sent', error_code = null, sent_at = now() + interval '2 s',
      counted_at = now() + interval '1 s' where campaign_id = ${campaign_id}`;
    const proof = await proofOf(player_id);
    expect(proof).toMatchObject({ messages: 1, bonuses: 0 });
    expect(proof.exclusions[0]?.handed_over).toMatchObject([
      { kind: 'message', channel: 'email', campaign_id, status: 'sent', error_code: null },
    ]);
  });

  it('has what was held back from others at an address of the person, and lists what they were given', async () => {
    const [person, other] = [await newPlayer(), await newPlayer()];
    const sql = service.platform.postgres.service;
    await sql`
      update players p set email = upper(of_person.email) from players of_person
      where of_person.player_id = ${person} and p.player_id = ${other}`;
    await operator.fold({ event: 'self_exclusion_set', player_id: person });
    const campaign_id = await campaignTo(other);
    const before = await proofOf(person);
    expect(before.exclusions).toMatchObject([
      { messages: 0, handed_over: [], blocked: [{ code: 'SKIPPED_SELF_EXCLUDED', count: 1 }] },
    ]);
    // The gate does not let this happen, so the row is changed.
    await sql`update message_sends set status = 'sent', error_code = null, sent_at = now() + interval '2 s',
      counted_at = now() + interval '1 s' where campaign_id = ${campaign_id}`;
    const proof = await proofOf(person);
    expect(proof).toMatchObject({ messages: 1, bonuses: 0, is_complete: true });
    expect(proof.exclusions[0]?.handed_over).toMatchObject([
      { kind: 'message', player_id: other, campaign_id },
    ]);
    // Sent to another address, it was not sent to the person.
    await sql`update message_sends set recipient = 'other@example.com' where campaign_id = ${campaign_id}`;
    expect(await proofOf(person)).toMatchObject({ messages: 0 });
  });

  it('takes a cool-down as over when it has ended, and shows the one that is longer', async () => {
    const player_id = await newPlayer();
    const ends = (ms: number) => ({ until: new Date(Date.now() + ms).toISOString() });
    await operator.fold({ event: 'cooldown_entered', player_id, properties: ends(1_500) });
    const [first] = await listed(`player_id=${player_id}`);
    expect(first).toMatchObject({ kind: 'cooldown', cause: { source: 'event' } });
    await until(
      'the cool-down is over',
      async (saw) => saw((await listed(`player_id=${player_id}&state=ended`)).length) === 1,
    );
    await campaignTo(player_id);
    expect(counts(await proofOf(player_id))).toEqual({
      messages: 0,
      bonuses: 0,
      exclusions: [['cooldown', 'ended', 'event', 0, 0]],
    });
    // A shorter one changes nothing, a longer one does.
    for (const ms of [3_600_000, 60_000, 7_200_000])
      await operator.fold({ event: 'cooldown_entered', player_id, properties: ends(ms) });
    await campaignTo(player_id);
    const { exclusions } = await proofOf(player_id);
    expect(exclusions.map(({ state }) => state)).toEqual(['active', 'active', 'ended']);
    expect(exclusions.flatMap(({ blocked }) => blocked)).toEqual([
      { kind: 'message', code: 'SKIPPED_COOLDOWN', count: 1 },
    ]);
  });

  it('follows a merge: what the survivor got before it does not count, what comes after does', async () => {
    const ann = await newPlayer();
    const visitor = (await operator.identify({ anonymous_id: 'visitor' })).player_id;
    await operator.fold({ event: 'self_exclusion_set', player_id: visitor });
    await campaignTo(ann);
    const external_id = String((await operator.player(ann))['external_id']);
    await operator.identify({ anonymous_id: 'visitor', external_id });
    await campaignTo(ann);
    const proof = await proofOf(visitor);
    expect(proof).toEqual({ ...(await proofOf(ann)), as_of: proof.as_of });
    expect(proof).toMatchObject({ player_id: ann, merged_player_ids: [visitor] });
    expect(counts(proof)).toEqual({
      messages: 0,
      bonuses: 0,
      exclusions: [
        ['self_exclusion', 'active', 'merge', 0, 0],
        ['self_exclusion', 'ended', 'event', 0, 0],
      ],
    });
    const [survivors, visitors] = proof.exclusions;
    expect(survivors).toMatchObject({ player_id: ann, merged_into: null });
    expect(survivors?.blocked).toEqual([{ kind: 'message', code: 'SKIPPED_SELF_EXCLUDED', count: 1 }]);
    expect(visitors).toMatchObject({ player_id: visitor, merged_into: ann, end: { source: 'merge' } });
    expect(visitors?.until).toBe(survivors?.accepted_at);
  });

  it('has what operators set and lift themselves, once', async () => {
    const player_id = await newPlayer();
    const patch = (status: string) => client.api('PATCH', `/v1/players/${player_id}`, { status });
    for (const status of ['self_excluded', 'banned', 'self_excluded', 'active'])
      expect((await patch(status)).status).toBe(200);
    await operator.fold({ event: 'self_exclusion_set', player_id, timestamp: '2020-01-01T00:00:00Z' });
    // The exclusion is older than its end, so it does not hold.
    const { exclusions } = await proofOf(player_id);
    expect(exclusions).toMatchObject([
      { state: 'ended', cause: { source: 'operator', ingestion_id: null }, end: { source: 'operator' } },
    ]);
  });

  it('knows only players of the project', async () => {
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const id of [unknown, 'me']) {
      const { status, code } = await client.api('GET', `/v1/compliance/exclusions/${id}/proof`);
      expect([status, code]).toEqual([404, 'PLAYER_NOT_FOUND']);
    }
  });
});

describe('the lists', () => {
  it('are read in pages, with the filters that a cursor was made for', async () => {
    const player_ids = [await newPlayer(), await newPlayer(), await newPlayer()];
    const before = new Date().toISOString();
    for (const player_id of player_ids) await operator.fold({ event: 'self_exclusion_set', player_id });
    await campaignTo(...player_ids);
    for (const path of ['exclusions', 'blocked-sends']) {
      const query = `/v1/compliance/${path}?limit=2&from=${before}`;
      const first = await client.api<{ player_id: string }[]>('GET', query);
      const second = await client.api<{ player_id: string }[]>('GET', `${query}&cursor=${first.next_cursor}`);
      expect([first.data.length, second.data.length, second.next_cursor]).toEqual([2, 1, null]);
      const found = [...first.data, ...second.data].map(({ player_id }) => player_id);
      expect(found.toSorted()).toEqual(player_ids.toSorted());
      expect(
        (await client.api('GET', `${query}&to=2026-01-01T00:00:00Z&cursor=${first.next_cursor}`)).status,
      ).toBe(422);
    }
    const none = await client.api('GET', `/v1/compliance/blocked-sends?code=SKIPPED_BANNED&from=${before}`);
    expect(none.data).toEqual([]);
  });

  it('has players whose KYC waits', async () => {
    await setKycModel(service, service);
    const player_id = await newPlayer();
    await operator.fold({ event: 'kyc_submitted', player_id });
    const { data } = await client.api<Body[]>('GET', '/v1/compliance/kyc-queue');
    expect(data).toMatchObject([{ player_id, kyc_level: 0, status: 'active' }]);
    await operator.fold({ event: 'kyc_approved', player_id, properties: { level: 1 } });
    expect((await client.api('GET', '/v1/compliance/kyc-queue')).data).toEqual([]);
  });
});

describe('the licence', () => {
  it('has the rules that hold for the tenant, whoever reads them', async () => {
    const officer = await member(service, service.tenant_id, 'compliance');
    const none = await api(service, officer, '/v1/compliance/licence');
    expect(none.data).toMatchObject({ license_jurisdiction: null });
    const license_jurisdiction = 'mga';
    expect((await client.api('PATCH', '/v1/tenant/config', { license_jurisdiction })).status).toBe(200);
    const { data } = await api(service, officer, '/v1/compliance/licence');
    expect(data).toMatchObject({ license_jurisdiction });
    const rules = data['rules'] as { id: string; severity: string }[];
    expect(rules.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['malta_self_excluded', 'all_protected']),
    );
  });
});

describe('a compliance officer', () => {
  it('resolves a conflict with a note, once; nobody else but administrators does', async () => {
    await operator.identify({ anonymous_id: 'shared', external_id: 'owner-of-tablet' });
    const answer = await operator.identify({ anonymous_id: 'shared', external_id: 'guest-of-tablet' });
    expect(answer.conflict).toBe(true);
    const { player_id } = answer;
    const listedNow = () => client.api<Body[]>('GET', '/v1/compliance/conflicts');
    expect((await listedNow()).data).toMatchObject([{ player_id, external_id: 'guest-of-tablet' }]);
    const path = `/v1/compliance/conflicts/${player_id}/resolve`;
    const body = { note: 'two brothers, one tablet' };
    const officer = await member(service, service.tenant_id, 'compliance');
    for (const role of ['viewer', 'editor']) {
      const session = await member(service, service.tenant_id, role);
      expect((await api(service, session, path, { body })).status).toBe(403);
    }
    expect((await api(service, officer, path, { body: {} })).status).toBe(422);
    const resolved = await api(service, officer, path, { body });
    expect(resolved.data).toEqual({ player_id, status: 'active', note: body.note });
    expect((await operator.player(player_id))['status']).toBe('active');
    expect((await listedNow()).data).toEqual([]);
    expect((await api(service, officer, path, { body })).status).toBe(409);
    const { data } = await api(service, officer, `/v1/audit-log?resource_id=${player_id}`);
    expect(data).toMatchObject([
      {
        action: 'resolve',
        resource_type: 'player',
        actor: {
          kind: 'session',
          role: 'compliance',
        },
        before: { status: 'conflict' },
        after: {
          status: 'active',
          note: body.note,
        },
      },
    ]);
  });

  it('sees personal data of one player, which is noted without them; a viewer does not', async () => {
    const player_id = await newPlayer();
    const { email } = await operator.player(player_id);
    const path = `/v1/players/${player_id}/reveal`;
    const viewer = await member(service, service.tenant_id, 'viewer');
    expect((await api(service, viewer, path, { body: {} })).status).toBe(403);
    const officer = await member(service, service.tenant_id, 'compliance');
    const { data } = await api(service, officer, path, { body: { reason: 'a complaint' } });
    expect(data).toEqual({ id: player_id, email, phone: null });
    const log = await api(service, officer, `/v1/audit-log?resource_id=${player_id}`);
    expect(log.data).toMatchObject([
      { action: 'reveal', after: { revealed: ['email'], reason: 'a complaint' } },
    ]);
    expect(log.text).not.toContain(String(email));
    const theirs = await api(service, viewer, `/v1/players/${player_id}/audit`);
    expect(theirs.data).toMatchObject([{ action: 'reveal', after: { revealed: ['email'] } }]);
    expect(theirs.text).not.toContain('a complaint');
  });

  it('reads what a viewer reads, and changes neither campaigns nor players nor the configuration', async () => {
    const officer = await member(service, service.tenant_id, 'compliance');
    for (const path of ['/v1/campaigns', '/v1/players', '/v1/segments', '/v1/overview', '/v1/audit-log'])
      expect((await api(service, officer, path)).status, path).toBe(200);
    const body = { name: 'x', to_code: 'x', reason: 'x' };
    const campaign_id = await campaignTo(await newPlayer());
    for (const path of [
      '/v1/campaigns',
      '/v1/templates',
      `/v1/campaigns/${campaign_id}/send`,
      '/v1/vip-tiers',
    ])
      expect((await api(service, officer, path, { body })).status, path).toBe(403);
    expect((await api(service, officer, '/v1/tenant/config')).status).toBe(403);
    const { data } = await api(service, officer, '/v1/session');
    expect(data).toMatchObject({ tenants: [{ role: 'compliance' }] });
    await folded(service.platform);
  });
});
