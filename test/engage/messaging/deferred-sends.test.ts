import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countDue } from '../../../src/engage/messaging/messenger-queries.ts';
import { openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { openTestPostgres } from '../../engines/wiring.ts';

let engine: Awaited<ReturnType<typeof openTestPostgres>>;
let postgres: ReturnType<typeof openPostgres>;
beforeAll(async () => {
  engine = await openTestPostgres({ prepared: true });
  postgres = openPostgres(engine.url);
});
afterAll(async () => {
  await postgres?.close();
  await engine?.close();
});

/** `sql` that explains the statements which count. */
function explaining(sql: Tx): Tx {
  return new Proxy(sql, {
    apply(target, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
      const is_count = strings[0]?.trimStart().startsWith('select count');
      const [first, ...others] = strings;
      const texts = is_count === true ? [`explain (analyze, format json) ${first}`, ...others] : [...strings];
      const explained = Object.assign(texts, { raw: texts });
      return Reflect.apply(target, self, [is_count === true ? explained : strings, ...values]) as unknown;
    },
  });
}

it('messages that wait for the end of quiet hours are passed over in the index', async () => {
  const [tenant_id, project_id] = [randomUUID(), randomUUID()];
  const sql = postgres.service;
  const queue_id = randomUUID();
  // The waiting ones stand before the due one.
  const queued = (count: number, retry_at: Date) => sql`
    insert into message_sends (tenant_id, project_id, send_id, journey_id, journey_run_id, dedup_key, queue_id, player_id,
      channel, template_id, provider_id, status, defers_quiet_hours, context, enqueued_at, retry_at)
    select ${tenant_id}, ${project_id}, new_id(), ${queue_id}, new_id(), 'n', ${queue_id}, new_id(), 'email', new_id(),
      new_id(), 'queued', true, '{}', now(), ${retry_at} from generate_series(1, ${count}::integer)`;
  const now = new Date();
  await queued(5_000, new Date(now.getTime() + 3_600_000));
  await queued(1, now);
  const [channel, provider_id, is_cancelled] = ['email', randomUUID(), false] as const;
  const queue = { tenant_id, project_id, queue_id, channel, provider_id, is_cancelled };
  expect(await countDue(sql, queue, now, 500)).toBe(1);
  let plan = '';
  const keeping = new Proxy(explaining(sql), {
    apply(target, self, args: [TemplateStringsArray]) {
      const query = Reflect.apply(target, self, args) as Promise<unknown>;
      if (!args[0][0]?.trimStart().startsWith('select count')) return query;
      return query.then((rows) => {
        plan = JSON.stringify(rows);
        return [];
      });
    },
  });
  await countDue(keeping, queue, now, 500);
  expect(plan).toContain('message_sends_open');
  expect(plan).not.toMatch(/"Rows Removed by Filter":[1-9]/);
});
