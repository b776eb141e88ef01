import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestClickHouse } from '../engines/wiring.ts';
import { migrateClickHouse } from '../../src/platform/clickhouse/migrate.ts';
import type { ClickHouse } from '../../src/platform/clickhouse/port.ts';
import { readDefinition } from '../../src/segments/language/definition.ts';
import { countMembers, explainPlayer, matchPlayers } from '../../src/segments/evaluation-queries.ts';
import { compileMembers } from '../../src/segments/sql/compile.ts';
import { aggregate, and, count, did, EXAMPLE_NOW, or, playerOf, trait, where } from './example-shapes.ts';
import type { WrittenGroup } from './naive.ts';
import { storePopulation } from './population.ts';

const project = { tenant_id: randomUUID(), project_id: randomUUID() };
const question = { ...project, now_ms: Date.parse(EXAMPLE_NOW) };
const DATES = ['9999-12-31', '2300-01-01T00:00:00Z', '1753-01-01', '0001-01-01', '0001-01-01T00:00:00Z'];
const NO_DATES = ['0000-01-01', '0000-00-00', '0000-00-00T00:00:00Z', '2026-02-30'];
const player = playerOf(
  {
    traits: { total_deposited: 500, ltv_predicted: 2.5, bet_count: 77 },
    attributes: {
      points: 4_321,
      huge: 1e70,
      ...Object.fromEntries([...DATES, ...NO_DATES].map((date) => [date, date])),
    },
    events: [
      did('bet_placed', 1, { amount: 700, round: 12 }),
      did('bet_placed', 2, { amount: 800, round: 1e70 }),
    ],
  },
  randomUUID(),
);

let clickhouse: ClickHouse;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'engagement-extremes-'));
  clickhouse = await openTestClickHouse(dir);
  await migrateClickHouse(clickhouse);
  await storePopulation(clickhouse, project, [player]);
});
afterAll(async () => {
  await clickhouse?.close();
  await rm(dir, { recursive: true, force: true });
});

async function holds(definition: WrittenGroup): Promise<boolean> {
  const read = readDefinition(definition);
  const { size } = await countMembers(clickhouse, question, compileMembers(read), 1);
  const players = { player_ids: [player.player_id], former_ids: [] };
  const [matched] = await matchPlayers(clickhouse, question, players, [read]);
  expect(matched?.size).toBe(size);
  return size === 1;
}

const BEYOND = [2 ** 53, 1e19, 1e39, 1e70, 1e300, Number.MAX_VALUE];

describe('numbers that no JavaScript integer holds', () => {
  it.each([
    ['money of the player', (op: string, value: unknown) => trait('total_deposited', op, value)],
    ['a fraction of the player', (op: string, value: unknown) => trait('ltv_predicted', op, value)],
    ['a custom attribute', (op: string, value: unknown) => trait('custom_attributes.points', op, value)],
    ['a count', (op: string, value: unknown) => count('bet_placed', op, value)],
    ['a sum of money', (op: string, value: unknown) => aggregate(['sum', 'bet_placed', 'amount'], op, value)],
    [
      'a mean of money',
      (op: string, value: unknown) => aggregate(['avg', 'bet_placed', 'amount'], op, value),
    ],
    [
      'a maximum of money',
      (op: string, value: unknown) => aggregate(['max', 'bet_placed', 'amount'], op, value),
    ],
    [
      'distinct values',
      (op: string, value: unknown) => aggregate(['distinct', 'bet_placed', 'round'], op, value),
    ],
  ])('%s compares as smaller', async (_what, compared) => {
    for (const value of BEYOND) {
      expect(await holds(and(compared('lt', value), compared('gt', -value))), String(value)).toBe(true);
      expect(
        await holds(or(compared('eq', value), compared('in', [value, -value, 0.5]))),
        String(value),
      ).toBe(false);
    }
    expect(await holds(and(compared('nin', BEYOND), compared('between', [-1e70, 1e70])))).toBe(true);
  });

  it('equal themselves', async () => {
    expect(await holds(and(trait('custom_attributes.huge', 'eq', 1e70)))).toBe(true);
    expect(await holds(and(trait('custom_attributes.huge', 'in', [7, 1e70])))).toBe(true);
    expect(await holds(and(aggregate(['max', 'bet_placed', 'round'], 'in', [7, 1e70, 1e80])))).toBe(true);
    expect(await holds(and(count('bet_placed', 'eq', 1, { where: [where('round', 'in', [7, 1e70])] })))).toBe(
      true,
    );
  });
});

it('dates outside the engine’s range are before or after all others', async () => {
  for (const date of DATES) {
    const field = `custom_attributes.${date}`;
    const is_late = date > '2026';
    expect(await holds(and(trait(field, 'after', '2026-05-15T12:00:00Z'))), date).toBe(is_late);
    expect(await holds(and(trait(field, 'before', '2026-05-15T12:00:00Z'))), date).toBe(!is_late);
    expect(await holds(and(trait(field, 'before', '1950-01-01T00:00:00Z'))), date).toBe(!is_late);
    expect(await holds(and(trait(field, 'within_last', { days: 36_500 }))), date).toBe(false);
  }
  // Dates that some systems write for "no date".
  for (const date of NO_DATES) {
    for (const op of ['before', 'after']) {
      const condition = trait(`custom_attributes.${date}`, op, '1950-01-01T00:00:00Z');
      expect(await holds(and(condition)), `${op} ${date}`).toBe(false);
    }
  }
});

describe('definitions near the size limit', () => {
  const numbers = (from: number, n: number) => Array.from({ length: n }, (_, i) => from + i);
  it.each([
    ['of the player', (list: number[]) => trait('bet_count', 'in', list)],
    ['of custom attributes', (list: number[]) => trait('custom_attributes.points', 'in', list)],
    ['of events', (list: number[]) => count('bet_placed', 'gte', 1, { where: [where('round', 'in', list)] })],
    ['of money of events', (list: number[]) => aggregate(['max', 'bet_placed', 'amount'], 'in', list)],
  ])('numbers %s', async (_what, compared) => {
    const lists = Array.from({ length: 22 }, (_, i) => numbers(i * 500, 500));
    expect(await holds(or(...lists.map(compared)))).toBe(true);
  });

  it('a definition beyond the engine’s parser limits is SEGMENT_TOO_EXPENSIVE', async () => {
    const steps = (i: number) =>
      Array.from({ length: 10 }, (_, n) => ({
        event: `custom_${i}_${n}`,
        ...(n === 0 ? {} : { within: { days: n } }),
      }));
    const sequences = Array.from({ length: 40 }, (_, i) => ({ type: 'sequence' as const, steps: steps(i) }));
    const players = { player_ids: [player.player_id], former_ids: [] };
    const explained = explainPlayer(clickhouse, question, players, readDefinition(or(...sequences)));
    await expect(explained).rejects.toMatchObject({ code: 'SEGMENT_TOO_EXPENSIVE' });
  });
});
