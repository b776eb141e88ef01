import { EventEmitter, once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ROLES } from '../../../src/config.ts';
import { folded, startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { answering, startReceiver, type Receiver } from './receiver.ts';
import { webhookFixture, type WebhookFixture } from './webhook-fixture.ts';

let service: TestService;
let on: WebhookFixture;
let there: Receiver;
let journey_id: string;
let status = 200;
const often = { max_attempts: 5, backoff_ms: 60_000 };
beforeAll(async () => {
  // Without a runner the timers of woken runs stay.
  service = await startTestService({ roles: new Set(ROLES.filter((role) => role !== 'journey-runner')) });
  on = webhookFixture(service);
  await on.secret();
  journey_id = await on.journey();
  there = await startReceiver((response, n) => answering(status)(response, n, response.req));
});
afterAll(async () => {
  await there?.close();
  await service?.close();
});
beforeEach(() => {
  status = 200;
});

const player = async () => (await on.client.players(1))[0] ?? '';
const callsOf = (event_id: string) =>
  there.received.filter(({ headers }) => headers['x-service-event-id'] === event_id).length;
const remove = async (player_id: string) =>
  expect((await on.client.api('DELETE', `/v1/players/${player_id}`)).status).toBe(200);
const ban = (player_id: string) =>
  on.sql`update players set status = 'banned' where player_id = ${player_id}`;

/** A delivery whose first attempt was answered 500, and which waits for the next one. */
async function attempted(player_id: string, node = {}): Promise<{ run_id: string; event_id: string }> {
  status = 500;
  const made = await on.call(journey_id, { url: there.url, retry: often, ...node }, { player_id });
  await until(async (saw) => {
    const found = saw(await on.deliveries(journey_id, '?limit=200')).find(
      (one) => one.event_id === made.event_id,
    );
    return found?.status === 'pending' && found.response_status === 500;
  });
  status = 200;
  return made;
}

it.each([
  ['self-excluded', 'SKIPPED_SELF_EXCLUDED', (id: string) => on.client.event(id, 'self_exclusion_set')],
  ['banned', 'SKIPPED_BANNED', ban],
] as const)('no attempt follows once the player is %s, and the run goes on', async (_what, code, change) => {
  const player_id = await player();
  const { run_id, event_id } = await attempted(player_id);
  await change(player_id);
  await on.hurry(event_id);
  const shown = await on.reached(journey_id, event_id, 'cancelled');
  expect(shown).toMatchObject({ attempts: 1, error_code: code, response_status: 500 });
  expect(callsOf(event_id)).toBe(1);
  expect((await on.run(run_id)).woken_by).toEqual({
    kind: 'delivery',
    outcome: 'exhausted',
    error_code: code,
  });
  expect(await on.dueTimers(run_id)).toHaveLength(1);
});

it('a webhook for whose answer no run waits is cancelled, too, also before its first attempt', async () => {
  const player_id = await player();
  await ban(player_id);
  const node = { url: there.url, wait_for_response: false };
  const { run_id, event_id } = await on.call(journey_id, node, { player_id });
  const shown = await on.reached(journey_id, event_id, 'cancelled');
  expect(shown).toMatchObject({ attempts: 0, error_code: 'SKIPPED_BANNED', last_attempt_at: null });
  expect(callsOf(event_id)).toBe(0);
  expect((await on.run(run_id)).woken_by).toBeNull();
});

it('a webhook of a run that has ended is cancelled when its player is deleted', async () => {
  const player_id = await player();
  const { run_id, event_id } = await attempted(player_id, { wait_for_response: false });
  await on.sql`
    update journey_runs set status = 'completed', completed_at = now(), due_at = null where run_id = ${run_id}`;
  await remove(player_id);
  await on.hurry(event_id);
  const shown = await on.reached(journey_id, event_id, 'cancelled');
  expect(shown).toMatchObject({ attempts: 1, error_code: 'SKIPPED_NO_RECIPIENT' });
  expect(callsOf(event_id)).toBe(1);
});

it('a webhook about a player who was merged goes by the survivor', async () => {
  const [into, other] = [await player(), await player()];
  const [{ event_id }, barred] = [await attempted(await merged(into)), await attempted(await merged(other))];
  await ban(other);
  await on.hurry(event_id);
  await on.hurry(barred.event_id);
  await on.reached(journey_id, event_id, 'delivered');
  const shown = await on.reached(journey_id, barred.event_id, 'cancelled');
  expect(shown.error_code).toBe('SKIPPED_BANNED');

  async function merged(into_player_id: string): Promise<string> {
    const player_id = randomUUID();
    await on.sql`
      insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at)
      values (${service.tenant_id}, ${service.project_id}, ${player_id}, ${into_player_id}, now())`;
    return player_id;
  }
});

it('an exclusion that is accepted and not folded yet holds the webhook back, and its attempts are not counted', async () => {
  const player_id = await player();
  const { event_id } = await attempted(player_id);
  const [released, locked] = [new EventEmitter(), new EventEmitter()];
  const is_locked = once(locked, 'now');
  await folded(service.platform);
  // The fold is stuck.
  const ended = on.sql.begin(async (tx) => {
    const rows = await tx`select from fold_positions where topic = 'events' for update`;
    expect(rows.length).toBeGreaterThan(0);
    const is_released = once(released, 'now');
    locked.emit('now');
    await is_released;
  });
  try {
    await Promise.race([is_locked, ended]);
    await on.client.event(player_id, 'self_exclusion_set');
    await on.hurry(event_id);
    await heldBack(event_id);
    await on.hurry(event_id);
    await heldBack(event_id);
    expect(callsOf(event_id)).toBe(1);
  } finally {
    released.emit('now');
    await ended;
  }
  const shown = await on.reached(journey_id, event_id, 'cancelled');
  expect(shown).toMatchObject({ attempts: 1, error_code: 'SKIPPED_SELF_EXCLUDED' });
  expect(callsOf(event_id)).toBe(1);

  /** It was claimed and put back: it comes due again soon. */
  async function heldBack(id: string): Promise<void> {
    await until(async (saw) => {
      const [row] = saw(
        await on.sql<{ is_back: boolean }[]>`
        select attempts = 1 and next_at between now() and now() + interval '2 seconds' as is_back
        from webhook_deliveries where event_id = ${id} and status = 'pending'`,
      );
      return row?.is_back === true || callsOf(id) > 1;
    });
  }
});

it('a failed webhook about such a player is not delivered again by hand', async () => {
  const player_id = await player();
  status = 500;
  const once_only = { max_attempts: 1, backoff_ms: 10 };
  const { event_id } = await on.call(journey_id, { url: there.url, retry: once_only }, { player_id });
  await on.reached(journey_id, event_id, 'failed');
  await remove(player_id);
  const path = `/v1/journeys/${journey_id}/deliveries/${event_id}/retry`;
  const again = await on.client.api('POST', path);
  expect([again.status, again.code]).toEqual([409, 'CONFLICT']);
  expect(JSON.stringify(again.error)).toContain('the player is deleted (SKIPPED_NO_RECIPIENT)');
  expect(await on.deliveries(journey_id, '?status=failed')).toMatchObject([{ event_id, attempts: 1 }]);
});
