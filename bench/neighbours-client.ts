import { Agent, request } from 'node:http';
import type { TestTenant } from '../test/engines/service.ts';

type Json = Record<string, unknown>;

/** The answer to one request; `ms` is the time from its sending to its end. */
export interface Answer {
  status: number;
  ms: number;
  body: { data?: Json; error?: { code: string; message: string }; meta?: Json };
  retry_after_s: number;
}

/** One tenant's callers: sessions at the API and an API key at intake, over keep-alive connections of their own. */
export class NeighbourClient {
  readonly tenant: TestTenant;
  readonly #urls: { base_url: string; ingest_url: string };
  readonly #agent: Agent;

  constructor(urls: { base_url: string; ingest_url: string }, tenant: TestTenant, max_sockets = 64) {
    this.tenant = tenant;
    this.#urls = urls;
    this.#agent = new Agent({ keepAlive: true, maxSockets: max_sockets });
  }

  /** A request of the signed-in owner. */
  api(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.#send(`${this.#urls.base_url}${path}`, this.tenant.session_token, method, textOf(body));
  }

  /** Identifies a player with the API key. */
  identify(body: Json): Promise<Answer> {
    return this.#send(
      `${this.#urls.base_url}/v1/players/identify`,
      this.tenant.api_key,
      'POST',
      textOf(body),
    );
  }

  get ingest_url(): string {
    return this.#urls.ingest_url;
  }

  /** Sends one event. */
  event(body: Json): Promise<Answer> {
    return this.#send(`${this.#urls.ingest_url}/v1/events`, this.tenant.api_key, 'POST', textOf(body));
  }

  /** Creates a record; rejects unless it is created. Returns its id. */
  async create(path: string, body: Json): Promise<string> {
    return String((await this.must('POST', path, 201, body))['id']);
  }

  /** A request that must be answered with this status; returns its data. */
  async must(method: string, path: string, status: number, body?: unknown): Promise<Json> {
    const answer = await this.api(method, path, body);
    if (answer.status !== status) {
      throw new Error(`${method} ${path}: ${answer.status} ${answer.body.error?.message}`);
    }
    return answer.body.data ?? {};
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(url: string, token: string, method: string, text: string | undefined): Promise<Answer> {
    const started_ms = performance.now();
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(text === undefined
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(url, { method, agent: this.#agent, headers }, (answer) => {
        const parts: Buffer[] = [];
        answer.on('error', reject).on('data', (part: Buffer) => parts.push(part));
        answer.on('end', () => {
          const body = JSON.parse(Buffer.concat(parts).toString() || '{}') as Answer['body'];
          const retry_after_s = Number(answer.headers['retry-after'] ?? 0);
          resolve({
            status: answer.statusCode ?? 0,
            ms: performance.now() - started_ms,
            body,
            retry_after_s,
          });
        });
      });
      sent.on('error', reject).end(text);
    });
  }
}

function textOf(body: unknown): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body);
}
