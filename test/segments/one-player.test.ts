import { afterAll, beforeAll, expect, it } from 'vitest';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { compileMatrix } from '../../src/segments/sql/matrix.ts';
import { startTestService, type TestService } from '../engines/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ roles: new Set(['api', 'intake']) });
});
afterAll(async () => service?.close());

it('a query about one player reads only that player’s granules', async () => {
  const { clickhouse } = service.platform;
  const { tenant_id, project_id } = service;
  await clickhouse.command(
    `insert into events (tenant_id, project_id, event, player_id, occurred_at, received_at, ingestion_id, event_index,
      base_amount, base_payout, properties, revision)
    select {tenant_id:UUID}, {project_id:UUID}, 'login', reinterpret(MD5(toString(number % 2000)), 'UUID'),
      now64(3) - toIntervalSecond(number), now64(3), generateUUIDv4(), 0, null, null, '{}', 0
    from numbers(200000)`,
    { tenant_id, project_id },
  );
  const { sql, params } = compileMatrix(
    [
      readDefinition({
        operator: 'AND',
        conditions: [{ type: 'event', event: 'login', aggregate: 'count', op: 'gt', value: 3 }],
      }),
    ],
    Date.now(),
  );
  const [one] = await clickhouse.query<{ player_id: string }>(
    'select player_id from events where tenant_id = {tenant_id:UUID} limit 1',
    { tenant_id, project_id },
  );
  const plan = await clickhouse.query<{ explain: string }>(`explain indexes = 1 ${sql}`, {
    ...params,
    tenant_id,
    project_id,
    now_ms: Date.now(),
    players: [one?.player_id],
    former: [],
  });
  const text = plan.map(({ explain }) => explain).join('\n');
  const events = text.slice(text.indexOf('events_by_player'));
  const [, read, all] = /Granules: (\d+)\/(\d+)/.exec(events.slice(events.indexOf('PrimaryKey'))) ?? [];
  expect(Number(all), text).toBeGreaterThan(20);
  expect(Number(read), text).toBeLessThanOrEqual(2);
});
