import type { EventLog, NewRecord } from './port.ts';

/** Partition → the offset from which on its records are saved. */
export type Positions = ReadonlyMap<number, bigint>;

/** The first line of a file of saved records. */
interface Header {
  partitions: number;
}

/** Every further line. */
interface SavedRecord extends NewRecord {
  partition: number;
  offset: string;
}

/** How many records {@link appendSaved} appended, and how many the log had already. */
export interface AppendReport {
  appended: number;
  present: number;
}

/** The saved records do not belong to this log at its present end; `message` is for an operator. */
export class RecordsDoNotFit extends Error {
  override readonly name = 'RecordsDoNotFit';
}

/** An append has at most this many records, and this many UTF-16 units of keys and values unless it is one record. */
const MAX_APPEND_RECORDS = 1_000;
const MAX_APPEND_UNITS = 8 * 1024 * 1024;

/**
 * The records of a topic up to its present end as lines of JSON, without line ends: a header, then the records of one
 * partition after the other. Partitions that `from` does not name are read from their first record. Rejects with
 * {@link RecordsDoNotFit} when `from` names a partition that does not exist, or an offset beyond its end.
 */
export async function* savedLines(log: EventLog, topic: string, from: Positions): AsyncGenerator<string> {
  const ends = await log.endOffsets(topic);
  for (const [partition, offset] of from) {
    const end = ends.get(partition);
    if (end === undefined || offset > end)
      throw new RecordsDoNotFit(`partition ${partition} ends at ${end ?? 'no offset'}, before ${offset}`);
  }
  yield JSON.stringify({ partitions: ends.size } satisfies Header);
  for (const [partition, end] of ends) {
    for await (const { records } of log.read(topic, partition, from.get(partition) ?? 0n, end)) {
      for (const { offset, key, value } of records)
        yield JSON.stringify({ partition, offset: String(offset), key, value } satisfies SavedRecord);
    }
  }
}

/**
 * Appends saved records to a log that is an earlier copy of the one they were read from. Each gets the partition and the
 * offset that it had there, so records that the log has already are recognised, and the call may be repeated after a
 * failure. Nothing else may append meanwhile. Rejects with {@link RecordsDoNotFit} when a record would get another
 * offset, before it is appended, or when the topic had another number of partitions; rejects like `append`.
 */
export async function appendSaved(
  log: EventLog,
  topic: string,
  lines: AsyncIterable<string>,
): Promise<AppendReport> {
  const next = new Map(await log.endOffsets(topic));
  const report: AppendReport = { appended: 0, present: 0 };
  let header: Header | undefined;
  let waiting: NewRecord[] = [];
  let units = 0;
  const flush = async () => {
    await log.append(topic, waiting);
    report.appended += waiting.length;
    waiting = [];
    units = 0;
  };
  for await (const line of lines) {
    if (header === undefined) {
      header = JSON.parse(line) as Header;
      if (header.partitions !== next.size)
        throw new RecordsDoNotFit(
          `the records are of ${header.partitions} partitions, and the log has ${next.size}`,
        );
      continue;
    }
    const { partition, offset, key, value } = JSON.parse(line) as SavedRecord;
    const expected = next.get(partition) ?? 0n;
    if (BigInt(offset) < expected) {
      report.present++;
      continue;
    }
    if (BigInt(offset) > expected)
      throw new RecordsDoNotFit(
        `partition ${partition} would go on at ${expected}, and the next saved record has offset ${offset}`,
      );
    const full = waiting.length === MAX_APPEND_RECORDS || units + value.length > MAX_APPEND_UNITS;
    if (full && waiting.length > 0) await flush();
    waiting.push({ key, value });
    units += key.length + value.length;
    next.set(partition, expected + 1n);
  }
  if (header === undefined) throw new RecordsDoNotFit('there is no header, so nothing was saved');
  await flush();
  await refuseOtherEnds(log, topic, next);
  return report;
}

/** An end that differs shows that something else appended meanwhile. */
async function refuseOtherEnds(log: EventLog, topic: string, expected: Positions): Promise<void> {
  for (const [partition, end] of await log.endOffsets(topic)) {
    if (end !== expected.get(partition))
      throw new RecordsDoNotFit(
        `partition ${partition} ends at ${end} instead of ${expected.get(partition)}: something else appends to it`,
      );
  }
}
