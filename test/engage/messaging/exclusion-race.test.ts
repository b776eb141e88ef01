import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../crash/random.ts';
import { runs, SEED } from '../../engines/effort.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { messagingClient } from './messaging-client.ts';

/** The number of players; each is one interleaving of an exclusion with the fan-out and the sending of a campaign. */
const INTERLEAVINGS = runs(1_000);
const PLAYERS = 200;
let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(async () => service?.close());

it(
  'no message is decided after the player’s exclusion was accepted',
  async () => {
    const random = new Random(SEED);
    const outcomes = { sent: 0, skipped: 0 };
    // With a fixed time, a faster or slower machine would show no race.
    const spread_ms = await durationOfCampaign();
    for (let done = 0; done < INTERLEAVINGS; done += PLAYERS) {
      const client = messagingClient(service, await service.newTenant());
      const player_ids = await client.players(PLAYERS);
      const segment_id = await client.segment(player_ids);
      const template_id = await client.template();
      const provider_id = await client.provider();
      const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
      const accepted_ms = new Map<string, number>();
      const exclude = async (player_id: string) => {
        await client.event(player_id, 'self_exclusion_set');
        accepted_ms.set(player_id, Date.now());
      };
      // Half of the exclusions come over the time that a campaign takes. Where the fold is slow, the fence waits for all
      // of them; the other half therefore follows what was sent, so that on no machine all come before the messages.
      const byTime = player_ids.filter((_, i) => i % 2 === 0);
      const bySent = player_ids.filter((_, i) => i % 2 === 1);
      const timed = byTime.map(async (player_id) => {
        await sleep(random.integer(0, spread_ms));
        await exclude(player_id);
      });
      await sleep(spread_ms / 4);
      expect((await client.send(campaign_id)).status).toBe(200);
      await Promise.all([...timed, followSent(campaign_id, bySent, random, exclude)]);
      await client.reaches(campaign_id, 'sent');
      const decided = await decisions(campaign_id);
      expect(decided).toHaveLength(PLAYERS);
      for (const { player_id, status, error_code, decided_at } of decided) {
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
      // A second campaign: every player is excluded by now.
      const again = await client.campaign({ segment_id, template_id, provider_id });
      await client.send(again);
      await client.reaches(again, 'sent');
      expect((await client.stats(again)).counters).toMatchObject({ sent: 0, failed: PLAYERS });
    }
    // Both outcomes occurred often enough to count as a race.
    expect(outcomes.sent).toBeGreaterThan(INTERLEAVINGS / 20);
    expect(outcomes.skipped).toBeGreaterThan(INTERLEAVINGS / 20);
  },
  60_000 + INTERLEAVINGS * 100,
);

/** How long a campaign of this size takes on this machine, with a quarter more, in milliseconds. */
async function durationOfCampaign(): Promise<number> {
  const client = messagingClient(service, await service.newTenant());
  const segment_id = await client.segment(await client.players(PLAYERS));
  const [template_id, provider_id] = [await client.template(), await client.provider()];
  const campaign_id = await client.campaign({ segment_id, template_id, provider_id });
  expect((await client.send(campaign_id)).status).toBe(200);
  await client.reaches(campaign_id, 'sent');
  const [row] = await service.platform.postgres.service<{ ms: number }[]>`
    select (extract(epoch from max(s.counted_at) - min(c.started_at)) * 1000)::float8 as ms
    from campaigns c join message_sends s using (tenant_id, campaign_id) where campaign_id = ${campaign_id}`;
  return Math.ceil((row?.ms ?? 0) * 1.25);
}

/**
 * Excludes each player once some number of messages, between 1 and a tenth of all, was sent. Those with a larger number
 * are still to be sent to, so each number is reached.
 */
async function followSent(
  campaign_id: string,
  player_ids: string[],
  random: Random,
  exclude: (player_id: string) => Promise<void>,
): Promise<void> {
  let waiting = player_ids.map((player_id) => ({ player_id, after: random.integer(1, PLAYERS / 10) }));
  const begun: Promise<void>[] = [];
  await until(
    'the players are excluded while messages are sent',
    async (saw) => {
      const [counted] = saw(
        await service.platform.postgres.service<{ sent: number }[]>`
        select count(*)::int as sent from message_sends
        where campaign_id = ${campaign_id} and status not in ('queued', 'failed')`,
      );
      const sent = counted?.sent ?? 0;
      begun.push(...waiting.filter(({ after }) => after <= sent).map(({ player_id }) => exclude(player_id)));
      waiting = waiting.filter(({ after }) => after > sent);
      return waiting.length === 0;
    },
    60_000,
  );
  await Promise.all(begun);
}

async function decisions(campaign_id: string) {
  const { service: sql } = service.platform.postgres;
  return sql<{ player_id: string; status: string; error_code: string | null; decided_at: Date | null }[]>`
    select player_id, status, error_code, counted_at as decided_at from message_sends
    where campaign_id = ${campaign_id}`;
}
