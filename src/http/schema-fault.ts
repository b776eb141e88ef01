import type { z } from 'zod';
import { nearestOf, quoted } from './quoted.ts';

type Issue = z.core.$ZodIssue;

/** Names of a list that are written out. */
const MAX_LISTED = 50;

/**
 * What is wrong with a value, by path: one fault for each unknown key, and of a union the faults of the form that was meant.
 * `root`: what was sent, in which the path of the issue begins; undefined: it is not known, and nothing is quoted.
 */
export function* faultsOf(issue: Issue, root: unknown): Generator<{ path: PropertyKey[]; message: string }> {
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) yield { path: [...issue.path, key], message: 'is not a known field' };
    return;
  }
  const sent = valueAt(root, issue.path);
  const meant = issue.code === 'invalid_union' && !isWorded(issue) ? meantForms(issue.errors, sent) : [];
  const [form] = meant;
  if (form === undefined || meant.length > 1) {
    yield { path: issue.path, message: faultOf(issue, sent) };
    return;
  }
  for (const inner of form)
    for (const { path, message } of faultsOf(inner, sent)) yield { path: [...issue.path, ...path], message };
}

/**
 * What is wrong with a value, to be read after its path: the message of the schema, or else what zod found, in plain
 * words. No other code words the faults of schemas. `sent`: the value; of a list of names it is quoted, with the nearest of them.
 */
export function faultOf(issue: Issue, sent?: unknown): string {
  const fault = isWorded(issue) ? issue.message : wordsOf(issue, sent);
  const names = namesOf(issue);
  if (sent === undefined || isObject(sent) || names.length === 0 || !fault.startsWith('must be'))
    return fault;
  const near = names.length > 1 ? nearestOf(sent, names) : '';
  return `${fault}, not ${quoted(sent)}${near}`;
}

/** Whether the author of the schema has worded the message. */
function isWorded({ message }: Issue): boolean {
  return !/^(?:Invalid |Too (?:small|big)|Unrecognized )/.test(message);
}

function wordsOf(issue: Issue, sent: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'is required';
      return `must be ${TYPES[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'invalid_value':
      return `must be ${listed(issue.values.map(String))}`;
    case 'too_small':
      return boundOf(issue.origin, 'at least', issue.minimum, issue.inclusive);
    case 'too_big':
      return boundOf(issue.origin, 'at most', issue.maximum, issue.inclusive);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'does not have the format of this field';
    case 'invalid_key':
      return inside('has a key that is not valid', issue.issues);
    case 'invalid_element':
      return inside('has an element that is not valid', issue.issues);
    case 'invalid_union':
      return unionFault(issue, sent);
    case 'custom':
    case 'unrecognized_keys':
      return 'is not a valid value of this field';
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID',
  guid: 'must be a UUID',
  datetime: 'must be a time in ISO 8601 with a zone, like 2026-01-31T12:00:00Z',
  date: 'must be a date, like 2026-01-31',
  email: 'must be an email address',
  url: 'must be a URL',
};

/** What a bound counts, by what is bounded. A number is bounded itself. */
const COUNTED: Readonly<Record<string, string>> = {
  string: 'characters',
  array: 'elements',
  set: 'elements',
  object: 'keys',
  map: 'keys',
};

function boundOf(origin: string, side: string, bound: number | bigint, is_inclusive?: boolean): string {
  const counted = COUNTED[origin];
  if (counted !== undefined) {
    if (side === 'at least' && Number(bound) === 1) return 'must not be empty';
    return `must have ${side} ${bound} ${Number(bound) === 1 ? counted.slice(0, -1) : counted}`;
  }
  if (is_inclusive !== false) return `must be ${side} ${bound}`;
  return `must be ${side === 'at least' ? 'more' : 'less'} than ${bound}`;
}

function inside(what: string, issues: readonly Issue[]): string {
  const [first] = issues;
  return first === undefined ? what : `${what}: it ${faultOf(first)}`;
}

/** What each alternative finds wrong with the value itself, or first in an object that may be meant as any of them. */
function unionFault(issue: z.core.$ZodIssueInvalidUnion, sent: unknown): string {
  const names = issue.errors.length === 0 ? namesOf(issue) : [];
  if (names.length > 0) return `must be ${listed(names)}`;
  const forms = meantForms(issue.errors, sent);
  const faults = (forms.length > 0 ? forms : issue.errors).flatMap(([first]) => {
    if (first === undefined || (forms.length === 0 && first.path.length > 0)) return [];
    // Of the value itself, who words the union quotes it.
    const [fault] = faultsOf(first, forms.length === 0 ? undefined : sent);
    return fault === undefined ? [] : [[...fault.path.map(String), fault.message].join(' ')];
  });
  const different = [...new Set(faults)].join(', or ');
  if (different === '') return 'has none of the forms that this field accepts';
  return forms.length === 0 ? different : `has none of the forms of this field: ${different}`;
}

/**
 * The alternatives of a union that an object was meant as: of those that are objects, too, the ones with the fewest missing and
 * unknown fields.
 */
function meantForms(
  alternatives: readonly (readonly Issue[])[],
  sent: unknown,
): readonly (readonly Issue[])[] {
  if (!isObject(sent)) return [];
  const forms = alternatives.flatMap((issues) =>
    issues.some(
      ({ code, path }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value'),
    )
      ? []
      : [{ issues, misfits: issues.reduce((n, issue) => n + misfitsOf(issue, sent), 0) }],
  );
  const fewest = Math.min(...forms.map(({ misfits }) => misfits));
  return forms.filter(({ misfits }) => misfits === fewest).map(({ issues }) => issues);
}

function misfitsOf(issue: Issue, sent: object): number {
  const [key, ...inner] = issue.path;
  if (key === undefined) return issue.code === 'unrecognized_keys' ? issue.keys.length : 0;
  return inner.length === 0 && !Object.hasOwn(sent, key) ? 1 : 0;
}

/** The names of which a value must be one; none: it is of another kind. */
function namesOf(issue: Issue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code !== 'invalid_union') return [];
  if ('options' in issue && issue.options !== undefined) return issue.options.map(String);
  return issue.errors.flatMap(([first]) => (first?.path.length === 0 ? namesOf(first) : []));
}

function listed(values: readonly string[]): string {
  if (values.length === 1) return values[0] ?? '';
  const more = values.length > MAX_LISTED ? ` and ${values.length - MAX_LISTED} more` : '';
  return `one of ${values.slice(0, MAX_LISTED).join(', ')}${more}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The value at a path of what was sent; undefined: there is none. */
export function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root;
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}
