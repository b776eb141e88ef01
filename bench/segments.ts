import { auditNothing } from '../src/http/audit.ts';
import { randomUUID } from 'node:crypto';
import { readDefinition } from '../src/segments/language/definition.ts';
import { matchPlayers } from '../src/segments/evaluation-queries.ts';
import { refreshSegment } from '../src/segments/refresh.ts';
import { compileMembers } from '../src/segments/sql/compile.ts';
import { createSegment } from '../src/segments/change.ts';
import type { TestService } from '../test/engines/service.ts';
import { alternate, median, ratios, result, timed, type Result, type Sample } from './measure.ts';
import { QUESTIONS } from './segment-questions.ts';
import {
  changeOnePercent,
  countDifference,
  mergeParts,
  seedEvents,
  seedMirroredPlayers,
  somePlayer,
  storeMembers,
  walPosition,
} from './segment-seed-queries.ts';
import { insertPlayers } from './seed-queries.ts';

const PLAYERS = Number(process.env['BENCH_SEGMENT_PLAYERS'] ?? 1_000_000);
const EVENTS = Number(process.env['BENCH_SEGMENT_EVENTS'] ?? 20_000_000);
const ROUNDS = 11;
const STORED = 50;
const SEGMENTS_OF_ONE = 20;

/** Segments over many players and events: compiled against handwritten statements, one player, set algebra, writes. */
export async function benchSegments(service: TestService): Promise<Result[]> {
  const { tenant_id, project_id, platform } = service;
  const { clickhouse } = platform;
  const project = { tenant_id, project_id };
  await insertPlayers(platform.postgres.service, project, PLAYERS);
  await seedMirroredPlayers(clickhouse, project, PLAYERS);
  await seedEvents(clickhouse, project, PLAYERS, EVENTS);
  await mergeParts(clickhouse);
  return [
    ...(await againstExperts(service)),
    await onePlayer(service),
    await algebra(service),
    await writesOfOnePercent(service),
  ];
}

const millis = ({ wall_ms, items }: Sample) => wall_ms / items;

async function againstExperts({ tenant_id, project_id, platform }: TestService): Promise<Result[]> {
  const { clickhouse } = platform;
  const params = { tenant_id, project_id, now_ms: Date.now() };
  const results: Result[] = [];
  for (const { title, definition, expert_sql } of QUESTIONS) {
    const compiled = compileMembers(readDefinition(definition));
    const size = async (sql: string, more = {}) => {
      const [row] = await clickhouse.query<{ size: string; sum: string }>(
        `select count() as size, sum(sipHash64(player_id)) as sum from (${sql})`,
        { ...params, ...more },
      );
      return `${row?.size} ${row?.sum}`;
    };
    const [ours, theirs] = [await size(compiled.sql, compiled.params), await size(expert_sql)];
    if (ours !== theirs) throw new Error(`${title}: not the same question: ${ours} and ${theirs}`);
    const ask = (sql: string, more = {}) =>
      timed(async () => {
        await size(sql, more);
        return 1;
      });
    const pairs = await alternate(
      ROUNDS,
      () => ask(compiled.sql, compiled.params),
      () => ask(expert_sql),
    );
    const of = (side: 'a' | 'b') => median(pairs.map((pair) => millis(pair[side]))).toFixed(0);
    const note = `${of('a')} against ${of('b')} ms, ${ours.split(' ')[0]} members`;
    results.push(result(`compiled ÷ expert: ${title}`, ratios(pairs, millis), { at_most: 1.1 }, note));
  }
  return results;
}

async function onePlayer({ tenant_id, project_id, platform }: TestService): Promise<Result> {
  const { clickhouse, postgres } = platform;
  const project = { tenant_id, project_id };
  const player_id = await somePlayer(postgres.service, project);
  const definitions = variations(SEGMENTS_OF_ONE).map(readDefinition);
  const many = () =>
    timed(async () => {
      await matchPlayers(
        clickhouse,
        { ...project, now_ms: Date.now() },
        { player_ids: [player_id], former_ids: [] },
        definitions,
      );
      return 1;
    });
  const cheapest = () =>
    timed(async () => {
      await clickhouse.query(
        `select count() from events_by_player where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
          and player_id = {player_id:UUID}`,
        { ...project, player_id },
      );
      return 1;
    });
  const pairs = await alternate(ROUNDS * 4, many, cheapest);
  const note = `${median(pairs.map(({ a }) => millis(a))).toFixed(1)} against ${median(pairs.map(({ b }) => millis(b))).toFixed(1)} ms`;
  return result(
    `${SEGMENTS_OF_ONE} segments for one player ÷ one count`,
    ratios(pairs, millis),
    { at_most: 3 },
    note,
  );
}

/** Definitions that differ in event, value and window. */
function variations(count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const days = 1 + ((i * 7) % 60);
    const kinds = [
      { event: 'deposit_confirmed', aggregate: 'sum', property: 'amount', op: 'gt', value: 1_000 * (i + 1) },
      { event: 'bet_placed', aggregate: 'count', op: 'gte', value: 1 + (i % 5) },
      { event: 'login', aggregate: 'count', op: 'eq', value: 0 },
      { event: 'bonus_claimed', aggregate: 'count', op: 'gte', value: 1 },
    ];
    const condition = { type: 'event', window: { last: { days } }, ...kinds[i % kinds.length] };
    const trait = { type: 'trait', field: 'total_deposited', op: 'gte', value: 100 * i };
    return { operator: 'AND', conditions: [condition, trait] };
  });
}

async function algebra({ tenant_id, project_id, platform }: TestService): Promise<Result> {
  const { clickhouse } = platform;
  const project = { tenant_id, project_id };
  const stored = variations(STORED).map((written) => ({
    segment_id: randomUUID(),
    query: compileMembers(readDefinition(written)),
  }));
  for (const { segment_id, query } of stored) await storeMembers(clickhouse, project, segment_id, query);
  await mergeParts(clickhouse);
  const ids = stored.map(({ segment_id }) => segment_id);
  const sets = () =>
    timed(async () => {
      await countDifference(clickhouse, project, ids.slice(0, STORED / 2), ids.slice(STORED / 2));
      return 1;
    });
  const again = () =>
    timed(async () => {
      for (const { query } of stored) {
        await clickhouse.query(`select count() from (${query.sql})`, {
          ...query.params,
          ...project,
          now_ms: Date.now(),
        });
      }
      return 1;
    });
  const pairs = await alternate(3, again, sets);
  const note = `${median(pairs.map(({ a }) => millis(a))).toFixed(0)} against ${median(pairs.map(({ b }) => millis(b))).toFixed(0)} ms`;
  return result(
    `asking ${STORED} segments again ÷ algebra over their sets`,
    ratios(pairs, millis),
    { at_least: 20 },
    note,
  );
}

async function writesOfOnePercent({ tenant_id, project_id, platform }: TestService): Promise<Result> {
  const project = { tenant_id, project_id };
  const definition = {
    operator: 'AND',
    conditions: [{ type: 'trait', field: 'kyc_level', op: 'gte', value: 0 }],
  };
  const body = { name: 'everybody', description: '', definition, refresh_strategy: 'manual' } as const;
  const { segment_id } = await createSegment({ ...platform, audit: auditNothing }, project, body);
  const { service } = platform.postgres;
  const written = async () => {
    const before = await walPosition(service);
    const { added, removed, duration_ms } = await refreshSegment(platform, { ...project, segment_id });
    return { bytes: Number((await walPosition(service)) - before), changed: added + removed, duration_ms };
  };
  const first = await written();
  await changeOnePercent(platform.clickhouse, project);
  const second = await written();
  const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(1);
  const note =
    `${mib(second.bytes)} MiB of write-ahead log for ${second.changed} players (${second.duration_ms} ms), ` +
    `${mib(first.bytes)} for ${first.changed} (${first.duration_ms} ms)`;
  return result(
    'writes of a refresh that changes 1 % ÷ of the first',
    [second.bytes / first.bytes],
    { at_most: 0.15 },
    note,
  );
}
