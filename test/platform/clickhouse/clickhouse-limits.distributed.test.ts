import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectClickHouse } from '../../../src/platform/clickhouse/http.ts';
import { StatementTimedOut, StillRunning, type ClickHouse } from '../../../src/platform/clickhouse/port.ts';
import { newId } from '../../../src/platform/ids.ts';
import { countMembers } from '../../../src/segments/evaluation-queries.ts';
import { until } from '../../engines/until.ts';
import { newInstallation } from '../../engines/installation.ts';

/** A statement that runs until its time limit ends it. */
const ENDLESS = 'select count() as n from numbers(1000000000000) where intHash64(number) = 1';
/** The proxy closes a connection on which no data flows for this long. */
const IDLE_MS = 2_000;

let url: string;
let proxy: Server;
let clickhouse: ClickHouse;
beforeAll(async () => {
  const { clickhouse_url } = await newInstallation(inject('servers'));
  url = clickhouse_url;
  proxy = await closingIdle(new URL(url));
  clickhouse = connectClickHouse(url);
  await clickhouse.command('create table copied (n UInt64) engine = MergeTree order by n');
  await clickhouse.command('create table mutated (n UInt64) engine = MergeTree order by n');
  await clickhouse.command('insert into mutated select number from numbers(3)');
});
afterAll(async () => {
  await clickhouse?.close();
  proxy?.close();
});

/** Starts a TCP proxy to the server that closes idle connections. */
async function closingIdle({ hostname, port }: URL): Promise<Server> {
  const listening = createServer((client) => {
    const server = connect(Number(port), hostname);
    const both: Socket[] = [client, server];
    const close = () => both.forEach((socket) => socket.destroy());
    for (const socket of both) socket.on('error', close).on('close', close);
    server.setTimeout(IDLE_MS, () => {
      const { bytesRead } = server;
      // After a pause of this process the timer runs before the bytes are read that arrived in the meantime.
      setImmediate(() => void (server.bytesRead === bytesRead && close()));
    });
    client.pipe(server).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  return listening;
}

function throughProxy(progress_interval_ms: number): ClickHouse {
  const changed = new URL(url);
  changed.port = String((proxy.address() as AddressInfo).port);
  return connectClickHouse(changed.href, { statement_limit_s: 3, progress_interval_ms });
}

test('the server refuses a statement that exceeds its own time limit or the default one', async () => {
  const impatient = connectClickHouse(url, { statement_limit_s: 1 });
  await expect(impatient.query(ENDLESS)).rejects.toMatchObject({ code: '159' });
  await impatient.close();
  const limited = `${ENDLESS} settings max_execution_time = 1`;
  await expect(clickhouse.query(limited)).rejects.toMatchObject({ code: '159' });
  expect(await clickhouse.query('select 1 as one')).toEqual([{ one: 1 }]);
});

test('a slow segment is SEGMENT_TOO_EXPENSIVE, although its connection is silent for longer than the proxy allows', async () => {
  const [passing, silent] = [throughProxy(100), throughProxy(60_000)];
  const shortened: ClickHouse = {
    ...passing,
    // The time limit of a segment, shortened for the test.
    query: (sql, params) =>
      passing.query(sql.replace('max_execution_time = 60', 'max_execution_time = 3'), params),
  };
  const question = { tenant_id: newId(), project_id: newId(), now_ms: 0 };
  const slow = { sql: ENDLESS.replace('count() as n', 'generateUUIDv4() as player_id'), params: {} };
  await Promise.all([
    expect(countMembers(shortened, question, slow, 1)).rejects.toMatchObject({
      code: 'SEGMENT_TOO_EXPENSIVE',
    }),
    // Without progress headers the proxy closes the connection: the headers keep the other one open.
    expect(silent.query(ENDLESS)).rejects.toMatchObject({ code: 'ECONNRESET' }),
  ]);
  await Promise.all([passing.close(), silent.close()]);
});

test('a statement that the server does not end in time is reported as timed out', async () => {
  const asked = connectClickHouse(url, { statement_limit_s: 0.3, grace_s: 0.2 });
  // One block: the server checks the time only between blocks.
  const answer = asked.query('select sleep(2)');
  await expect(answer).rejects.toThrow(StatementTimedOut);
  await expect(answer).rejects.toMatchObject({ code: '159' });
  await asked.close();
});

test('a rewrite whose caller gave up is not started again while it still runs', async () => {
  const giving_up = connectClickHouse(url, { rewrite_limit_s: 0.3, grace_s: 0.2 });
  const rewrite = () =>
    giving_up.rewrite('copy', 'insert into copied select number + sleep(3) from numbers(3)');
  await expect(rewrite()).rejects.toThrow(StatementTimedOut);
  await expect(rewrite()).rejects.toThrow(StillRunning);
  // Another process is refused as well. Another rewrite, or the same rewrite of another installation, may run.
  await expect(clickhouse.rewrite('copy', 'insert into copied select 9')).rejects.toThrow(StillRunning);
  await clickhouse.rewrite('another-copy', 'insert into copied select 10');
  await until('the first one has ended', async () =>
    clickhouse.rewrite('copy', 'insert into copied select 11').then(
      () => true,
      (error: unknown) => {
        expect(error).toBeInstanceOf(StillRunning);
        return undefined;
      },
    ),
  );
  const rows = await clickhouse.query<{ n: string }>('select n from copied order by n');
  expect(rows.map(({ n }) => Number(n)).filter((n) => n >= 9)).toEqual([10, 11]);
  await giving_up.close();
});

test('a deletion is refused while an earlier one on the table still runs', async () => {
  await clickhouse.command('system stop merges mutated');
  await clickhouse.command('alter table mutated delete where n = 0 settings mutations_sync = 0');
  await expect(clickhouse.deleteRows('mutated', 'n = {n:UInt64}', { n: 1 })).rejects.toThrow(StillRunning);
  await clickhouse.command('system start merges mutated');
  await until('the first one has ended', async () =>
    clickhouse.deleteRows('mutated', 'n = {n:UInt64}', { n: 1 }).then(
      () => true,
      () => undefined,
    ),
  );
  expect(await clickhouse.query('select n from mutated')).toEqual([{ n: '2' }]);
});

test('a deletion is refused with the reason why an earlier one on the table cannot end', async () => {
  await clickhouse.command('create table failing (n UInt64) engine = MergeTree order by n');
  await clickhouse.command('insert into failing select number from numbers(3)');
  const mutation = `alter table failing delete where throwIf(n = 1, 'it is one') settings mutations_sync = 0`;
  await clickhouse.command(mutation);
  const deletion = () => clickhouse.deleteRows('failing', 'n = {n:UInt64}', { n: 2 });
  await until('the earlier one has failed', async () =>
    deletion().then(
      () => undefined,
      (error: unknown) => String(error).includes('it is one') || undefined,
    ),
  );
  await expect(deletion()).rejects.toThrow(
    /^an earlier "delete-failing" still runs in ClickHouse, and fails: .*it is one/,
  );
  await clickhouse.command(`kill mutation where database = currentDatabase() and table = 'failing' sync`);
  await deletion();
  expect(await clickhouse.query('select n from failing order by n')).toEqual([{ n: '0' }, { n: '1' }]);
});
