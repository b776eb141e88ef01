type Json = Record<string, unknown>;

/** What a test has sent to an operation and what was answered; `answer` is absent for files. */
export interface OperationExample {
  status: number;
  request?: unknown;
  answer?: unknown;
}

/** By the ids of operations. */
export type Examples = Readonly<Record<string, OperationExample>>;

interface Media {
  example?: unknown;
}

interface ExemplifiedOperation {
  operationId?: unknown;
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Json>;
}

/**
 * Adds the examples to operations whose parts are shared already. A shared answer has one example, of the first operation
 * that gives it: its schema is the same everywhere.
 */
export function addExamples(
  operations: readonly ExemplifiedOperation[],
  components: Readonly<Record<string, Json>>,
  examples: Examples,
): void {
  for (const { operationId, requestBody, responses } of operations) {
    const { status, request, answer } = examples[String(operationId)] ?? { status: 0 };
    const [body] = Object.values(requestBody?.content ?? {});
    if (body !== undefined && request !== undefined) body.example = request;
    const [media] = Object.values(contentOf(responses[status], components));
    if (media !== undefined && answer !== undefined) media.example ??= answer;
  }
}

function contentOf(
  response: Json | undefined,
  components: Readonly<Record<string, Json>>,
): Record<string, Media> {
  const { $ref: reference, content } = (response ?? {}) as { $ref?: string; content?: Record<string, Media> };
  if (reference === undefined) return content ?? {};
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return (components['responses']?.[name] as { content?: Record<string, Media> } | undefined)?.content ?? {};
}
