import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { showJourney } from '../../scripts/demo-journey.ts';
import { customersOf, endsOf, simulationOf, timeLineOf, type Simulated } from '../../scripts/demo-story.ts';
import { parsePurchase, type Purchase } from '../../scripts/cdnow.ts';
import { messagingClient } from '../engage/messaging/messaging-client.ts';
import { call } from '../engines/http-client.ts';
import { startTestService, type TestService } from '../engines/service.ts';

const DAY_MS = 86_400_000;

/** Three customers: one buys again soon, one after the reminder, one never. */
const purchases: Purchase[] = [
  ' 00004 0001 19970118  2   29.73',
  ' 00004 0001 19970101  2   29.33',
  ' 00004 0001 19970802  1   14.96',
  ' 00021 0002 19970101  3   63.34',
  ' 00021 0002 19970315  1   11.77',
  ' 00050 0003 19970102  1    6.79',
].map((line, i) => parsePurchase(line, i + 1));

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => service?.close());
afterEach(() => vi.restoreAllMocks());

it('the purchases of a customer become the events of a simulation, with their true distances', () => {
  const [first] = customersOf(purchases);
  expect(first?.customer_id).toBe('00004');
  const { trigger_payload, events } = simulationOf(first!, 1);
  expect(trigger_payload).toMatchObject({ amount: 2_933, cds: 2 });
  expect(events).toMatchObject([
    { at_ms: 17 * DAY_MS, event: 'deposit_confirmed', properties: { amount: 2_973 } },
  ]);
});

it('a run is told with the true date and the day of each step', () => {
  const [first] = customersOf(purchases);
  const step = (node_id: string, node_type: string, outcome: string, days: number) => {
    return { node_id, node_type, outcome, at_ms: days * DAY_MS };
  };
  const run: Simulated = {
    steps: [
      step('welcome', 'send_message', 'queued', 0),
      step('again', 'wait_for_event', 'event', 17),
      { ...step('thanks', 'send_message', 'queued', 17), note: 'the message would not go out' },
      step('back', 'wait_for_event', 'timeout', 107),
      step('loyal', 'end', 'ended', 107),
    ],
    messages: [{ node_id: 'welcome', recipient: 'a@example.com', subject: 'Thank you' }],
  };
  expect(timeLineOf(first!, run)).toEqual([
    '  1997-01-01  day   0  welcome       email to a@example.com: "Thank you"',
    '  1997-01-18  day  17  again         a purchase of $29.73',
    '  1997-01-18  day  17  thanks        the message would not go out',
    '  1997-04-18  day 107  back          no purchase came',
    '  1997-04-18  day 107  loyal         the end',
  ]);
  expect(endsOf([run])[0]).toBe('     1  bought again within 30 days');
});

it('the demo simulates a journey for customers, tells two runs, and starts one in real time', async () => {
  const client = messagingClient(service);
  const player_of = new Map<string, string>();
  for (const { customer_id } of customersOf(purchases)) {
    const anonymous_id = `cdnow-${customer_id}`;
    const response = await call(`${service.base_url}/v1/players/identify`, service.api_key, {
      body: { anonymous_id },
    });
    expect(response.status).toBe(200);
    const { data } = await client.api<{ id: string; anonymous_ids: string[] }[]>(
      'GET',
      '/v1/players?limit=200',
    );
    for (const { id, anonymous_ids } of data) for (const one of anonymous_ids) player_of.set(one, id);
  }
  let printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  await showJourney({ base_url: service.base_url, tenant: service }, purchases, player_of, 1);
  vi.restoreAllMocks();
  for (const line of [
    '     1  bought again within 30 days',
    '     1  came back within 90 days after a reminder',
    '     1  did not come back in time, and is marked as lapsed',
    '  1997-01-01  day   0  welcome       email to cdnow-00004@example.com: "Thank you for your order (2 × CD)"',
    '  1997-01-18  day  17  again         a purchase of $29.73',
    '  1997-05-02  day 120  mark          the player gets lapsed = true',
  ]) {
    expect(printed.split('\n')).toContain(line);
  }
  expect(printed).toMatch(/the run waits at again until \d{4}-\d\d-\d\d\./);
  // What was simulated has not happened.
  const lapsed = await client.api('GET', `/v1/players/${player_of.get('cdnow-00050')}`);
  expect(lapsed.data['custom_attributes']).not.toHaveProperty('lapsed');
});
