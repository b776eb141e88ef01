import { setTimeout as sleep } from 'node:timers/promises';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { startBenchServer } from './child.ts';
import { percentile, result, type Result } from './measure.ts';
import { post, sendSteadily, type Target } from './steady.ts';

const SECONDS = 20;
const PROBE_EVERY_MS = 50;
const POLL_EVERY_MS = 2;
const WARM_UP_MS = 3_000;

/** The time from a 202 to totals that include the event, at 1,000 events per second. */
export async function benchLatency(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const sql = connectPool(server.ready['postgres_url'] ?? '', { max: 1 });
  try {
    const stop = new AbortController();
    const background = sendSteadily(server.ready, stop.signal);
    const waits_ms: number[] = [];
    await sleep(WARM_UP_MS);
    for (let i = 0; i < (SECONDS * 1_000) / PROBE_EVERY_MS; i++) {
      waits_ms.push(await probe(server.ready, sql, `probe-${i}`));
      await sleep(PROBE_EVERY_MS);
    }
    stop.abort();
    const { sent, elapsed_ms } = await background;
    const note = `${waits_ms.length} probes beside ${((sent / elapsed_ms) * 1_000).toFixed(0)} events/s`;
    const [p50, p99] = [percentile(waits_ms, 0.5), percentile(waits_ms, 0.99)];
    return [
      result('accepted → totals visible at 1,000 events/s, p50 in ms', [p50], { at_most: 20 }, note),
      result('accepted → totals visible at 1,000 events/s, p99 in ms', [p99], { at_most: 100 }, note),
    ];
  } finally {
    await sql.end({ timeout: 5 });
    await server.stop();
  }
}

/** Sends one deposit of a new player and waits until the player's totals exist; returns the time in milliseconds. */
async function probe(target: Target, sql: Db, anonymous_id: string): Promise<number> {
  const properties = { amount: 100, currency: 'EUR', transaction_id: anonymous_id, payment_method: 'card' };
  await post(target, { event: 'deposit_confirmed', anonymous_id, properties });
  const accepted_ms = performance.now();
  const { tenant_id = '', project_id = '' } = target;
  for (;;) {
    const rows = await sql`
      select from player_identities i join player_totals t using (tenant_id, project_id, player_id)
      where i.tenant_id = ${tenant_id} and i.project_id = ${project_id} and i.anonymous_id = ${anonymous_id}`;
    if (rows.length === 1) return performance.now() - accepted_ms;
    await sleep(POLL_EVERY_MS);
  }
}
