import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestClickHouse } from '../engines/wiring.ts';
import { migrateClickHouse } from '../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import type { Group } from '../../src/segments/language/conditions.ts';
import { compileExplanation, compileMembers, type CompiledQuery } from '../../src/segments/sql/compile.ts';
import { compileMatrix } from '../../src/segments/sql/matrix.ts';
import { aggregate, and, count, EXAMPLE_NOW, playerOf, trait, where } from './example-shapes.ts';
import { matches, type NaivePlayer, type WrittenGroup } from './naive.ts';
import { storePopulation } from './population.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';

const TEXTS = [
  "'; drop table players; --",
  "\\'; drop table players; --",
  'back\\slash\\',
  '\\N',
  '\\n',
  '{p0:String}',
  '{tenant_id:UUID}',
  '%',
  '_',
  '?',
  '$1',
  '"quoted"',
  '`ticked`',
  '/* comment',
  'two\nlines\r\nand\ttabs',
  '\u0001\u2028',
  '😀 👩‍👩‍👧',
  'e\u0301',
  'é',
  'null',
  '12',
  '[1]',
  ' ',
  'x'.repeat(1_024),
] as const;
/** Names have at most 200 characters, names of events 128; this is short enough for both. */
const nameOf = (text: string) => text.slice(0, 100);

/** A definition for each position at which a caller's text may occur. */
const POSITIONS: Record<string, (text: string) => WrittenGroup> = {
  'a value': (text) => and(trait('email', 'eq', text)),
  'a list': (text) => and(trait('email', 'in', [text, 'another'])),
  contains: (text) => and(trait('email', 'contains', text)),
  starts_with: (text) => and(trait('email', 'starts_with', text)),
  'the key of a custom attribute': (text) => and(trait(`custom_attributes.${nameOf(text)}`, 'eq', 1)),
  'a custom attribute': (text) => and(trait('custom_attributes.word', 'eq', text)),
  'a list of custom attributes': (text) => and(trait('custom_attributes.word', 'in', [text, 'another', 7])),
  'an element of a custom attribute': (text) => and(trait('custom_attributes.words', 'contains', text)),
  'the beginning of a custom attribute': (text) => and(trait('custom_attributes.word', 'starts_with', text)),
  'a property of where': (text) => and(count('custom_a', 'eq', 1, { where: [where(nameOf(text), 'eq', 2)] })),
  'a value of where': (text) => and(count('custom_a', 'eq', 1, { where: [where('word', 'eq', text)] })),
  'the property of an aggregate': (text) => and(aggregate(['sum', 'custom_a', nameOf(text)], 'eq', 2)),
  'a custom event': (text) => and(count(`custom_${nameOf(text)}`, 'eq', 1)),
  'a step of a sequence': (text) =>
    and({
      type: 'sequence',
      steps: [{ event: `custom_${nameOf(text)}` }, { event: 'custom_a', where: [where('word', 'eq', text)] }],
    }),
};
const SALTED = (text: string) => and({ type: 'random', percent: 50, salt: nameOf(text) });

/** A player with the text at every position. */
const playerWith = (text: string): NaivePlayer =>
  playerOf(
    {
      traits: { email: text },
      attributes: { [nameOf(text)]: 1, word: text, words: ['other', text] },
      events: [
        { event: `custom_${nameOf(text)}`, ago: 2 },
        { event: 'custom_a', ago: 1, properties: { [nameOf(text)]: 2, word: text } },
      ],
    },
    randomUUID(),
  );

const COMPILERS: ((definition: Group) => CompiledQuery)[] = [
  compileMembers,
  (definition) => compileMatrix([definition], 0),
  (definition) => compileExplanation(definition, true),
];

describe('caller text in a definition', () => {
  it.each(Object.entries({ ...POSITIONS, 'a salt': SALTED }))(
    'is passed as a parameter, never written into the SQL: %s',
    (_place, written) => {
      for (const compile of COMPILERS) {
        const compiled = (text: string) => compile(readDefinition(written(text)));
        // A text that is JSON of another type is compared as that type too, so there are two statements in all.
        const statements = new Set([compiled('plain').sql, compiled('true').sql]);
        for (const text of TEXTS) {
          const { sql, params } = compiled(text);
          expect(statements.has(sql), sql).toBe(true);
          expect(JSON.stringify(params)).toContain(JSON.stringify(nameOf(text)).slice(1, -1));
        }
      }
    },
  );
});

describe('hostile texts on the engine', () => {
  const players = TEXTS.map(playerWith);
  const project: ProjectRef = { tenant_id: randomUUID(), project_id: randomUUID() };
  let clickhouse: ClickHouse;
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'engagement-hostile-'));
    clickhouse = await openTestClickHouse(dir);
    await migrateClickHouse(clickhouse);
    await storePopulation(clickhouse, project, players);
  });
  afterAll(async () => {
    await clickhouse?.close();
    await rm(dir, { recursive: true, force: true });
  });

  async function found(definition: WrittenGroup): Promise<string[]> {
    const { sql, params } = compileMembers(readDefinition(definition));
    const asked = { ...params, ...project, now_ms: Date.parse(EXAMPLE_NOW) };
    const rows = await clickhouse.query<{ player_id: string }>(sql, asked);
    return textsOf(rows.map(({ player_id }) => player_id));
  }
  const textsOf = (player_ids: string[]) =>
    TEXTS.filter((_, i) => player_ids.includes(players[i]?.player_id ?? ''));

  it.each(Object.entries(POSITIONS))('matches only itself: %s', async (name, written) => {
    for (const text of TEXTS) {
      const among = TEXTS.filter((other) => {
        if (name === 'contains') return other.includes(text);
        return name.startsWith('starts') || name.startsWith('the beginning')
          ? other.startsWith(text)
          : other === text;
      });
      expect(await found(written(text)), JSON.stringify(text)).toEqual(among);
    }
  });

  it('a salt draws the same players as the direct evaluation', async () => {
    for (const text of TEXTS) {
      const drawn = players.filter((player) => matches(SALTED(text), player, 0));
      expect(await found(SALTED(text)), JSON.stringify(text)).toEqual(
        textsOf(drawn.map(({ player_id }) => player_id)),
      );
    }
  });
});
