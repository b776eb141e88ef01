import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';

/** Written by test/app/openapi-examples.test.ts. */
export const EXAMPLES_FILE = join(packageRoot, 'openapi/examples.json');

type Json = Record<string, unknown>;

/** What a test has sent to an operation and what was answered; `answer` is absent for files. */
export interface OperationExample {
  status: number;
  request?: unknown;
  answer?: unknown;
}

/** By the ids of operations. */
export type Examples = Readonly<Record<string, OperationExample>>;

/** The examples that are recorded. */
export async function readExamples(): Promise<Examples> {
  return JSON.parse(await readFile(EXAMPLES_FILE, 'utf8')) as Examples;
}

interface Media {
  schema?: unknown;
  example?: unknown;
  examples?: Record<string, Json>;
}

interface ExemplifiedOperation {
  operationId?: unknown;
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Json>;
}

/** An answer of one operation, and all media that have its schema. */
interface Shared {
  name: string;
  value: unknown;
  media: Set<Media>;
}

/**
 * Adds the examples to operations whose parts are shared already, and returns `components.examples`. Answers with the same
 * schema have one example, of the first operation that gives such an answer: those that create, read and change a resource.
 */
export function addExamples(
  operations: readonly ExemplifiedOperation[],
  components: Readonly<Record<string, Json>>,
  examples: Examples,
): Record<string, Json> {
  const by_schema = new Map<string, Shared>();
  for (const { operationId, requestBody, responses } of operations) {
    const name = String(operationId);
    const { status, request, answer } = examples[name] ?? { status: 0 };
    const [body] = Object.values(requestBody?.content ?? {});
    if (body !== undefined && request !== undefined) body.example = request;
    const [media] = Object.values(contentOf(responses[status], components));
    if (media === undefined || answer === undefined) continue;
    // Texts have one schema, but are about different things.
    const schema = typeof answer === 'string' ? name : JSON.stringify(media.schema);
    const shared = by_schema.get(schema) ?? { name, value: answer, media: new Set() };
    shared.media.add(media);
    by_schema.set(schema, shared);
  }
  const several: Record<string, Json> = {};
  for (const { name, value, media } of by_schema.values()) {
    const [first] = media;
    if (media.size === 1 && first !== undefined) {
      first.example = value;
      continue;
    }
    several[name] = { value };
    for (const one of media) one.examples = { recorded: { $ref: `#/components/examples/${name}` } };
  }
  return several;
}

function contentOf(
  response: Json | undefined,
  components: Readonly<Record<string, Json>>,
): Record<string, Media> {
  const { $ref: reference, content } = (response ?? {}) as {
    $ref?: string;
    content?: Record<string, Media>;
  };
  if (reference === undefined) return content ?? {};
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return (components['responses']?.[name] as { content?: Record<string, Media> } | undefined)?.content ?? {};
}
