import { ApiError } from '../errors.ts';
import { isOverLimits, type ClickHouse } from '../platform/clickhouse/port.ts';
import { newId } from '../platform/ids.ts';
import type { PendingMembershipChange } from './membership-queries.ts';
import type { SegmentRef } from './queries.ts';
import type { ProjectRef } from '../tenants/project-ref.ts';
import type { Group } from './language/conditions.ts';
import { MAX_FIELD, parameterBytes } from './sql/bindings.ts';
import {
  compileConditions,
  compileExplanation,
  compileMembers,
  type CompiledQuery,
  type ExplainedNode,
} from './sql/compile.ts';
import { compileMatrix, type Findings, type Found } from './sql/matrix.ts';

/** Limits of a query over all players of a project; a query that exceeds them fails without harm to others. */
export const OVER_ALL = 'settings max_execution_time = 60, max_memory_usage = 4000000000';
/**
 * Limits of a query over some players. It reads few rows and has many expressions: compiling these to machine code took
 * three seconds and saved no time.
 */
export const OVER_SOME =
  'settings max_execution_time = 20, max_memory_usage = 2000000000, compile_expressions = 0, ' +
  'compile_aggregate_expressions = 0';

/**
 * Runs a query within the limits. Rejects with SEGMENT_TOO_EXPENSIVE when the statement or a parameter is too long, or
 * when ClickHouse stops the query at a limit. When others use the memory, it rejects with the error of ClickHouse.
 */
export async function runBounded<Row>(
  clickhouse: ClickHouse,
  sql: string,
  limits: string,
  params: Record<string, unknown>,
): Promise<Row[]> {
  if (sql.length > MAX_FIELD || Object.values(params).some((value) => parameterBytes(value) > MAX_FIELD)) {
    const message = 'the definition is too long for one query: use fewer conditions, or shorter values';
    throw new ApiError('SEGMENT_TOO_EXPENSIVE', message);
  }
  try {
    return await clickhouse.query<Row>(`${sql}\n${limits}`, params);
  } catch (cause) {
    if (!isOverLimits(cause)) throw cause;
    const message =
      'the definition needs more time or memory than a query may take: narrow its windows or events';
    throw new ApiError('SEGMENT_TOO_EXPENSIVE', message, { cause });
  }
}

/** Compiles a statement. Throws SEGMENT_DEFINITION_INVALID for what another version of the compiler has stored. */
export function compiled<T>(compile: () => T): T {
  try {
    return compile();
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    const message = `the stored definition cannot be compiled: ${(cause as Error).message}`;
    throw new ApiError('SEGMENT_DEFINITION_INVALID', message, { cause });
  }
}

/** Players, and the ids of players merged into them that rows in ClickHouse may still carry. */
export interface Players {
  player_ids: readonly string[];
  former_ids: readonly string[];
}

/** The project and the moment that a query is about. */
interface Question extends ProjectRef {
  now_ms: number;
}

/** A player whose stored membership differs from what the definition gives. */
export interface MembershipDifference {
  player_id: string;
  /** 1: to enter; 0: to leave. */
  enters: number;
}

/** Compares the players that match a definition with the stored members, and returns only those that differ. */
export async function differences(
  clickhouse: ClickHouse,
  { segment_id, ...question }: Question & { segment_id: string },
  definition: Group,
): Promise<MembershipDifference[]> {
  const members = compileMembers(definition);
  return runBounded<MembershipDifference>(
    clickhouse,
    `select player_id, max(is_new) as enters
    from (
      select player_id, toUInt8(1) as is_new, toUInt8(0) as is_old from (${members.sql})
      union all
      select player_id, 0, 1 from segment_members final
      where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and segment_id = {segment_id:UUID}
    )
    group by player_id having max(is_new) != max(is_old)`,
    OVER_ALL,
    { ...members.params, ...question, segment_id },
  );
}

/** How many players a definition matches, and random samples of them. */
export interface CountedMembers {
  size: number;
  player_ids: string[];
  /** Up to the larger number; empty: it was not asked for. */
  more_ids: string[];
  /** How many players each condition alone matches, in the order in which they are written; absent: it was not asked for. */
  per_condition?: number[];
}

interface CountedRow {
  size: string;
  player_ids: string[];
  more_ids?: string[];
}

/** How many players a definition matches, and random samples of up to `sample` and `larger_sample` of them. */
export async function countMembers(
  clickhouse: ClickHouse,
  question: Question,
  { sql, params }: CompiledQuery,
  sample: number,
  larger_sample = 0,
): Promise<CountedMembers> {
  const more = larger_sample === 0 ? '' : `, groupArraySample(${larger_sample})(player_id) as more_ids`;
  const [row] = await runBounded<CountedRow>(
    clickhouse,
    `select count() as size, groupArraySample(${sample})(player_id) as player_ids${more} from (${sql})`,
    OVER_ALL,
    { ...params, ...question },
  );
  return countedOf(row);
}

/** As {@link countMembers}, with `per_condition`: one statement counts all. */
export async function countConditions(
  clickhouse: ClickHouse,
  question: Question,
  definition: Group,
  sample: number,
  larger_sample = 0,
): Promise<CountedMembers> {
  const { sql, params, columns } = compileConditions(definition);
  const selected = [
    'countIf(matches) as size',
    `groupArraySampleIf(${sample})(player_id, matches) as player_ids`,
    ...(larger_sample === 0 ? [] : [`groupArraySampleIf(${larger_sample})(player_id, matches) as more_ids`]),
    ...columns.map((column) => `countIf(${column}) as of_${column}`),
  ];
  const [row] = await runBounded<CountedRow & Record<string, unknown>>(
    clickhouse,
    `select ${selected.join(', ')} from (${sql})`,
    OVER_ALL,
    { ...params, ...question },
  );
  return { ...countedOf(row), per_condition: columns.map((column) => Number(row?.[`of_${column}`] ?? 0)) };
}

function countedOf(row: CountedRow | undefined): CountedMembers {
  const { size = '0', player_ids = [], more_ids = [] } = row ?? {};
  return { size: Number(size), player_ids, more_ids };
}

/**
 * For each definition, in order, which of the given players it matches. `inlined`: definitions of segments that are
 * asked instead of their stored members.
 */
export async function matchPlayers(
  clickhouse: ClickHouse,
  question: Question,
  players: Players,
  definitions: readonly Group[],
  inlined?: ReadonlyMap<string, Group>,
): Promise<Set<string>[]> {
  return (await findPlayers(clickhouse, question, players, definitions, inlined)).matching;
}

/** What a statement found: a row for each player who is in ClickHouse, by `player_id`, and how to read it. */
export interface FoundPlayers {
  rows: ReadonlyMap<string, Found>;
  findings: Findings;
}

/** As {@link matchPlayers}, with what was found. */
export async function findPlayers(
  clickhouse: ClickHouse,
  question: Question,
  { player_ids, former_ids }: Players,
  definitions: readonly Group[],
  inlined?: ReadonlyMap<string, Group>,
): Promise<FoundPlayers & { matching: Set<string>[] }> {
  const { sql, params, verdicts, findings } = compiled(() =>
    compileMatrix(definitions, question.now_ms, former_ids.length > 0, inlined),
  );
  const rows = await runBounded<Record<string, unknown> & { player_id: string }>(clickhouse, sql, OVER_SOME, {
    ...params,
    ...question,
    players: player_ids,
    former: former_ids,
  });
  const matching = definitions.map(() => new Set<string>());
  for (const row of rows) {
    for (const [i, matches] of verdicts(row).entries()) if (matches) matching[i]?.add(row.player_id);
  }
  return { matching, findings, rows: new Map(rows.map((row) => [row.player_id, row])) };
}

/** Evaluates a definition for one player, node by node; undefined when the player is not in ClickHouse. */
export async function explainPlayer(
  clickhouse: ClickHouse,
  question: Question,
  { player_ids, former_ids }: Players,
  definition: Group,
): Promise<{ root: ExplainedNode; row: Record<string, unknown> } | undefined> {
  const { sql, params, root } = compileExplanation(definition, former_ids.length > 0);
  const [row] = await runBounded<Record<string, unknown>>(clickhouse, sql, OVER_SOME, {
    ...params,
    ...question,
    players: player_ids,
    former: former_ids,
  });
  return row && { root, row };
}

/**
 * Copies membership changes to ClickHouse. Idempotent: the number of the change is the row's revision, and the highest
 * revision wins.
 */
export async function copyChanges(
  clickhouse: ClickHouse,
  changes: readonly PendingMembershipChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const lines = changes.flatMap(({ tenant_id, project_id, segment_id, revision, has_entered, player_ids }) =>
    player_ids.map(
      (player_id) =>
        `{"tenant_id":"${tenant_id}","project_id":"${project_id}","segment_id":"${segment_id}",` +
        `"player_id":"${player_id}","revision":${revision},"is_deleted":${has_entered ? 0 : 1}}`,
    ),
  );
  await clickhouse.insertLines('segment_members', lines, newId());
}

/** Removes the members of a deleted segment from ClickHouse. */
export async function dropMembers(clickhouse: ClickHouse, ref: SegmentRef): Promise<void> {
  await clickhouse.command(
    `delete from segment_members where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}
      and segment_id = {segment_id:UUID}`,
    { ...ref },
  );
}
