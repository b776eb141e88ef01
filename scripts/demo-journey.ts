import { setTimeout as sleep } from 'node:timers/promises';
import {
  customersOf,
  demoJourney,
  endsOf,
  ENDS,
  simulationOf,
  TEMPLATES,
  timeLineOf,
  type Customer,
  type Simulated,
} from './demo-story.ts';
import type { Purchase } from './cdnow.ts';
import { ProgressBar } from './progress-bar.ts';
import { say } from './say.ts';
import { call, type ProvisionedTenant } from './service-api.ts';

/** Every so many customers are simulated: all of them would take half a minute at the rate of a session. */
const SHARE = 10;
/** A simulation takes so many events. */
const MAX_EVENTS = 100;
const CONNECTIONS = 2;
const REACHED_TIMEOUT_MS = 90_000;
const POLL_MS = 50;

interface Run {
  status: string;
  current_node_id: string;
  history: { status: string; due_at?: string | null }[];
}

/** What the demo needs of the service, in the tenant that it has made. */
export interface DemoService {
  base_url: string;
  tenant: ProvisionedTenant;
}

/**
 * Draws a journey, simulates it over what customers really bought, and shows the time line of one customer for each of
 * two ends. Then activates it and lets one customer enter it in real time. `player_of` has the ids of players by
 * anonymous id.
 */
export async function showJourney(
  service: DemoService,
  purchases: readonly Purchase[],
  player_of: ReadonlyMap<string, string>,
  share = SHARE,
): Promise<void> {
  const customers = customersOf(purchases).filter((_one, n) => n % share === 0);
  const { journey_id } = await makeJourney(service);
  say('\nA journey: first purchase, thanks, 30 days for the next one, else a reminder and 90 days more.');
  const runs = await simulateAll(service, journey_id, customers, player_of);
  say('On a virtual clock, over what they bought in 1997 and 1998:');
  for (const line of endsOf([...runs.values()])) say(line);
  for (const end of ['loyal', 'lapsed'] as const) {
    const found = [...runs].find(([, { steps }]) => steps.at(-1)?.node_id === end);
    if (found === undefined) continue;
    const [customer, run] = found;
    say(`\nCustomer ${customer.customer_id} ${ENDS[end]}:`);
    for (const line of timeLineOf(customer, run)) say(line);
  }
  const [customer] = customers;
  if (customer !== undefined) await enterNow(service, journey_id, customer, player_of);
}

async function makeJourney(service: DemoService): Promise<{ journey_id: string }> {
  const make = async (path: string, body: object): Promise<string> => {
    const { data } = await asAdmin<{ data: { id: string } }>(service, path, body);
    return data.id;
  };
  const provider_id = await make('/v1/messaging-providers', {
    name: 'Sandbox',
    kind: 'sandbox',
    channel: 'email',
  });
  const template_ids: Record<string, string> = {};
  for (const [name, subject] of Object.entries(TEMPLATES)) {
    const body = '<p>Your CDNOW team</p>';
    const template = { name, channel: 'email', status: 'active', subject, body };
    template_ids[name] = await make('/v1/templates', template);
  }
  return { journey_id: await make('/v1/journeys', demoJourney(template_ids, provider_id)) };
}

/** Simulates the journey for each customer, who gets an email address for that. */
async function simulateAll(
  service: DemoService,
  journey_id: string,
  customers: readonly Customer[],
  player_of: ReadonlyMap<string, string>,
): Promise<Map<Customer, Simulated>> {
  const bar = new ProgressBar('simulating', customers.length);
  const runs = new Map<Customer, Simulated | undefined>(customers.map((one) => [one, undefined]));
  let next = 0;
  const simulateSome = async () => {
    for (let customer = customers[next++]; customer !== undefined; customer = customers[next++]) {
      const player_id = playerOf(customer, player_of);
      await giveAddress(service, customer);
      const body = { player_id, ...simulationOf(customer, MAX_EVENTS) };
      const path = `/v1/journeys/${journey_id}/simulate`;
      runs.set(customer, (await asAdmin<{ data: Simulated }>(service, path, body)).data);
      bar.advance(1);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, simulateSome));
  return new Map([...runs].flatMap(([customer, run]) => (run === undefined ? [] : [[customer, run]])));
}

const anonymousId = ({ customer_id }: Customer) => `cdnow-${customer_id}`;

function playerOf(customer: Customer, player_of: ReadonlyMap<string, string>): string {
  const player_id = player_of.get(anonymousId(customer));
  if (player_id === undefined) throw new Error(`customer ${customer.customer_id} is not a player`);
  return player_id;
}

async function giveAddress({ base_url, tenant }: DemoService, customer: Customer): Promise<void> {
  const anonymous_id = anonymousId(customer);
  await call(`${base_url}/v1/players/identify`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.api_key}` },
    body: { anonymous_id, traits: { email: `${anonymous_id}@example.com` } },
  });
}

/**
 * Activates the journey and starts a run of it. The imported purchases start none: an event that happened more than a day
 * ago never does.
 */
async function enterNow(
  service: DemoService,
  journey_id: string,
  customer: Customer,
  player_of: ReadonlyMap<string, string>,
): Promise<void> {
  const path = `/v1/journeys/${journey_id}`;
  await asAdmin(service, `${path}/activate`, {});
  const started = await asAdmin<{ data: { run_id: string } }>(service, `${path}/trigger`, {
    player_id: playerOf(customer, player_of),
    context: { cds: customer.purchases[0].cds },
  });
  const deadline_ms = Date.now() + REACHED_TIMEOUT_MS;
  for (;;) {
    const { data: run } = await asAdmin<{ data: Run }>(service, `${path}/runs/${started.data.run_id}`);
    const { status = '', due_at } = run.history.at(-1) ?? {};
    if (run.current_node_id === 'again' && status === 'waiting' && typeof due_at === 'string') {
      say(`\nThe journey is active now. Customer ${customer.customer_id} has entered it in real time:`);
      say(`  welcome was sent, and the run waits at again until ${due_at.slice(0, 10)}.`);
      return;
    }
    if (run.status !== 'running' || Date.now() > deadline_ms) {
      throw new Error(`the run does not reach its first wait: it is ${run.status}`);
    }
    await sleep(POLL_MS);
  }
}

/** Posts the body as the tenant's owner; without one it reads. */
function asAdmin<Answer>({ base_url, tenant }: DemoService, path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${tenant.session_token}` };
  return call<Answer>(
    `${base_url}${path}`,
    body === undefined ? { headers } : { method: 'POST', headers, body },
  );
}
