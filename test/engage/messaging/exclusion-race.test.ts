import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../crash/random.ts';
import { eventually, startTestService, type TestService } from '../../engines/service.ts';
import { messagingClient } from './messaging-client.ts';

/** The number of players; each is one interleaving of an exclusion with the fan-out and the sending of a campaign. */
const INTERLEAVINGS = Number(process.env['EXCLUSION_RUNS'] ?? 1_000);
const PLAYERS = 200;
const SEED = Number(process.env['EXCLUSION_SEED'] ?? Date.now() % 1_000_000);
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => service?.close());

it(
  `no message is decided after the player’s exclusion was accepted (seed ${SEED})`,
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
      // Half of the exclusions come over the time that a campaign takes, half once the first message is decided: where
      // the fold is slow the fence waits for all of the former, and without the latter nothing would be sent.
      const begun = firstDecision(campaign_id);
      const exclusions = player_ids.map(async (player_id, i) => {
        if (i % 2 === 1) await begun;
        await sleep(random.integer(0, i % 2 === 0 ? spread_ms : 20));
        await client.event(player_id, 'self_exclusion_set');
        accepted_ms.set(player_id, Date.now());
      });
      await sleep(spread_ms / 4);
      expect((await client.send(campaign_id)).status).toBe(200);
      await Promise.all(exclusions);
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
  const started_ms = performance.now();
  expect((await client.send(campaign_id)).status).toBe(200);
  await client.reaches(campaign_id, 'sent');
  return Math.ceil((performance.now() - started_ms) * 1.25);
}

/** Resolves when some message of the campaign is decided. */
async function firstDecision(campaign_id: string): Promise<void> {
  await eventually(
    'a message is decided',
    async () => {
      const [decided] = await service.platform.postgres.service`
      select from message_sends where campaign_id = ${campaign_id} and status <> 'queued' limit 1`;
      return decided === undefined ? undefined : true;
    },
    60_000,
  );
}

async function decisions(campaign_id: string) {
  const { service: sql } = service.platform.postgres;
  return sql<{ player_id: string; status: string; error_code: string | null; decided_at: Date | null }[]>`
    select player_id, status, error_code, counted_at as decided_at from message_sends
    where campaign_id = ${campaign_id}`;
}
