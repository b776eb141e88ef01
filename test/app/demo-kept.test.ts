import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Purchase } from '../../scripts/cdnow.ts';
import { fillDemo, movedTo } from '../../scripts/demo-kept.ts';
import { messagingClient } from '../engage/messaging/messaging-client.ts';
import { startTestService, type TestService } from '../engines/service.ts';

const CUSTOMERS = 130;

/** Each customer bought once, on one of the last ten days of June 1998. */
const purchases: Purchase[] = Array.from({ length: CUSTOMERS }, (_none, n) => {
  const customer_id = String(n).padStart(5, '0');
  return { row: n + 1, customer_id, date: `1998-06-${21 + (n % 10)}`, cds: 1, amount_cents: 1_999 };
});

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(async () => service?.close());

it('purchases are moved by whole days', () => {
  const [first] = movedTo(purchases, '2024-03-01');
  expect(first).toEqual({ ...purchases[0], date: '2024-02-21' });
});

it('the kept demo has something for each screen, and no message or bonus for who is protected', async () => {
  const { api } = messagingClient(service);
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await fillDemo(service, purchases);
  await expect(fillDemo(service, purchases)).rejects.toThrow('the demo is filled already');
  printed.mockRestore();

  const list = async (path: string) => (await api<Record<string, unknown>[]>('GET', path)).data;
  const players = await list('/v1/players?limit=200');
  const protected_ids = new Set<unknown>();
  for (const { id } of players) {
    const channels = await list(`/v1/players/${String(id)}/reachability`);
    const codes = channels.flatMap((channel) => channel['codes'] as string[]);
    if (codes.some((code) => /SELF_EXCLUDED|COOLDOWN/.test(code))) protected_ids.add(id);
  }
  expect(protected_ids.size).toBe(5);

  const campaigns = await list('/v1/campaigns');
  expect(campaigns.map(({ status }) => String(status)).toSorted()).toEqual(['scheduled', 'sent']);
  const sent = campaigns.find(({ status }) => status === 'sent');
  const recipients = await list(`/v1/campaigns/${String(sent?.['id'])}/recipients?limit=200`);
  const reached = recipients.filter(({ status }) => status === 'sent');
  expect(reached.length).toBeGreaterThan(CUSTOMERS / 2);
  expect(reached.filter(({ player_id }) => protected_ids.has(player_id))).toEqual([]);

  const grants = await list('/v1/bonus-grants?limit=200');
  expect(grants.length).toBeGreaterThan(30);
  expect(grants.filter(({ player_id }) => protected_ids.has(player_id))).toEqual([]);
  expect(await list('/v1/segments')).toHaveLength(3);
  expect(await list('/v1/vip-tiers')).toHaveLength(3);
  const [journey] = await list('/v1/journeys');
  expect(await list(`/v1/journeys/${String(journey?.['id'])}/runs?limit=200`)).toHaveLength(80);
});
