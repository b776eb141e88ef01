import { afterAll, beforeAll, expect, it } from 'vitest';
import { startPlayerMirror } from '../../processors/player-mirror/index.ts';
import { ensureEpoch, newEpochMemory } from '../../src/analytics/epoch.ts';
import { MIRROR_START } from '../../src/analytics/mirror-queries.ts';
import { readNumberedPlayers } from '../../src/analytics/numbered-players.ts';
import { reconcile } from '../../src/ledger/reconcile/reconcile.ts';
import type { Tx } from '../../src/platform/postgres/port.ts';
import { dropBitmap } from '../../src/segments/bitmap-queries.ts';
import { countMembers } from '../../src/segments/evaluation-queries.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { changeMemberships, membershipsOfPlayers } from '../../src/segments/membership-queries.ts';
import { prepareMembers } from '../../src/segments/prepare-members.ts';
import { eventually } from '../engines/service.ts';
import { hasMark, openBitmapFixture, withClickHouse, within, type BitmapFixture } from './bitmap-fixture.ts';

// Restores, epochs and repairs: no answer may come from a bitmap that is not of the present members and numbers.

let fixture: BitmapFixture;
beforeAll(async () => {
  fixture = await openBitmapFixture();
});
afterAll(async () => fixture?.service.close());

const sql = () => fixture.platform.postgres.service;
const latestEpoch = async () => {
  const [row] = await sql()<{ epoch: number }[]>`select max(epoch) as epoch from database_epochs`;
  return row?.epoch ?? 0;
};

/** A segment of players with a mark, whose members are a bitmap. */
async function marked(mark: string, count: number): Promise<{ segment_id: string; ids: string[] }> {
  const segment_id = await fixture.client.make([hasMark(mark)]);
  const ids: string[] = [];
  for (let n = 1; n <= count; n++) ids.push(await fixture.mark(`${mark}-${n}`, mark));
  await fixture.mirrorAll();
  await fixture.refresh(segment_id);
  expect(await fixture.preview('AND', [within(segment_id)])).toMatchObject({ size: count, by: 'bitmaps' });
  return { segment_id, ids };
}

/** Every number is lost, as in a snapshot from before they were given; nothing else of Postgres changes. */
async function loseNumbers(): Promise<void> {
  await sql()`update players set player_no = null`;
  await sql()`update player_numbers set last_no = 0`;
}

it('a snapshot of Postgres from before the numbers gives other numbers, and no earlier bitmap is used', async () => {
  const { segment_id } = await marked('snapshot', 2);
  await fixture.mark('outside');
  await fixture.mirrorAll();
  const outside = async () => (await fixture.preview('AND', [within(segment_id, 'not_in')])).size;
  const expected = await outside();
  const before = await latestEpoch();
  // The identity, and every transaction id, are those that ClickHouse knows: only the numbers went back.
  await loseNumbers();
  await ensureEpoch(fixture.platform, newEpochMemory());
  expect(await latestEpoch()).toBe(before + 1);
  // Before, while and after the players are copied with other numbers.
  const asked = [await outside()];
  const asking = withClickHouse(fixture.platform, {
    async insertLines(...block) {
      asked.push(await outside());
      await fixture.platform.clickhouse.insertLines(...block);
      asked.push(await outside());
    },
  });
  await fixture.mirrorAll(asking);
  expect(new Set(asked)).toEqual(new Set([expected]));
  await fixture.byBitmaps(segment_id);
  expect(await outside()).toBe(expected);
});

it('a question that was prepared before an epoch began is not answered by numbers of another one', async () => {
  const { segment_id } = await marked('straddling', 2);
  const { platform, project } = fixture;
  const definition = readDefinition({ operator: 'AND', conditions: [within(segment_id)] });
  const question = { ...project, now_ms: Date.now() };
  const before = await prepareMembers(platform, project, [segment_id]);
  const [{ numbering: earlier } = { numbering: '' }] = await sql()<{ numbering: string }[]>`
    select numbering::text as numbering from projects where project_id = ${project.project_id}`;
  const count = async () => (await countMembers(platform, question, definition, before, 1)).size;
  await loseNumbers();
  await ensureEpoch(platform, newEpochMemory());
  expect(await count()).toBe(2);
  await fixture.mirrorAll();
  expect(await count()).toBe(2);
  // Bitmaps of both numberings are there.
  await fixture.byBitmaps(segment_id);
  expect(await count()).toBe(2);
  // Postgres goes back to before the epoch, and nobody has noticed.
  const numbered = async (numbering: string) =>
    sql()`update projects set numbering = ${numbering}::text::bigint where project_id = ${project.project_id}`;
  const [{ numbering: later } = { numbering: '' }] = await sql()<{ numbering: string }[]>`
    select numbering::text as numbering from projects where project_id = ${project.project_id}`;
  expect(later).not.toBe(earlier);
  await numbered(earlier);
  expect(await fixture.preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'ids' });
  await numbered(later);
  await fixture.byBitmaps(segment_id);
});

it('a bitmap that is gone when the statement runs is not taken for an empty one', async () => {
  const { platform, project } = fixture;
  const [one, other] = [await marked('gone', 2), await marked('there', 1)];
  const conditions = [within(one.segment_id, 'not_in'), within(other.segment_id, 'not_in')];
  const definition = readDefinition({ operator: 'AND', conditions });
  const question = { ...project, now_ms: Date.now() };
  const bitmaps = await prepareMembers(platform, project, [one.segment_id, other.segment_id]);
  expect(bitmaps.hashes.size).toBe(2);
  const whole = await countMembers(platform, question, definition, bitmaps, 1);
  expect(whole.sql).toContain('segment_bitmaps');
  await dropBitmap(platform.clickhouse, { ...project, segment_id: one.segment_id });
  const found = await countMembers(platform, question, definition, bitmaps, 1);
  expect(found.sql).not.toContain('segment_bitmaps');
  expect(found.size).toBe(whole.size);
});

it('a snapshot in which only members went back is not answered by the bitmap of later ones', async () => {
  const { segment_id, ids } = await marked('volume', 2);
  const [first = '', excluded = ''] = ids;
  const third = await fixture.mark('volume-3');
  await fixture.mirrorAll();
  const { platform, project, preview } = fixture;
  const epoch = await latestEpoch();
  const state = () => sql()<{ members_hash: bigint; estimated_size: bigint }[]>`
    select members_hash, estimated_size from segments where segment_id = ${segment_id}`;
  const [earlier] = await state();
  await fixture.change(segment_id, [], [excluded]);
  await fixture.publish();
  await fixture.byBitmaps(segment_id);
  // The rows are as they were before the change; no transaction id and no number tells it.
  await sql().begin(async (tx) => {
    await tx`insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
      values (${project.tenant_id}, ${project.project_id}, ${segment_id}, ${excluded}, now())`;
    await tx`update segments set members_hash = ${earlier?.members_hash ?? 0n},
      estimated_size = ${earlier?.estimated_size ?? 0n} where segment_id = ${segment_id}`;
  });
  await ensureEpoch(platform, newEpochMemory());
  expect(await latestEpoch()).toBe(epoch);
  // The bitmap of the earlier members is true again; without it only ids are left.
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'bitmaps' });
  await platform.clickhouse.command('optimize table segment_bitmaps final');
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ by: 'ids' });
  // As many members as the first time, and others.
  await fixture.change(segment_id, [third], [excluded]);
  await fixture.publish();
  await fixture.byBitmaps(segment_id);
  const found = await preview('AND', [within(segment_id)]);
  expect({ ...found, sample: found.sample.toSorted() }).toEqual({
    size: 2,
    sample: [first, third].toSorted(),
    by: 'bitmaps',
  });
});

it('an earlier ClickHouse makes no bitmap, also when as many members are in it', async () => {
  const { segment_id, ids } = await marked('earlier', 2);
  const third = await fixture.mark('earlier-3');
  await fixture.mirrorAll();
  const { platform, project } = fixture;
  const other = ids.slice(0, 1);
  await fixture.change(segment_id, [third], other);
  // The change was published, and is not in ClickHouse.
  await sql()`delete from segment_changes`;
  expect(await fixture.preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'ids' });
  expect((await prepareMembers(platform, project, [segment_id])).hashes.size).toBe(0);
});

it('no player gets a number that ClickHouse has, whether of a player or only in a bitmap', async () => {
  const { platform, project } = fixture;
  const numberOf = async (external_id: string) => {
    const [row] = await sql()<{ player_no: number }[]>`
      select player_no from players where tenant_id = ${project.tenant_id} and external_id = ${external_id}`;
    return row?.player_no ?? 0;
  };
  await fixture.mark('before');
  await fixture.mirrorAll();
  const lost_no = (await numberOf('before')) + 1_000;
  // Of another project: a player whom Postgres does not know keeps those of its own from being used.
  const elsewhere = { tenant_id: project.tenant_id, project_id: '11111111-1111-4111-8111-111111111111' };
  const player = { ...elsewhere, player_id: elsewhere.project_id, player_no: lost_no, revision: 1 };
  await platform.clickhouse.insertLines('players', [JSON.stringify(player)], 'lost');
  const before = await latestEpoch();
  await fixture.mark('after');
  await ensureEpoch(platform, newEpochMemory());
  expect(await latestEpoch()).toBe(before + 1);
  await fixture.mirrorAll();
  expect(await numberOf('after')).toBeGreaterThan(lost_no);
  await platform.clickhouse.command(
    `insert into segment_bitmaps (tenant_id, project_id, segment_id, last_no, members)
    select {tenant_id:UUID}, {project_id:UUID}, {project_id:UUID}, {last_no:UInt32}, groupBitmapState({last_no:UInt32})`,
    { ...elsewhere, last_no: lost_no + 5_000 },
  );
  await fixture.mark('after-bitmap');
  await fixture.mirrorAll();
  expect(await latestEpoch()).toBe(before + 2);
  expect(await numberOf('after-bitmap')).toBeGreaterThan(lost_no + 5_000);
});

it('a server that was started again is compared before it gives numbers', async () => {
  await fixture.mark('unnumbered');
  const read = (compared_with: string | undefined) =>
    readNumberedPlayers(sql(), MIRROR_START, 20_000, compared_with);
  await expect(read('2020-01-01 00:00:00+00')).rejects.toThrow('started again');
  await expect(read(undefined)).rejects.toThrow('started again');
  const memory = newEpochMemory();
  await ensureEpoch(fixture.platform, memory);
  const players = await read(memory.compared_with);
  expect(players.every(({ is_numbered }) => is_numbered)).toBe(true);
  expect(players.length).toBeGreaterThan(1);
  // A mirror that outlives a restore compares again.
  const behind = (await latestEpoch()) + 1;
  await loseNumbers();
  await ensureEpoch(fixture.platform, memory);
  expect(await latestEpoch()).toBe(behind - 1);
  await ensureEpoch(fixture.platform, { ...memory, compared_with: '2020-01-01 00:00:00+00' });
  expect(await latestEpoch()).toBe(behind);
  await fixture.mirrorAll();
});

it('a repair of players uses no bitmap that was made of the copies before it, also when it dies half-way', async () => {
  const { segment_id } = await marked('repaired', 2);
  await fixture.mark('unmarked');
  const { platform, project, preview } = fixture;
  await fixture.mirrorAll();
  const mirror = startPlayerMirror(platform);
  try {
    const expected = (await preview('AND', [within(segment_id, 'not_in')])).size;
    // A bitmap of wrong numbers.
    await dropBitmap(platform.clickhouse, { ...project, segment_id });
    const alter = (set: string) =>
      platform.clickhouse.command(
        `alter table players update player_no = ${set}
        where tenant_id = {tenant_id:UUID} and external_id = 'repaired-1' settings mutations_sync = 1`,
        { tenant_id: project.tenant_id },
      );
    await alter('player_no + 900000');
    await fixture.byBitmaps(segment_id);
    const body = { repair: true, wait_ms: 30_000 };
    const dying = withClickHouse(platform, {
      async command(statement, params) {
        await platform.clickhouse.command(statement, params);
        if (statement.startsWith('exchange tables players')) throw new Error('the process dies here');
      },
    });
    await expect(reconcile(dying, body)).rejects.toThrow('the process dies here');
    const after = await preview('AND', [within(segment_id, 'not_in')]);
    expect(after.size).toBe(expected);
    await reconcile(platform, body);
    await fixture.byBitmaps(segment_id);
    expect(await preview('AND', [within(segment_id, 'not_in')])).toMatchObject({
      size: expected,
      by: 'bitmaps',
    });
    // One that dies before the exchange leaves the wrong copies, and no bitmap of them.
    await alter('player_no + 900000');
    const early = withClickHouse(platform, {
      command(statement, params) {
        if (statement.startsWith('exchange tables players')) throw new Error('the process dies here');
        return platform.clickhouse.command(statement, params);
      },
    });
    await expect(reconcile(early, body)).rejects.toThrow('the process dies here');
    expect(await preview('AND', [within(segment_id, 'not_in')])).toMatchObject({ size: expected, by: 'ids' });
    await reconcile(platform, body);
    await fixture.byBitmaps(segment_id);
  } finally {
    await mirror.close();
  }
});

it('a repair of members needs no new bitmaps: each is named by what it contains', async () => {
  const { segment_id, ids } = await marked('members', 3);
  const { platform, project } = fixture;
  const mirror = startPlayerMirror(platform);
  try {
    await platform.clickhouse.command(
      'delete from segment_members where segment_id = {segment_id:UUID} and player_id = {player_id:UUID}',
      { segment_id, player_id: ids[0] },
    );
    expect(await fixture.preview('AND', [within(segment_id)])).toMatchObject({ size: 3, by: 'bitmaps' });
    await dropBitmap(platform.clickhouse, { ...project, segment_id });
    expect(await fixture.preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'ids' });
    await reconcile(platform, { repair: true, wait_ms: 30_000 });
    await fixture.byBitmaps(segment_id);
    expect(await fixture.preview('AND', [within(segment_id)])).toMatchObject({ size: 3, by: 'bitmaps' });
  } finally {
    await mirror.close();
  }
});

it('changes of several segments lock them in one order', async () => {
  const { client, project, mark, platform } = fixture;
  const ids = [await client.make([hasMark('x')]), await client.make([hasMark('y')])].sort();
  const [low = '', high = ''] = ids;
  const now = new Date();
  const [one, two] = [await mark('order-1'), await mark('order-2')];
  const in_both = (player_id: string) => [high, low].map((segment_id) => ({ segment_id, player_id }));
  const changes: ((tx: Tx) => Promise<unknown>)[] = [
    (tx) => changeMemberships(tx, project, in_both(one), [], now),
    (tx) => membershipsOfPlayers.onMerge(tx, { ...project, player_id: one, into_player_id: two }, now),
    async (tx) => membershipsOfPlayers.onDelete?.(tx, { ...project, player_id: two }, now),
  ];
  for (const change of changes) {
    // While it waits for the first segment, it holds no later one.
    let changing: Promise<unknown> = Promise.resolve();
    await platform.postgres.service.begin(async (tx) => {
      await tx`select from segments where segment_id = ${low} for no key update`;
      changing = platform.postgres.service.begin(change);
      await eventually('the change waits', async () => {
        const waiting = await platform.postgres.service.begin(async (owner) => {
          await owner`set local role none`;
          return owner`select from pg_stat_activity
            where wait_event_type = 'Lock' and datname = current_database() and query like '%segment_members%'`;
        });
        return waiting.length > 0 || undefined;
      });
      const free = await tx`
        select from segments where segment_id = ${high} for no key update skip locked`;
      expect(free.length).toBe(1);
    });
    await changing;
  }
});
