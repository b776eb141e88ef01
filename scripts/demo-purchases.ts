import { setTimeout as sleep } from 'node:timers/promises';
import type { PurchaseEvent } from './cdnow.ts';
import { ProgressBar } from './progress-bar.ts';
import { call, type ProvisionedTenant } from './service-api.ts';

const BATCH = 100;
const CONNECTIONS = 4;
const PAGE = 200;
const VISIBLE_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

/** Where the demo sends and reads. */
export interface PurchaseTarget {
  base_url: string;
  ingest_url: string;
  /** The tenant's session and key. */
  tenant: Pick<ProvisionedTenant, 'api_key' | 'session_token'>;
}

/** The fields of a player that the demo reads; `total_deposited` in the smallest unit of the base currency. */
export interface Player {
  id: string;
  anonymous_ids: string[];
  total_deposited: number;
  first_seen_at: string;
  last_seen_at: string;
}

/** Sends all events in batches, over {@link CONNECTIONS} connections at once. */
export async function stream(
  { ingest_url, tenant: { api_key } }: PurchaseTarget,
  events: readonly PurchaseEvent[],
): Promise<void> {
  const bar = new ProgressBar('sending', events.length);
  let next = 0;
  const sendBatches = async () => {
    while (next < events.length) {
      const batch = events.slice(next, next + BATCH);
      next += batch.length;
      const answer = await call<{ data: { accepted: number; rejected: unknown[] } }>(
        `${ingest_url}/v1/events/batch`,
        { method: 'POST', headers: { authorization: `Bearer ${api_key}` }, body: { events: batch } },
      );
      if (answer.data.accepted !== batch.length) {
        throw new Error(`events were refused: ${JSON.stringify(answer.data.rejected)}`);
      }
      bar.advance(batch.length);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendBatches));
}

/** Reads the customers until they are all there with the expected sum, or the time-out is over; other players do not count. */
export async function untilVisible(
  target: PurchaseTarget,
  customers: number,
  expected: bigint,
): Promise<Player[]> {
  const deadline_ms = Date.now() + VISIBLE_TIMEOUT_MS;
  for (;;) {
    const players = await readCustomers(target);
    if ((players.length === customers && sumOf(players) === expected) || Date.now() > deadline_ms)
      return players;
    await sleep(POLL_MS);
  }
}

/** What the players have deposited together, in the smallest unit of the base currency. */
export function sumOf(players: readonly Player[]): bigint {
  return players.reduce((sum, { total_deposited }) => sum + BigInt(total_deposited), 0n);
}

async function readCustomers({ base_url, tenant }: PurchaseTarget): Promise<Player[]> {
  const players: Player[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { data: Player[]; meta: { next_cursor: string | null } } = await call(
      `${base_url}/v1/players?limit=${PAGE}${after}`,
      { headers: { authorization: `Bearer ${tenant.session_token}` } },
    );
    players.push(...page.data);
    cursor = page.meta.next_cursor;
  }
  return players.filter(({ anonymous_ids }) => anonymous_ids.some((id) => id.startsWith('cdnow-')));
}
