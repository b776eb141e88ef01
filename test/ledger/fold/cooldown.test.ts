import { afterAll, beforeAll, expect, it } from 'vitest';
import { addChange, statusChangeOf, type StatusChange } from '../../../src/ledger/fold/status-events.ts';
import { call } from '../../engines/http-client.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { Operator, type Fields, type Sent } from '../../players/identity/operator.ts';

const HOUR = 3_600_000;
const START_MS = Date.UTC(2026, 0, 15, 12);
const iso = (hour: number) => new Date(START_MS + hour * HOUR).toISOString();

let service: TestService;
let operator: Operator;
beforeAll(async () => {
  service = await sharedService();
  operator = await Operator.open(service);
});
afterAll(() => service.close());

const cooledDown = (anonymous_id: string, hour: number, properties: Fields = {}): Sent => ({
  event: 'cooldown_entered',
  anonymous_id,
  timestamp: iso(hour),
  properties,
});

async function cooldownOf(anonymous_id: string): Promise<string | undefined> {
  const [player] = await service.platform.postgres.service<{ cooldown_until: Date | null }[]>`
    select p.cooldown_until from players p
    join player_identities i using (tenant_id, project_id, player_id)
    where tenant_id = ${operator.tenant.tenant_id} and i.anonymous_id = ${anonymous_id}`;
  return player?.cooldown_until?.toISOString();
}

it('a cool-down lasts 24 hours, or until the time that the event names', async () => {
  await operator.fold(cooledDown('day', 0), cooledDown('named', 0, { until: '2026-01-20T01:00:00+01:00' }));
  expect(await cooldownOf('day')).toBe(iso(24));
  expect(await cooldownOf('named')).toBe('2026-01-20T00:00:00.000Z');
});

it('a cool-down is never shortened, in whatever order the events arrive', async () => {
  await operator.fold(cooledDown('one', 0, { until: iso(100) }), cooledDown('one', 1, { until: iso(50) }));
  expect(await cooldownOf('one')).toBe(iso(100));
  await operator.fold(cooledDown('one', 2));
  expect(await cooldownOf('one')).toBe(iso(100));
  await operator.fold(cooledDown('one', -5, { until: iso(200) }));
  expect(await cooldownOf('one')).toBe(iso(200));
  // An event that is not about cool-downs leaves it unchanged.
  await operator.fold({ event: 'self_exclusion_set', anonymous_id: 'one', timestamp: iso(3) });
  expect(await cooldownOf('one')).toBe(iso(200));
});

it('a cool-down counts from the time of receipt when the event’s time is in the future', async () => {
  const before_ms = Date.now();
  const ahead = new Date(before_ms + 20 * HOUR).toISOString();
  await operator.fold({ event: 'cooldown_entered', anonymous_id: 'ahead', timestamp: ahead });
  const after_ms = Date.now();
  const until = Date.parse((await cooldownOf('ahead')) ?? '');
  expect(until).toBeGreaterThanOrEqual(before_ms + 24 * HOUR);
  expect(until).toBeLessThanOrEqual(after_ms + 24 * HOUR);
});

it.each(['tomorrow', '', '2026-02-30T00:00:00Z', '2026-02-03', '9999-01-01T00:00:00Z', 1_800_000_000, null])(
  'refuses %j as the time until which it lasts',
  async (until) => {
    const response = await call(`${service.ingest_url}/v1/events`, operator.tenant.api_key, {
      body: cooledDown('refused', 0, { until }),
    });
    expect(response.status).toBe(422);
    expect(response.body).toMatchObject({ error: { code: 'PROPERTIES_INVALID' } });
  },
);

it('a merge keeps the longer cool-down of the two players', async () => {
  await operator.identify({ anonymous_id: 'known', external_id: 'ann' });
  await operator.identify({ anonymous_id: 'visitor' });
  await operator.fold(cooledDown('known', 0), cooledDown('visitor', 5));
  await operator.identify({ anonymous_id: 'visitor', external_id: 'ann' });
  expect(await cooldownOf('known')).toBe(iso(29));
  await operator.fold(cooledDown('visitor', 1));
  expect(await cooldownOf('known')).toBe(iso(29));
});

const BY = { ingestion_id: '00000000-0000-4000-8000-000000000000', event_index: 0, received_at_ms: 2 };

it('an invalid end accepted by an older version of the service counts as 24 hours', () => {
  for (const until of ['tomorrow', 7, '9999-01-01T00:00:00Z'])
    expect(statusChangeOf('cooldown_entered', { until }, 0, BY)).toEqual({
      cooldown: { until_ms: 24 * HOUR, at_ms: 0, by: BY },
    });
});

it('a cool-down joins with the other changes of a batch', () => {
  const excluded = { self_excluded: { value: true, at_ms: 1, by: BY } };
  const cooled = { cooldown: { until_ms: 5, at_ms: 1, by: BY } };
  const shorter = { cooldown: { until_ms: 4, at_ms: 2, by: BY } };
  expect(addChange([excluded], cooled)).toEqual([{ ...excluded, ...cooled }]);
  expect(addChange([cooled], excluded)).toEqual([{ ...excluded, ...cooled }]);
  expect(addChange([cooled], shorter)).toEqual([cooled]);
});

it('exclusions that are set and lifted stay apart in a batch, up to a number, from which on the last one holds', () => {
  const change = (n: number) => ({ self_excluded: { value: n % 2 === 0, at_ms: n, by: BY } });
  const changes = Array.from({ length: 20 }, (_, n) => change(n));
  const kept = changes.reduce<StatusChange[]>((before, next) => addChange(before, next), []);
  expect(kept).toEqual([...changes.slice(0, 7), change(19)]);
});
