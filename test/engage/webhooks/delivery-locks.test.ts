import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROLES } from '../../../src/config.ts';
import { keepPayloads } from '../../../src/engage/webhooks/claim-queries.ts';
import { cancelDeliveries } from '../../../src/engage/webhooks/delivery-queries.ts';
import { statementWaits } from '../../engines/lock-wait.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { until } from '../../engines/until.ts';
import { answering, startReceiver } from './receiver.ts';
import { webhookFixture, type WebhookFixture } from './webhook-fixture.ts';

let service: TestService;
let on: WebhookFixture;
let journey_id: string;
beforeAll(async () => {
  // Without a runner the timers of woken runs stay.
  service = await startTestService({ roles: new Set(ROLES.filter((role) => role !== 'journey-runner')) });
  on = webhookFixture(service);
  await on.secret();
  journey_id = await on.journey();
});
afterAll(async () => service?.close());

/** A change of a delivery in a transaction of its own, which is open until `work`'s statement waits for it. */
async function duringChange<T>(event_id: string, work: () => Promise<T>): Promise<T> {
  let working: Promise<T> | undefined;
  await on.sql.begin(async (tx) => {
    await tx`update webhook_deliveries set last_reason = 'changed' where event_id = ${event_id}`;
    working = work();
    await statementWaits(on.sql);
  });
  return (await working) as T;
}

/** A delivery that is due in an hour. */
const callLater = () =>
  on.call(journey_id, { url: 'http://127.0.0.1:9/' }, { changed: { now: new Date(Date.now() + 3_600_000) } });

const shown = async (run_id: string) => (await on.deliveries(journey_id, `?run_id=${run_id}`))[0];

it('a delivery that another transaction changes is cancelled all the same', async () => {
  const { run_id, event_id, row } = await callLater();
  const { tenant_id, project_id } = row;
  await duringChange(event_id, () =>
    on.sql.begin((tx) => cancelDeliveries(tx, [{ tenant_id, project_id, run_id }])),
  );
  expect(await shown(run_id)).toMatchObject({ status: 'cancelled', reason: 'changed' });
});

it('the body of a delivery that another transaction changes is kept all the same', async () => {
  const { event_id, row } = await callLater();
  const { tenant_id } = row;
  const kept = await duringChange(event_id, () =>
    on.sql.begin((tx) => keepPayloads(tx, [{ tenant_id, event_id, payload: '{"n":1}' }])),
  );
  expect([...kept]).toEqual([[event_id, '{"n":1}']]);
});

it('the result of a delivery that another transaction changes is written all the same', async () => {
  const answers: (() => void)[] = [];
  const there = await startReceiver((response, n) => {
    answers.push(() => answering(200)(response, n, response.req));
  });
  try {
    const { run_id, event_id } = await on.call(journey_id, { url: there.url });
    await until((saw) => saw(answers.length) === 1);
    await duringChange(event_id, async () => answers[0]?.());
    await on.reached(journey_id, event_id, 'delivered');
    expect((await on.run(run_id)).woken_by).toEqual({ kind: 'delivery', outcome: 'delivered' });
    expect(there.received).toHaveLength(1);
  } finally {
    await there.close();
  }
});
