import type { TestService } from '../test/engines/service.ts';
import { startTestService } from '../test/engines/service.ts';
import { answering, startReceiver } from '../test/engage/webhooks/receiver.ts';
import { subscriptionClient } from '../test/engage/subscriptions/subscription-client.ts';
import { until } from '../test/engines/until.ts';
import { alternate, perSecond, ratios, result, timed, type Result, type Sample } from './measure.ts';
import { rawRequest, load } from './load.ts';

/** Players that change their tiers at once. */
const PLAYERS = 1_000;
const ROUNDS = 3;
/** Events of the intake, in batches, and facts at the same time, per second. */
const BATCHES = 10;
const BATCH = 100;
const FACTS = 50;
const SECONDS = 20;

/**
 * Events to a receiver while another subscription of the same tenant gets them too, and while that one is dead; then how long a
 * fact takes to its receiver next to 1,000 events a second.
 */
export async function benchSubscriptions(): Promise<Result[]> {
  const service = await startTestService();
  const fast = await startReceiver(answering(200));
  const other = await startReceiver(answering(200));
  const dead = await startReceiver(() => undefined);
  const on = subscriptionClient(service);
  try {
    const players = await on.players(PLAYERS);
    const deliver = async (url: string, code: string): Promise<Sample> => {
      const subscriptions = [
        await on.subscribe(fast.url, ['tier.changed']),
        await on.subscribe(url, ['tier.changed']),
      ];
      const before = fast.received.length;
      const sample = await timed(async () => {
        await on.changeTiers(players, [code]);
        await until(() => fast.received.length >= before + PLAYERS);
        return PLAYERS;
      });
      for (const { id } of subscriptions) await on.unsubscribe(id);
      return sample;
    };
    const pairs = await alternate(
      ROUNDS,
      () => deliver(dead.url, 'dead'),
      () => deliver(other.url, 'alive'),
    );
    const { id } = await on.subscribe(fast.url, ['tier.changed']);
    fast.received.length = 0;
    await duringIntake(service, () => on.changeTiers(players.slice(0, FACTS), ['loaded']));
    await until(() => fast.received.length >= SECONDS * FACTS);
    await on.unsubscribe(id);
    const lags_ms = fast.received
      .map(({ body, at_ms }) => at_ms - Date.parse((JSON.parse(body) as { ts: string }).ts))
      .sort((one, next) => one - next);
    const p99_ms = lags_ms[Math.floor(lags_ms.length * 0.99)] ?? 0;
    return [
      result(
        'events next to a dead receiver ÷ next to a live one',
        ratios(pairs, perSecond),
        { at_least: 0.95 },
        '',
      ),
      result(
        'fact to receiver next to 1,000 events/s, p99 in ms',
        [p99_ms],
        { at_most: 2_000 },
        `${FACTS} facts/s`,
      ),
    ];
  } finally {
    await service.close();
    await Promise.all([fast.close(), other.close(), dead.close()]);
  }
}

/** Sends 1,000 events a second for a while, and notes facts once a second. */
async function duringIntake(service: TestService, note: () => Promise<void>): Promise<void> {
  const port = Number(new URL(service.ingest_url).port);
  const events = Array.from({ length: BATCH }, (_, n) => ({ event: 'page_view', anonymous_id: `load-${n}` }));
  const headers = { authorization: `Bearer ${service.api_key}` };
  const request = rawRequest('POST', '/v1/events/batch', headers, JSON.stringify({ events }));
  for (let second = 0; second < SECONDS; second++) {
    const begun_ms = performance.now();
    await Promise.all([note(), load(port, [request], { connections: 2, total: BATCHES, status: 202 })]);
    const rest_ms = 1_000 - (performance.now() - begun_ms);
    if (rest_ms > 0) await new Promise((resolve) => setTimeout(resolve, rest_ms));
  }
}
