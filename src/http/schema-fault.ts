import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

/**
 * What is wrong with a value, to be read after its path: the message of the schema, or else what zod found, in plain
 * words. No other code words the faults of schemas.
 */
export function faultOf(issue: Issue): string {
  if (!/^(?:Invalid |Too (?:small|big)|Unrecognized )/.test(issue.message)) return issue.message;
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
      return unionFault(issue.errors);
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

/** What each alternative finds wrong with the value itself. Faults inside the value belong to one alternative only. */
function unionFault(alternatives: readonly (readonly Issue[])[]): string {
  const faults = alternatives.flatMap((issues) =>
    issues.slice(0, 1).flatMap((issue) => (issue.path.length === 0 ? [faultOf(issue)] : [])),
  );
  const different = [...new Set(faults)];
  return different.length === 0 ? 'has none of the forms that this field accepts' : different.join(', or ');
}

function listed(values: readonly string[]): string {
  return values.length === 1 ? (values[0] ?? '') : `one of ${values.join(', ')}`;
}
