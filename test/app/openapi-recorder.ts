import { call } from '../engines/http-client.ts';
import type { TestService } from '../engines/service.ts';
import { operationsOf, type Document, type Operation } from '../../scripts/client/document.ts';
import type { OperationExample } from '../../src/http/openapi-examples.ts';
import type { FilledProject } from '../tenants/filled-project.ts';
import { CASES } from '../tenants/tenancy-cases.ts';
import { FLOWS, type Exchange } from './openapi-flows.ts';
import { StableExamples } from './stable-example.ts';

/** What is read before anything is changed comes first, what is deleted last. */
const ORDER = ['GET', 'POST', 'PATCH', 'DELETE'];
/** Names of attackers in the cases that test tenants. */
const UNFRIENDLY = /stolen|thief/g;

type Listed = Operation & { operationId: string; security: readonly Record<string, unknown>[] };

/**
 * Calls every operation of the document once, with the bodies and ids of {@link CASES} or as {@link FLOWS} says; what is deleted
 * is of `spare`. Resolves with what was sent and answered, by the id of the operation, with fixed ids and times. Rejects
 * when an operation does not succeed, with all of their answers.
 */
export async function recordExamples(
  service: TestService,
  document: Document,
  { own, spare }: { own: FilledProject; spare: FilledProject },
): Promise<Record<string, OperationExample>> {
  const known = [own, spare].flatMap((one) =>
    Object.values(one).filter((id): id is string => typeof id === 'string'),
  );
  const stable = new StableExamples([...new Set(known.filter((id) => id.length === 36))], Date.now());
  const operations = (operationsOf(document) as Listed[]).toSorted(
    (a, b) => ORDER.indexOf(a.method) - ORDER.indexOf(b.method),
  );
  const found: [string, OperationExample][] = [];
  const failures: string[] = [];
  for (const operation of operations) {
    const name = `${operation.method} ${operation.path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    const at = operation.method === 'DELETE' ? spare : own;
    const flow = FLOWS[name] ?? (() => callAsCase(service, operation, name, at));
    const { sent, answer } = await flow({ service, at }).catch((error: unknown): Partial<Exchange> => {
      failures.push(`${name}: ${String(error)}`);
      return {};
    });
    if (answer === undefined) continue;
    if (answer.status >= 300) failures.push(`${name}: ${answer.status} ${answer.text.slice(0, 300)}`);
    const is_json = answer.headers.get('content-type')?.startsWith('application/json') === true;
    const is_text = answer.headers.get('content-type')?.startsWith('text/') === true;
    const shown = is_json ? answer.body : is_text ? answer.text : undefined;
    found.push([
      operation.operationId,
      stable.of({
        status: answer.status,
        ...(sent === undefined ? {} : { request: sent }),
        // The document is no example of itself.
        ...(shown === undefined || operation.path === '/openapi.json' ? {} : { answer: shown }),
      }),
    ]);
  }
  if (failures.length > 0) throw new Error(`operations without an example:\n${failures.join('\n')}`);
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function callAsCase(
  service: TestService,
  { method, path, security, servers }: Listed,
  name: string,
  at: FilledProject,
): Promise<Exchange> {
  const { path: ids = {}, body, query = '' } = CASES[name] ?? {};
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, parameter: string) => {
    const id = ids[parameter];
    if (id === undefined) throw new Error(`the case does not say what ${parameter} is`);
    return at[id];
  });
  const scheme = Object.keys(security[0] ?? {})[0];
  const token = scheme === 'api_key' ? at.api_key : scheme === 'session' ? at.session : undefined;
  const headers = {
    ...(scheme === 'internal_secret' ? { 'x-internal-secret': service.internal_secret } : {}),
    ...(scheme === 'session' ? { 'x-project-id': at.project_id } : {}),
  };
  const written = method === 'GET' || body === undefined ? undefined : JSON.stringify(body(at));
  const sent =
    written === undefined ? undefined : (JSON.parse(written.replaceAll(UNFRIENDLY, 'example')) as unknown);
  const url = (servers === undefined ? service.base_url : service.ingest_url) + filled;
  const asked = typeof query === 'string' ? query : query(at);
  const answer = await call(url + asked, token, {
    method,
    headers,
    ...(sent === undefined ? {} : { body: sent }),
  });
  return { sent, answer };
}
