import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mirrorBlock } from '../../processors/player-mirror/index.ts';
import { dropBitmap } from '../../src/segments/bitmap-queries.ts';
import { countMembers } from '../../src/segments/evaluation-queries.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { prepareMembers } from '../../src/segments/prepare-members.ts';
import type { Platform } from '../../src/wiring/platform.ts';
import { hasMark, openBitmapFixture, withClickHouse, within, type BitmapFixture } from './bitmap-fixture.ts';

// Conditions over segments read bitmaps of numbers. Whatever happens to players and members, in whatever order they are
// copied, they must give what the members in Postgres give.

const SEED = Number(process.env['BITMAP_SEED'] ?? Date.now() % 1_000_000);
const RUNS = Number(process.env['BITMAP_RUNS'] ?? 6);

let fixture: BitmapFixture;
beforeAll(async () => {
  fixture = await openBitmapFixture();
});
afterAll(async () => fixture?.service.close());

/** The players of the project in Postgres, each with the segments that it is in. */
async function membersInPostgres(): Promise<Set<string>[]> {
  const { platform, project } = fixture;
  const rows = await platform.postgres.service<{ segment_ids: string[] }[]>`
    select array(
      select m.segment_id::text from segment_members m
      where m.tenant_id = p.tenant_id and m.project_id = p.project_id and m.player_id = p.player_id) as segment_ids
    from players p
    where p.tenant_id = ${project.tenant_id} and p.project_id = ${project.project_id} and p.deleted_at is null`;
  return rows.map(({ segment_ids }) => new Set(segment_ids));
}

/** Compares every way to combine the segments with what Postgres gives; every one reads bitmaps. */
async function expectSameAlgebra([a = '', b = '', c = '']: readonly string[]): Promise<void> {
  await fixture.byBitmaps(a, b, c);
  const players = await membersInPostgres();
  const count = (holds: (of: ReadonlySet<string>) => boolean) => ({
    size: players.filter(holds).length,
    by: 'bitmaps',
  });
  const ask = async (operator: string, conditions: object[]) => {
    const { size, by } = await fixture.preview(operator, conditions);
    return { size, by };
  };
  const found = {
    a: await ask('AND', [within(a)]),
    no_a: await ask('AND', [within(a, 'not_in')]),
    any: await ask('OR', [within(a), within(b), within(c)]),
    all: await ask('AND', [within(a), within(b), within(c)]),
    none: await ask('AND', [within(a, 'not_in'), within(b, 'not_in'), within(c, 'not_in')]),
    not_all: await ask('OR', [within(a, 'not_in'), within(b, 'not_in'), within(c, 'not_in')]),
    mixed: await ask('AND', [
      { operator: 'OR', conditions: [within(a), within(b)] },
      { operator: 'NOT', conditions: [within(c)] },
    ]),
  };
  expect(found).toEqual({
    a: count((of) => of.has(a)),
    no_a: count((of) => !of.has(a)),
    any: count((of) => of.has(a) || of.has(b) || of.has(c)),
    all: count((of) => of.has(a) && of.has(b) && of.has(c)),
    none: count((of) => !of.has(a) && !of.has(b) && !of.has(c)),
    not_all: count((of) => !(of.has(a) && of.has(b) && of.has(c))),
    mixed: count((of) => (of.has(a) || of.has(b)) && !of.has(c)),
  });
}

/** The hashes of the segments' members agree with the members, and ClickHouse computes the same. */
async function expectTrueHashes(): Promise<void> {
  const { platform, project } = fixture;
  const wrong = await platform.postgres.service`
    select s.segment_id from segments s
    where s.project_id = ${project.project_id} and s.members_hash is distinct from (
      select coalesce(bit_xor(member_hash(m.player_id)), 0) from segment_members m
      where m.tenant_id = s.tenant_id and m.project_id = s.project_id and m.segment_id = s.segment_id)`;
  expect([...wrong]).toEqual([]);
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('mark' as const), who: fc.nat(9), marks: fc.nat(7) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('refresh' as const), segment: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('merge' as const), who: fc.nat(9), into: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), who: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('mirror' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('publish' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('ask' as const) }) },
);

it(`conditions over segments agree with the members in Postgres after any order of changes (seed ${SEED})`, async () => {
  const { client, mirrorAll, publish, preview } = fixture;
  const segments = await Promise.all(['a', 'b', 'c'].map((mark) => client.make([hasMark(mark)])));
  let lives = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const life = ++lives;
      const external = (who: number) => ({ external_id: `p-${life}-${who}` });
      const ids = new Map<number, string>();
      for (const one of steps) {
        if (one.do === 'mark') {
          const marks = ['a', 'b', 'c'].filter((_, i) => (one.marks >> i) % 2 === 1);
          const ids_of = { ...external(one.who), anonymous_id: `a-${life}-${one.who}` };
          ids.set(one.who, await client.identify({ marks }, ids_of));
        } else if (one.do === 'refresh') {
          const { status } = await client.api('POST', `/v1/segments/${segments[one.segment]}/refresh`);
          expect(status).toBe(200);
        } else if (one.do === 'merge') {
          // Two players that were known under ids of their own are one.
          const anonymous_id = `b-${life}-${one.who}-${one.into}`;
          await client.identify({ marks: ['a'] }, { anonymous_id });
          await client.identify({}, { anonymous_id, ...external(one.into) });
        } else if (one.do === 'delete') {
          const player_id = ids.get(one.who);
          if (player_id !== undefined) await client.api('DELETE', `/v1/players/${player_id}`);
        } else if (one.do === 'mirror') await mirrorAll();
        else if (one.do === 'publish') await publish();
        // In between ClickHouse may lack players: only that the question makes no later one wrong is of interest.
        else
          await preview(
            'OR',
            segments.map((id) => within(id)),
          );
      }
      await mirrorAll();
      await publish();
      await expectSameAlgebra(segments);
      await expectTrueHashes();
    }),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
});

it('a member that ClickHouse does not know yet is in the set once it does', async () => {
  const { client, mirrorAll, publish, preview, refresh, byBitmaps } = fixture;
  const segment_id = await client.make([hasMark('late')]);
  const anonymous = { anonymous_id: 'newcomer' };
  await client.identify({ marks: ['late'] }, anonymous);
  await mirrorAll();
  await refresh(segment_id);
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 1, by: 'bitmaps' });
  // The member is merged into a player whose copy is not in ClickHouse yet.
  const registered = { external_id: 'registered' };
  await client.identify({}, registered);
  const survivor = await client.identify({}, { ...anonymous, ...registered });
  expect(await client.segmentsOf(survivor)).toEqual([segment_id]);
  // Before the change is published, and after it: without a number of the survivor there is no bitmap.
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ by: 'ids' });
  await publish();
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 0, by: 'ids' });
  await mirrorAll();
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 1 });
  await byBitmaps(segment_id);
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 1, by: 'bitmaps' });
});

it('no bitmap of earlier members is read while a change waits to be published', async () => {
  const { client, mark, mirrorAll, publish, preview, refresh, change, byBitmaps } = fixture;
  const segment_id = await client.make([hasMark('pending')]);
  const ids = [await mark('pending-1', 'pending'), await mark('pending-2', 'pending')];
  await mirrorAll();
  await refresh(segment_id);
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'bitmaps' });
  await change(segment_id, [], ids.slice(0, 1));
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ by: 'ids' });
  await publish();
  await byBitmaps(segment_id);
  expect(await preview('AND', [within(segment_id)])).toMatchObject({
    size: 1,
    sample: ids.slice(1),
    by: 'bitmaps',
  });
});

it('a refresh reads bitmaps, and ids where a bitmap cannot be proven', async () => {
  const { client, platform, project, mark, mirrorAll, refresh } = fixture;
  const of = async (which: string) => await client.make([hasMark(which)]);
  const [all, some] = [await of('all'), await of('some')];
  const [first, second] = [await mark('both', 'all', 'some'), await mark('one', 'all')];
  await mirrorAll();
  const combined = await client.make([within(all), within(some, 'not_in')]);
  await refresh(combined);
  const members = async () => {
    const rows = await platform.clickhouse.query<{ player_id: string }>(
      'select player_id from segment_members final where segment_id = {combined:UUID}',
      { combined },
    );
    return rows.map(({ player_id }) => player_id);
  };
  expect(await members()).toEqual([second]);
  const bitmaps = await platform.clickhouse.query<{ segment_id: string }>(
    'select segment_id from segment_bitmaps final where segment_id in {ids:Array(UUID)}',
    { ids: [all, some] },
  );
  expect(bitmaps.map(({ segment_id }) => segment_id).sort()).toEqual([all, some].sort());
  // As a version before the numbers copies a player.
  await platform.clickhouse.command(
    `alter table players update player_no = 0, numbering = 0
    where tenant_id = {tenant_id:UUID} and player_id = {second:UUID} settings mutations_sync = 1`,
    { tenant_id: project.tenant_id, second },
  );
  await mark('both', 'all');
  await mirrorAll();
  await refresh(combined);
  expect((await members()).sort()).toEqual([first, second].sort());
  await mark('one', 'all', 'copied');
  await mirrorAll();
});

it('two mirrors at a time, or one that dies, give a player one number', async () => {
  const { client, platform, mark, mirrorAll, refresh, preview } = fixture;
  const segment_id = await client.make([hasMark('twice')]);
  await mark('twice-1', 'twice');
  await mirrorAll();
  const player_id = await mark('twice-2', 'twice');
  const during = (what: () => Promise<unknown>): Platform =>
    withClickHouse(platform, {
      async insertLines(...block) {
        await what();
        await platform.clickhouse.insertLines(...block);
      },
    });
  // The other one reads, copies and moves on while this one is about to copy the same players.
  await mirrorBlock(during(() => mirrorBlock(platform)));
  await refresh(segment_id);
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'bitmaps' });
  await mark('twice-2', 'twice', 'again');
  const dying = during(() => Promise.reject(new Error('the process dies here')));
  await expect(mirrorBlock(dying)).rejects.toThrow('the process dies here');
  await mirrorAll();
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'bitmaps' });
  const { service: sql } = platform.postgres;
  const [row] = await sql<
    { player_no: number }[]
  >`select player_no from players where player_id = ${player_id}`;
  const copies = await platform.clickhouse.query<{ player_no: number }>(
    'select distinct player_no from players where player_id = {player_id:UUID}',
    { player_id },
  );
  expect(copies).toEqual([{ player_no: row?.player_no }]);
});

it('a question that prepares while members change gets the later bitmap', async () => {
  const { client, platform, project, mark, mirrorAll, refresh, preview } = fixture;
  const segment_id = await client.make([hasMark('busy')]);
  await mark('busy-1', 'busy');
  await mirrorAll();
  await refresh(segment_id);
  let is_first = true;
  const slow = withClickHouse(platform, {
    async query(sql, params) {
      // After the states were read, and before it is known which bitmaps there are.
      if (is_first && sql.includes('from segment_bitmaps')) {
        is_first = false;
        await mark('busy-2', 'busy');
        await mirrorAll();
        await refresh(segment_id);
        expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'bitmaps' });
      }
      return platform.clickhouse.query(sql, params);
    },
  });
  const bitmaps = await prepareMembers(slow, project, [segment_id]);
  expect(is_first).toBe(false);
  const definition = readDefinition({ operator: 'AND', conditions: [within(segment_id)] });
  const question = { ...project, now_ms: Date.now() };
  const found = await countMembers(platform, question, definition, bitmaps, 1);
  expect(found.size).toBe(2);
  expect(found.sql).toContain('segment_bitmaps');
});

it('copies without a number are asked for by their ids, until each player is copied once more', async () => {
  const { client, platform, project, mark, mirrorAll, refresh, preview, byBitmaps } = fixture;
  const segment_id = await client.make([hasMark('early')]);
  await mark('early-1', 'early');
  await mark('early-2', 'early');
  await mirrorAll();
  await refresh(segment_id);
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'bitmaps' });
  // As a version before the numbers copies a player: the bitmap has a number that the copy has not.
  await platform.clickhouse.command(
    `alter table players update player_no = 0, numbering = 0
    where tenant_id = {tenant_id:UUID} and external_id = 'early-1' settings mutations_sync = 1`,
    { tenant_id: project.tenant_id },
  );
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'ids' });
  await dropBitmap(platform.clickhouse, { ...project, segment_id });
  const prepared = async () => (await prepareMembers(platform, project, [segment_id])).hashes.size;
  expect(await prepared()).toBe(0);
  // The migration has every player copied once more.
  const path = fileURLToPath(new URL('../../pg-migrations/056_player_numbers.sql', import.meta.url));
  const again = /update mirror_positions[^;]+/.exec(await readFile(path, 'utf8'))?.[0] ?? '';
  await platform.postgres.service.unsafe(again);
  expect(await prepared()).toBe(0);
  await mirrorAll();
  await byBitmaps(segment_id);
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'bitmaps' });
});

it('the members of a segment of an earlier version are hashed when a question needs it, once', async () => {
  const { client, platform, mark, mirrorAll, refresh, preview, change } = fixture;
  const segment_id = await client.make([hasMark('old')]);
  const ids = [await mark('old-1', 'old'), await mark('old-2', 'old'), await mark('old-3', 'old')];
  await mirrorAll();
  await refresh(segment_id);
  await platform.postgres.service`update segments set members_hash = null where segment_id = ${segment_id}`;
  await change(segment_id, [], ids.slice(2));
  await fixture.publish();
  expect(await preview('AND', [within(segment_id)])).toMatchObject({ size: 2, by: 'bitmaps' });
  await expectTrueHashes();
});

it('a bitmap that ClickHouse does not make in time is not tried again at once, and other errors are not hidden', async () => {
  const { client, platform, project, mark, mirrorAll, refresh, change } = fixture;
  const segment_id = await client.make([hasMark('slow')]);
  const player_id = await mark('slow-1', 'slow');
  await mirrorAll();
  await refresh(segment_id);
  let tried = 0;
  const slow = withClickHouse(platform, {
    command(sql, params) {
      if (!sql.includes('insert into segment_bitmaps')) return platform.clickhouse.command(sql, params);
      tried += 1;
      return Promise.reject(Object.assign(new Error('Timeout exceeded'), { code: '159' }));
    },
  });
  expect((await prepareMembers(slow, project, [segment_id])).hashes.size).toBe(0);
  await change(segment_id, [], [player_id]);
  expect((await prepareMembers(slow, project, [segment_id])).hashes.size).toBe(0);
  expect(tried).toBe(1);
  await fixture.publish();
  await fixture.byBitmaps(segment_id);
  const bitmaps = await prepareMembers(platform, project, [segment_id]);
  let asked = 0;
  const failing = withClickHouse(platform, {
    query() {
      asked += 1;
      return Promise.reject(Object.assign(new Error('Timeout exceeded'), { code: '159' }));
    },
  });
  const definition = readDefinition({ operator: 'AND', conditions: [within(segment_id)] });
  const question = { ...project, now_ms: Date.now() };
  await expect(countMembers(failing, question, definition, bitmaps, 1)).rejects.toMatchObject({
    code: 'SEGMENT_TOO_EXPENSIVE',
  });
  expect(asked).toBe(1);
});
