import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { rewriteOnce } from '../../processors/event-rewriter/index.ts';
import type { ReconcileReport } from '../../src/reconcile/schema.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { startTestService, sunk, type TestService } from '../engines/service.ts';
import { until } from '../engines/until.ts';
import { populate, reconcile, TABLES, tryToReconcile, type Populated } from './rebuild-fixture.ts';

/** A page of a timeline has room for so many more events. */
const MAX_DEPOSITS = 150;

let service: TestService;
let one: Populated;
let two: Populated;
beforeAll(async () => {
  service = await startTestService();
  one = await populate(service);
  two = await populate(service);
});
beforeEach(() => rewriteOnce(service.platform, 0));
afterEach(() => vi.restoreAllMocks());
afterAll(() => service?.close());

const clickhouse = () => service.platform.clickhouse;
const tablesOf = ({ listed }: ReconcileReport) => new Set(listed.map(({ table }) => table));
const leftovers = async () =>
  (
    await clickhouse().query<{ name: string }>(
      "select name from system.tables where database = currentDatabase() and name like 'rebuild%'",
    )
  ).length;
const damage = (table: string, { tenant }: Populated) =>
  clickhouse().command(`delete from ${table} where tenant_id = {tenant_id:UUID}`, {
    tenant_id: tenant.tenant_id,
  });

/** Runs as the owner: other roles see nothing of a session but that it exists. */
const asOwner = <Row>(work: (tx: Tx) => Promise<Row[]>) =>
  service.platform.postgres.service.begin(async (tx) => {
    await tx`set local role none`;
    return work(tx);
  });

/** The sessions that hold an advisory lock. */
const holdersOf = (name: string) =>
  asOwner(
    (tx) => tx<{ pid: number; state: string }[]>`
      select a.pid, a.state from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted and a.datname = current_database()
        and l.objid::bigint = hashtext(${name})::bigint & 4294967295`,
  );

/** A promise with the function that resolves it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** Makes the first read of the log wait before its first batch; returns when it is reached, and how to let it go on. */
function holdLog(): { reached: Promise<void>; open: () => void } {
  const { eventLog } = service.platform;
  const read = eventLog.read.bind(eventLog);
  const [reached, held] = [gate(), gate()];
  onTestFinished(held.open);
  vi.spyOn(eventLog, 'read').mockImplementation(async function* (...args) {
    reached.open();
    await held.opened;
    yield* read(...args);
  });
  return { reached: reached.opened, open: held.open };
}

describe('rows lost from one table', () => {
  // Of no two tables in a group does one follow from the other, so each must be named by itself.
  const groups = [0, 1, 2].map((group) => TABLES.filter((_table, index) => index % 3 === group));
  it.each(groups)(
    '%s, %s, %s: are named, and repaired for the tenant that was asked about',
    async (...tables) => {
      const before = [await one.answers(), await two.answers()];
      for (const table of tables) await damage(table, one);
      const { tenant_id } = one.tenant;
      const damaged = await reconcile(service, { tenant_id });
      expect(damaged.differences).toBeGreaterThan(0);
      expect(tablesOf(damaged)).toEqual(new Set(tables));
      const repaired = await reconcile(service, { tenant_id, repair: true });
      expect(repaired).toMatchObject({ differences: 0, listed: [], repaired_projects: 1 });
      expect([await one.answers(), await two.answers()]).toEqual(before);
      expect(await leftovers()).toBe(0);
    },
  );

  it('rows that nothing accounts for are named and removed', async () => {
    const before = await one.answers();
    const { tenant_id, project_id } = one.tenant;
    const key = "generateUUIDv4(), '2026-01-01', generateUUIDv4()";
    await clickhouse().command(
      `insert into events (tenant_id, project_id, event, player_id, occurred_at, ingestion_id)
        values ('${tenant_id}', '${project_id}', 'session_start', ${key})`,
    );
    await clickhouse().command(
      `insert into players select * replace (generateUUIDv4() as player_id, 1 as revision) from players final
        where tenant_id = '${tenant_id}' limit 1`,
    );
    await clickhouse().command(
      `insert into segment_members select * replace (generateUUIDv4() as player_id) from segment_members final
        where tenant_id = '${tenant_id}' limit 1`,
    );
    await clickhouse().command(
      `insert into message_sends select * replace (generateUUIDv4() as send_id) from message_sends final
        where tenant_id = '${tenant_id}' and campaign_id is not null limit 1`,
    );
    for (const [table, id] of [
      ['journey_sends', 'send_id'],
      ['journey_runs', 'run_id'],
      ['journey_steps', 'run_id'],
    ] as const) {
      await clickhouse().command(
        `insert into ${table} select * replace (generateUUIDv4() as ${id}) from ${table} final
          where tenant_id = '${tenant_id}' limit 1`,
      );
    }
    // Above every revision of Postgres: no copy replaces it.
    await clickhouse().command(
      `insert into players select * replace ('x' as email, 18446744073709551615 as revision) from players final
        where tenant_id = '${tenant_id}' and player_id = '${one.players[3]}'`,
    );
    expect(tablesOf(await reconcile(service, { tenant_id }))).toEqual(new Set(TABLES));
    expect(await reconcile(service, { tenant_id, repair: true })).toMatchObject({ differences: 0 });
    expect(await one.answers()).toEqual(before);
  });

  it('an alias of a merged player that is lost, or left over, is named and repaired', async () => {
    const { tenant_id } = one.tenant;
    const merges = () => service.platform.postgres.service`
      update player_merges set rewritten_at = null, aliased_at = now() + interval '1 hour'
      where tenant_id = ${tenant_id}`;
    const done = () => service.platform.postgres.service`
      update player_merges set rewritten_at = now() where tenant_id = ${tenant_id}`;
    await merges();
    const lost = await reconcile(service, { tenant_id });
    expect(tablesOf(lost)).toEqual(new Set(['player_aliases']));
    expect(await reconcile(service, { tenant_id, repair: true })).toMatchObject({ differences: 0 });
    const size = async () =>
      clickhouse().query(
        "select element_count as n from system.dictionaries where database = currentDatabase() and name = 'player_alias'",
      );
    expect(await size()).toEqual([{ n: '1' }]);
    await done();
    expect(tablesOf(await reconcile(service, { tenant_id }))).toEqual(new Set(['player_aliases']));
    expect(await reconcile(service, { tenant_id, repair: true })).toMatchObject({ differences: 0 });
    expect(await size()).toEqual([{ n: '0' }]);
  });
});

describe('an emptied ClickHouse', () => {
  it('is named table by table, and rebuilt for all projects from one reading of the log', async () => {
    const before = [await one.answers(), await two.answers()];
    for (const table of TABLES) await clickhouse().command(`truncate table ${table}`);
    expect(tablesOf(await reconcile(service, {}))).toEqual(new Set(TABLES));
    const read = vi.spyOn(service.platform.eventLog, 'read');
    const partitions = [...(await service.platform.eventLog.endOffsets('player-events'))].length;
    expect(await reconcile(service, { repair: true })).toMatchObject({
      differences: 0,
      repaired_projects: 2,
    });
    expect(
      read.mock.calls.filter(([topic, , from]) => topic === 'player-events' && from === 0n),
    ).toHaveLength(partitions);
    expect([await one.answers(), await two.answers()]).toEqual(before);
    expect(await leftovers()).toBe(0);
  });
});

describe('during a repair', () => {
  it('readers see every row, and nothing that is written meanwhile is lost', async () => {
    const [first = ''] = one.players.slice(7);
    const [others, timeline] = [await one.others(), await one.timeline(first)];
    for (const table of TABLES) {
      await clickhouse().command(
        `delete from ${table} where tenant_id = {tenant_id:UUID} and player_id = {player_id:UUID}`,
        { tenant_id: one.tenant.tenant_id, player_id: one.players[2] },
      );
    }
    const damaged = await one.others();
    const stop = new AbortController();
    let rounds = 0;
    const seen: { others: number; timeline: number }[] = [];
    const traffic = (async () => {
      for (; !stop.signal.aborted; rounds++) {
        seen.push({ others: await one.others(), timeline: await one.timeline(first) });
        if (rounds >= MAX_DEPOSITS) continue;
        await one.client.deposit(first, 1);
        await two.client.deposit(two.players[1] ?? '', 1);
      }
    })();
    const { reached, open } = holdLog();
    const repair = reconcile(service, { repair: true });
    await reached;
    await until((saw) => saw(rounds) > 5);
    await sunk(service.platform);
    open();
    const report = await repair;
    stop.abort();
    await traffic;
    expect(report).toMatchObject({ differences: 0, repaired_projects: 1 });
    expect(Math.min(...seen.map((one_of) => one_of.others))).toBeGreaterThanOrEqual(
      Math.min(others, damaged),
    );
    expect(Math.min(...seen.map((one_of) => one_of.timeline))).toBeGreaterThanOrEqual(timeline);
    await sunk(service.platform);
    expect(await reconcile(service, {})).toMatchObject({ differences: 0 });
    expect(await one.timeline(first)).toBe(timeline + Math.min(rounds, MAX_DEPOSITS));
  });

  it('a player who changes all the time is never missing', async () => {
    const hot = one.players[7] ?? '';
    const others = await one.others();
    await clickhouse().command(
      `delete from players where tenant_id = {tenant_id:UUID} and player_id = {player_id:UUID}`,
      { tenant_id: one.tenant.tenant_id, player_id: one.players[2] },
    );
    const sql = service.platform.postgres.service;
    /** Opens a transaction with an id: what is changed after it is not mirrored before it has ended. */
    const openTransaction = async () => {
      const [begun, ended] = [gate(), gate()];
      const done = sql.begin(async (tx) => {
        await tx`select pg_current_xact_id()`;
        begun.open();
        await ended.opened;
      });
      await begun.opened;
      return async () => {
        ended.open();
        await done;
      };
    };
    const change = (n: number) => one.client.api('PATCH', `/v1/players/${hot}`, { custom_attributes: { n } });
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const neverSettled = async () => {
      let end = await openTransaction();
      for (let n = 0; !stop.signal.aborted; n++) {
        expect((await change(n)).status).toBe(200);
        const next = await openTransaction();
        expect((await change(-n)).status).toBe(200);
        await end();
        end = next;
      }
      await end();
    };
    let changes: Promise<void> | undefined;
    const seen: number[] = [];
    const command = clickhouse().command.bind(clickhouse());
    vi.spyOn(clickhouse(), 'command').mockImplementation(async (statement, params) => {
      // The tables were compared: while the player is never settled, that would wait.
      if (/^create table rebuild_\w+_players /.test(statement)) changes = neverSettled();
      await command(statement, params);
      if (!statement.startsWith('exchange tables players ')) return;
      seen.push(await one.others());
      stop.abort();
      await changes;
    });
    const { tenant_id } = one.tenant;
    expect(await reconcile(service, { tenant_id, repair: true })).toMatchObject({ repaired_projects: 1 });
    expect(seen).toEqual([others]);
  });

  it('nothing is copied before the inserts have ended that began before the views', async () => {
    await damage('players', one);
    const query = clickhouse().query.bind(clickhouse());
    const rewrite = vi.spyOn(clickhouse(), 'rewrite');
    const copies = () => rewrite.mock.calls.filter(([name]) => name === 'rebuild-copy').length;
    const asked: string[] = [];
    let is_running = true;
    // The embedded engine runs one statement at a time; a server runs inserts beside others.
    vi.spyOn(clickhouse(), 'query').mockImplementation(async (statement, params) => {
      const rows = await query(statement, params);
      if (!statement.includes('system.processes')) return rows;
      asked.push(String(params?.['inserts']));
      return is_running ? [{ query_id: 'insert', elapsed: asked.length }] : rows;
    });
    const repair = reconcile(service, { tenant_id: one.tenant.tenant_id, repair: true });
    await until((saw) => saw(asked.length) > 2 || saw(copies()) > 0);
    expect(copies()).toBe(0);
    is_running = false;
    expect(await repair).toMatchObject({ differences: 0, repaired_projects: 1 });
    expect(copies()).toBeGreaterThan(0);
    const [inserts = ''] = asked;
    const listed = await query('select match({text:String}, {inserts:String}) as n', {
      text: 'INSERT INTO players SETTINGS async_insert = 0 FORMAT JSONEachRow',
      inserts,
    });
    expect(listed).toEqual([{ n: 1 }]);
  });

  it('no transaction is held open, and merges and rates that come meanwhile are applied after it', async () => {
    const { tenant_id } = one.tenant;
    const sql = service.platform.postgres.service;
    await damage('events', one);
    const { reached, open } = holdLog();
    const repair = reconcile(service, { tenant_id, repair: true });
    await reached;
    // event-rewriter must not work on rows that are being rebuilt: its lock is held, by a session without transaction.
    expect(await holdersOf('event-rewriter')).toEqual([expect.objectContaining({ state: 'idle' })]);
    await one.client.identify({}, { anonymous_id: 'device-10', external_id: 'second' });
    await one.client.identify({}, { anonymous_id: 'device-11', external_id: 'second' });
    await sql`insert into fx_rates (tenant_id, base, quote, ts, rate)
      values (${tenant_id}, 'USD', 'EUR', '2021-01-01', 0.5)`;
    open();
    expect(await repair).toMatchObject({ differences: 0, repaired_projects: 1 });
    await rewriteOnce(service.platform, 0);
    expect(await reconcile(service, { tenant_id })).toMatchObject({ differences: 0 });
  });
});

describe('a repair that fails', () => {
  it('leaves the tables as they were, and what it left is dropped by the next run', async () => {
    await damage('players', one);
    await damage('segment_members', two);
    await damage('events', one);
    const before = [await one.answers(), await two.answers()];
    const command = clickhouse().command.bind(clickhouse());
    // As after a kill: nothing is cleaned up.
    vi.spyOn(clickhouse(), 'command').mockImplementation(async (statement, params) => {
      if (/^\s*drop/i.test(statement)) throw new Error('killed');
      return command(statement, params);
    });
    vi.spyOn(service.platform.eventLog, 'read').mockImplementation(() => {
      throw new Error('killed');
    });
    expect((await tryToReconcile(service, { repair: true })).status).toBe(500);
    vi.restoreAllMocks();
    expect(await leftovers()).toBeGreaterThan(0);
    expect([await one.answers(), await two.answers()]).toEqual(before);
    await one.client.deposit(one.players[6] ?? '', 5);
    await sunk(service.platform);
    expect((await reconcile(service, {})).differences).toBeGreaterThan(0);
    expect(await leftovers()).toBe(0);
    expect(await reconcile(service, { repair: true })).toMatchObject({ differences: 0 });
  });

  it('exchanges nothing once its lock is lost', async () => {
    await damage('players', one);
    await damage('events', one);
    const before = await one.answers();
    const { reached, open } = holdLog();
    const repair = tryToReconcile(service, { repair: true });
    await reached;
    const [holder] = await holdersOf('reconcile');
    await asOwner((tx) => tx`select pg_terminate_backend(${holder?.pid ?? 0}, 5000)`);
    open();
    const { status, text } = await repair;
    expect(status).toBe(503);
    expect(text).toContain('was lost');
    expect(await one.answers()).toEqual(before);
    expect(await reconcile(service, { repair: true })).toMatchObject({ differences: 0 });
    expect(await leftovers()).toBe(0);
  });

  it('two runs at a time: the later one waits, or is refused by name', async () => {
    await damage('events', two);
    const { reached, open } = holdLog();
    const repair = reconcile(service, { repair: true });
    await reached;
    const refused = await tryToReconcile(service, { wait_ms: 0 });
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('another reconcile');
    // With the first run more than there are sessions for jobs.
    const sessions = vi.spyOn(service.platform.postgres, 'patientSession');
    const waiting = Array.from({ length: 3 }, () => reconcile(service, {}));
    await until((saw) => saw(sessions.mock.calls.length) >= 3);
    sessions.mockRestore();
    await service.platform.postgres.patientSession(() => Promise.resolve());
    open();
    const reports = await Promise.all([repair, ...waiting]);
    expect(reports.map(({ differences }) => differences)).toEqual(reports.map(() => 0));
  });
});

it('reports no difference of players who change without a pause', async () => {
  const stop = new AbortController();
  const traffic = [one, two].flatMap((of) =>
    [0, 1].map(async (at) => {
      while (!stop.signal.aborted) {
        await of.client.deposit(of.players[at] ?? '', 1);
        await of.client.send(of.players[at] ?? '', 'login');
      }
    }),
  );
  const reports: ReconcileReport[] = [];
  for (let i = 0; i < 2; i++) reports.push(await reconcile(service, {}));
  stop.abort();
  await Promise.all(traffic);
  expect(reports.map(({ listed }) => listed)).toEqual([[], []]);
  await until('all is quiet', async (saw) => saw((await reconcile(service, {})).differences) === 0);
});
