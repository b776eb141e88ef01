import { call, type ProvisionedTenant } from '../../scripts/service-api.ts';
import type { ExpectedPlayer, Totals } from './plan.ts';

/** Where a tenant's players are read. */
export interface ReadSide {
  base_url: string;
  tenant: ProvisionedTenant;
}

interface TimelineEntry {
  event: string;
  timestamp: string;
  properties: { n?: number };
}

/**
 * Compares a player with what is expected of it: each event once, in the order of the client by event time, the totals and
 * the last identify. Returns the differences.
 */
export async function differencesOf(read: ReadSide, expected: ExpectedPlayer): Promise<string[]> {
  const { ids, events, totals, last_identify } = expected;
  const name = Object.values(ids).join();
  const player_id = await playerIdOf(read, ids);
  const found = await timelineOf(read, player_id);
  const { data: player } = await get<{ data: Totals & { custom_attributes: { n?: number } } }>(
    read,
    `players/${player_id}`,
  );
  const wrong: string[] = [];
  const times = new Map<string, number>();
  for (const { event, properties } of found) {
    const key = `${event} ${properties.n}`;
    times.set(key, (times.get(key) ?? 0) + 1);
  }
  for (const { n, event } of events) {
    const key = `${event} ${n}`;
    const count = times.get(key) ?? 0;
    if (count !== 1) wrong.push(`${name}: ${key} is there ${count} times`);
    times.delete(key);
  }
  for (const key of times.keys()) wrong.push(`${name}: ${key} was not sent`);
  wrong.push(...disorderOf(found).map((text) => `${name}: ${text}`));
  for (const [sum, value] of Object.entries(totals)) {
    const actual = player[sum as keyof Totals];
    if (actual !== value) wrong.push(`${name}: ${sum} is ${actual}, not ${value}`);
  }
  const { n } = player.custom_attributes;
  if (n !== last_identify) wrong.push(`${name}: the last identify is ${n}, not ${last_identify}`);
  return wrong;
}

/** By event time no event is before one that the client got earlier; events of one millisecond have no order. */
function disorderOf(newest_first: readonly TimelineEntry[]): string[] {
  const wrong: string[] = [];
  let earliest = Infinity;
  let at = '';
  let earliest_after = Infinity;
  for (const { timestamp, properties } of newest_first) {
    const n = properties.n ?? 0;
    if (timestamp !== at) {
      earliest_after = earliest;
      at = timestamp;
    }
    if (n > earliest_after) wrong.push(`event ${n} of ${timestamp} is before an earlier one`);
    earliest = Math.min(earliest, n);
  }
  return wrong;
}

/** Every event of a player, the newest first by event time. */
async function timelineOf(read: ReadSide, player_id: string): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const after = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { data: TimelineEntry[]; meta: { next_cursor: string | null } } = await get(
      read,
      `players/${player_id}/timeline?limit=200${after}`,
    );
    entries.push(...page.data);
    cursor = page.meta.next_cursor;
  }
  return entries;
}

async function playerIdOf({ base_url, tenant }: ReadSide, ids: ExpectedPlayer['ids']): Promise<string> {
  const { data } = await call<{ data: { player_id: string } }>(`${base_url}/v1/players/identify`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.api_key}` },
    body: ids,
  });
  return data.player_id;
}

function get<Answer>({ base_url, tenant }: ReadSide, path: string): Promise<Answer> {
  return call<Answer>(`${base_url}/v1/${path}`, {
    headers: { authorization: `Bearer ${tenant.session_token}` },
  });
}
