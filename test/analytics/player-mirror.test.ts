import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { mirrorBlock, startPlayerMirror } from '../../processors/player-mirror/index.ts';
import { newEpochMemory } from '../../src/analytics/epoch.ts';
import { beginEpoch, noteAllPlayers, readEpochState } from '../../src/analytics/epoch-queries.ts';
import {
  LAST_ID,
  MIRROR_START,
  newestChange,
  readChangedPlayers,
} from '../../src/analytics/mirror-queries.ts';
import { PLAYERS } from '../../src/analytics/mirrors.ts';
import { readConfig } from '../../src/config.ts';
import { readMirroredChange } from '../../src/engage/journeys/runs/news-queries.ts';
import { newId } from '../../src/platform/ids.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import type { WatchedWork } from '../../src/platform/postgres/work-watch.ts';
import type { Platform } from '../../src/platform/platform.ts';
import { runFolder } from '../engines/run-folder.ts';
import { until } from '../engines/until.ts';
import { openTestPlatform } from '../engines/wiring.ts';

let dir: string;
let platform: Platform;
beforeAll(async () => {
  dir = await mkdtemp(join(runFolder(), 'engagement-mirror-'));
  platform = await openTestPlatform(readConfig({ DATA_DIR: dir, LOG_LEVEL: 'silent' }), {
    own_postgres: true,
  });
});
afterAll(async () => {
  await platform?.close();
  await rm(dir, { recursive: true, force: true });
});

/** Work that is never found: only a wake or the end ends the wait. */
const NO_WORK: WatchedWork = {
  untilFound: (signal) =>
    new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    }),
};

it('looks once at its start, also without work: the database may have been restored or replaced', async () => {
  const epochs = () => platform.postgres.service`select from database_epochs`;
  expect(await epochs()).toHaveLength(0);
  const loop = startPlayerMirror({ ...platform, workWatch: { watch: () => NO_WORK, wake: () => undefined } });
  onTestFinished(() => loop.close());
  await until(async (saw) => saw((await epochs()).length) === 1);
});

const [tenant_id, project_id] = [newId(), newId()];

async function addPlayer(tx: Tx): Promise<string> {
  const player_id = newId();
  await tx`
    insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
    values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', now(), now())`;
  await tx`
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
    values (${tenant_id}, ${project_id}, ${player_id}, now(), now(), now())`;
  return player_id;
}

const bet = (tx: Tx, player_id: string) => tx`
  update player_totals set bet_count = bet_count + 1, changed_xid = pg_current_xact_id() where player_id = ${player_id}`;

async function copied(): Promise<Record<string, string>> {
  const rows = await platform.clickhouse.query<{ player_id: string; bet_count: string }>(
    `select player_id, toString(bet_count) as bet_count from players final
    where project_id = {project_id:UUID} and is_deleted = 0`,
    { project_id },
  );
  return Object.fromEntries(rows.map((row) => [row.player_id, row.bet_count]));
}

async function mirrorAll(): Promise<void> {
  const memory = newEpochMemory();
  await until(async (saw) => saw(await mirrorBlock(platform, memory)) === 0);
}

it('copies each change once, also the older one of two transactions that ends last, and removes what it has copied', async () => {
  const { service: sql } = platform.postgres;
  const player_id = await sql.begin(addPlayer);
  await mirrorAll();
  expect(await copied()).toEqual({ [player_id]: '0' });
  await sql.begin(async (older) => {
    await older`select pg_current_xact_id()`;
    await sql.begin((newer) => bet(newer, player_id));
    // Its transaction id is above one that still runs.
    await mirrorAll();
    expect(await copied()).toEqual({ [player_id]: '0' });
    await bet(older, player_id);
  });
  await mirrorAll();
  expect(await copied()).toEqual({ [player_id]: '2' });
  expect(await sql`select from player_changes`).toHaveLength(0);
});

it('has every change up to its position, also of a player that has changed again, and the last one in the end', async () => {
  const { service: sql } = platform.postgres;
  const player_id = await sql.begin(addPlayer);
  await mirrorAll();
  await sql.begin((tx) => bet(tx, player_id));
  const [changed] = await sql<{ xid: string }[]>`
    select changed_xid::text as xid from player_totals where player_id = ${player_id}`;
  await sql.begin(async (older) => {
    await older`select pg_current_xact_id()`;
    await sql.begin((newer) => bet(newer, player_id));
    // The first change may be read; the present row is of a transaction above one that still runs.
    await mirrorAll();
    expect((await readMirroredChange(sql))?.changed_xid).toBe(BigInt(changed?.xid ?? 0));
    expect(await copied()).toMatchObject({ [player_id]: '2' });
    await bet(older, player_id);
  });
  await mirrorAll();
  expect(await copied()).toMatchObject({ [player_id]: '3' });
});

it('reads whole transactions', async () => {
  const { service: sql } = platform.postgres;
  await mirrorAll();
  const ids = await sql.begin(async (tx) => [await addPlayer(tx), await addPlayer(tx), await addPlayer(tx)]);
  const other = await sql.begin(addPlayer);
  const first = await readChangedPlayers(sql, MIRROR_START, 2);
  expect(first?.players.map(({ player_id }) => player_id)).toEqual(ids.toSorted());
  await mirrorAll();
  expect(Object.keys(await copied())).toEqual(expect.arrayContaining([...ids, other]));
});

it('a statement over many players notes them in parts', async () => {
  const { service: sql } = platform.postgres;
  const many = newId();
  const counts = await sql.begin(async (tx) => {
    await tx`
      with made as (
        insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
        select ${tenant_id}, ${many}, new_id(), 'EUR', now(), now() from generate_series(1, 4500) returning *)
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
      select tenant_id, project_id, player_id, now(), now(), now() from made`;
    const noted = await tx`
      select player_count, cardinality(player_ids) from player_changes where project_id = ${many} order by 1`;
    await tx`delete from player_totals where project_id = ${many}`;
    await tx`delete from player_changes where project_id = ${many}`;
    return noted;
  });
  expect(counts.map((row) => Object.values(row))).toEqual([500, 2_000, 2_000].map((n) => [n, n]));
});

it('copies a player that changed in two blocks with each of them, as it is then', async () => {
  const { service: sql } = platform.postgres;
  await mirrorAll();
  const player_id = await sql.begin(addPlayer);
  await sql.begin((tx) => bet(tx, player_id));
  const first = await readChangedPlayers(sql, MIRROR_START, 1);
  expect(first).toMatchObject({ count: 1, players: [{ player_id }] });
  const position = { ...MIRROR_START, changed_xid: first?.until_xid ?? '', row_id: LAST_ID };
  const last = await readChangedPlayers(sql, position, 1);
  expect(last?.players).toMatchObject([{ player_id }]);
  await mirrorAll();
  expect(await copied()).toMatchObject({ [player_id]: '1' });
});

it('removes what lies between the old and the new position only', async () => {
  const { service: sql } = platform.postgres;
  await sql.begin(addPlayer);
  await mirrorAll();
  await sql`
    insert into player_changes (tenant_id, project_id, changed_xid, player_count, player_ids)
    values (${tenant_id}, ${project_id}, '3', 1, array[${newId()}::uuid])`;
  await sql.begin(addPlayer);
  await mirrorAll();
  expect(await sql`delete from player_changes returning changed_xid::text`).toMatchObject([
    { changed_xid: '3' },
  ]);
});

it('reads as many changes of one player as of many', async () => {
  const { service: sql } = platform.postgres;
  await mirrorAll();
  const changes = await sql.begin(async (tx) => {
    await tx`
      insert into player_changes (tenant_id, project_id, changed_xid, player_count, player_ids)
      select ${tenant_id}, ${project_id}, '3', 1, array[${newId()}::uuid] from generate_series(1, 1500)`;
    return readChangedPlayers(tx, MIRROR_START, 2_000);
  });
  expect(changes?.count).toBe(1_500);
  await sql`delete from player_changes`;
});

it('copies every player again in a new epoch, and those with ids from the future with present ones', async () => {
  const { service: sql } = platform.postgres;
  const player_id = await sql.begin(addPlayer);
  await mirrorAll();
  await sql`update player_totals set bet_count = 7, changed_xid = '999999999' where player_id = ${player_id}`;
  await sql`delete from player_changes`;
  const { epoch, identity } = await readEpochState(sql);
  // As where a mirror has never copied anything.
  await sql`delete from mirror_positions`;
  expect(await beginEpoch(sql, epoch, { epoch: (epoch ?? 0) + 1, identity }, ['players'])).toBe(true);
  const [all] = await sql<{ count: number }[]>`
    select count(*)::integer as count from player_totals`;
  expect(await noteAllPlayers(sql)).toBe(all?.count);
  expect(await noteAllPlayers(sql)).toBe(0);
  // The mirror has passed old changes, but not the last of the players that were noted.
  const noted = await newestChange(sql, PLAYERS);
  await sql`
    update mirror_positions set changed_xid = (${noted}::text::numeric - 1)::text::xid8 where name = 'players'`;
  expect(await readMirroredChange(sql)).toBeUndefined();
  await mirrorAll();
  expect((await readMirroredChange(sql))?.changed_xid).toBe(BigInt(noted));
  expect(await copied()).toMatchObject({ [player_id]: '7' });
  const [row] = await sql<{ future: boolean }[]>`
    select exists (select from player_totals where changed_xid >= pg_snapshot_xmax(pg_current_snapshot())) as future`;
  expect(row?.future).toBe(false);
  expect(await sql`select from player_changes`).toHaveLength(0);
});
