import {
  ApiError,
  call,
  createClient,
  InvalidIdError,
  type AnswerAbout,
  type CallOptions,
  type Client,
  type ClientOptions,
} from '@player-engagement/client/admin';

declare module '@tanstack/react-query' {
  interface Register {
    defaultError: ApiError;
  }
}

type Method = (...args: never[]) => Promise<unknown>;

/** The names of the operations of a group, such as `players.get`. */
type NamesIn<Group, Prefix extends string = ''> = {
  [Name in keyof Group & string]: Group[Name] extends Method
    ? `${Prefix}${Name}`
    : NamesIn<Group[Name], `${Prefix}${Name}.`>;
}[keyof Group & string];

type MethodIn<Group, Name extends string> = Name extends `${infer Head}.${infer Rest}`
  ? Head extends keyof Group
    ? MethodIn<Group[Head], Rest>
    : never
  : Name extends keyof Group
    ? Extract<Group[Name], Method>
    : never;

/** An operation of the public API, as the client names it: `players.get`. */
export type Operation = NamesIn<Client>;

/** What an operation is called with: its ids, then its body or query. */
export type InputsOf<O extends Operation> =
  Required<Parameters<MethodIn<Client, O>>> extends [...infer Inputs, unknown] ? Inputs : never;

/** What an operation answers with. */
export type DataOf<O extends Operation> = Awaited<ReturnType<MethodIn<Client, O>>>;

/** A success: the data, and the version of the record. */
export interface Answer<T> {
  data: T;
  etag: string | undefined;
  request_id: string | undefined;
}

/** Calls the service that this page came from, with its cookie: on changes it asks for the header. */
const HERE: ClientOptions = { headers: () => ({ 'x-console': '1' }) };

export const client = createClient(HERE);

/** Calls an endpoint of the console's own, which is not an operation of the API. Rejects with {@link ApiError}. */
export function askConsole(
  method: 'GET' | 'POST',
  path: string,
  options: CallOptions = {},
): Promise<unknown> {
  return call(HERE, { method, path, flags: '-', int64: [] }, [options]);
}

/** Posts to an endpoint of the console's own. Rejects with {@link ApiError}. */
export function postConsole(path: string, body: object): Promise<unknown> {
  return call(HERE, { method: 'POST', path, flags: 'b', int64: [] }, [body]);
}

/** Calls an operation by its name. Rejects with {@link ApiError}, or with the reason of the signal. */
export async function ask<O extends Operation>(
  operation: O,
  inputs: InputsOf<O>,
  options: CallOptions,
): Promise<Answer<DataOf<O>>> {
  let about: AnswerAbout | undefined;
  const onAnswer = (said: AnswerAbout) => {
    about = said;
  };
  const data = await methodOf(operation)(...inputs, { ...options, onAnswer }).catch((cause: unknown) => {
    // Ids come from the address of the page. One that can be no part of a path, such as `..`, is that of no record.
    if (cause instanceof InvalidIdError)
      throw new ApiError('NOT_FOUND', cause.message, { status: 404, cause });
    throw cause;
  });
  return { data: data as DataOf<O>, etag: about?.etag, request_id: about?.request_id };
}

function methodOf(operation: Operation): (...args: unknown[]) => Promise<unknown> {
  const found = operation
    .split('.')
    .reduce<unknown>((group, name) => (group as Record<string, unknown>)[name], client);
  return found as (...args: unknown[]) => Promise<unknown>;
}
