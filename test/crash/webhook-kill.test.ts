import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { v5 as uuidv5 } from 'uuid';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isSigned } from '../../src/http/auth/webhook-signature.ts';
import type { CallWebhookNode } from '../../src/engage/journeys/graph/shapes.ts';
import { insertDeliveries } from '../../src/engage/webhooks/delivery-queries.ts';
import { addSecret } from '../../src/engage/webhooks/secrets.ts';
import { auditNothing } from '../../src/http/audit.ts';
import { migratePostgres } from '../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { runs, SEED } from '../engines/effort.ts';
import type { TestPostgres } from '../engines/shared-postgres.ts';
import { until } from '../engines/until.ts';
import { openTestPostgres } from '../engines/wiring.ts';
import { startReceiver, type Receiver } from '../engage/webhooks/receiver.ts';
import { DELIVERER_KEY, startDeliverer } from './deliverer-process.ts';
import { Random } from './random.ts';

const KILLS = runs(4, { nightly: 40, nightly_on_servers: 10 });
const PER_KILL = 150;
const HOSTS = 4;

let engine: TestPostgres;
let sql: Db;
const receivers: Receiver[] = [];
beforeAll(async () => {
  engine = await openTestPostgres({ prepared: true });
  sql = connectPool(engine.url);
  await migratePostgres(sql);
  for (let n = 0; n < HOSTS; n++) {
    const random = new Random(SEED + n);
    receivers.push(
      await startReceiver((response, _n, request) => {
        // Later attempts may have long pauses before them.
        const is_refused = request.headers['x-service-attempt'] === '1' && random.chance(0.1);
        const status = is_refused ? 503 : 200;
        setTimeout(() => response.writeHead(status).end('{"ok":true}'), random.integer(0, 20));
      }),
    );
  }
});
afterAll(async () => {
  await Promise.all(receivers.map((receiver) => receiver.close()));
  await sql?.end({ timeout: 5 });
  await engine?.close();
});

/** Claims of the process that was killed run out, and pauses end; to save the wait. */
async function hurry(): Promise<void> {
  // What the process had sent to Postgres is still done.
  await until(async (saw) => {
    const [row] = saw(
      await sql<{ busy: number }[]>`
      select count(*)::integer as busy from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
    );
    return row?.busy === 0;
  });
  await sql`update webhook_deliveries set next_at = now() where status = 'pending'`;
}

async function newRuns(project: { tenant_id: string; project_id: string }, player_id: string): Promise<void> {
  const { tenant_id, project_id } = project;
  const [now, journey_id] = [new Date(), randomUUID()];
  const rows = Array.from({ length: PER_KILL }, (_, n) => {
    const node: CallWebhookNode = {
      id: 'call',
      name: undefined,
      type: 'call_webhook',
      next: 'end',
      url: receivers[n % HOSTS]?.url ?? '',
      headers: {},
      data: { text: 'Hello {{first_name}}', drawn: '{{ "now" | date: "%s%N" }}' },
      timeout_ms: 10_000,
      retry: { max_attempts: 10, backoff_ms: 10 },
      on_error: 'fail',
      wait_for_response: true,
      save_as: 'crm',
    };
    const run_id = randomUUID();
    const event_id = uuidv5(node.id, run_id);
    const of_run = { ...project, journey_id, journey_version: 1, run_id, seq: 1, player_id };
    return { ...of_run, event_id, node, context: {}, now };
  });
  const runs = JSON.stringify(rows.map(({ run_id }) => run_id));
  await sql.begin(async (tx) => {
    await tx`
      insert into journey_runs (tenant_id, project_id, run_id, journey_id, version, player_id, status, node_id, seq,
        entered_at, due_at, trigger_key, re_entry, trigger, context, started_at)
      select ${tenant_id}, ${project_id}, r::uuid, ${journey_id}, 1, ${player_id}, 'running', 'call', 1, ${now},
        ${new Date(now.getTime() + 86_400_000)}, r, 'always', '{"kind": "api"}', '{}', ${now}
      from jsonb_array_elements_text(${runs}::text::jsonb) r`;
    await insertDeliveries(tx, rows);
  });
}

it(
  'delivers every webhook with the same bytes and wakes every run once, whenever the deliverer is killed',
  async () => {
    const [tenant_id, project_id, player_id] = [randomUUID(), randomUUID(), randomUUID()];
    const project = { tenant_id, project_id };
    await sql`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
    await sql`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'P')`;
    await sql`
      insert into players (tenant_id, project_id, player_id, default_currency_code, custom_attributes, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', '{"first_name": "Ada"}', now(), now())`;
    const credentials_keys = { current: DELIVERER_KEY, previous: undefined };
    const { secret } = await sql.begin((tx) =>
      addSecret(tx, project, { credentials_keys, now: new Date(), audit: auditNothing }),
    );
    const random = new Random(SEED);
    for (let kill = 0; kill < KILLS; kill++) {
      await newRuns(project, player_id);
      const stop = await startDeliverer(engine.url);
      await sleep(random.integer(0, 250));
      await stop();
      await hurry();
    }
    const stop = await startDeliverer(engine.url);
    try {
      await until(async (saw) => {
        const [row] = saw(
          await sql<{ open: number }[]>`
          select count(*)::integer as open from webhook_deliveries where status = 'pending'`,
        );
        return row?.open === 0;
      });
    } finally {
      await stop();
    }

    const all = KILLS * PER_KILL;
    const bodies = new Map<string, Set<string>>();
    let received = 0;
    for (const receiver of receivers) {
      for (const { headers, body } of receiver.received) {
        received++;
        const event_id = String(headers['x-service-event-id']);
        bodies.set(event_id, (bodies.get(event_id) ?? new Set()).add(body));
        const signature = String(headers['x-service-signature']);
        const timestamp = String(headers['x-service-timestamp']);
        expect(isSigned([secret], { signature, timestamp, body }, Date.now())).toBe(true);
      }
    }
    expect(bodies.size).toBe(all);
    expect([...bodies.values()].filter(({ size }) => size !== 1)).toEqual([]);
    // Some attempts were lost, and made again.
    expect(received).toBeGreaterThan(all);
    const counts = await sql<{ status: string; count: number }[]>`
      select status, count(*)::integer as count from webhook_deliveries group by status`;
    expect([...counts]).toEqual([{ status: 'delivered', count: all }]);
    const [runs] = await sql<{ woken: number; timers: number; of_runs: number }[]>`
      select (select count(*) from journey_runs where woken_by ->> 'outcome' = 'delivered' and seq = 1
          and context = '{"responses": {"crm": {"ok": true}}}')::integer as woken,
        (select count(*) from journey_timers)::integer as timers,
        (select count(distinct run_id) from journey_timers where seq = 1)::integer as of_runs`;
    expect(runs).toEqual({ woken: all, timers: all, of_runs: all });
  },
  120_000 + KILLS * 10_000,
);
