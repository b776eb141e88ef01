import { afterAll, beforeAll, expect, it } from 'vitest';
import { selectRestating, type Restating } from '../../../src/analytics/insights/insight-queries.ts';
import { localDate } from '../../../src/platform/local-intervals.ts';
import { TimeZone, UTC_ZONE } from '../../../src/platform/time-zone.ts';
import { accept, newPlayer } from '../../console/events/event-client.ts';
import { counted, type TestService, type TestTenant } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';

const RANGE = { from_ms: Date.UTC(2026, 6, 1), to_ms: Date.UTC(2026, 6, 11) };

let service: TestService;
let tenant: TestTenant;
beforeAll(async () => {
  service = await sharedService();
  tenant = await service.newTenant();
});
afterAll(() => service?.close());

/** What the corrections of these deposits restate; they are never committed, so that nothing writes them meanwhile. */
async function restatingOf(transaction_ids: readonly string[]): Promise<Restating | undefined> {
  const { tenant_id, project_id } = tenant;
  let found: Restating | undefined;
  const rolled_back = new Error('rolled back');
  await service.platform.postgres.service
    .begin(async (tx) => {
      await tx`
        insert into event_corrections (tenant_id, project_id, reference, ordinal)
        select ${tenant_id}::uuid, ${project_id}::uuid, l.reference, l.ordinal
        from ledger l join projects p using (project_no)
        where p.tenant_id = ${tenant_id} and p.project_id = ${project_id}
          and exists (select from unnest(${transaction_ids as string[]}::text[]) id where l.reference like '%' || id)`;
      [found] = await selectRestating(tx, { tenant_id, project_id }, RANGE);
      throw rolled_back;
    })
    .catch((error: unknown) => {
      if (error !== rolled_back) throw error;
    });
  return found;
}

it('days that are restated are days of the zone, also where they begin at half past', async () => {
  const player_id = await newPlayer(service, tenant, { external_id: 'ann' });
  // In Kolkata 00:10 and 12:00 of 2 July, and 00:05 of 4 July.
  const times = ['2026-07-01T18:40:00Z', '2026-07-02T06:30:00Z', '2026-07-03T18:35:00Z'];
  const deposits = times.map((timestamp, i) => ({
    event: 'deposit_confirmed',
    player_id,
    timestamp,
    properties: { amount: 100, currency: 'EUR', transaction_id: `restated-${i}`, payment_method: 'card' },
  }));
  await accept(service, tenant, ...deposits);
  await counted(service.platform);
  const found = await restatingOf(times.map((_, i) => `restated-${i}`));
  const zone = TimeZone.named('Asia/Kolkata') ?? UTC_ZONE;
  const days = found?.quarters_ms.map((at_ms) => localDate(zone, Number(at_ms)));
  expect(found?.is_everything).toBe(false);
  expect([...new Set(days)].toSorted()).toEqual(['2026-07-02', '2026-07-04']);
});
