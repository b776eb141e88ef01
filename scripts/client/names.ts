import type { Operation } from './document.ts';

/** Operations whose name by the rule would be taken, or would say something else. */
const NAMED: Readonly<Record<string, string>> = {
  'POST /v1/events': 'events.send',
  'POST /v1/events/batch': 'events.sendBatch',
  'POST /v1/players/{id}/tier': 'players.tier.set',
  'POST /v1/journeys/{id}/runs/cancel': 'journeys.runs.cancelAll',
  'POST /v1/unsubscribe': 'unsubscribe.confirm',
};

/**
 * The method of each operation, such as `players.kyc.approve`, by its name `METHOD path`. The words of the path without its
 * parameters name the way to it. A path that others continue, that has several methods, or that is a list at the root, is a
 * group: its methods are get, list, create, set, update and delete. Any other path is a method itself. Throws when two
 * operations would have one name.
 */
export function methodNames(
  operations: readonly Operation[],
  isList: (one: Operation) => boolean,
): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const operation of operations) {
    const key = `${operation.method} ${operation.path}`;
    const name = NAMED[key] ?? nameByRule(operation, operations, isList);
    const clash = [...taken].find(
      (one) => one === name || one.startsWith(`${name}.`) || name.startsWith(`${one}.`),
    );
    if (clash !== undefined)
      throw new Error(`${key} would be ${name}, the same as ${clash}: give it a name of its own`);
    taken.add(name);
    names.set(key, name);
  }
  return names;
}

function nameByRule(
  { method, path }: Operation,
  operations: readonly Operation[],
  isList: (one: Operation) => boolean,
): string {
  const words = path
    .replace(/^\/v1\//, '/')
    .split('/')
    .slice(1);
  const way = words.filter((word) => !word.startsWith('{')).map(camel);
  const last = words.at(-1) ?? '';
  const same = operations.filter((one) => one.path === path);
  const isContinued = operations.some((one) => one.path.startsWith(`${path}/`));
  const isRootList = way.length === 1 && same.some(isList);
  const isGroup = last.startsWith('{') || isContinued || same.length > 1 || isRootList;
  if (!isGroup) return way.join('.');
  const lists = same.some((one) => one.method === 'GET' && isList(one));
  const verbs: Readonly<Record<string, string>> = {
    GET: lists ? 'list' : 'get',
    POST: 'create',
    PUT: 'set',
    PATCH: 'update',
    DELETE: 'delete',
  };
  const verb = verbs[method];
  if (verb === undefined) throw new Error(`${method} ${path} has no name: say what ${method} is called`);
  return [...way, verb].join('.');
}

function camel(word: string): string {
  return word.replaceAll(/\W+(\w)/g, (_whole, letter: string) => letter.toUpperCase());
}
