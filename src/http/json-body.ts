import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Maybe } from './auth/maybe.ts';
import { codingOf, inflated } from './inflate.ts';
import { ApiError, validationError, type Issue } from '../errors.ts';
import {
  growthOf,
  hasExactNumbers,
  isExactNumber,
  MAX_GROWTH,
  parseExact,
  problemOf,
} from '../platform/exact-json.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as received; undefined when there is none. */
    rawBody: Buffer | undefined;
  }
  interface FastifyContextConfig {
    /** Media types of bodies that this route does not parse; undefined: the route accepts JSON. */
    raw_types?: readonly string[] | undefined;
    /** Whether the body may be compressed with gzip or deflate. */
    inflates?: boolean | undefined;
  }
}

/** Media types of forms, which browsers and webhooks send. */
const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'];

const MAX_DEPTH = 64;
/**
 * Keys of one object, and elements of one list. Schemas look at each of them before they count them. The longest list of a
 * schema has half as many elements, so that its own message says what is too long.
 */
const MAX_KEYS = 1_000;
const MAX_ELEMENTS = 20_000;
const MAX_ISSUES = 20;

/**
 * Makes fastify accept only application/json bodies in UTF-8, compressed on routes with `inflates` alone, without `__proto__` keys. An
 * empty body counts as missing (undefined), because clients often send the Content-Type header with a DELETE. Numbers that
 * a double does not hold are ExactNumbers (`platform/exact-json.ts`), which no schema of a number accepts. Routes
 * with `raw_types` accept those media types instead, and their bodies are not parsed.
 */
export function installJsonBody(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'ignore') as Parse;
  app.decorateRequest('rawBody', undefined);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    request.rawBody = bytes;
    const { raw_types, inflates } = request.routeOptions.config;
    const read = (plain: Buffer) => {
      if (plain.length === 0) done(null, undefined);
      else if (isUtf8(plain)) parseBody(parse, request, plain.toString(), done);
      else done(new ApiError('BODY_MALFORMED', 'the body is not UTF-8'));
    };
    if (raw_types !== undefined) done(notOneOf(raw_types, 'application/json'), undefined);
    else withInflated(request, bytes, inflates === true, read, done);
  });
  for (const type of FORM_TYPES) {
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (request, body, done) => {
      request.rawBody = body as Buffer;
      done(notOneOf(request.routeOptions.config.raw_types, type), undefined);
    });
  }
}

/** A parser of bodies that may be compressed. `parse` gets the plain body, and throws the error of one that it cannot read. */
export function inflatingParser(parse: (plain: Buffer) => unknown) {
  return (request: FastifyRequest, raw: string | Buffer, done: Done): void => {
    const read = (plain: Buffer) => {
      try {
        done(null, parse(plain));
      } catch (error) {
        done(error as Error);
      }
    };
    withInflated(request, raw as Buffer, true, read, done);
  };
}

/**
 * Calls `read` with the body without its compression, or `fail` with why it cannot be read. Without `inflates` every
 * compression is refused.
 */
function withInflated(
  { headers, routeOptions }: FastifyRequest,
  bytes: Buffer,
  inflates: boolean,
  read: (plain: Buffer) => void,
  fail: (error: Error) => void,
): void {
  let plain: Maybe<Buffer>;
  try {
    if (!inflates && codingOf(headers) !== undefined)
      throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'this endpoint takes no compressed body: send it plain');
    plain = inflated(headers, bytes, routeOptions.bodyLimit);
  } catch (error) {
    fail(error as Error);
    return;
  }
  if (plain instanceof Promise) plain.then(read, fail);
  else read(plain);
}

type Done = (error: Error | null, value?: unknown) => void;
type Parse = (request: FastifyRequest, text: string, done: Done) => void;

/** Parses with the checks of fastify's parser, then once more where it has rounded numbers. */
function parseBody(parse: Parse, request: FastifyRequest, text: string, done: Done): void {
  parse(request, text, (error, value) => {
    if (error !== null || !hasExactNumbers(text)) return done(error, value);
    try {
      done(null, parseExact(text));
    } catch {
      done(new ApiError('BODY_MALFORMED', 'the body is nested too deeply'));
    }
  });
}

function notOneOf(raw_types: readonly string[] = [], type: string): ApiError | null {
  if (raw_types.includes(type)) return null;
  const wanted = raw_types.length === 0 ? 'application/json' : raw_types.join(' or ');
  return new ApiError('UNSUPPORTED_MEDIA_TYPE', `send the body as ${wanted}`);
}

/**
 * Refuses values that the storage engines cannot hold, and those that are too large to be checked by a schema. Throws
 * BODY_MALFORMED for nesting over 64 levels, and VALIDATION_ERROR for NUL, lone surrogates, numbers beyond the range of
 * a double or numbers of over 400 digits anywhere in `value`, for an object with over 1,000 keys, for a list of over 20,000
 * elements, and for numbers that Postgres, which writes them without exponents, makes more than 64 KiB longer.
 */
export function refuseUnstorable(value: unknown): void {
  const issues: Issue[] = [];
  collect(value, '', 1, issues);
  if (issues.length === 0 && growthOf(value) > MAX_GROWTH)
    report(issues, '', `has numbers that are over ${MAX_GROWTH} characters longer without exponents`);
  if (issues.length > 0) throw validationError(issues);
}

function collect(value: unknown, path: string, depth: number, issues: Issue[]): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) report(issues, path, 'must not contain NUL or lone surrogates');
  } else if (typeof value === 'number' || isExactNumber(value)) {
    const problem = problemOf(value);
    if (problem !== undefined) report(issues, path, problem);
  } else if (typeof value === 'object' && value !== null) {
    if (depth > MAX_DEPTH)
      throw new ApiError('BODY_MALFORMED', `the body is nested over ${MAX_DEPTH} levels deep`);
    const too_many = excessOf(value);
    if (too_many !== undefined) return report(issues, path, too_many);
    const prefix = path === '' ? '' : `${path}.`;
    for (const [key, child] of Object.entries(value)) {
      if (isStorable(key)) collect(child, prefix + key, depth + 1, issues);
      else report(issues, path, 'has a key with NUL or lone surrogates');
    }
  }
}

function excessOf(value: object): string | undefined {
  if (Array.isArray(value))
    return value.length > MAX_ELEMENTS
      ? `must have at most ${MAX_ELEMENTS} elements, not ${value.length}`
      : undefined;
  const keys = Object.keys(value).length;
  return keys > MAX_KEYS ? `must have at most ${MAX_KEYS} keys, not ${keys}` : undefined;
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

function report(issues: Issue[], path: string, message: string): void {
  if (issues.length < MAX_ISSUES) issues.push({ path, message });
}

/**
 * Returns a function for an endpoint's `refuse`. It throws FIELD_NOT_WRITABLE, which names each of these fields that
 * the body sets. This has a code of its own, because such a caller sends back a record that it has read; a misspelt
 * field is VALIDATION_ERROR.
 */
export function refuseUnwritable(fields: ReadonlySet<string>): (body: unknown) => void {
  return (body) => {
    if (typeof body !== 'object' || body === null) return;
    const given = Object.keys(body).filter((field) => fields.has(field));
    if (given.length === 0) return;
    const issues = given.map((path) => ({ path, message: 'is maintained by the service' }));
    throw new ApiError('FIELD_NOT_WRITABLE', `cannot be set: ${given.join(', ')}`, { details: { issues } });
  };
}
