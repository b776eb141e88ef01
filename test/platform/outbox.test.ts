import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { GRANT_EVENTS } from '../../src/bonuses/grants/publish.ts';
import { MESSAGE_EVENTS } from '../../src/engage/messaging/feedback-events.ts';
import type { NewRecord } from '../../src/platform/event-log/port.ts';
import { publishOutbox, type Outbox } from '../../src/platform/outbox.ts';
import { commitLater } from '../../src/platform/postgres/commits.ts';
import { connectPool, openPostgres } from '../../src/platform/postgres/pool.ts';
import type { Db, Postgres } from '../../src/platform/postgres/port.ts';
import { KYC_EVENTS } from '../../src/players/kyc/publish.ts';
import type { TestPostgres } from '../engines/shared-postgres.ts';
import { openTestPostgres } from '../engines/wiring.ts';

let server: TestPostgres;
let postgres: Postgres;
let owner: Db;
beforeAll(async () => {
  server = await openTestPostgres({ prepared: true });
  postgres = openPostgres(server.url);
  owner = connectPool(server.url, { max: 1 });
});
afterAll(async () => {
  await postgres?.close();
  await owner?.end({ timeout: 5 });
  await server?.close();
});

/** A log that holds appends back until `release`. */
let appended: NewRecord[];
let begun: Promise<void>;
let release: () => void;
let eventLog: { append: (topic: string, records: readonly NewRecord[]) => Promise<void> };
beforeEach(() => {
  appended = [];
  let begin: () => void;
  begun = new Promise((resolve) => (begin = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  eventLog = {
    async append(_topic, records) {
      begin();
      await released;
      appended.push(...records);
    },
  };
});

const project = { tenant_id: randomUUID(), project_id: randomUUID() };

/** A decision that waits in the outbox of KYC. */
async function decide(): Promise<void> {
  const { service } = postgres;
  const row = {
    ...project,
    player_id: randomUUID(),
    decision_id: randomUUID(),
    kind: 'approved',
    source: 'api',
    occurred_at: new Date(),
    received_at: new Date(),
    applied: true,
    kyc_status: 'approved',
    event: 'kyc_approved',
    is_unpublished: true,
  };
  await service`insert into kyc_decisions ${service(row)}`;
}

const publish = () => publishOutbox({ postgres, eventLog }, KYC_EVENTS);

it('a row is appended by one process, also when two empty the outbox at once', async () => {
  await decide();
  const first = publish();
  await begun;
  // Another process: it appends nothing while the first one does.
  expect(await publish()).toBe(false);
  release();
  expect(await first).toBe(false);
  expect(appended).toHaveLength(1);
  expect(await publish()).toBe(false);
  expect(appended).toHaveLength(1);
});

it('a row whose append fails stays, and is appended by the next turn', async () => {
  await decide();
  const failing = { append: () => Promise.reject(new Error('no log')) };
  await expect(publishOutbox({ postgres, eventLog: failing }, KYC_EVENTS)).rejects.toThrow('no log');
  release();
  await publish();
  expect(appended).toHaveLength(1);
});

it('nothing is appended once the lock is lost', async () => {
  await decide();
  release();
  const lost: Outbox<Awaited<ReturnType<typeof KYC_EVENTS.read>>[number]> = {
    ...KYC_EVENTS,
    async recordsOf(rows) {
      await owner`
        select pg_terminate_backend(pid, 5000) from pg_locks where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())`;
      return KYC_EVENTS.recordsOf(rows);
    },
  };
  await expect(publishOutbox({ postgres, eventLog }, lost)).rejects.toThrow('lost');
  expect(appended).toEqual([]);
  await publish();
  expect(appended).toHaveLength(1);
});

it('a row of a commit that is not on disk is appended once it is', async () => {
  await postgres.service.begin(async (tx) => {
    commitLater(tx);
    await tx`select pg_logical_emit_message(true, 'test', repeat('x', 100000))`;
  });
  await decide();
  const [before] = await owner<{ lsn: string }[]>`select pg_current_wal_insert_lsn()::text as lsn`;
  const onDisk: boolean[] = [];
  const log = {
    async append() {
      const [row] = await owner<{ is_flushed: boolean }[]>`
        select pg_current_wal_flush_lsn() >= ${before?.lsn ?? ''}::pg_lsn as is_flushed`;
      onDisk.push(row?.is_flushed === true);
    },
  };
  await publishOutbox({ postgres, eventLog: log }, KYC_EVENTS);
  expect(onDisk).toEqual([true]);
});

it('each outbox has a lock of its own, and tells by a full turn that there may be more', async () => {
  await decide();
  await decide();
  release();
  expect(await publishOutbox({ postgres, eventLog }, { ...KYC_EVENTS, max_rows: 1 })).toBe(true);
  expect(appended).toHaveLength(1);
  const names = [KYC_EVENTS, GRANT_EVENTS, MESSAGE_EVENTS].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  await publish();
});
