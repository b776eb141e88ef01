import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addSubscriptionSecret } from '../../src/engage/webhooks/secrets.ts';
import { migratePostgres } from '../../src/platform/postgres/migrate.ts';
import { connectPool } from '../../src/platform/postgres/pool.ts';
import type { Db } from '../../src/platform/postgres/port.ts';
import { runs, SEED } from '../engines/effort.ts';
import type { TestPostgres } from '../engines/shared-postgres.ts';
import { until } from '../engines/until.ts';
import { openTestPostgres } from '../engines/wiring.ts';
import { startReceiver, type Receiver } from '../engage/webhooks/receiver.ts';
import { eventsOf } from '../engage/subscriptions/subscription-client.ts';
import { DELIVERER_KEY, startDeliverer } from './deliverer-process.ts';
import { Random } from './random.ts';

const KILLS = runs(3, { nightly: 20, nightly_on_servers: 5 });
const PLAYERS = 10;
/** Changes of each player per kill. */
const CHANGES = 5;

let engine: TestPostgres;
let sql: Db;
let receiver: Receiver;
beforeAll(async () => {
  engine = await openTestPostgres({ prepared: true });
  sql = connectPool(engine.url);
  await migratePostgres(sql);
  const random = new Random(SEED);
  receiver = await startReceiver((response, _n, request) => {
    const is_refused = request.headers['x-service-attempt'] === '1' && random.chance(0.1);
    setTimeout(() => response.writeHead(is_refused ? 503 : 200).end(), random.integer(0, 10));
  });
});
afterAll(async () => {
  await receiver?.close();
  await sql?.end({ timeout: 5 });
  await engine?.close();
});

/** Claims of the process that was killed run out, and pauses end, to save the wait; held events stay held. */
const hurry = () => sql`
  update webhook_deliveries set next_at = now() where status = 'pending' and next_at < now() + interval '1 day'`;

it(
  'every event of every player arrives in order, with the same bytes, whenever the process is killed',
  async () => {
    const [tenant_id, project_id, subscription_id] = [randomUUID(), randomUUID(), randomUUID()];
    const players = Array.from({ length: PLAYERS }, () => randomUUID());
    await sql`insert into tenants (tenant_id, name, base_currency) values (${tenant_id}, 'T', 'EUR')`;
    await sql`insert into projects (tenant_id, project_id, name) values (${tenant_id}, ${project_id}, 'P')`;
    for (const player_id of players) {
      await sql`
        insert into players (tenant_id, project_id, player_id, default_currency_code, custom_attributes, created_at, updated_at)
        values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', '{}', now(), now())`;
    }
    await sql`
      insert into event_subscriptions (tenant_id, project_id, subscription_id, name, url, events, status, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${subscription_id}, 'data', ${receiver.url}, '{tier.changed}', 'active', now(), now())`;
    const credentials_keys = { current: DELIVERER_KEY, previous: undefined };
    const owner = { tenant_id, project_id, subscription_id };
    await sql.begin((tx) => addSubscriptionSecret(tx, owner, { credentials_keys, now: new Date() }));
    const random = new Random(SEED);
    const wanted: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const stop = await startDeliverer(engine.url);
      for (let change = 0; change < CHANGES; change++) {
        const code = `k${kill}c${change}`;
        wanted.push(code);
        await sql`
          insert into player_tier_history (tenant_id, project_id, player_id, to_code, trigger, context, occurred_at)
          select ${tenant_id}, ${project_id}, p::uuid, ${code}, 'manual', '{}', now()
          from jsonb_array_elements_text(${JSON.stringify(players)}::text::jsonb) p`;
      }
      await sleep(random.integer(0, 250));
      await stop();
      await hurry();
    }
    const stop = await startDeliverer(engine.url);
    try {
      await until(async (saw) => {
        await hurry();
        const [row] = saw(
          await sql<{ open: number; facts: number }[]>`
          select (select count(*) from webhook_deliveries where status = 'pending')::integer as open,
            (select count(*) from subscription_facts)::integer as facts`,
        );
        return row?.open === 0 && row.facts === 0;
      });
    } finally {
      await stop();
    }
    const events = eventsOf(receiver.received);
    for (const player_id of players) {
      const of_player = events.filter(({ player }) => player?.id === player_id);
      // Repetitions follow their event before the next one arrives.
      const order = of_player.map(({ data }) => String(data['to_code']));
      expect(order.filter((code, n) => code !== order[n - 1])).toEqual(wanted);
    }
    const bodies = new Map<string, Set<string>>();
    for (const { headers, body } of receiver.received) {
      const event_id = String(headers['x-service-event-id']);
      bodies.set(event_id, (bodies.get(event_id) ?? new Set()).add(body));
    }
    expect(bodies.size).toBe(PLAYERS * CHANGES * KILLS);
    expect([...bodies.values()].filter(({ size }) => size !== 1)).toEqual([]);
  },
  120_000 + KILLS * 10_000,
);
