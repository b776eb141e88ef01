import { setTimeout as sleep } from 'node:timers/promises';
import { startJourneyRunner } from '../processors/journey-runner/index.ts';
import { startMessenger } from '../processors/messenger/index.ts';
import { GROUPS, TOPICS } from '../src/platform/event-log/topics.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { TestService } from '../test/engines/service.ts';
import { mixedEvents } from './events.ts';
import { foldEndToEnd } from './fold.ts';
import { awaits, end, startJourney } from './journey-client.ts';
import { switchJourneys } from './journey-seed-queries.ts';
import { alternate, perSecond, ratios, result, type Result, type Sample } from './measure.ts';
import { postgresUrlOf } from './platform.ts';
import { sinkEndToEnd } from './sink.ts';

const JOURNEYS = 100;
const ROUNDS = 5;
const EVENTS = 30_000;
const PLAYERS = 5_000;
const POLL_MS = 50;

/**
 * The fold and the sink with a hundred active journeys and without any; the processors of journeys and messages run in
 * both cases. Half of the journeys begin with a deposit, the others with an event of their own, and all wait for a
 * deposit.
 */
export async function benchFoldAndSinkWithJourneys(service: TestService): Promise<Result[]> {
  const { platform } = service;
  const { notifications } = service.service;
  const owner = connectPool(postgresUrlOf(platform), { max: 1 });
  const where = { amount: { gte: 1_000_000 } };
  for (let i = 0; i < JOURNEYS; i++) {
    const event = i % 2 === 0 ? 'deposit_confirmed' : `custom_step_${i}`;
    const nodes = [awaits('a', 'deposit_confirmed', 'end', where), end];
    await startJourney(service, nodes, { trigger: { kind: 'event', event, where } });
  }
  const keys = { current: '00'.repeat(32), previous: undefined };
  const runner = await startJourneyRunner({ ...platform, erasure_key: Buffer.alloc(32) }, notifications);
  const messenger = await startMessenger(platform, notifications, {
    credentials_keys: keys,
    link_key: Buffer.alloc(32),
    public_url: 'http://localhost',
  });
  let round = 0;
  const fold = () => foldEndToEnd(service, freshEvents(`j${round++}`));
  const sink = () => sinkEndToEnd(service, `j${round++}`, Date.now());
  try {
    const [folds, sinks] = [await both(service, owner, fold), await both(service, owner, sink)];
    return [
      result(`fold with ${JOURNEYS} journeys ÷ without`, ratios(folds, perSecond), { at_least: 0.95 }, ''),
      result(`sink with ${JOURNEYS} journeys ÷ without`, ratios(sinks, perSecond), { at_least: 0.95 }, ''),
    ];
  } finally {
    await runner.close();
    await messenger.close();
    await owner.end({ timeout: 5 });
  }
}

function both({ platform }: TestService, owner: Db, measure: () => Promise<Sample>) {
  const turned = (on: boolean) => async () => {
    await switchJourneys(owner, on);
    const sample = await measure();
    for (const group of [GROUPS.journeyMatcher, GROUPS.trigger]) {
      while (
        (await platform.eventLog.lag(TOPICS.playerEvents, group)).some((p) => p.next_offset < p.end_offset)
      )
        await sleep(POLL_MS);
    }
    return sample;
  };
  return alternate(ROUNDS, turned(true), turned(false));
}

/** Older events start nothing and end no wait. */
function freshEvents(label: string) {
  const timestamp = new Date().toISOString();
  return mixedEvents(EVENTS, PLAYERS, label).map((event) => ({ ...event, timestamp }));
}
