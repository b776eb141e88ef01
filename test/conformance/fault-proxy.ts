import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  request,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { messagesOf } from './messages.ts';

/** What happens to a request: `cut_before` the service gets it, or `cut_after` it has answered. */
export type Fault = '429' | '503' | 'cut_before' | 'cut_after';
export const FAULTS: readonly Fault[] = ['429', 'cut_after', '503', 'cut_before'];

export interface FaultProxyOptions {
  /** The service; a restart keeps its address. */
  target: { host: string; port: number };
  /** So many faults, which take turns: the first comes to request `first` with events, and then one each `every` requests. */
  faults?: { first: number; every: number; most: number };
  /** Answers are withheld once so many events were answered, until {@link FaultProxy.cut}. */
  withhold_from?: number;
  /** While the service is down or answers 503, requests wait, as at a load balancer that asks again. */
  is_patient?: boolean;
  /** Each request comes from an address of its own, as if each were of another visitor. */
  has_visitors?: boolean;
}

/** A patient proxy asks the service so often. */
const ATTEMPTS = 30;
const PAUSE_MS = 1_000;

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/**
 * The service as one client sees it: with faults on the way. A batch meets at most one, so that they never add up to more
 * than the client endures.
 */
export class FaultProxy {
  /** Faults that were made, by kind. */
  readonly made: Record<Fault, number> = { '429': 0, '503': 0, cut_before: 0, cut_after: 0 };
  /** How often each message reached the service or was refused on the way to it, by its messageId. */
  readonly sent = new Map<string, number>();
  /** Answers of the service other than 200 to requests with events. */
  readonly refusals: { status: number; body: string }[] = [];
  /** Requests with events. */
  requests = 0;
  /** Events that were answered with 200. */
  answered = 0;
  #options: FaultProxyOptions;
  #server: Server;
  #agent = new Agent({ keepAlive: true });
  #hit = new Set<string>();
  #state: 'open' | 'withholding' | 'down' | 'restored' = 'open';
  #withheld = new Set<ServerResponse>();
  #waiting: (() => void)[] = [];

  private constructor(options: FaultProxyOptions) {
    this.#options = options;
    this.#server = createServer((incoming, response) => {
      this.#handle(incoming, response).catch(() => response.destroy());
    });
  }

  /** Listens on a free port of the loopback address. */
  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Whether the service has answered a request and the client does not know it. */
  get is_withholding(): boolean {
    return this.#withheld.size > 0;
  }

  /** Messages that the client sent more than once. */
  get repeated(): number {
    return [...this.sent.values()].filter((times) => times > 1).length;
  }

  /** Cuts every connection: the service is down from now on. */
  cut(): void {
    this.#state = 'down';
    for (const response of this.#withheld) response.destroy();
    this.#withheld.clear();
  }

  /** Passes on again: the service is up. */
  restore(): void {
    this.#state = 'restored';
    for (const go_on of this.#waiting.splice(0)) go_on();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
    this.#agent.destroy();
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(incoming);
    const messages = incoming.method === 'POST' ? messagesOf(body) : [];
    for (const { messageId } of messages) this.sent.set(messageId, (this.sent.get(messageId) ?? 0) + 1);
    const [first] = messages;
    const fault = first === undefined ? undefined : this.#nextFault(first.messageId);
    if (fault !== undefined) this.made[fault] += 1;
    if (fault === 'cut_before') return void response.destroy();
    if (fault === '429' || fault === '503') return refuse(fault, incoming, response);
    if (this.#state === 'down' && !this.#options.is_patient) return void response.destroy();
    if (this.#options.has_visitors) incoming.headers['x-forwarded-for'] = addressOf(first?.messageId ?? '');
    const answer = await this.#answerTo(incoming, body);
    if (fault === 'cut_after') return void response.destroy();
    if (first !== undefined) {
      if (this.#state === 'down') return void response.destroy();
      const { withhold_from = Infinity } = this.#options;
      if (this.#state === 'open' && this.answered >= withhold_from) this.#state = 'withholding';
      if (this.#state === 'withholding') {
        this.#withheld.add(response);
        response.once('close', () => this.#withheld.delete(response));
        return undefined;
      }
      if (answer.status === 200) this.answered += messages.length;
    }
    response.writeHead(answer.status, answer.headers).end(answer.body);
    return undefined;
  }

  #nextFault(first_id: string): Fault | undefined {
    this.requests += 1;
    const { first, every, most } = this.#options.faults ?? { first: 0, every: 0, most: 0 };
    const made = this.#hit.size;
    if (made >= most || this.#hit.has(first_id) || this.requests < first + made * every) return undefined;
    this.#hit.add(first_id);
    return FAULTS[made % FAULTS.length];
  }

  /** The answer of the service. {@link refusals} notes each one that is not 200, also those after which it is asked again. */
  async #answerTo(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    for (let attempts = 1; ; attempts++) {
      if (this.#state === 'down') await new Promise<void>((resolve) => this.#waiting.push(resolve));
      const asks_again = this.#options.is_patient === true && attempts < ATTEMPTS;
      const answer = await this.#forward(incoming, body).catch((error: unknown) => {
        if (asks_again) return undefined;
        throw error;
      });
      if (answer !== undefined && answer.status !== 200 && incoming.method === 'POST')
        this.refusals.push({ status: answer.status, body: answer.body.toString('utf8') });
      if (answer !== undefined && (answer.status !== 503 || !asks_again)) return answer;
      await sleep(PAUSE_MS);
    }
  }

  #forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // With the Host of the client: settings name the host that the client asked.
      const sent = request({ ...this.#options.target, method, path: url, headers, agent: this.#agent });
      sent.once('error', reject);
      sent.once('response', (received) => {
        const { statusCode: status = 0 } = received;
        readAll(received).then((text) => resolve({ status, headers: received.headers, body: text }), reject);
      });
      sent.end(body);
    });
  }
}

/** An address for each message. */
function addressOf(message_id: string): string {
  const [a, b, c] = createHash('sha256').update(message_id).digest();
  return `10.${a}.${b}.${c}`;
}

/** Answers as the service does, also to a page of another origin. */
function refuse(status: '429' | '503', { headers }: IncomingMessage, response: ServerResponse): void {
  const code = status === '429' ? 'RATE_LIMITED' : 'UNAVAILABLE';
  const message = 'refused on the way';
  response
    .writeHead(Number(status), {
      'content-type': 'application/json',
      ...(status === '429' ? { 'retry-after': '1' } : {}),
      ...(headers.origin === undefined
        ? {}
        : { 'access-control-allow-origin': headers.origin, 'access-control-expose-headers': 'Retry-After' }),
    })
    .end(JSON.stringify({ error: { code, message }, code, message }));
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
