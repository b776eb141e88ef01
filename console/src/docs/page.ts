import { isFound, operationsOf, rulesOf, schemaOf, typeOf } from '../api/document-shapes.ts';
import type { ApiDocument, Operation, Schema } from '../api/document-shapes.ts';
import './page.css';

// The reference of the API for people without an account: it loads the document of this service, and nothing else. It writes
// text only, never HTML, so the document cannot put a script into the page.

/** How deep the fields of a schema are written out; deeper ones are named. */
const DEPTH = 4;

type Part = Node | string;

function element(
  name: string,
  parts: readonly Part[] = [],
  attributes: Record<string, string> = {},
): HTMLElement {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...parts);
  return made;
}

const code = (text: string) => element('code', [text]);

/** The fields of a schema, each with its type, its rules and what it means. */
function fieldsOf(api: ApiDocument, given: Schema, depth = 0): Part[] {
  const schema = schemaOf(api, given);
  const several = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  const inner = schema.items === undefined ? several : [schema.items, ...several];
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties).flatMap(([name, one]) => [
    element('dt', [
      code(name),
      ` ${typeOf(one)}`,
      required.includes(name) ? '' : ' (optional)',
      ...[rulesOf(one)].filter(Boolean).map((rules) => ` ${rules}`),
    ]),
    element('dd', [one.description ?? '', ...(depth < DEPTH ? fieldsOf(api, one, depth + 1) : [])]),
  ]);
  const deeper = depth < DEPTH ? inner.flatMap((one) => fieldsOf(api, one, depth + 1)) : [];
  return [...(fields.length === 0 ? [] : [element('dl', fields)]), ...deeper];
}

function section(title: string, parts: readonly Part[]): HTMLElement {
  return element('section', [element('h2', [title]), ...parts]);
}

function example(title: string, value: unknown): Part[] {
  if (value === undefined) return [];
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return [section(title, [element('pre', [text], { tabindex: '0' })])];
}

function parametersOf({ parameters }: Operation): Part[] {
  if (parameters.length === 0) return [];
  const rows = parameters.map(({ name, in: place, required, description, schema = {} }) =>
    element('tr', [
      element('td', [code(name)]),
      element('td', [place, required === true ? ', required' : '']),
      element('td', [typeOf(schema)]),
      element('td', [[description ?? schema.description, rulesOf(schema)].filter(Boolean).join('; ')]),
    ]),
  );
  const head = ['Name', 'In', 'Type', ''].map((title) => element('th', [title], { scope: 'col' }));
  return [section('Parameters', [element('table', [element('tr', head), ...rows])])];
}

/** What is shown of an operation that was opened. */
function detailsOf(api: ApiDocument, operation: Operation): Part[] {
  const { method, path, access, body, responses, ingest_url, examples } = operation;
  const success = responses.find(({ status }) => status.startsWith('2'));
  const failures = responses.filter(({ status }) => !status.startsWith('2'));
  return [
    element('p', [access]),
    element('pre', [`${method} ${ingest_url ?? location.origin}${path}`]),
    ...parametersOf(operation),
    ...(body === undefined ? [] : [section('Body', fieldsOf(api, body))]),
    ...example('Example of a body', examples.body),
    ...(success?.schema === undefined
      ? []
      : [section(`Answer ${success.status}`, fieldsOf(api, success.schema))]),
    ...example('Example of an answer', examples.answer),
    section('Errors', [
      element(
        'dl',
        failures.flatMap(({ status, description }) => [
          element('dt', [code(status)]),
          element(
            'dd',
            description.split('; ').map((line) => element('div', [line])),
          ),
        ]),
      ),
    ]),
  ];
}

function entryOf(api: ApiDocument, operation: Operation): HTMLDetailsElement {
  const { id, method, path, summary } = operation;
  const head = element('summary', [code(`${method} ${path}`), ` ${summary}`]);
  const entry = element('details', [head], { id }) as HTMLDetailsElement;
  // Written when it is opened: all at once would take a second.
  entry.addEventListener('toggle', () => {
    if (!entry.open) return;
    if (entry.childElementCount === 1) entry.append(...detailsOf(api, operation));
    history.replaceState(null, '', `#${id}`);
  });
  return entry;
}

async function show(place: HTMLElement, words: HTMLInputElement): Promise<void> {
  const response = await fetch('/openapi.json');
  if (!response.ok) throw new Error(`the service answers ${response.status}`);
  const api = (await response.json()) as ApiDocument;
  const entries = operationsOf(api).map((operation) => ({ operation, entry: entryOf(api, operation) }));
  const search = () => {
    for (const { operation, entry } of entries) entry.hidden = !isFound(operation, words.value);
  };
  words.addEventListener('input', search);
  place.replaceChildren(...entries.map(({ entry }) => entry));
  search();
  const named = entries.find(({ operation }) => `#${operation.id}` === location.hash)?.entry;
  if (named === undefined) return;
  named.open = true;
  named.scrollIntoView();
}

const place = document.getElementById('operations');
const words = document.getElementById('words');
if (place === null || !(words instanceof HTMLInputElement)) throw new Error('the page lacks its elements');
show(place, words).catch((error: unknown) => {
  place.textContent = `The document could not be shown: ${error instanceof Error ? error.message : String(error)}`;
});
