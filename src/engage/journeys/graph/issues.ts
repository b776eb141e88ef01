import type { ZodError, ZodType } from 'zod';
import { ApiError, type Issue } from '../../../errors.ts';
import { faultOf, valueAt } from '../../../http/schema-fault.ts';

/** What is wrong with a definition, whenever it is saved. */
export const FAULTS = [
  'TOO_MANY_NODES',
  'NO_NODES',
  'DUPLICATE_NODE_ID',
  'START_NODE_MISSING',
  'NEXT_NODE_MISSING',
  'CYCLE',
  'UNKNOWN_NODE_TYPE',
  'FIELD_REQUIRED',
  'FIELD_INVALID',
  'EMPTY_CONDITION',
  'CLOCK_CONDITION',
  'WEIGHTS_INVALID',
  'UNKNOWN_EVENT',
  'URL_NOT_ALLOWED',
] as const;
/** What hinders activation; warnings until then. */
export const REFERENCE_FAULTS = [
  'TEMPLATE_NOT_FOUND',
  'TEMPLATE_NOT_ACTIVE',
  'PROVIDER_NOT_FOUND',
  'CHANNEL_MISMATCH',
  'BONUS_TEMPLATE_NOT_ACTIVE',
  'LICENCE_RULE_VIOLATED',
  'SEGMENT_NOT_FOUND',
  'WEBHOOK_SECRET_MISSING',
] as const;
/** What hinders nothing. */
export const WARNINGS = ['UNREACHABLE_NODE', 'NO_WAIT_BETWEEN_SENDS', 'TIMEOUT_SAME_AS_NEXT'] as const;

export type Fault = (typeof FAULTS)[number];
export type IssueCode = Fault | (typeof REFERENCE_FAULTS)[number] | (typeof WARNINGS)[number];

/** One problem of a definition; `path` begins with `trigger`, `graph` or `settings`. */
export interface JourneyIssue extends Issue {
  code: IssueCode;
  /** The node that it is about. */
  node_id?: string;
}

/** Further issues are omitted. */
const MAX_ISSUES = 100;
const MAX_KEY = 64;
const MAX_QUOTED = 60;

/** 422 JOURNEY_GRAPH_INVALID with `details.issues`. */
export function journeyInvalid(issues: readonly JourneyIssue[]): ApiError {
  const [first] = issues;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more: see details.issues)` : '';
  const message =
    first === undefined ? 'the journey is not usable' : `${first.path}: ${first.message}${more}`;
  return new ApiError('JOURNEY_GRAPH_INVALID', message, { details: { issues: [...issues] } });
}

/** A place in a definition that is being read. Problems are collected in one list, so that all are reported at once. */
export class Place {
  readonly #issues: JourneyIssue[];
  readonly #path: readonly (string | number)[];
  readonly #node_id: string | undefined;

  constructor(issues: JourneyIssue[], path: readonly (string | number)[], node_id?: string) {
    this.#issues = issues;
    this.#path = path;
    this.#node_id = node_id;
  }

  /** A place inside of this one. */
  in(...path: readonly (string | number)[]): Place {
    const cut = path.map((key) => (typeof key === 'string' ? key.slice(0, MAX_KEY) : key));
    return new Place(this.#issues, [...this.#path, ...cut], this.#node_id);
  }

  /** The same place, in the node of this id. */
  of(node_id: string | undefined): Place {
    return new Place(this.#issues, this.#path, node_id);
  }

  /** Adds a problem, unless there are 100 already. */
  report(code: IssueCode, message: string): undefined {
    if (this.#issues.length >= MAX_ISSUES) return undefined;
    const about = this.#node_id === undefined ? {} : { node_id: this.#node_id };
    this.#issues.push({ path: this.#path.join('.'), code, message, ...about });
    return undefined;
  }

  /** What the schema makes of a value; undefined after having reported what is wrong. */
  read<T>(schema: ZodType<T>, written: unknown): T | undefined {
    const parsed = schema.safeParse(written);
    if (parsed.success) return parsed.data;
    this.#reportAll(parsed.error, written);
    return undefined;
  }

  #reportAll(error: ZodError, written: unknown): void {
    for (const issue of error.issues) {
      const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
      if (issue.code === 'unrecognized_keys') {
        for (const key of issue.keys) this.in(...path, key).report('FIELD_INVALID', 'is not a known field');
        continue;
      }
      const value = valueAt(written, path);
      if (value === undefined) {
        this.in(...path).report('FIELD_REQUIRED', 'is required');
        continue;
      }
      // The schemas name codes of their own in `params`.
      const params = issue.code === 'custom' ? issue.params : undefined;
      const code = FAULTS.find((known) => known === params?.['code']) ?? 'FIELD_INVALID';
      this.in(...path).report(code, `${faultOf(issue)}, not ${quoted(value)}`);
    }
  }
}

/** A value as messages quote it: texts and numbers as they are, cut; of anything else only what it is. */
export function quoted(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > MAX_QUOTED ? `${value.slice(0, MAX_QUOTED)}…` : value);
  }
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
