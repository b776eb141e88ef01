import { call, type ClientOptions, type Operation } from './call.ts';
import { OPERATIONS } from './generated/operations.ts';
import type { Client } from './generated/client.ts';

export { call } from './call.ts';
export type { AnswerAbout, CallOptions, ClientOptions, Operation, Page, ProjectRef } from './call.ts';
export type { Client } from './generated/client.ts';
export type * from './generated/schemas.ts';
export { ApiError, InvalidIdError, type Issue, type TransportCode } from './errors.ts';
export { parseExactly } from './json.ts';
export { actionKey, each } from './pages.ts';
export { writeExactly } from './write.ts';

type Call = (...args: unknown[]) => Promise<unknown>;
interface Group {
  [name: string]: Group | Call;
}

/** A client of the service: `client.players.get(id)`. Methods reject with `ApiError`, `InvalidIdError` or the reason of their signal. */
export function createClient(options: ClientOptions = {}): Client {
  const root: Group = {};
  for (const [name, line] of Object.entries(OPERATIONS)) {
    const parts = name.split('.');
    const last = parts.pop() ?? name;
    let group = root;
    for (const part of parts) group = (group[part] ??= {}) as Group;
    const operation = parseOperation(line);
    group[last] = (...args) => call(options, operation, args);
  }
  // The table and the types are made from one document.
  return root as unknown as Client;
}

/** The operation that a line of the table stands for: method, path, flags and 64-bit integers. */
export function parseOperation(line: string): Operation {
  const [method = '', path = '', flags = '', int64] = line.split(' ');
  return { method, path, flags, int64: int64 === undefined ? [] : int64.split(',') };
}
