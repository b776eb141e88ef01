import { request, type Agent } from 'node:http';

/** A request with a JSON body. */
export interface JsonCall {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/**
 * Sends one POST over a kept connection; resolves with how long the answer took, in milliseconds. Rejects unless the
 * answer has this status and contains `expected`, because errors must not be measured.
 */
export function postJson(
  agent: Agent,
  { url, headers, body }: JsonCall,
  { status, expected }: { status: number; expected: string },
): Promise<number> {
  const sent_headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  };
  const started_ms = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers: sent_headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('error', reject).on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (answer.statusCode === status && text.includes(expected)) resolve(performance.now() - started_ms);
        else reject(new Error(`POST ${url}: ${answer.statusCode}, ${text.slice(0, 300)}`));
      });
    });
    sent.on('error', reject).end(body);
  });
}

/** How fast calls were answered, and how long each took. */
export interface Answered {
  per_second: number;
  waits_ms: number[];
}

/** Makes a call for each item, `at_once` of them at a time; `call` resolves with how long it took. */
export async function callAll<Item>(
  items: readonly Item[],
  at_once: number,
  call: (item: Item) => Promise<number>,
): Promise<Answered> {
  const waits_ms: number[] = [];
  const left = items.values();
  const started_ms = performance.now();
  const lane = async () => {
    for (const item of left) waits_ms.push(await call(item));
  };
  await Promise.all(Array.from({ length: at_once }, lane));
  return { per_second: (items.length / (performance.now() - started_ms)) * 1_000, waits_ms };
}
