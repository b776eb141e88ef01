type Body = Record<string, unknown>;

/** A project of a running service, as the caller of its API knows it. */
export interface Caller {
  base_url: string;
  session_token: string;
  tenant_id: string;
  project_id: string;
}

/** Calls an operation of the API; returns its `data`. Rejects on anything but 200 and 201. */
export async function callApi<T = Body>(
  { base_url, session_token }: Pick<Caller, 'base_url' | 'session_token'>,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await fetch(base_url + path, {
    method,
    headers: {
      authorization: `Bearer ${session_token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { data: T };
  if (response.status > 201) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer.data;
}

/** Makes a segment that only gets the members that are inserted straight into Postgres; returns its id. */
export async function makeSegment(caller: Caller): Promise<string> {
  const definition = { operator: 'AND', conditions: [{ type: 'random', percent: 0, salt: 'nobody' }] };
  const body = { name: 'bench', definition, refresh_strategy: 'manual' };
  return (await callApi<{ id: string }>(caller, 'POST', '/v1/segments', body)).id;
}

/** Creates and activates a journey of these nodes, of which the first is the start; returns its id. */
export async function startJourney(
  caller: Caller,
  nodes: readonly Body[],
  rest: { trigger?: Body; settings?: Body } = {},
): Promise<string> {
  const { trigger = { kind: 'api' }, settings = {} } = rest;
  const graph = { start_node_id: nodes[0]?.['id'], nodes };
  const made = await callApi(caller, 'POST', '/v1/journeys', { name: 'bench', trigger, graph, settings });
  await callApi(caller, 'POST', `/v1/journeys/${String(made['id'])}/activate`);
  return String(made['id']);
}

const DAY_MS = 86_400_000;

/** A node in which runs rest for a month. */
export const month = (id: string, next: string) => ({ id, type: 'wait', duration_ms: 30 * DAY_MS, next });
export const end = { id: 'end', type: 'end' };
/** A node in which runs rest until this event. */
export const awaits = (id: string, event: string, next: string, where?: Body) => ({
  id,
  type: 'wait_for_event',
  event,
  ...(where === undefined ? {} : { where }),
  timeout_ms: 30 * DAY_MS,
  next,
  timeout_next: next,
});
