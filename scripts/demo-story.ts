import { toEvent, type Purchase } from './cdnow.ts';
import { dollars } from './say.ts';

// The journey of the demo, and how its runs are described.

const DAY_MS = 86_400_000;

/** A customer's purchases, the first one first. */
export interface Customer {
  customer_id: string;
  purchases: readonly [Purchase, ...Purchase[]];
}

/** What a simulation answers, so far as the demo tells it. */
export interface Simulated {
  steps: readonly { node_id: string; node_type: string; outcome: string; at_ms: number; note?: string }[];
  messages: readonly { node_id: string; recipient: string; subject?: string }[];
}

/** How a run of the journey may come out, by its last node. */
export const ENDS = {
  loyal: 'bought again within 30 days',
  returned: 'came back within 90 days after a reminder',
  lapsed: 'did not come back in time, and is marked as lapsed',
} as const;

/** The templates of the journey's messages; their names are those of its nodes. */
export const TEMPLATES = {
  welcome: 'Thank you for your order ({{ journey.context.trigger_payload.cds }} × CD)',
  thanks: 'Welcome back so soon',
  reminder: 'We have new CDs for you',
  welcome_back: 'Nice to see you again',
} as const;

/**
 * First purchase → thanks → 30 days for the next one → else a reminder, and 90 days more. `template_ids` has the ids of
 * {@link TEMPLATES}.
 */
export function demoJourney(template_ids: Readonly<Record<string, string>>, provider_id: string) {
  const mail = (id: keyof typeof TEMPLATES, next: string) => {
    return { id, type: 'send_message', template_id: template_ids[id], provider_id, next };
  };
  const purchase = (id: string, days: number, next: string, timeout_next: string) => {
    const event = 'deposit_confirmed';
    return { id, type: 'wait_for_event', event, timeout_ms: days * DAY_MS, next, timeout_next };
  };
  const nodes = [
    mail('welcome', 'again'),
    purchase('again', 30, 'thanks', 'reminder'),
    mail('thanks', 'loyal'),
    { id: 'loyal', type: 'end' },
    mail('reminder', 'back'),
    purchase('back', 90, 'welcome_back', 'mark'),
    mail('welcome_back', 'returned'),
    { id: 'returned', type: 'end' },
    { id: 'mark', type: 'update_player', set: { traits: { lapsed: true } }, next: 'lapsed' },
    { id: 'lapsed', type: 'end' },
  ];
  return {
    name: 'First purchase',
    trigger: { kind: 'event', event: 'deposit_confirmed' },
    graph: { start_node_id: 'welcome', nodes },
    settings: { re_entry: { mode: 'once' } },
  };
}

/** The purchases by customer, in the order of their days. */
export function customersOf(purchases: readonly Purchase[]): Customer[] {
  const bought = new Map<string, Purchase[]>();
  for (const purchase of purchases) {
    const others = bought.get(purchase.customer_id);
    if (others === undefined) bought.set(purchase.customer_id, [purchase]);
    else others.push(purchase);
  }
  return [...bought].flatMap(([customer_id, all]) => {
    const [first, ...others] = all.toSorted((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0));
    return first === undefined ? [] : [{ customer_id, purchases: [first, ...others] as const }];
  });
}

/** What to simulate: the first purchase starts the run, the others happen after it as long as they really did. */
export function simulationOf({ purchases: [first, ...others] }: Customer, most: number) {
  const start_ms = timeOf(first);
  return {
    trigger_payload: toEvent(first).properties,
    events: others.slice(0, most).map((purchase) => {
      const { event, properties } = toEvent(purchase);
      return { at_ms: timeOf(purchase) - start_ms, event, properties };
    }),
  };
}

function timeOf(purchase: Purchase): number {
  return Date.parse(toEvent(purchase).timestamp);
}

/** A simulated run as lines: the date and the day of each step, and what happened. */
export function timeLineOf({ purchases }: Customer, { steps, messages }: Simulated): string[] {
  const start_ms = timeOf(purchases[0]);
  return steps.map(({ node_id, node_type, outcome, at_ms, note }) => {
    const at = new Date(start_ms + at_ms);
    const date = at.toISOString().slice(0, 10);
    const day = `day ${String(Math.floor(at_ms / DAY_MS)).padStart(3)}`;
    const message = messages.find((one) => one.node_id === node_id);
    const sent = message && `email to ${message.recipient}: "${message.subject ?? ''}"`;
    const came = outcome === 'event' ? purchases.find((one) => timeOf(one) === at.getTime()) : undefined;
    const paid = came && `a purchase of ${dollars(BigInt(came.amount_cents))}`;
    const text = sent ?? paid ?? note ?? OUTCOME_TEXTS[`${node_type} ${outcome}`] ?? outcome;
    return `  ${date}  ${day}  ${node_id.padEnd(12)}  ${text}`;
  });
}

const OUTCOME_TEXTS: Readonly<Record<string, string>> = {
  'wait_for_event timeout': 'no purchase came',
  'update_player updated': 'the player gets lapsed = true',
  'end ended': 'the end',
};

/** How many runs came to each end, as lines. */
export function endsOf(runs: readonly Simulated[]): string[] {
  const last = runs.map(({ steps }) => steps.at(-1)?.node_id);
  return Object.entries(ENDS).map(([node_id, meaning]) => {
    const ended = last.filter((one) => one === node_id).length;
    return `  ${String(ended).padStart(4)}  ${meaning}`;
  });
}
