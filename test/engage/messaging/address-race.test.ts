import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { plainArray, textArray } from '../../../src/platform/postgres/arrays.ts';
import { createApiKey } from '../../../src/tenants/api-keys/create.ts';
import { newId } from '../../../src/platform/ids.ts';
import { Random } from '../../crash/random.ts';
import { runs, SEED } from '../../engines/effort.ts';
import type { TestService, TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient, type MessagingClient } from './messaging-client.ts';

// One person is two players, who have one address in two spellings. One of them excludes himself while the other is written
// to.

/** Pairs of players; each is one interleaving. */
const INTERLEAVINGS = runs(300, { nightly: 10_000, nightly_on_servers: 300 });
const PAIRS = 100;
/** The ways on which messages come to be, each with a channel of its own. */
const WAYS = ['broadcast', 'triggered', 'journey'] as const;
const CHANNEL_OF = { broadcast: 'email', triggered: 'sms', journey: 'push' } as const;

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

interface Pair {
  way: (typeof WAYS)[number];
  excluded: string;
  written_to: string;
}

it(
  'nothing is decided for an address after the exclusion of anybody whose address it is was accepted',
  async () => {
    const random = new Random(SEED);
    const outcomes = { sent: 0, skipped: 0 };
    for (let done = 0; done < INTERLEAVINGS; done += PAIRS) await race(random, outcomes);
    // Both occurred often enough to count as a race.
    expect(outcomes.sent).toBeGreaterThan(INTERLEAVINGS / 20);
    expect(outcomes.skipped).toBeGreaterThan(INTERLEAVINGS / 20);
  },
  60_000 + INTERLEAVINGS * 200,
);

async function race(random: Random, outcomes: { sent: number; skipped: number }): Promise<void> {
  const tenant = await service.newTenant();
  const client = messagingClient(service, tenant);
  const there = messagingClient(service, await secondProject(tenant));
  const pairs = await makePairs(client, there);
  const send = await prepare(client, pairs);
  const accepted_ms = new Map<string, number>();
  const exclude = async ({ excluded, written_to }: Pair, i: number) => {
    // Every second one is a player of the other project.
    await (i % 2 === 0 ? client : there).event(excluded, 'self_exclusion_set');
    accepted_ms.set(written_to, Date.now());
  };
  // Half of the exclusions follow what was sent, so that on no machine all come before the messages or after them.
  const following = pairs.map((pair, i) => async () => {
    if (i % 4 < 2) await sentBefore(tenant, random.integer(1, PAIRS / 6));
    await sleep(random.integer(0, i % 4 < 2 ? 10 : 400));
    await exclude(pair, i);
  });
  const sending = send();
  await Promise.all([sending, ...following.map((begin) => begin())]);
  const first = await settled(tenant, pairs.length);
  for (const { player_id, status, error_code, decided_at } of first) {
    if (status === 'failed') {
      expect(error_code).toBe('SKIPPED_SELF_EXCLUDED');
      outcomes.skipped += 1;
    } else {
      expect(status).toBe('sent');
      // The decision must precede the moment at which the caller received the acceptance.
      expect(decided_at?.getTime()).toBeLessThanOrEqual(accepted_ms.get(player_id) ?? 0);
      outcomes.sent += 1;
    }
  }
  // All are excluded by now: nothing more goes to any of the addresses.
  const known = new Set(first.map(({ send_id }) => send_id));
  await (
    await prepare(client, pairs)
  )();
  const again = (await settled(tenant, 2 * pairs.length)).filter(({ send_id }) => !known.has(send_id));
  expect(again.map(({ error_code }) => error_code)).toEqual(pairs.map(() => 'SKIPPED_SELF_EXCLUDED'));
}

async function secondProject(tenant: TestTenant): Promise<TestTenant> {
  const { platform } = service;
  const project_id = newId();
  await platform.postgres.service`
    insert into projects (tenant_id, project_id, name) values (${tenant.tenant_id}, ${project_id}, 'Second')`;
  const ref = { tenant_id: tenant.tenant_id, project_id };
  const { key } = await createApiKey(platform, { ...ref, name: 'test', environment: 'dev' });
  return { ...tenant, project_id, api_key: key };
}

/** Pairs of players with one address in two spellings. */
async function makePairs(client: MessagingClient, there: MessagingClient): Promise<Pair[]> {
  const written = await client.players(PAIRS, { email: null });
  const excluded = await Promise.all([client.players(PAIRS / 2), there.players(PAIRS / 2)]);
  const pairs = written.map((written_to, i): Pair => ({
    way: WAYS[Math.floor(i / 2) % WAYS.length] ?? 'broadcast',
    written_to,
    excluded: excluded[i % 2]?.[Math.floor(i / 2)] ?? '',
  }));
  const phone = (i: number, spelling: number) =>
    [`+49 151 ${1_000_000 + i}`, `0049151${1_000_000 + i}`][spelling];
  const rows = pairs.flatMap(({ way, written_to, excluded: other }, i) => [
    // Written to on one channel only, so that no other message of the pair is waited for.
    {
      player_id: written_to,
      email: way === 'broadcast' ? `${other.toUpperCase()}@Example.COM` : null,
      phone: way === 'triggered' ? phone(i, 1) : null,
      push: way === 'journey' ? `token-${other}` : null,
    },
    { player_id: other, email: `${other}@example.com`, phone: phone(i, 0), push: `token-${other}` },
  ]);
  await service.platform.postgres.service`
    update players p set email = u.email, phone = u.phone,
      custom_attributes = p.custom_attributes || jsonb_strip_nulls(jsonb_build_object('push_token', u.push))
    from unnest(${plainArray(rows.map((row) => row.player_id))}::text::uuid[], ${textArray(rows.map((row) => row.email))}::text::text[],
      ${textArray(rows.map((row) => row.phone ?? null))}::text::text[], ${textArray(rows.map((row) => row.push))}::text::text[])
      as u (player_id, email, phone, push)
    where p.player_id = u.player_id`;
  return pairs;
}

/** Makes everything that sends to the pairs; returns the function that begins it. */
async function prepare(client: MessagingClient, pairs: readonly Pair[]): Promise<() => Promise<void>> {
  const of = (way: Pair['way']) => pairs.flatMap((pair) => (pair.way === way ? pair.written_to : []));
  const make = async (way: Pair['way']) => {
    const channel = CHANNEL_OF[way];
    const subject = channel === 'email' ? {} : { subject: null };
    const [template_id, provider_id] = await Promise.all([
      client.template({ channel, ...subject }),
      client.provider({ channel }),
    ]);
    return { template_id, provider_id };
  };
  const [mail, text, push] = await Promise.all([make('broadcast'), make('triggered'), make('journey')]);
  const event = `custom_${newId().replaceAll('-', '')}`;
  const segment_id = await client.segment(of('broadcast'));
  const broadcast = await client.campaign({ segment_id, ...mail });
  const plan = {
    type: 'triggered',
    channel: 'sms',
    trigger_event: `${event}_sms`,
    segment_id: null,
    ...text,
  };
  const triggered = await client.campaign(plan);
  expect((await client.send(triggered)).status).toBe(200);
  const node = { id: 'push', type: 'send_message', ...push, next: 'end' };
  const journey = await client.api('POST', '/v1/journeys', {
    name: event,
    trigger: { kind: 'event', event: `${event}_push` },
    graph: { start_node_id: 'push', nodes: [node, { id: 'end', type: 'end' }] },
  });
  expect(journey.status, JSON.stringify(journey.error)).toBe(201);
  expect((await client.api('POST', `/v1/journeys/${String(journey.data['id'])}/activate`)).status).toBe(200);
  return async () => {
    await Promise.all([
      ...of('triggered').map((player_id) => client.event(player_id, `${event}_sms`)),
      ...of('journey').map((player_id) => client.event(player_id, `${event}_push`)),
      client.send(broadcast).then(({ status }) => expect(status).toBe(200)),
    ]);
  };
}

/** Resolves when so many messages of the tenant were handed over, or nothing more waits. */
async function sentBefore({ tenant_id }: TestTenant, count: number): Promise<void> {
  await until(`${count} messages are sent`, async (saw) => {
    const [row] = saw(
      await service.platform.postgres.service<{ sent: number }[]>`
        select count(*)::int as sent from message_sends
        where tenant_id = ${tenant_id} and status not in ('queued', 'failed')`,
    );
    return (row?.sent ?? 0) >= count;
  });
}

/** The messages of the tenant, once there are so many and none is under way. */
function settled({ tenant_id }: TestTenant, count: number) {
  return until(
    `${count} messages are decided`,
    async (saw) => {
      const rows = saw(
        await service.platform.postgres.service<
          {
            send_id: string;
            player_id: string;
            status: string;
            error_code: string | null;
            decided_at: Date | null;
          }[]
        >`select send_id, player_id, status, error_code, counted_at as decided_at from message_sends
          where tenant_id = ${tenant_id}`,
      );
      const is_open = rows.some(({ status }) => status === 'queued' || status === 'sending');
      return rows.length === count && !is_open ? rows : undefined;
    },
    60_000,
  );
}
