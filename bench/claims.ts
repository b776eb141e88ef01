import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import type { TestService } from '../test/engines/service.ts';
import { mixedEvents, withRandomIds } from './events.ts';
import { foldEndToEnd } from './fold.ts';
import { median, result, type Result } from './measure.ts';
import { postgresUrlOf } from './platform.ts';
import { insertLedgerRows } from './seed-queries.ts';

const PLAYERS = 5_000;
const EVENTS = 50_000;
const ROUNDS = 5;
const FEW = 200_000;
const MANY = Number(process.env['BENCH_CLAIMS'] ?? 10_000_000);

/**
 * The fold's time per event with random ids in a ledger of ten million rows, against ordered ids in one of 200,000. Each round
 * begins after a checkpoint, when Postgres logs whole pages.
 */
export async function benchClaims(service: TestService): Promise<Result[]> {
  const owner = connectPool(postgresUrlOf(service.platform), { max: 1 });
  try {
    await insertLedgerRows(owner, service, FEW, `'before-' || lpad(i::text, 12, '0')`);
    const ordered = await microsOf(service, owner, (label) => mixedEvents(EVENTS, PLAYERS, label));
    await insertLedgerRows(owner, service, MANY, 'gen_random_uuid()::text');
    const random = await microsOf(service, owner, (label) =>
      withRandomIds(mixedEvents(EVENTS, PLAYERS, `random-${label}`)),
    );
    return [
      result(
        `fold with random ids, ${MANY} rows ÷ ordered ids, ${FEW} rows, time`,
        random.map((micros) => micros / median(ordered)),
        { at_most: 1.3 },
        `${median(random).toFixed(1)} against ${median(ordered).toFixed(1)} µs per event, rounds of ${EVENTS} events`,
      ),
    ];
  } finally {
    await owner.end({ timeout: 5 });
  }
}

/** Microseconds per event of each round, after one that does not count. */
async function microsOf(
  service: TestService,
  owner: Db,
  eventsOf: (label: string) => Parameters<typeof foldEndToEnd>[1],
): Promise<number[]> {
  const micros: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const events = eventsOf(`round-${round}`);
    await owner`checkpoint`;
    micros.push(((await foldEndToEnd(service, events)).wall_ms * 1_000) / EVENTS);
  }
  return micros.slice(1);
}
