import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { readCommandConfig } from '../src/config.ts';
import type { EventLog } from '../src/platform/event-log/port.ts';
import { appendSaved, savedLines } from '../src/platform/event-log/saved-records.ts';
import { TOPICS } from '../src/platform/event-log/topics.ts';
import { openEventLog } from '../src/app/wiring/event-log.ts';

const USAGE = `usage: npm run events -- <ends|save|append>

  ends                              the present ends of the topic events: partition:offset, with commas
  save    <file> [--from <ends>]    writes the accepted events to a new file, or only those from these ends on
  append  <file>                    appends the events of the file that the log does not have yet

A step of a restore (docs/backups.md). It opens the event log of the configuration (KAFKA_BROKERS, or DATA_DIR) itself,
so stop the service first. append may be repeated: each event gets the partition and the offset that it had before.`;

const { events } = TOPICS;

/** The command line cannot be used; `message` says how to use it. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { from: { type: 'string' } },
  });
  const run = commandOf(positionals, values.from);
  const { log, close } = await openEventLog(readCommandConfig());
  try {
    await log.ensureTopics([events]);
    process.stdout.write(`${await run(log)}\n`);
  } finally {
    await close();
  }
}

/** The command, which resolves to the text of its result. */
function commandOf(
  [what, file, ...rest]: readonly string[],
  from: string | undefined,
): (log: EventLog) => Promise<string> {
  const positions = readPositions(from);
  if (rest.length === 0 && what === 'ends' && file === undefined && from === undefined) return ends;
  if (rest.length === 0 && what === 'save' && file !== undefined) return (log) => save(log, file, positions);
  if (rest.length === 0 && what === 'append' && file !== undefined && from === undefined)
    return (log) => append(log, file);
  throw new UsageError(USAGE);
}

/** Reads the output of `ends`. */
function readPositions(text: string | undefined): Map<number, bigint> {
  const positions = new Map<number, bigint>();
  for (const pair of text?.trim().split(',') ?? []) {
    const [, partition, offset] = /^(\d{1,4}):(\d{1,19})$/.exec(pair) ?? [];
    if (partition === undefined || offset === undefined)
      throw new UsageError(`--from must be the output of "events ends", such as 0:120,1:98`);
    positions.set(Number(partition), BigInt(offset));
  }
  return positions;
}

async function ends(log: EventLog): Promise<string> {
  return [...(await log.endOffsets(events))].map(([partition, end]) => `${partition}:${end}`).join(',');
}

/** Writes another file first, so that a file of this name is always complete. It holds personal data. */
async function save(log: EventLog, file: string, from: ReadonlyMap<number, bigint>): Promise<string> {
  const unfinished = `${file}.unfinished`;
  let lines = 0;
  const text = async function* () {
    for await (const line of savedLines(log, events, from)) {
      lines++;
      yield `${line}\n`;
    }
  };
  if (await exists(file)) throw new Error(`${file} exists`);
  await rm(unfinished, { force: true });
  await pipeline(
    Readable.from(text()),
    createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true }),
  );
  await rename(unfinished, file);
  return `${lines - 1} events saved`;
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

async function append(log: EventLog, file: string): Promise<string> {
  const { appended, present } = await appendSaved(log, events, linesOf(file));
  return `${appended} events appended, ${present} were on the log`;
}

/** The lines of a file; one is in memory at a time, and the file is read no faster than they are taken. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let begun: string[] = [];
  for await (const chunk of createReadStream(file, { encoding: 'utf8' }) as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    begun.push(first);
    for (const other of others) {
      yield begun.join('');
      begun = [other];
    }
  }
  if (begun.join('') !== '') throw new Error(`${file} is not complete: its last line has no end`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
