import { hash } from 'node:crypto';
import { validationError } from '../errors.ts';

const MAX_LENGTH = 512;
const BINDING_LENGTH = 16;

/** The list that a cursor is bound to: one kind of list, in one project, with the same filters. */
export interface CursorScope {
  kind: string;
  project_id: string;
  filters: Readonly<Record<string, string | undefined>>;
}

/** One check per text of a position. */
export type PositionShape<Position extends readonly string[]> = {
  readonly [part in keyof Position]: (text: string) => boolean;
};

/** An opaque cursor at the given keyset position (spec part 1). */
export function encodeCursor(scope: CursorScope, position: readonly string[]): string {
  return Buffer.from(JSON.stringify([binding(scope), ...position])).toString('base64url');
}

/**
 * Returns the position in a cursor, one text per check of `shape`. Throws VALIDATION_ERROR when the cursor is malformed
 * or was made for another list, project or filter. Cursors are not secret or signed: a position only selects among rows
 * that the caller may see.
 */
export function decodeCursor<Position extends readonly string[]>(
  scope: CursorScope,
  text: string,
  shape: PositionShape<Position>,
): Position {
  const parts = text.length <= MAX_LENGTH ? parse(text) : undefined;
  const position = parts?.slice(1);
  if (parts?.[0] !== binding(scope) || !isPosition<Position>(position, shape)) {
    const message =
      'is not a cursor of this list: send it with the filters that it was given for, or omit it';
    throw validationError([{ path: 'cursor', message }]);
  }
  return position;
}

function isPosition<Position extends readonly string[]>(
  parts: readonly string[] | undefined,
  shape: PositionShape<Position>,
): parts is Position {
  return parts?.length === shape.length && shape.every((check, i) => check(parts[i] ?? ''));
}

function parse(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(value) && value.every((part) => typeof part === 'string') ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A hash of the scope, by which a cursor is recognised as one of this list. */
function binding({ kind, project_id, filters }: CursorScope): string {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  const text = JSON.stringify([kind, project_id, given.sort(([a], [b]) => (a < b ? -1 : 1))]);
  return hash('sha256', text, 'hex').slice(0, BINDING_LENGTH);
}
