import type { ConsumeOptions, LogBatch, LogConsumer } from '../../platform/event-log/port.ts';
import { GROUPS, TOPICS } from '../../platform/event-log/topics.ts';
import type { Platform } from '../../platform/platform.ts';
import { bettorKeys } from './bettors.ts';
import { countBatch, type CountDeps } from './from-log.ts';
import { savePosition, selectPositions } from './position-queries.ts';

/** Records of the log per batch. */
const MAX_RECORDS = 5_000;
/** How often the position of a partition is stored. */
const SAVE_MS = 1_000;

type ConsumeDeps = CountDeps & Pick<Platform, 'eventLog'>;

/**
 * Counts the bets of `player-events`; while few players have bonuses, only their records are read. How far it came
 * is stored in Postgres with what was counted: after Postgres was
 * restored from a backup, the records that were counted since are counted again, though the log takes them for handled.
 */
export async function consumeBets(deps: ConsumeDeps): Promise<LogConsumer> {
  return deps.eventLog.consume(betsConsumer(deps));
}

/** How the bets are consumed. */
export function betsConsumer(deps: ConsumeDeps): ConsumeOptions {
  const { eventLog, postgres, clock } = deps;
  const topic = TOPICS.playerEvents;
  const saved_ms = new Map<number, number>();
  const save = async ({ partition, records }: LogBatch) => {
    const last = records.at(-1);
    const now_ms = clock.now_ms();
    if (last === undefined || now_ms - (saved_ms.get(partition) ?? -Infinity) < SAVE_MS) return;
    const log_id = await eventLog.idOf(topic);
    await savePosition(postgres.service, { topic, partition, log_id, next_offset: last.offset + 1n });
    saved_ms.set(partition, now_ms);
  };
  return {
    topic,
    group: GROUPS.wagering,
    max_records: MAX_RECORDS,
    linger_ms: 0,
    keys: bettorKeys(deps),
    async handle(batch) {
      const { keys, records } = batch;
      await countBatch(deps, keys === undefined ? records : records.filter(({ key }) => keys.has(key)));
      await save(batch);
    },
    async startsAt(committed) {
      const { id, partitions } = await eventLog.describe(topic);
      const stored = await selectPositions(postgres.service, topic, id);
      const starts = new Map<number, bigint>();
      for (const [partition, { first }] of partitions) {
        const known = committed.get(partition) ?? first;
        const own = stored.get(partition) ?? known;
        const earlier = own < known ? own : known;
        starts.set(partition, earlier < first ? first : earlier);
      }
      return starts;
    },
  };
}
