import { ApiError } from '../../../errors.ts';
import { nearestOf } from '../../../http/quoted.ts';
import { isEventName } from '../../../ingest/events/validate.ts';
import { destinationOf, EgressRefused } from '../../../platform/egress/egress.ts';
import { isObject } from '../../../platform/json-object.ts';
import { readPartialDefinition } from '../../../segments/language/definition.ts';
import { checkTemplate } from '../../templates/render.ts';
import { quoted, type Place } from './issues.ts';
import { NODE_SCHEMAS, NODE_TYPES, WAIT_UNTIL_SCHEMAS } from './node-schemas.ts';
import { readWhere } from './read-where.ts';
import type { BranchCondition, BranchNode, Node, NodeType, WaitUntil, WaitUntilNode } from './shapes.ts';

/** Why a webhook's URL may not be called, or undefined. */
export type RefuseUrl = (url: string) => string | undefined;

type Written<T extends keyof typeof NODE_SCHEMAS> = ReturnType<(typeof NODE_SCHEMAS)[T]['parse']>;

/** Reads a node. Undefined after having reported what is wrong. Edges are not followed. */
export function readNode(written: unknown, at: Place, refuseUrl: RefuseUrl): Node | undefined {
  if (!isObject(written)) return at.report('FIELD_INVALID', `must be a node, not ${quoted(written)}`);
  const type = readType(written['type'], at);
  switch (type) {
    case undefined:
      return undefined;
    case 'wait_until':
      return readWaitUntil(written, at);
    case 'wait_for_event':
      return readWaitForEvent(written, at);
    case 'branch':
      return readBranch(written, at);
    case 'call_webhook': {
      const node = at.read(NODE_SCHEMAS.call_webhook, written);
      const is_sound = node !== undefined && checkWebhook(node, at, refuseUrl);
      return is_sound ? { ...node, name: node.name, save_as: node.save_as } : undefined;
    }
    case 'update_player': {
      const node = at.read(NODE_SCHEMAS.update_player, written);
      if (node === undefined) return undefined;
      const { set, ...rest } = node;
      return { ...rest, name: rest.name, traits: set.traits };
    }
    case 'wait':
    case 'split':
    case 'send_message':
    case 'grant_bonus':
    case 'end':
      return readPlain(type, written, at);
  }
}

function readType(type: unknown, at: Place): NodeType | undefined {
  if (type === undefined) {
    return at.in('type').report('FIELD_REQUIRED', `is required: one of ${NODE_TYPES.join(', ')}`);
  }
  const known = NODE_TYPES.find((one) => one === type);
  if (known !== undefined) return known;
  const message = `must be one of ${NODE_TYPES.join(', ')}, not ${quoted(type)}${nearestOf(type, NODE_TYPES)}`;
  return at.in('type').report('UNKNOWN_NODE_TYPE', message);
}

/** The nodes that their schema says everything about. */
function readPlain(
  type: 'wait' | 'split' | 'send_message' | 'grant_bonus' | 'end',
  written: unknown,
  at: Place,
): Node | undefined {
  switch (type) {
    case 'wait': {
      const node = at.read(NODE_SCHEMAS.wait, written);
      return node && { ...node, name: node.name };
    }
    case 'split': {
      const node = at.read(NODE_SCHEMAS.split, written);
      return (
        node && {
          ...node,
          name: node.name,
          branches: node.branches.map((branch) => ({ ...branch, name: branch.name })),
        }
      );
    }
    case 'send_message': {
      const node = at.read(NODE_SCHEMAS.send_message, written);
      return node && { ...node, name: node.name };
    }
    case 'grant_bonus': {
      const node = at.read(NODE_SCHEMAS.grant_bonus, written);
      return node && { ...node, name: node.name, deposit_amount: node.deposit_amount };
    }
    case 'end': {
      const node = at.read(NODE_SCHEMAS.end, written);
      return node && { ...node, name: node.name, reason: node.reason };
    }
  }
}

function readWaitUntil(written: Record<string, unknown>, at: Place): WaitUntilNode | undefined {
  const kinds = Object.keys(WAIT_UNTIL_SCHEMAS) as (keyof typeof WAIT_UNTIL_SCHEMAS)[];
  const [kind, ...others] = kinds.filter((one) => Object.hasOwn(written, one));
  if (kind === undefined || others.length > 0) {
    const message = `must have one of ${kinds.join(', ')}`;
    return at.report(kind === undefined ? 'FIELD_REQUIRED' : 'FIELD_INVALID', message);
  }
  const found = waitUntilOf(kind, written, at);
  return found && { type: 'wait_until', ...found };
}

function waitUntilOf(
  kind: keyof typeof WAIT_UNTIL_SCHEMAS,
  written: unknown,
  at: Place,
): Omit<WaitUntilNode, 'type'> | undefined {
  const make = (
    { id, name, next }: { id: string; name?: string | undefined; next: string },
    wait: WaitUntil,
  ) => ({ id, name, next, wait });
  switch (kind) {
    case 'local_time': {
      const node = at.read(WAIT_UNTIL_SCHEMAS.local_time, written);
      if (node === undefined) return undefined;
      const { local_time: minute, timezone, days = [] } = node;
      return make(node, { until: 'time', minute, timezone, days });
    }
    case 'window': {
      const node = at.read(WAIT_UNTIL_SCHEMAS.window, written);
      if (node === undefined) return undefined;
      const { window, timezone, days = [] } = node;
      return make(node, {
        until: 'window',
        from_minute: window.from,
        to_minute: window.to,
        timezone,
        days,
      });
    }
    case 'at': {
      const node = at.read(WAIT_UNTIL_SCHEMAS.at, written);
      if (node === undefined) return undefined;
      return make(node, { until: 'at', at: node.at, offset_ms: node.offset_ms, past: node.past });
    }
  }
}

function readWaitForEvent(written: Record<string, unknown>, at: Place): Node | undefined {
  const node = at.read(NODE_SCHEMAS.wait_for_event, written);
  // Both are read, so that the problems of both are reported.
  const where = readOptionalWhere(written['where'], at, node?.event);
  return node && where && { ...node, name: node.name, where };
}

function readOptionalWhere(written: unknown, at: Place, event: string | undefined) {
  if (written === undefined) return [];
  return readWhere(written, at.in('where'), { of: { event }, may_use_clock: false });
}

function readBranch(written: Record<string, unknown>, at: Place): BranchNode | undefined {
  const node = at.read(NODE_SCHEMAS.branch, written);
  const listed = Array.isArray(written['branches']) ? (written['branches'] as unknown[]) : [];
  const most = node?.branches.length ?? 10;
  const conditions = listed
    .slice(0, most)
    .map((one, i) =>
      isObject(one) ? readCondition(one['condition'], at.in('branches', i, 'condition')) : undefined,
    );
  const branches = node?.branches.map((branch, i) => {
    const condition = conditions[i];
    return condition && { name: branch.name, condition, next: branch.next };
  });
  const sound = branches?.filter((branch) => branch !== undefined);
  if (node === undefined || sound?.length !== node.branches.length) return undefined;
  return { id: node.id, name: node.name, type: 'branch', branches: sound, else_next: node.else_next };
}

function readCondition(written: unknown, at: Place): BranchCondition | undefined {
  if (written === undefined) return at.report('FIELD_REQUIRED', 'is required');
  if (!isObject(written)) {
    return at.report('FIELD_INVALID', `must be a condition or a group, not ${quoted(written)}`);
  }
  if (Object.keys(written).length === 0) {
    return at.report('EMPTY_CONDITION', 'must be a condition of segments, a group, or {"where": …}');
  }
  if (!('type' in written) && !('operator' in written) && 'where' in written) {
    for (const key of Object.keys(written).filter((one) => one !== 'where')) {
      at.in(key).report('FIELD_INVALID', 'is not a known field: a filter has `where` only');
    }
    const where = readWhere(written['where'], at.in('where'), { of: 'context', may_use_clock: true });
    return where && { kind: 'context', where };
  }
  const read = readPartialDefinition(written);
  if (!('issues' in read)) return { kind: 'segment', condition: read };
  for (const { path, message } of read.issues) {
    const keys = path === '' ? [] : path.split('.');
    at.in(...keys).report(codeOf(keys, written), message);
  }
  return undefined;
}

/** The code of an issue that the segments' reader has found. */
function codeOf(keys: readonly string[], written: Record<string, unknown>) {
  let value: unknown = written;
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return 'FIELD_REQUIRED';
    value = (value as Record<string, unknown>)[key];
  }
  const last = keys.at(-1);
  if (last === 'conditions' && Array.isArray(value) && value.length === 0) return 'EMPTY_CONDITION';
  return last === 'event' && typeof value === 'string' && !isEventName(value)
    ? 'UNKNOWN_EVENT'
    : 'FIELD_INVALID';
}

function checkWebhook(
  { url, data }: Pick<Written<'call_webhook'>, 'url' | 'data'>,
  at: Place,
  refuseUrl: RefuseUrl,
): boolean {
  const refused = schemeProblem(url) ?? refuseUrl(url);
  if (refused !== undefined) at.in('url').report('URL_NOT_ALLOWED', refused);
  const texts: Record<string, string> = {};
  collectTexts(data, [], texts);
  try {
    checkTemplate({ channel: 'push', subject: null, preheader: null, body: 'x', data: texts });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'TEMPLATE_INVALID') throw error;
    for (const { path, message } of error.details?.issues ?? []) {
      at.in(...path.split('.')).report('FIELD_INVALID', message);
    }
    return false;
  }
  return refused === undefined;
}

function schemeProblem(url: string): string | undefined {
  try {
    destinationOf(url);
    return undefined;
  } catch (error) {
    if (error instanceof EgressRefused) return error.message;
    throw error;
  }
}

/** Every text inside of a value, by its path; the depth is bounded by what readJourney accepts. */
function collectTexts(value: unknown, path: readonly string[], texts: Record<string, string>): void {
  if (typeof value === 'string') texts[path.join('.')] = value;
  else if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) collectTexts(child, [...path, key], texts);
  }
}
