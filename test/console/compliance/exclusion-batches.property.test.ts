import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import type { z } from 'zod';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { exclusion } from '../../../src/console/compliance/schema.ts';
import { runs } from '../../engines/effort.ts';
import { folded, startTestService, type TestService } from '../../engines/service.ts';
import { accept, api, newPlayer } from '../events/event-client.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

let made = 0;

/** What stays of a player's exclusions when the times at which the service worked are left out; the latest first. */
async function recordsOf(player_id: string) {
  const path = `/v1/compliance/exclusions?player_id=${player_id}`;
  const { status, text } = await api(service, service.session_token, path);
  expect(status, text).toBe(200);
  const { data } = JSON.parse(text) as { data: z.infer<typeof exclusion>[] };
  return data
    .map(({ kind, state, since, until, end }) => ({
      kind,
      state,
      since,
      // The end of an exclusion is when the service had lifted it.
      ends_at: kind === 'cooldown' ? until : null,
      lifted_at: end?.lifted_at ?? null,
    }))
    .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}

async function statusOf(player_id: string) {
  return (await api(service, service.session_token, `/v1/players/${player_id}`)).data['status'];
}

const changeOf = (event: string, ago_s: number, hours = 1) => ({ event, ago_s, hours });

it('exclusions and breaks of one batch have the records that they have one by one', async () => {
  const change = record({
    event: constantFrom('self_exclusion_set', 'self_exclusion_lifted', 'cooldown_entered'),
    ago_s: integer({ min: 1, max: 6 }),
    /** How long the break lasts. */
    hours: integer({ min: 1, max: 4 }),
  });
  await assert(
    asyncProperty(array(change, { minLength: 2, maxLength: 8 }), async (changes) => {
      const [at_once, one_by_one] = [
        await newPlayer(service, service, { external_id: `p${++made}` }),
        await newPlayer(service, service, { external_id: `p${++made}` }),
      ];
      const now_ms = Date.now();
      const events = (player_id: string) =>
        changes.map(({ event, ago_s, hours }) => ({
          event,
          player_id,
          timestamp: new Date(now_ms - ago_s * 1_000).toISOString(),
          ...(event === 'cooldown_entered'
            ? { properties: { until: new Date(now_ms + hours * 3_600_000).toISOString() } }
            : {}),
        }));
      await accept(service, service, ...events(at_once));
      for (const event of events(one_by_one)) {
        await accept(service, service, event);
        await folded(service.platform);
      }
      expect(await recordsOf(at_once)).toEqual(await recordsOf(one_by_one));
      expect(await statusOf(at_once)).toBe(await statusOf(one_by_one));
    }),
    {
      numRuns: runs(15),
      examples: [
        [[changeOf('self_exclusion_set', 2), changeOf('self_exclusion_lifted', 1)]],
        [[changeOf('self_exclusion_lifted', 1), changeOf('self_exclusion_set', 2)]],
        [[changeOf('cooldown_entered', 2, 1), changeOf('cooldown_entered', 1, 3)]],
      ],
    },
  );
});
