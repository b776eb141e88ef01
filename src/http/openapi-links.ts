type Json = Record<string, unknown>;

/** The fields of an operation from which links between operations are made. */
export interface LinkedOperation {
  operation_id: string;
  /** The path, with `:name` for parameters. */
  path: string;
  access: string;
  parameters: readonly { name: string; in: string }[];
  /** JSON Schema of `data`. */
  data: Json;
  list: boolean;
}

/** Names of the query parameter that takes `meta.next_cursor`. */
const CURSORS = ['cursor', 'after'];

/**
 * The OpenAPI links of an operation's success response. One leads to the next page of a list. From a resource they lead to
 * every operation on it, itself included, so that operations on one resource have the same links; its id is the answer's
 * `id` or `<resource>_id`, further ids come from the path of the request. From a list, and from the id of another resource,
 * they lead to the operation that reads it, which has its links, or, if there is none, to all on it. Internal operations are linked only
 * with each other, because what they create is used by other callers.
 */
export function linksOf(source: LinkedOperation, all: readonly LinkedOperation[]): Json {
  const links: Json = {};
  if (source.list) links['next_page'] = nextPage(source);
  for (const target of all) {
    if ((source.access === 'internal') !== (target.access === 'internal')) continue;
    const parameters = parametersFor(source, target, all);
    if (parameters !== undefined) {
      links[target.operation_id] = { operationId: target.operation_id, parameters };
    }
  }
  return links;
}

/** A link to the same request with the next cursor; filters, project and path stay the same. */
function nextPage({ operation_id, parameters }: LinkedOperation): Json {
  const expressions = parameters.map(({ name, in: location }) => [
    name,
    CURSORS.includes(name) ? '$response.body#/meta/next_cursor' : `$request.${location}.${name}`,
  ]);
  return { operationId: operation_id, parameters: Object.fromEntries(expressions) as Json };
}

/** The link's path parameters; undefined when one of them is unknown, or when there is no link to `target`. */
function parametersFor(
  source: LinkedOperation,
  target: LinkedOperation,
  all: readonly LinkedOperation[],
): Json | undefined {
  const found: Json = {};
  const isArray = source.data['type'] === 'array';
  let isLinked = false;
  for (const { name } of target.parameters.filter(({ in: location }) => location === 'path')) {
    const segments = target.path.split('/');
    const collection = segments.slice(0, segments.indexOf(`:${name}`)).join('/');
    const field = fieldOf(source, collection, name);
    if (field !== undefined) {
      found[name] = `$response.body#/data/${isArray ? '0/' : ''}${field}`;
      isLinked ||=
        (!isArray && isOf(source, collection, name)) || isNearest(target, `${collection}/:${name}`, all);
    } else if (`${source.path}/`.startsWith(`${collection}/:${name}/`)) {
      found[name] = `$request.path.${name}`;
    } else {
      return undefined;
    }
  }
  return isLinked ? found : undefined;
}

/** Whether `target` reads the resource at `path`, or none does. */
function isNearest(target: LinkedOperation, path: string, all: readonly LinkedOperation[]): boolean {
  const reads = (one: LinkedOperation) => one.path === path && one.operation_id.startsWith('get_');
  return reads(target) || !all.some(reads);
}

/** Whether the operation answers with resources of `collection`. */
function isOf({ path }: LinkedOperation, collection: string, parameter: string): boolean {
  return path === collection || path === `${collection}/:${parameter}`;
}

/** The field of the response that contains the id of a resource of `collection`, such as `/v1/players`. */
function fieldOf(source: LinkedOperation, collection: string, parameter: string): string | undefined {
  const { items = source.data } = source.data as { items?: Json };
  const fields = Object.keys(items['properties'] ?? {});
  const resource = collection.slice(collection.lastIndexOf('/') + 1).replace(/s$/, '');
  const named = `${resource.replaceAll('-', '_')}_id`;
  if (fields.includes(named)) return named;
  return isOf(source, collection, parameter) && fields.includes('id') ? 'id' : undefined;
}
