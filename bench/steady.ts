import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { mixedEvents } from './events.ts';

export const EVENTS_PER_SECOND = 1_000;
const PLAYERS = 2_000;
const TICK_MS = 10;
/** With more requests at once the sockets of the load generator would limit the measurement. */
const MAX_RUNNING = 256;

/** The `ready` values of a bench server. */
export type Target = Record<string, string>;

/** Sends `per_second` single events to intake until `stop`. It may send fewer, never more. */
export async function sendSteadily(
  target: Target,
  stop: AbortSignal,
  per_second = EVENTS_PER_SECOND,
): Promise<{ sent: number; elapsed_ms: number }> {
  const started_ms = performance.now();
  const running = new Set<Promise<unknown>>();
  let sent = 0;
  let events: unknown[] = [];
  while (!stop.aborted) {
    const due = Math.floor(((performance.now() - started_ms) * per_second) / 1_000);
    for (; sent < due && running.size < MAX_RUNNING; sent++) {
      // Events of one second at a time: all of them would take more memory than the measured service.
      if (events.length === 0) events = mixedEvents(EVENTS_PER_SECOND, PLAYERS, `steady-${sent}`).reverse();
      const one = post(target, events.pop()).finally(() => running.delete(one));
      running.add(one);
    }
    await sleep(TICK_MS);
  }
  await Promise.all(running);
  return { sent, elapsed_ms: performance.now() - started_ms };
}

/** Keep-alive connections of node:http: `fetch` took twice as much CPU time, which the service needs. */
const agent = new Agent({ keepAlive: true, maxSockets: MAX_RUNNING });

/** Sends one request to intake. Rejects on anything but a 202, because errors must not be measured. */
export function post(target: Target, body: unknown, path = '/v1/events'): Promise<void> {
  const text = JSON.stringify(body);
  const headers = {
    Authorization: `Bearer ${target['api_key']}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${target['ingest_url']}${path}`, { method: 'POST', agent, headers }, (answer) => {
      answer.on('error', reject).on('end', resolve).resume();
      if (answer.statusCode !== 202) reject(new Error(`intake answered ${answer.statusCode}`));
    });
    sent.on('error', reject).end(text);
  });
}
