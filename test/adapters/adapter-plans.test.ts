import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  insertApplied,
  insertWebhook,
  removeOldWebhooks,
  selectBodyHash,
  selectKnown,
  storeResult,
} from '../../src/adapters/ledger-queries.ts';
import {
  countAdapters,
  listAdapters,
  selectActiveAdapter,
  selectAdapterBySlug,
} from '../../src/adapters/queries.ts';
import { cancelBonus, keepBonus, listBonuses, selectBonus } from '../../src/adapters/sandbox-queries.ts';
import {
  expireCurrentSecret,
  removeExpiredSecrets,
  selectActiveSecrets,
  selectSecrets,
  selectSigners,
} from '../../src/adapters/secret-queries.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { startExplainedService, type ExplainedService } from '../platform/postgres/statement-plans.ts';

/** Of 20,000 rows a statement that reads all of them reads far more blocks. */
const MOST_BLOCKS = 100;

let explained: ExplainedService;
beforeAll(async () => {
  // No processor: its statements would be seen beside those that are looked at.
  explained = await startExplainedService({ roles: new Set(['api', 'intake']) });
  const { service } = explained;
  const { tenant_id, project_id } = service;
  const sql = service.platform.postgres.service;
  await sql`
    insert into projects (tenant_id, project_id, name) select ${tenant_id}, md5('p' || i)::uuid, 'p' from generate_series(1, 20000) i`;
  await sql`
    insert into adapters (tenant_id, project_id, adapter_id, slug, kind, auth_type, timeout_ms, max_rps, max_in_flight,
      capabilities, is_active, created_at, updated_at)
    select ${tenant_id}, md5('p' || i)::uuid, md5('a' || i)::uuid, 'slug-' || i, 'sandbox', 'none', 5000, 50, 16, '{}',
      true, now(), now() from generate_series(1, 20000) i`;
  await sql`
    insert into adapter_secrets (tenant_id, project_id, adapter_id, secret_id, secret, created_at, expires_at)
    select ${tenant_id}, md5('p' || i)::uuid, md5('a' || i)::uuid, gen_random_uuid(), '', now(),
      case when n = 2 then now() + interval '1 day' end
    from generate_series(1, 20000) i, generate_series(1, 2) n`;
  await sql`
    insert into adapter_webhooks (adapter_slug, event_id, tenant_id, project_id, name, body_hash, result, received_at)
    select 'slug-1', md5('e' || i)::uuid, ${tenant_id}, md5('p1')::uuid, 'bonus-events', '', '{}', now()
    from generate_series(1, 20000) i`;
  await sql`
    insert into sandbox_bonuses (tenant_id, project_id, adapter_slug, grant_id, platform_bonus_id, status, sent,
      created_at, updated_at)
    select ${tenant_id}, ${project_id}, 'sandbox', md5('g' || i)::uuid, gen_random_uuid(), 'active', '{}', now(), now()
    from generate_series(1, 20000) i`;
});
afterAll(async () => explained?.service.close());

/** The statements of `work` that read many blocks. */
async function heavy(work: (tx: Tx) => Promise<unknown>): Promise<unknown[]> {
  const found = await explained.readsOf(work);
  return found.filter(({ blocks }) => blocks > MOST_BLOCKS);
}

it.each(['without statistics', 'with statistics'])(
  '%s statements read few of many adapters and webhooks',
  async (when) => {
    const { tenant_id, project_id, platform } = explained.service;
    const sql = platform.postgres.service;
    if (when === 'with statistics') await explained.analyze();
    const [row] = await selectAdapterBySlug(sql, 'slug-7');
    if (row === undefined) throw new Error('no adapter');
    const now = new Date();
    const key = { tenant_id, adapter_slug: 'slug-1', event_id: randomUUID() };
    const of_sandbox = { tenant_id, project_id, adapter_slug: 'sandbox' };
    const grant_id = randomUUID();
    const kept = { grant_id, platform_bonus_id: randomUUID(), body: '{}', now };
    const webhook = {
      ...key,
      tenant_id,
      project_id,
      name: 'bonus-events',
      body_hash: Buffer.alloc(0),
      received_at: now,
    };
    const works: ((tx: Tx) => Promise<unknown>)[] = [
      (tx) => selectAdapterBySlug(tx, 'slug-7'),
      (tx) => selectActiveAdapter(tx, row),
      (tx) => countAdapters(tx, row, 50),
      (tx) => listAdapters(tx, row, undefined, 50),
      (tx) => selectSecrets(tx, row, now),
      (tx) => selectActiveSecrets(tx, [row]),
      (tx) => expireCurrentSecret(tx, row, now),
      (tx) => removeExpiredSecrets(tx, now, 100),
      (tx) => selectBodyHash(tx, key),
      async (tx) => {
        await insertWebhook(tx, webhook);
        await storeResult(tx, key, {});
      },
      // With the settings of the API, which does not keep the planner from reading whole tables.
      async (tx) => {
        await tx`set local enable_seqscan = on`;
        expect(
          new Set((await selectSigners(tx, ['slug-7', 'slug-8', 'no'], now)).map(({ slug }) => slug)),
        ).toEqual(new Set(['slug-7', 'slug-8']));
        const [known] = await tx<{ event_id: string }[]>`
          select event_id from adapter_webhooks where tenant_id = ${tenant_id} and adapter_slug = 'slug-1' limit 1`;
        const ids = [known?.event_id ?? '', randomUUID()];
        expect(await selectKnown(tx, key, ids)).toHaveLength(1);
        const applied = [randomUUID(), randomUUID()].map((event_id) => ({
          ...webhook,
          event_id,
          result: { a: '"\\' },
        }));
        await insertApplied(tx, webhook, applied);
        await expect(insertApplied(tx, webhook, applied)).rejects.toThrow('a webhook was applied meanwhile');
      },
      (tx) => removeOldWebhooks(tx, new Date(0), 100),
      (tx) => keepBonus(tx, of_sandbox, kept),
      (tx) => selectBonus(tx, of_sandbox, grant_id),
      (tx) => cancelBonus(tx, of_sandbox, grant_id, now),
      (tx) => listBonuses(tx, of_sandbox, undefined, 10),
    ];
    for (const work of works) expect(await heavy(work)).toEqual([]);
  },
);
