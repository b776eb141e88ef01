import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listBlockedSends, listExclusions } from '../../../src/console/compliance/exclusion-queries.ts';
import { isSameAddressSql } from '../../../src/engage/messaging/suppression-queries.ts';
import { keyOfText } from '../../../src/protection/exclusions/address-queries.ts';
import { listSuppressions } from '../../../src/engage/messaging/suppressions/queries.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { startExplainedService, type ExplainedService } from '../../platform/postgres/statement-plans.ts';

/** Of 20,000 rows a statement that reads all of them reads far more blocks. */
const MOST_BLOCKS = 150;
const SIZE = 20_000;
const PAGE = 20;

let explained: ExplainedService;
const project_id = randomUUID();
beforeAll(async () => {
  explained = await startExplainedService();
  const { service } = explained;
  const { tenant_id } = service;
  const sql = service.platform.postgres.service;
  const each = sql`generate_series(1, ${SIZE}::integer) i`;
  const ago = sql`now() - i * interval '1 minute'`;
  await sql`
    insert into projects (tenant_id, project_id, name, created_at) values (${tenant_id}, ${project_id}, 'p', now())`;
  // What is asked for are the oldest rows: a scan of the list reads all of it before it has found them.
  await sql`
    insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, status, error_code, enqueued_at)
    select ${tenant_id}, ${project_id}, new_id(), ${randomUUID()}, new_id(), 'email', 'failed',
      case when i > ${SIZE - PAGE}::integer then 'SKIPPED_AT_RISK' else 'SKIPPED_BANNED' end, ${ago}
    from ${each}`;
  await sql`
    insert into suppressions (tenant_id, channel, address, reason, created_at)
    select ${tenant_id}, 'email', i || '@example.com',
      case when i > ${SIZE - PAGE}::integer then 'complaint' else 'bounce' end, ${ago}
    from ${each}`;
  // Breaks that are over, exclusions that were lifted, and a few of each that are in force.
  await sql`
    insert into player_exclusions (tenant_id, project_id, exclusion_id, player_id, kind, since, accepted_at, recorded_at,
      ends_at, source, ended_at, end_source)
    select ${tenant_id}, ${project_id}, new_id(), new_id(), case when i % 2 = 0 then 'cooldown' else 'self_exclusion' end,
      ${ago}, ${ago}, ${ago}, case when i % 2 = 0 then now() + (i - ${SIZE - PAGE}::integer) * interval '1 minute' end, 'event',
      case when i % 2 = 1 and i <= ${SIZE - PAGE}::integer then now() end,
      case when i % 2 = 1 and i <= ${SIZE - PAGE}::integer then 'event' end
    from ${each}`;
});
afterAll(async () => explained?.service.close());

it.each(['without statistics', 'with statistics'])(
  '%s narrowed lists read few of many rows',
  async (when) => {
    if (when === 'with statistics') await explained.analyze();
    const { tenant_id } = explained.service;
    const project = { tenant_id, project_id };
    const now = new Date();
    const after = [String(now.getTime() * 1_000), randomUUID()] as const;
    for (const position of [undefined, after]) {
      const lists: ((tx: Tx) => Promise<readonly unknown[]>)[] = [
        async (tx) => listBlockedSends(tx, project, { code: 'SKIPPED_AT_RISK' }, position, PAGE),
        async (tx) => listBlockedSends(tx, project, {}, position, PAGE),
        async (tx) => listSuppressions(tx, tenant_id, { reason: 'complaint' }, position, PAGE),
        async (tx) => listExclusions(tx, project, { state: 'active' }, now, position, PAGE),
        async (tx) => listExclusions(tx, project, { state: 'ended' }, now, position, PAGE),
        async (tx) => listExclusions(tx, project, {}, now, position, PAGE),
      ];
      for (const list of lists) {
        let rows = 0;
        const found = await explained.readsOf(async (tx) => {
          rows = (await list(tx)).length;
        });
        expect(rows, String(list)).toBe(PAGE);
        expect(
          found.filter(({ blocks }) => blocks > MOST_BLOCKS),
          String(list),
        ).toEqual([]);
      }
    }
  },
);

it('a telephone number is found by its index in the role of the API, whose row-level security bars functions', async () => {
  const { tenant_id, platform } = explained.service;
  await platform.postgres.service`
    insert into suppressions (tenant_id, channel, address, reason, created_at)
    select ${tenant_id}, 'sms', '+49 151 ' || i, 'manual', now() from generate_series(1000000, ${1_000_000 + SIZE}::integer) i`;
  await explained.analyze();
  const plan = await platform.postgres.asTenant(tenant_id, async (tx) => {
    const key = keyOfText(tx, 'sms', '0049151-1000007');
    return tx`
      explain (analyze, costs off)
      select from suppressions x where ${isSameAddressSql(tx, { tenant_id: tx`${tenant_id}`, channel: 'sms', key })}`;
  });
  const text = JSON.stringify(plan);
  expect(text).toContain('suppressions_dialled');
  expect(text).not.toContain('Seq Scan');
  expect(text).toContain('rows=1');
});
