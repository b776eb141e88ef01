import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { LAST_SEEN_SQL } from '../../src/analytics/mirrored-columns.ts';
import { LAST_ID, readChangedPlayers, readMirrorPosition } from '../../src/analytics/mirror-queries.ts';
import { PLAYERS_MIRROR } from '../../src/analytics/mirrors.ts';
import { until } from '../engines/until.ts';
import { openForUpgrade, type Upgraded } from '../engines/upgrade.ts';

const UPGRADE = 27;

let upgraded: Upgraded;
beforeAll(async () => {
  upgraded = await openForUpgrade('before_totals_in_place');
});
afterAll(() => upgraded?.close());

it('changes of before that were not copied are noted, and neither times nor tables are written anew', async () => {
  const { sql, migrate } = upgraded;
  await migrate((version) => version < UPGRADE);
  const [tenant_id, project_id] = [randomUUID(), randomUUID()];
  const ids = Array.from({ length: 5 }, () => randomUUID()).toSorted();
  const [copied = '', passed = '', waiting = '', later = '', merged = ''] = ids;
  const add = (player_id: string) => sql`
    with made as (
      insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${player_id}, 'EUR', now(), now()))
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, last_seen_at, updated_at)
    values (${tenant_id}, ${project_id}, ${player_id}, now(), '2026-02-03T04:05:06.789Z', now())`;
  await add(copied);
  await sql`
    with made as (
      insert into players (tenant_id, project_id, player_id, default_currency_code, created_at, updated_at)
      select ${tenant_id}, ${project_id}, unnest(array[${passed}, ${waiting}]::uuid[]), 'EUR', now(), now())
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, last_seen_at, updated_at)
    select ${tenant_id}, ${project_id}, unnest(array[${passed}, ${waiting}]::uuid[]), now(), now(), now()`;
  // The mirror stands between two players of one transaction.
  await sql`
    insert into mirror_positions (name, changed_xid, row_id, epoch)
    select 'players', changed_xid, player_id, 0 from player_totals where player_id = ${passed}`;
  await add(later);
  await sql`
    insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at)
    values (${tenant_id}, ${project_id}, ${merged}, ${later}, now())`;
  const fileOf = () => sql`
    select relname, pg_relation_filenode(oid) as file from pg_class
    where relname in ('player_totals', 'player_totals_pkey', 'player_totals_by_last_seen') order by 1`;
  const before = await fileOf();
  await migrate((version) => version >= UPGRADE);
  expect(await fileOf()).toEqual(before);
  const times = await sql<{ at: Date }[]>`
    select ${sql.unsafe(LAST_SEEN_SQL)} as at from player_totals t where player_id in (${copied}, ${later})`;
  expect(times.map(({ at }) => at.toISOString())).toEqual(Array(2).fill('2026-02-03T04:05:06.789Z'));
  const position = await readMirrorPosition(sql, PLAYERS_MIRROR);
  // Who waits in that transaction counts as not copied.
  const [proof] = await sql<{ proven: boolean }[]>`
    select (changed_xid, player_id) <= (${position.changed_xid}::text::xid8, ${position.row_id}::uuid) as proven
    from player_totals where player_id = ${waiting}`;
  expect(proof).toEqual({ proven: false });
  // Nothing is read while an older transaction runs, also one of another database of the server.
  const changes = await until(async () => readChangedPlayers(sql, position, 10));
  expect(changes.players.map(({ player_id }) => player_id)).toEqual([waiting, later, merged]);
});

it('a transaction of which all is copied stays so', async () => {
  const whole = await openForUpgrade('before_totals_whole');
  onTestFinished(() => whole.close());
  const { sql, migrate } = whole;
  await migrate((version) => version < UPGRADE);
  await sql`
    insert into mirror_positions (name, changed_xid, row_id, epoch) values ('players', '700', ${randomUUID()}, 0)`;
  await migrate((version) => version >= UPGRADE);
  expect(await readMirrorPosition(sql, PLAYERS_MIRROR)).toEqual({
    epoch: 0,
    changed_xid: '700',
    row_id: LAST_ID,
  });
});
