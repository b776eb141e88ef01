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
 * The OpenAPI links of an operation's success response. One leads to the next page of a list. The others lead to every
 * operation whose path parameters can be taken from the response (`id` of the resource that the path names, or
 * `<resource>_id`) and from the path of the request. Internal operations are linked only with each other, because what
 * they create is used by other callers.
 */
export function linksOf(source: LinkedOperation, all: readonly LinkedOperation[]): Json {
  const links: Json = {};
  if (source.list) links['next_page'] = nextPage(source);
  for (const target of all) {
    if (target === source || (source.access === 'internal') !== (target.access === 'internal')) continue;
    const parameters = parametersFor(source, target);
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

/** The link's path parameters; undefined when one of them is unknown, or none comes from the response. */
function parametersFor(source: LinkedOperation, target: LinkedOperation): Json | undefined {
  const found: Json = {};
  let fromAnswer = false;
  for (const { name } of target.parameters.filter(({ in: location }) => location === 'path')) {
    const segments = target.path.split('/');
    const collection = segments.slice(0, segments.indexOf(`:${name}`)).join('/');
    const field = fieldOf(source, collection, name);
    if (field !== undefined) {
      found[name] = `$response.body#/data/${source.data['type'] === 'array' ? '0/' : ''}${field}`;
      fromAnswer = true;
    } else if (`${source.path}/`.startsWith(`${collection}/:${name}/`)) {
      found[name] = `$request.path.${name}`;
    } else {
      return undefined;
    }
  }
  return fromAnswer ? found : undefined;
}

/** The field of the response that contains the id of a resource of `collection`, such as `/v1/players`. */
function fieldOf({ path, data }: LinkedOperation, collection: string, parameter: string): string | undefined {
  const { items = data } = data as { items?: Json };
  const fields = Object.keys(items['properties'] ?? {});
  const resource = collection.slice(collection.lastIndexOf('/') + 1).replace(/s$/, '');
  const named = `${resource.replaceAll('-', '_')}_id`;
  if (fields.includes(named)) return named;
  const isItsOwn = path === collection || path === `${collection}/:${parameter}`;
  return isItsOwn && fields.includes('id') ? 'id' : undefined;
}
