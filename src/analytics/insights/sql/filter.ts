import type { Issue } from '../../../errors.ts';
import { validationError } from '../../../errors.ts';
import type { EventSet, Group, WhereClause } from '../../../segments/language/conditions.ts';
import { isGroup } from '../../../segments/language/conditions.ts';
import { readPartialDefinition } from '../../../segments/language/definition.ts';
import { Bindings } from '../../../segments/sql/bindings.ts';
import { compileMembers } from '../../../segments/sql/compile.ts';
import { EventScan } from '../../../segments/sql/event-scan.ts';

/** Conditions of a query's `filter` as SQL, and their parameters. */
export interface CompiledFilter {
  /** Of rows of events, with all columns; an empty text: none. */
  events: string;
  /** Of the column `owner`, the player that a row belongs to; an empty text: none. */
  owners: string;
  params: Readonly<Record<string, unknown>>;
}

/** No filter. */
export const NO_FILTER: CompiledFilter = { events: '', owners: '', params: {} };

/** A clause of `where` as callers send it. */
export type WrittenWhere = readonly { property: string; op: string; value?: unknown }[];

/** A name of an event without a schema: what holds for it holds for events of all names. */
const ANY_EVENT = 'custom_any';

/**
 * Compiles the filter of a query. `definition` has been read. Throws VALIDATION_ERROR with paths below `filter`.
 */
export function compileFilter({
  segment_id,
  definition,
  where,
}: {
  segment_id?: string | undefined;
  definition?: Group | undefined;
  where?: WrittenWhere | undefined;
}): CompiledFilter {
  const bindings = new Bindings();
  const owners: string[] = [];
  if (segment_id !== undefined)
    owners.push(
      'owner in (select player_id from segment_members final where tenant_id = {tenant_id:UUID} ' +
        `and project_id = {project_id:UUID} and segment_id = ${bindings.bind('UUID', segment_id)})`,
    );
  const members = definition === undefined ? undefined : compileMembers(definition);
  if (members !== undefined) owners.push(`owner in (${renamed(members.sql, 'd')})`);
  const set = { event: ANY_EVENT, where: readWhere(ANY_EVENT, where, 'filter') };
  return {
    events: renamed(whereSql(set, bindings), 'f'),
    owners: renamed(owners.join(' and '), 'f'),
    params: { ...renamedParams(bindings.params, 'f'), ...renamedParams(members?.params ?? {}, 'd') },
  };
}

/** The clauses of `where` of an event, read. Throws VALIDATION_ERROR with paths below `path`. */
export function readWhere(event: string, where: WrittenWhere = [], path = ''): readonly WhereClause[] {
  const node = readPartialDefinition({
    type: 'event',
    event,
    aggregate: 'count',
    op: 'gt',
    value: 0,
    ...(where.length === 0 ? {} : { where }),
  });
  if ('issues' in node) throw validationError(node.issues.map((issue) => below(path, issue)));
  return !isGroup(node) && node.type === 'event' ? node.where : [];
}

function below(path: string, { path: inner, message }: Issue): Issue {
  return { path: [path, inner].filter((part) => part !== '').join('.'), message };
}

/** The clauses of an event's `where` as an expression over rows of events; an empty text without clauses. */
export function whereSql({ event, where }: Pick<EventSet, 'event' | 'where'>, bindings: Bindings): string {
  const scan = new EventScan([], bindings, { of_players: false, of_presence: false });
  return scan.whereSql({ event, where, window: { kind: 'always' } });
}

/** Gives the placeholders `{p0:…}` of a part of a statement names of their own: texts of callers are never in a statement. */
function renamed(sql: string, letter: string): string {
  return sql.replaceAll(/\{p(\d+):/g, `{${letter}$1:`);
}

function renamedParams(params: Readonly<Record<string, unknown>>, letter: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name.replace(/^p/, letter), value]),
  );
}
