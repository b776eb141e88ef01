import { parseArgs } from 'node:util';
import { readCommandConfig } from '../src/config.ts';
import {
  comparePositions,
  misfitsNow,
  type ComparedPositions,
} from '../src/platform/event-log/stored-offsets.ts';
import {
  adoptLog,
  OFFSET_STORES,
  restartLog,
  resumeLog,
  type OffsetStore,
} from '../src/platform/event-log/position-queries.ts';
import type { EventLog } from '../src/platform/event-log/port.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { openEventLog } from '../src/app/wiring/event-log.ts';

const GROUPS = Object.values(OFFSET_STORES).map(({ group }) => group);

const USAGE = `usage: npm run positions -- <show|adopt|resume|restart> [consumer]

  show                 the positions of the consumers that keep them in Postgres, and the logs that they belong to
  adopt    <consumer>  keeps the positions for the log as it is now: it is the same log, with the same records at the same
                       offsets, under another identity; or it has lost records, and the consumer goes on with the others:
                       behind those that are missing, or from the end that the log had when it was refused
  resume   <consumer>  keeps the positions as they are: the log was refused, and has all of its records again
  restart  <consumer>  forgets the positions: it is another log, and the consumer starts at its first record

consumer: ${GROUPS.join(' or ')}. The log and Postgres are those of the configuration (KAFKA_BROKERS and POSTGRES_URL, or
DATA_DIR). With servers the service may run: a consumer that was refused goes on within seconds. The embedded service must
be stopped.`;

/** The command line cannot be used; `message` says how to use it. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

async function main(): Promise<void> {
  const { positionals } = parseArgs({ allowPositionals: true, options: {} });
  const run = commandOf(positionals);
  const { log, postgres_url, close } = await openEventLog(readCommandConfig());
  try {
    const sql = connectPool(postgres_url, { max: 1 });
    try {
      process.stdout.write(`${await run(log, sql)}\n`);
    } finally {
      await sql.end({ timeout: 5 });
    }
  } finally {
    await close();
  }
}

function commandOf([what, group, ...rest]: readonly string[]): (log: EventLog, sql: Db) => Promise<string> {
  const store = Object.values(OFFSET_STORES).find((candidate) => candidate.group === group);
  if (rest.length > 0) throw new UsageError(USAGE);
  if (what === 'show' && group === undefined) return show;
  if (what === 'adopt' && store !== undefined) return (log, sql) => adopt(log, sql, store);
  if (what === 'resume' && store !== undefined) return (log, sql) => resume(log, sql, store);
  if (what === 'restart' && store !== undefined) return (log, sql) => restart(log, sql, store);
  throw new UsageError(USAGE);
}

async function look(eventLog: EventLog, sql: Db, store: OffsetStore): Promise<ComparedPositions> {
  await eventLog.ensureTopics([store.topic]);
  return comparePositions({ eventLog, sql }, store);
}

async function show(log: EventLog, sql: Db): Promise<string> {
  const parts: string[] = [];
  for (const store of Object.values(OFFSET_STORES)) {
    const { stored, log: state, refusal } = await look(log, sql, store);
    const lines = [...state.partitions].map(([partition, { first, end }]) => {
      const next = stored.next_offsets.get(partition);
      return `  partition ${partition}: position ${next ?? 'none'}, records ${first} to ${end}`;
    });
    parts.push(
      `${store.group}: topic ${store.topic} is ${state.id}, positions belong to ${stored.log_id ?? 'no log yet'}`,
      ...lines,
      `  ${refusal ?? 'the positions fit'}`,
    );
  }
  return parts.join('\n');
}

async function adopt(log: EventLog, sql: Db, store: OffsetStore): Promise<string> {
  const { stored, log: state, refusal } = await look(log, sql, store);
  if (refusal === undefined) {
    throw new Error(
      `${store.group} is not refused: its positions fit the topic ${store.topic}, which is ${state.id}, and there is ` +
        'nothing to adopt; the command show shows them',
    );
  }
  await adoptLog(sql, store, state, stored);
  return `${store.group} goes on in ${state.id}`;
}

async function resume(log: EventLog, sql: Db, store: OffsetStore): Promise<string> {
  const { stored, log: state } = await look(log, sql, store);
  const misfits = misfitsNow(stored, state);
  if (misfits.length > 0) {
    throw new Error(
      `${store.group} cannot go on at its positions: the topic ${store.topic} still lacks records (${misfits.join(', ')}); ` +
        'restore the log first, or use adopt',
    );
  }
  await resumeLog(sql, store, state);
  return `${store.group} goes on at its positions in ${state.id}`;
}

async function restart(log: EventLog, sql: Db, store: OffsetStore): Promise<string> {
  const { stored, log: state } = await look(log, sql, store);
  if (stored.log_id === state.id) {
    throw new Error(
      `the positions of ${store.group} belong to this log: from its first record on, events without an id would count ` +
        'again; if it has lost records, use adopt',
    );
  }
  await restartLog(sql, store, state);
  return `${store.group} starts at the first records of ${state.id}`;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
