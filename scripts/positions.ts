import { parseArgs } from 'node:util';
import { readCommandConfig } from '../src/config.ts';
import {
  comparePositions,
  misfitsNow,
  type ComparedPositions,
} from '../src/platform/event-log/owned-positions.ts';
import {
  adoptLog,
  OWNERS,
  restartLog,
  resumeLog,
  type PositionOwner,
} from '../src/platform/event-log/position-queries.ts';
import type { EventLog } from '../src/platform/event-log/port.ts';
import { connectPool } from '../src/platform/postgres/pool.ts';
import type { Db } from '../src/platform/postgres/port.ts';
import { openEventLog } from '../src/app/wiring/event-log.ts';

const GROUPS = Object.values(OWNERS).map(({ group }) => group);

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
  const owner = Object.values(OWNERS).find((candidate) => candidate.group === group);
  if (rest.length > 0) throw new UsageError(USAGE);
  if (what === 'show' && group === undefined) return show;
  if (what === 'adopt' && owner !== undefined) return (log, sql) => adopt(log, sql, owner);
  if (what === 'resume' && owner !== undefined) return (log, sql) => resume(log, sql, owner);
  if (what === 'restart' && owner !== undefined) return (log, sql) => restart(log, sql, owner);
  throw new UsageError(USAGE);
}

async function look(eventLog: EventLog, sql: Db, owner: PositionOwner): Promise<ComparedPositions> {
  await eventLog.ensureTopics([owner.topic]);
  return comparePositions({ eventLog, sql }, owner);
}

async function show(log: EventLog, sql: Db): Promise<string> {
  const parts: string[] = [];
  for (const owner of Object.values(OWNERS)) {
    const { stored, log: state, refusal } = await look(log, sql, owner);
    const lines = [...state.partitions].map(([partition, { first, end }]) => {
      const next = stored.next.get(partition);
      return `  partition ${partition}: position ${next ?? 'none'}, records ${first} to ${end}`;
    });
    parts.push(
      `${owner.group}: topic ${owner.topic} is ${state.id}, positions belong to ${stored.log_id ?? 'no log yet'}`,
      ...lines,
      `  ${refusal ?? 'the positions fit'}`,
    );
  }
  return parts.join('\n');
}

async function adopt(log: EventLog, sql: Db, owner: PositionOwner): Promise<string> {
  const { stored, log: state, refusal } = await look(log, sql, owner);
  if (refusal === undefined) {
    throw new Error(
      `${owner.group} is not refused: its positions fit the topic ${owner.topic}, which is ${state.id}, and there is ` +
        'nothing to adopt; the command show shows them',
    );
  }
  await adoptLog(sql, owner, state, stored);
  return `${owner.group} goes on in ${state.id}`;
}

async function resume(log: EventLog, sql: Db, owner: PositionOwner): Promise<string> {
  const { stored, log: state } = await look(log, sql, owner);
  const misfits = misfitsNow(stored, state);
  if (misfits.length > 0) {
    throw new Error(
      `${owner.group} cannot go on at its positions: the topic ${owner.topic} still lacks records (${misfits.join(', ')}); ` +
        'restore the log first, or use adopt',
    );
  }
  await resumeLog(sql, owner, state);
  return `${owner.group} goes on at its positions in ${state.id}`;
}

async function restart(log: EventLog, sql: Db, owner: PositionOwner): Promise<string> {
  const { stored, log: state } = await look(log, sql, owner);
  if (stored.log_id === state.id) {
    throw new Error(
      `the positions of ${owner.group} belong to this log: from its first record on, events without an id would count ` +
        'again; if it has lost records, use adopt',
    );
  }
  await restartLog(sql, owner, state);
  return `${owner.group} starts at the first records of ${state.id}`;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
