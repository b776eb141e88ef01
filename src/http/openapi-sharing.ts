type Json = Record<string, unknown>;

interface Response extends Json {
  headers?: Record<string, Json>;
  links?: Record<string, Json>;
  content: Readonly<Record<string, { schema: Json }>>;
}

/** One operation of a document, whose parts are replaced by references. */
export interface SharingOperation {
  /** Absent: it has none, or the path has them. */
  parameters?: Json[];
  responses: Record<string, Json>;
}

/** A place of the document that has a part, which may be replaced by a reference to it. */
interface Place {
  /** What the part is called in `components`; parts that differ are numbered. Empty: they have only numbers. */
  name: string;
  part: Json;
  put(reference: Json): void;
}

/** A response that so many operations have is named by its status alone. */
const COMMON = 20;

/**
 * Moves the parameters, headers, links and responses that occur more than once to the returned `components`, and puts references
 * into the operations.
 */
export function shareParts(operations: readonly SharingOperation[]): Record<string, Json> {
  const headers = share('headers', operations.flatMap(placesIn('headers')));
  // The name of a link is its operation, next to each reference.
  const links = share(
    'links',
    operations.flatMap(placesIn('links')).map((place) => ({ ...place, name: '' })),
  );
  const parameters = share('parameters', operations.flatMap(parameterPlaces));
  const responses = share('responses', operations.flatMap(responsePlaces));
  return { headers, links, parameters, responses };
}

/** The path item of a path's operations, by method; it has the parameters that all of them have. */
export function pathItem(operations: Readonly<Record<string, SharingOperation & Json>>): Json {
  const [first, ...others] = Object.values(operations).map(({ parameters = [] }) => parameters);
  const texts = others.map((one) => one.map((each) => JSON.stringify(each)));
  const common = (first ?? []).filter((one) => texts.every((each) => each.includes(JSON.stringify(one))));
  const isCommon = (one: Json) => common.some((each) => JSON.stringify(each) === JSON.stringify(one));
  const items = Object.entries(operations).map(([method, { parameters = [], ...operation }]) => {
    const own = others.length === 0 ? parameters : parameters.filter((one) => !isCommon(one));
    return [method, { ...operation, ...(own.length === 0 ? {} : { parameters: own }) }] as const;
  });
  return {
    ...(others.length === 0 || common.length === 0 ? {} : { parameters: common }),
    ...Object.fromEntries(items),
  };
}

function share(kind: string, places: readonly Place[]): Json {
  const byText = new Map<string, Place[]>();
  for (const place of places) {
    const text = JSON.stringify(place.part);
    byText.set(text, [...(byText.get(text) ?? []), place]);
  }
  const components: Json = {};
  // The most frequent of a name has no number.
  for (const same of [...byText.values()].sort((a, b) => b.length - a.length)) {
    const [first] = same;
    if (first === undefined || same.length < 2) continue;
    const [status = ''] = /^\d+/.exec(first.name) ?? [];
    const wanted = same.length >= COMMON && status !== '' ? status : first.name;
    let name = wanted;
    for (let n = 2; name === '' || name in components; n++)
      name = wanted === '' ? `${n - 1}` : `${wanted}-${n}`;
    components[name] = first.part;
    for (const place of same) place.put({ $ref: `#/components/${kind}/${name}` });
  }
  return components;
}

function placesIn(kind: 'headers' | 'links'): (operation: SharingOperation) => Place[] {
  return ({ responses }) =>
    Object.values(responses).flatMap((response) => entries((response as Response)[kind] ?? {}));
}

function parameterPlaces({ parameters = [] }: SharingOperation): Place[] {
  return parameters.map((part, i) => ({
    name: String(part['name']),
    part,
    put: (reference) => {
      parameters[i] = reference;
    },
  }));
}

function responsePlaces({ responses }: SharingOperation): Place[] {
  return entries(responses).map((place) => ({ ...place, name: responseName(place.name, place.part) }));
}

function entries(record: Record<string, Json>): Place[] {
  return Object.entries(record).map(([name, part]) => ({
    name,
    part,
    put: (reference) => {
      record[name] = reference;
    },
  }));
}

/** By its first error code, or by the schema of what it answers. */
function responseName(status: string, part: Json): string {
  const { description, content } = part as Response & { description: string };
  const [code] = /^[A-Z_]+(?=: )/.exec(description) ?? [];
  if (code !== undefined) return `${status}-${code}`;
  const [, schema = 'plain'] =
    /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(Object.values(content))) ?? [];
  return JSON.stringify(content).includes('next_cursor') ? `${schema}-page` : schema;
}
