import { ApiError } from '../../errors.ts';
import { isGroup, type Condition, type DefinitionNode, type EventCondition } from '../language/conditions.ts';
import {
  ATTRIBUTE_PREFIX,
  isMoneyProperty,
  isTraitField,
  traitField,
  type TraitFieldName,
} from '../language/fields.ts';
import { isHistoricTotal, NOW, type AsOf } from './as-of.ts';
import type { Bindings } from './bindings.ts';
import { comparisonSql, type Operand } from './comparison-sql.ts';
import type { EventScan } from './event-scan.ts';
import { isJsonNumber, jsonComparisonSql, jsonDecimal, jsonNumber, jsonText } from './json-sql.ts';
import { messageSql } from './message-sql.ts';
import { moneyOperand } from './money-sql.ts';
import { sequenceSql, stepsReachedSql } from './sequence-sql.ts';

/** Shares of `random` are millionths. */
export const SHARES = 1_000_000;

/** What the conditions of one statement share. */
export interface ConditionContext {
  bindings: Bindings;
  scan: EventScan;
  /** The columns of ClickHouse's `players` that the conditions read. */
  columns: Set<TraitFieldName | 'custom_attributes'>;
  /** Whether the statement is about the players in `{players:Array(UUID)}` only. */
  of_players: boolean;
  /** For statements about an earlier moment. */
  as_of?: AsOf | undefined;
}

/** A condition or group as an expression over `p` (players) and `e` (their events) that is 0 or 1. */
export function nodeSql(node: DefinitionNode, context: ConditionContext): string {
  const { as_of } = context;
  if (as_of !== undefined && --as_of.nodes_left < 0) {
    const message = 'the segments that it refers to have too many conditions together: refer to fewer';
    throw new ApiError('SEGMENT_TOO_EXPENSIVE', message);
  }
  if (!isGroup(node)) return `(${conditionSql(node, context)})`;
  const children = node.children.map((child) => nodeSql(child, context));
  if (node.operator === 'NOT') return `(not ${children.join('')})`;
  return children.length === 1
    ? (children[0] ?? '0')
    : `(${children.join(node.operator === 'AND' ? ' and ' : ' or ')})`;
}

function conditionSql(condition: Condition, context: ConditionContext): string {
  const { bindings, scan } = context;
  switch (condition.type) {
    case 'trait': {
      const { field, comparison } = condition;
      if (!isTraitField(field)) return jsonComparisonSql(attribute(field, context), comparison, bindings);
      return comparisonSql(readTrait(field, context), comparison, bindings);
    }
    case 'event':
      return comparisonSql(aggregateOperand(condition, context), condition.comparison, bindings);
    case 'sequence':
      return sequenceSql(condition, scan, bindings);
    case 'segment': {
      const inlined = context.as_of?.inlined.get(condition.segment_id);
      if (inlined !== undefined) return `${condition.negated ? 'not ' : ''}${nodeSql(inlined, context)}`;
      return `p.player_id ${condition.negated ? 'not in' : 'in'} (${membersSql(condition.segment_id, context)})`;
    }
    case 'message':
      return messageSql(condition, bindings, context.of_players, context.as_of && NOW);
    case 'random':
      return `${shareSql(condition.salt, bindings)} < ${bindings.bind('UInt32', condition.share)}`;
    case 'list':
      return `p.player_id in (${membersSql(condition.list_id, context)})`;
  }
}

/** The value that a condition compares, for explanations: the player's value as JSON text, or null. */
export function valueSql(condition: Condition, context: ConditionContext): string {
  const { bindings, scan, columns } = context;
  switch (condition.type) {
    case 'trait': {
      const { field } = condition;
      if (!isTraitField(field)) return jsonText(attribute(field, context), bindings);
      columns.add(field);
      return asJson(traitOperand(field));
    }
    case 'event':
      return asJson(aggregateOperand(condition, context));
    case 'sequence':
      return `toString(${stepsReachedSql(condition, scan, bindings)})`;
    case 'segment':
      return `if(p.player_id in (${membersSql(condition.segment_id, context)}), 'true', 'false')`;
    case 'message':
      return `if(${messageSql(condition, bindings, context.of_players)}, 'true', 'false')`;
    case 'random':
      return `toString(${shareSql(condition.salt, bindings)} / ${SHARES / 100})`;
    case 'list':
      return `if(p.player_id in (${membersSql(condition.list_id, context)}), 'true', 'false')`;
  }
}

function asJson(operand: Operand): string {
  const { kind, sql } = operand;
  if (kind === 'number')
    return `toString(${operand.mean_of === undefined ? sql : meanSql(sql, operand.mean_of)})`;
  if (kind === 'text') return `toJSONString(${sql})`;
  return `toJSONString(concat(replaceOne(toString(${sql}), ' ', 'T'), 'Z'))`;
}

function meanSql(total: string, count: string): string {
  return `if(${count} = 0, null, toFloat64(${total}) / ${count})`;
}

/** The JSON value of a custom attribute. */
function attribute(field: string, { columns }: ConditionContext) {
  columns.add('custom_attributes');
  return { column: 'p.custom_attributes', key: field.slice(ATTRIBUTE_PREFIX.length) };
}

/** The operand of a trait, whose column is then among those that are read. */
function readTrait(field: TraitFieldName, { columns, as_of }: ConditionContext): Operand {
  if (as_of !== undefined && isHistoricTotal(field)) {
    as_of.totals.add(field);
    return { kind: 'number', sql: `h.${field}`, nullable: false, held_as: 'integer' };
  }
  columns.add(field);
  const operand = traitOperand(field);
  if (as_of === undefined || field !== 'deleted_at') return operand;
  return { kind: 'date', sql: `if(p.deleted_at > ${NOW}, null, p.deleted_at)`, nullable: true };
}

function traitOperand(field: TraitFieldName): Operand {
  const { kind, nullable, is_fraction } = traitField(field);
  const sql = `p.${field}`;
  if (kind !== 'number') return { kind, sql, nullable };
  return { kind, sql, nullable, held_as: is_fraction ? 'float' : 'integer' };
}

/**
 * The operand of an event condition. Without events count, distinct and sum are 0, and the other aggregates are null.
 */
function aggregateOperand(condition: EventCondition, { scan, bindings }: ConditionContext): Operand {
  const { aggregate, property = '' } = condition;
  const value = { column: 'properties', key: property };
  const money = isMoneyProperty(property, condition.event)
    ? moneyOperand(condition.event, property, bindings)
    : undefined;
  const is_integer = money?.held_as === 'integer';
  switch (aggregate) {
    case 'count':
      return integer(scan.aggregate(condition, 'count', ''));
    case 'distinct':
      return integer(scan.aggregate(condition, 'uniqExact', money?.sql ?? jsonText(value, bindings)));
    case 'sum':
    case 'avg': {
      const number = money === undefined ? jsonDecimal(value, bindings) : `ifNull(${money.sql}, 0)`;
      const total = scan.aggregate(condition, 'sum', is_integer ? `toInt128(${number})` : number);
      if (aggregate === 'sum') return is_integer ? integer(total) : decimal(total);
      const present = money === undefined ? isJsonNumber(value, bindings) : `${money.sql} is not null`;
      const mean_of = scan.aggregate(condition, 'count', '', [present]);
      // The other side is a fraction times the count, so the total of money, an integer, becomes a decimal.
      const exact = is_integer ? `toDecimal256(${total}, 0)` : total;
      return {
        kind: 'number',
        held_as: 'decimal',
        sql: `if(${mean_of} = 0, null, ${exact})`,
        nullable: true,
        mean_of,
      };
    }
    case 'min':
    case 'max': {
      const name = aggregate === 'min' ? 'minOrNull' : 'maxOrNull';
      const sql = scan.aggregate(condition, name, money?.sql ?? jsonNumber(value, bindings));
      return { kind: 'number', held_as: money?.held_as ?? 'float', sql, nullable: true };
    }
    case 'first_seen':
    case 'last_seen': {
      const name = aggregate === 'first_seen' ? 'minOrNull' : 'maxOrNull';
      return { kind: 'date', sql: scan.aggregate(condition, name, 'occurred_at'), nullable: true };
    }
  }
}

function integer(sql: string): Operand {
  return { kind: 'number', held_as: 'integer', sql, nullable: false };
}

function decimal(sql: string): Operand {
  return { kind: 'number', held_as: 'decimal', sql, nullable: false };
}

/** The stored members of a segment. */
function membersSql(segment_id: string, { bindings, of_players }: ConditionContext): string {
  return (
    'select player_id from segment_members final where tenant_id = {tenant_id:UUID} and ' +
    `project_id = {project_id:UUID} and segment_id = ${bindings.bind('UUID', segment_id)}` +
    (of_players ? ' and player_id in {players:Array(UUID)}' : '')
  );
}

/**
 * The player's number in the draw of this salt, from 0 to SHARES − 1: always the same, and independent of other salts.
 */
function shareSql(salt: string, bindings: Bindings): string {
  return `halfMD5(concat(${bindings.bind('String', salt)}, ':', toString(p.player_id))) % ${SHARES}`;
}
