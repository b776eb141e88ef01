import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { effectiveRules } from '../../../src/tenants/licence/effective.ts';
import { messageRulesOf } from '../../../src/tenants/licence/message-gate.ts';
import { recipientOf, verdictSql, type Gate } from '../../../src/engage/messaging/gate-queries.ts';
import { connectPool } from '../../../src/platform/postgres/pool.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

const GATE: Gate = {
  channel: 'email',
  per_day: 3,
  per_week: 10,
  consent_required: false,
  quiet_hours: null,
  // The most that a licence asks.
  licence: messageRulesOf(effectiveRules('ukgc', {}, new Date()), 'email'),
  now: new Date(),
  quiet_zones: [],
  quiet_until: [],
  known_zones: [],
};
const MEMBERS = 20;
/** With these the gate comes to the caps. */
const CONSENTING = { rg_risk: 'none', consent: { email: { casino: true, betting: true, bingo: true } } };

let postgres: Awaited<ReturnType<typeof openTestPostgres>>;
let sql: ReturnType<typeof connectPool>;
const project = { tenant_id: randomUUID(), project_id: randomUUID() };
beforeAll(async () => {
  postgres = await openTestPostgres({ prepared: true });
  sql = connectPool(postgres.url);
  const { tenant_id, project_id } = project;
  await sql`alter table message_sends set (autovacuum_enabled = off)`;
  await sql`
    insert into tenants (tenant_id, name, base_currency, created_at) values (${tenant_id}, 't', 'EUR', now())`;
  await sql`
    insert into projects (tenant_id, project_id, name, created_at) values (${tenant_id}, ${project_id}, 'p', now())`;
  await sql`
    insert into players (tenant_id, project_id, player_id, email, default_currency_code, custom_attributes, created_at,
      updated_at)
    select ${tenant_id}, ${project_id}, gen_random_uuid(), 'x@example.com', 'EUR',
      ${JSON.stringify(CONSENTING)}::text::jsonb, now(), now()
    from generate_series(1, ${MEMBERS}::integer)`;
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await postgres?.close();
});

interface Explained {
  'QUERY PLAN': { Plan: { 'Shared Hit Blocks': number; 'Shared Read Blocks': number } }[];
}

// The first campaign of an installation: all rows belong to one project, and there are no statistics yet. The plan
// depends on the number of rows.
it.each([5_000, 20_000, 60_000])(
  'the gate looks up a player’s messages by the player’s index before the table has statistics: %i rows',
  async (size) => {
    const { tenant_id, project_id } = project;
    await sql`
      insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, status, enqueued_at)
      select ${tenant_id}, ${project_id}, new_id(), ${randomUUID()}, new_id(), 'email', 'queued', now()
      from generate_series((select count(*) from message_sends) + 1, ${size}::bigint)`;
    for (const role of ['engagement_api', 'engagement_service']) {
      const [explained] = await sql.begin(async (tx) => {
        await tx`select set_config('app.tenant_id', ${tenant_id}, true), set_config('role', ${role}, true)`;
        return tx<Explained[]>`
          explain (analyze, buffers, verbose, format json)
          select ${verdictSql(tx, GATE, recipientOf(tx, 'email'), tx`'any'`)} from players p
          where tenant_id = ${tenant_id} and project_id = ${project_id}`;
      });
      const plan = explained?.['QUERY PLAN'][0]?.Plan;
      const blocks = (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
      expect(blocks).toBeGreaterThan(0);
      // Functions of SQL are part of the query; a call costs 11 µs.
      expect(JSON.stringify(explained)).not.toMatch(/consent_(to|value)/);
      // A few blocks per member. A plan that scans the primary key reads hundreds per member.
      expect(blocks, role).toBeLessThan(MEMBERS * 20);
    }
  },
);

// A project whose players have addresses, many of them the same one, and of whom many are banned.
it.each(['without', 'with'])(
  'the gate looks up an address by its index, %s statistics',
  async (statistics) => {
    const { tenant_id } = project;
    const project_id = randomUUID();
    if (statistics === 'without') await sql`alter table players set (autovacuum_enabled = off)`;
    await sql`
    insert into players (tenant_id, project_id, player_id, email, phone, custom_attributes, status, default_currency_code,
      created_at, updated_at)
    select ${tenant_id}, ${project_id}, gen_random_uuid(), case when i % 4 = 0 then 'shared@x.example' else i || '@X.example' end,
      '0049151' || i, jsonb_build_object('push_token', 'Token-' || i), case when i % 40 < 8 then 'banned' else 'active' end,
      'EUR', now(), now()
    from generate_series(1, 20000) i`;
    await sql`
    insert into merged_addresses (tenant_id, project_id, player_id, channel, address_key)
    select ${tenant_id}, ${project_id}, gen_random_uuid(), 'email', i || '@y.example' from generate_series(1, 20000) i`;
    if (statistics === 'with') await sql`analyze players, merged_addresses`;
    const messages = 500;
    for (const role of ['engagement_api', 'engagement_service']) {
      for (const channel of ['email', 'sms', 'push'] as const) {
        for (const enable_nestloop of ['on', 'off']) {
          const gate: Gate = { ...GATE, channel, licence: { risks: [], consents: [] } };
          const [explained] = await sql.begin(async (tx) => {
            await tx`select set_config('statement_timeout', '5000', true), set_config('enable_nestloop', ${enable_nestloop}, true),
            set_config('app.tenant_id', ${tenant_id}, true), set_config('role', ${role}, true)`;
            return tx<Explained[]>`
            explain (analyze, buffers, format json)
            select ${verdictSql(tx, gate, recipientOf(tx, channel), tx`null::text`)}
            from (select * from players where tenant_id = ${tenant_id} and project_id = ${project_id} limit ${messages}) p`;
          });
          const plan = explained?.['QUERY PLAN'][0]?.Plan;
          const blocks = (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
          // What finds the players reads the table once; each message then a few blocks.
          const [table] = await sql<{ pages: number }[]>`
          select (pg_relation_size('players') / 8192)::integer as pages`;
          expect(blocks, `${role} ${channel} ${enable_nestloop}`).toBeLessThan(
            (table?.pages ?? 0) + messages * 40,
          );
        }
      }
    }
  },
);
