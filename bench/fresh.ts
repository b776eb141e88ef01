import { setTimeout as sleep } from 'node:timers/promises';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { startBenchServer } from './child.ts';
import { chunks, mixedEvents } from './events.ts';
import { result, type Result } from './measure.ts';
import { post, type Target } from './steady.ts';

const PLAYERS = 20_000;
const BATCH = 100;
const CONNECTIONS = 4;
const MINUTE_MS = 60_000;
/** Sending pauses while more events than this wait for the fold: the fold sets the speed. */
const MAX_WAITING = 5_000;
const POLL_MS = 20;

/**
 * Events per second in the first minute of an empty installation, sent in batches of 100 over HTTP, against the same
 * load after its tables were analysed.
 */
export async function benchFresh(): Promise<Result[]> {
  const server = await startBenchServer('service', { BENCH_ROLES: 'all' });
  const sql = connectPool(server.ready['postgres_url'] ?? '', { max: 1 });
  try {
    const first = await foldedPerSecond(server.ready, sql, 'first');
    await sql`analyze`;
    const analysed = await foldedPerSecond(server.ready, sql, 'analysed');
    const note = `${first.toFixed(0)} and ${analysed.toFixed(0)} events/s of ${PLAYERS} players, everything running`;
    return [
      result(
        'first minute of an empty installation ÷ after ANALYZE',
        [first / analysed],
        { at_least: 0.9 },
        note,
      ),
    ];
  } finally {
    await sql.end({ timeout: 5 });
    await server.stop();
  }
}

async function foldedPerSecond(target: Target, sql: Db, label: string): Promise<number> {
  const started_ms = performance.now();
  const before = await foldedEvents(sql);
  let sent = 0n;
  let folded = before;
  const areTooMany = () => sent - (folded - before) > MAX_WAITING;
  const isOver = () => performance.now() > started_ms + MINUTE_MS;
  const senders = Array.from({ length: CONNECTIONS }, async (_, sender) => {
    for (let round = 0; !isOver(); round++) {
      const events = mixedEvents(PLAYERS, PLAYERS, `${label}-${sender}-${round}`);
      for (const batch of chunks(events, BATCH)) {
        while (areTooMany() && !isOver()) await sleep(POLL_MS);
        if (isOver()) return;
        sent += BigInt(batch.length);
        await post(target, { events: batch }, '/v1/events/batch');
      }
    }
  });
  while (!isOver()) {
    folded = await foldedEvents(sql);
    await sleep(POLL_MS);
  }
  await Promise.all(senders);
  return (Number(folded - before) / (performance.now() - started_ms)) * 1_000;
}

async function foldedEvents(sql: Db): Promise<bigint> {
  const [row] = await sql<{ folded: bigint }[]>`
    select coalesce(sum(next_offset), 0)::bigint as folded from fold_positions where topic = 'events'`;
  return row?.folded ?? 0n;
}
