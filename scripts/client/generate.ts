import { nameOf, operationsOf, type Document, type Operation, type Schema } from './document.ts';
import { methodNames } from './names.ts';
import { comment, int64Paths, reachable, typeOf } from './types.ts';

const HEAD = '// Generated from /openapi.json by `npm run generate-client`; do not edit.\n';

/** What the generator needs of an operation. */
interface Method {
  operation: Operation;
  name: string;
  body: { schema: Schema; isRequired: boolean } | undefined;
  /** What the caller gets: the data of the envelope, or a raw answer. */
  data: Schema;
  /** What a page has besides its data and the cursor. */
  more: readonly Schema[];
  shape: 'data' | 'page' | 'json' | 'text';
}

/** The generated files of the client, by name: types of schemas, the interface of the client and the table of operations. */
export function generateClient(document: Document): Record<string, string> {
  const { schemas } = document.components;
  const operations = operationsOf(document);
  const parts = new Map(operations.map((one) => [one, answerOf(one, schemas)]));
  const isList = (one: Operation) => {
    const { data, shape } = parts.get(one) ?? answerOf(one, schemas);
    return shape === 'page' || data.type === 'array';
  };
  const names = methodNames(operations, isList);
  const methods = operations.map((operation) => ({
    operation,
    name: names.get(`${operation.method} ${operation.path}`) ?? '',
    body: bodyOf(operation),
    ...answerOf(operation, schemas),
  }));
  return {
    'schemas.ts': schemaTypes(methods, schemas),
    'client.ts': clientInterface(methods),
    'operations.ts': table(methods, schemas),
  };
}

function bodyOf({ requestBody }: Operation): Method['body'] {
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
  return schema === undefined ? undefined : { schema, isRequired: requestBody?.required === true };
}

function answerOf(
  { responses }: Operation,
  named: Document['components']['schemas'],
): Pick<Method, 'data' | 'more' | 'shape'> {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const [type = '', { schema } = { schema: {} }] = Object.entries(success?.content ?? {})[0] ?? [];
  if (type !== 'application/json') return { data: schema, more: [], shape: 'text' };
  const whole = named[nameOf(schema) ?? ''] ?? schema;
  const { data, meta } = whole.properties ?? {};
  if (data === undefined) return { data: schema, more: [], shape: 'json' };
  if (meta === undefined) return { data, more: [], shape: 'data' };
  return { data, more: meta.allOf?.slice(1) ?? [], shape: 'page' };
}

function schemaTypes(methods: readonly Method[], named: Document['components']['schemas']): string {
  const bodies = reachable(
    methods.flatMap(({ body }) => (body === undefined ? [] : [body.schema])),
    named,
  );
  const answers = reachable(
    methods.flatMap(({ data, more }) => [data, ...more]),
    named,
  );
  const types = Object.entries(named)
    .filter(([name]) => bodies.has(name) || answers.has(name))
    .map(([name, schema]) => {
      const use = bodies.has(name) ? 'input' : 'output';
      if (bodies.has(name) && answers.has(name) && int64Paths(schema, named).length > 0) {
        throw new Error(`${name} has 64-bit integers and is in bodies and answers: it needs two names`);
      }
      return `${comment(schema.description)}export type ${name} = ${typeOf(schema, use)};`;
    });
  const codes = named['Error']?.properties?.['code'] ?? {};
  return `${HEAD}\n/** The codes of the service's errors. */\nexport type ErrorCode = ${typeOf(codes, 'output')};\n${types.join('\n')}\n`;
}

interface Tree {
  [name: string]: Tree | string;
}

function clientInterface(methods: readonly Method[]): string {
  const root: Tree = {};
  for (const method of methods) {
    const way = method.name.split('.');
    const last = way.pop() ?? '';
    let tree = root;
    for (const part of way) tree = (tree[part] ??= {}) as Tree;
    tree[last] =
      `${describe(method)}\n${last}(${parametersOf(method).join(', ')}): Promise<${resultOf(method)}>;`;
  }
  const write = (tree: Tree): string =>
    Object.entries(tree)
      .map(([name, part]) => (typeof part === 'string' ? part : `${name}: {\n${write(part)}\n};`))
      .join('\n');
  const used = new Set([...write(root).matchAll(/\bS\.(\w+)/g)].map(([, name]) => name));
  const imports = used.size === 0 ? '' : "import type * as S from './schemas.ts';\n";
  return `${HEAD}import type { CallOptions, Page } from '../call.ts';\n${imports}\n/** The operations of the service. */\nexport interface Client {\n${write(root)}\n}\n`;
}

/** What it does, who may call it, and the codes of its own errors. */
function describe({ operation: { method, path, summary, description, responses } }: Method): string {
  const codes = Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .map(
      ([status, one]) =>
        `${status} ${[...one.description.matchAll(/([A-Z][A-Z_]+): /g)].map(([, code]) => code).join(', ')}`,
    );
  const lines = [`${summary}.`, description, `\`${method} ${path}\``, `Errors: ${codes.join('; ')}.`];
  return `/**\n${lines.map((line) => ` * ${line.replaceAll('*/', '*\\/')}`).join('\n *\n')}\n */`;
}

function parametersOf({ operation: { parameters }, body }: Method): string[] {
  const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => `${name}: string`);
  const query = parameters.filter((one) => one.in === 'query');
  const fields = query.map(({ name, required = false, schema }) => {
    return `${comment(schema.description)}${name}${required ? '' : '?'}: ${typeOf(schema, 'input')}${required ? '' : ' | undefined'};`;
  });
  const queryType = `{ ${fields.join(' ')} }`;
  const input: string[] = [];
  if (body !== undefined)
    input.push(`body${body.isRequired ? '' : '?'}: ${prefixed(typeOf(body.schema, 'input'))}`);
  else if (query.length > 0) {
    input.push(`query${query.some(({ required }) => required) ? '' : '?'}: ${prefixed(queryType)}`);
  }
  const options =
    body !== undefined && query.length > 0
      ? `CallOptions & { query?: ${prefixed(queryType)} }`
      : 'CallOptions';
  return [...inPath, ...input, `options?: ${options}`];
}

function resultOf({ data, more, shape }: Method): string {
  if (shape === 'text') return 'string';
  const type = prefixed(typeOf(shape === 'page' ? (data.items ?? {}) : data, 'output'));
  if (shape !== 'page') return type;
  return [`Page<${type}>`, ...more.map((one) => prefixed(typeOf(one, 'output')))].join(' & ');
}

/** Names of schemas, which begin with a capital, are those of the other file. Comments have words that begin with one, too. */
function prefixed(type: string): string {
  return type.replaceAll(/\/\*[\s\S]*?\*\/|(?<!["\w])[A-Z]\w+(?!["\w])/g, (whole) =>
    whole.startsWith('/*') || ['Array', 'Record'].includes(whole) ? whole : `S.${whole}`,
  );
}

function table(methods: readonly Method[], named: Document['components']['schemas']): string {
  const lines = methods.map((method) => {
    const { operation, name, data } = method;
    const int64 = int64Paths(data, named).join(',');
    const line = [operation.method, operation.path, flagsOf(method), ...(int64 === '' ? [] : [int64])].join(
      ' ',
    );
    return `  '${name}': '${line}',`;
  });
  const type = 'Readonly<Record<string, string>>';
  return `${HEAD}\n/** Method, path, flags and 64-bit integers of each operation, see \`parseOperation\`. */\nexport const OPERATIONS: ${type} = {\n${lines.join('\n')}\n};\n`;
}

function flagsOf({ operation: { parameters, servers }, body, shape }: Method): string {
  const has = (name: string) => parameters.some((one) => one.name === name);
  const flags = {
    b: body !== undefined,
    q: body === undefined && parameters.some((one) => one.in === 'query'),
    l: shape === 'page',
    r: shape === 'json',
    t: shape === 'text',
    i: servers !== undefined,
    s: has('X-Tenant-Id'),
    p: has('X-Project-Id'),
  };
  return (
    Object.keys(flags)
      .filter((flag) => flags[flag as keyof typeof flags])
      .join('') || '-'
  );
}
