// Journeys with runs, for the files that test their screens.
import { expect } from 'vitest';
import { until } from '../engines/until.ts';
import { messagingClient, type MessagingClient } from '../engage/messaging/messaging-client.ts';
import { openConsole, type ConsoleBrowser } from './browser.ts';

export type Body = Record<string, unknown>;

export const DAY_MS = 86_400_000;
export let front: ConsoleBrowser;
export let client: MessagingClient;

/** Starts the service and the browser that the tests of a file share. */
export async function openJourneys(): Promise<void> {
  front = await openConsole();
  client = messagingClient(front.service);
}

export const END = { id: 'end', type: 'end' };
/** Sorts by what started it: big deposits wait for an event, the others a day; all end at the same node. */
export const SORTS = {
  start_node_id: 'size',
  nodes: [
    {
      id: 'size',
      type: 'branch',
      name: 'Size of the deposit',
      branches: [
        { name: 'big', condition: { where: { 'trigger_payload.amount': { gte: 5_000 } } }, next: 'again' },
      ],
      else_next: 'day',
    },
    {
      id: 'again',
      type: 'wait_for_event',
      event: 'custom_again',
      timeout_ms: 3 * DAY_MS,
      next: 'mark',
      timeout_next: 'end',
    },
    { id: 'mark', type: 'update_player', set: { traits: { came_again: true } }, next: 'end' },
    { id: 'day', type: 'wait', duration_ms: DAY_MS, next: 'end' },
    END,
  ],
};

/** Creates a journey that the API starts; returns its id. */
export async function make(name: string, rest: Body = {}): Promise<string> {
  const body = { name, trigger: { kind: 'api' }, graph: SORTS, settings: {}, ...rest };
  const { status, data, error } = await client.api('POST', '/v1/journeys', body);
  expect(status, JSON.stringify(error)).toBe(201);
  return String(data['id']);
}

export async function makeActive(name: string, rest: Body = {}): Promise<string> {
  const id = await make(name, rest);
  const { status, error } = await client.api('POST', `/v1/journeys/${id}/activate`);
  expect(status, JSON.stringify(error)).toBe(200);
  return id;
}

/** Starts a run with this amount, and waits until it stands at the node; returns its id. */
export async function runTo(id: string, player_id: string, amount: number, node_id: string): Promise<string> {
  const context = { trigger_payload: { amount } };
  const { status, data, error } = await client.api('POST', `/v1/journeys/${id}/trigger`, {
    player_id,
    context,
  });
  expect(status, JSON.stringify(error)).toBe(201);
  const run_id = String(data['run_id']);
  await until(`the run stands at ${node_id}`, async (saw) => {
    const run = saw((await client.api('GET', `/v1/journeys/${id}/runs/${run_id}`)).data);
    return run['current_node_id'] === node_id ? run : undefined;
  });
  return run_id;
}

export const stored = async (id: string) => (await client.api('GET', `/v1/journeys/${id}`)).data;

/** Waits until so many runs are counted as having come to the node. */
export async function counted(id: string, node_id: string, entered: number): Promise<void> {
  await until(`${entered} runs are counted at ${node_id}`, async (saw) => {
    const { data } = saw(
      await client.api<{ nodes: { node_id: string; entered: number }[] }>('GET', `/v1/journeys/${id}/stats`),
    );
    return data.nodes.some((node) => node.node_id === node_id && node.entered === entered);
  });
}
