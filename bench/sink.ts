import { startAnalyticsSink } from '../processors/analytics-sink/index.ts';
import { encodePlayerEvent, playerKey } from '../src/ingest/events/envelope.ts';
import type { NewRecord } from '../src/platform/event-log/port.ts';
import { newId } from '../src/platform/ids.ts';
import { TOPICS } from '../src/platform/event-log/topics.ts';
import { sunk, type TestService } from '../test/engines/service.ts';
import { chunks, mixedEvents } from './events.ts';
import { alternate, median, perSecond, ratios, result, timed, type Result } from './measure.ts';

const EVENTS = 100_000;
const PLAYERS = 5_000;
const BLOCK = 50_000;
const ROUNDS = 5;

/** The sink (read the log, record the block, insert, move the position) against the bare insert of the same rows. */
export async function benchSink(service: TestService): Promise<Result[]> {
  let round = 0;
  const pairs = await alternate(
    ROUNDS,
    () => sinkEndToEnd(service, `s${round++}`),
    () => bareInsert(service, `b${round}`),
  );
  const note = `${median(pairs.map(({ a }) => perSecond(a))).toFixed(0)} against ${median(pairs.map(({ b }) => perSecond(b))).toFixed(0)} rows/s, blocks of ${BLOCK}`;
  return [result('sink ÷ bare insert of the same rows', ratios(pairs, perSecond), { at_least: 0.6 }, note)];
}

/** Appends resolved events, which happened from `at_ms` on, to the log, and times a sink that inserts them. */
export async function sinkEndToEnd(service: TestService, label: string, at_ms = 1_770_000_000_000) {
  const { eventLog } = service.platform;
  for (const part of chunks(resolvedRecords(service, label, at_ms), 2_000))
    await eventLog.append(TOPICS.playerEvents, part);
  return timed(async () => {
    const sink = await startAnalyticsSink(service.platform);
    await sunk(service.platform);
    await sink.close();
    return EVENTS;
  });
}

async function bareInsert(service: TestService, label: string) {
  const lines = resolvedRecords(service, label).map((record) => record.value);
  return timed(async () => {
    for (const [i, block] of chunks(lines, BLOCK).entries()) {
      await service.platform.clickhouse.insertLines('events', block, `bare-${label}-${i}`);
    }
    return EVENTS;
  });
}

function resolvedRecords(
  { tenant_id, project_id }: TestService,
  label: string,
  at_ms = 1_770_000_000_000,
): NewRecord[] {
  const players = Array.from({ length: PLAYERS }, newId);
  return mixedEvents(EVENTS, PLAYERS, label).map(({ event, properties = {} }, i) => {
    const player_id = players[i % PLAYERS] ?? newId();
    const base = typeof properties['amount'] === 'number' ? BigInt(properties['amount']) : null;
    const times = { occurred_at: at_ms + i, received_at: at_ms + 100 + i };
    const row = {
      tenant_id,
      project_id,
      event,
      player_id,
      ...times,
      ingestion_id: newId(),
      event_index: 0,
      base_amount: base,
      base_payout: null,
      properties,
    };
    return { key: playerKey(project_id, player_id), value: encodePlayerEvent(row) };
  });
}
