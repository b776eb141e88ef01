import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSigned, signatureOf } from '../../src/http/auth/webhook-signature.ts';
import { cancelBody, DUPLICATE_GRANT, grantBody } from '../../src/adapters/protocol.ts';
import { Random } from '../crash/random.ts';

// A casino platform with a ledger of its own that speaks the protocol of docs/adapter.md, faultily if asked to. In the
// process of a test by `startFakePlatform`, or in one of its own by test/engines/platform-child.ts; both are steered and
// read over HTTP (`FakePlatformClient`).

/** What goes wrong, as probabilities from 0 to 1 unless said otherwise; the same seed draws the same faults. */
export interface FaultPlan {
  seed: number;
  /** Closes the connection before anything is done. */
  drop: number;
  /** Answers 500, 502 or 503 before anything is done. */
  error_before: number;
  /** Does it, then answers 500. */
  error_after: number;
  /** Does it, then closes the connection without an answer. */
  lost: number;
  /** Answers 429 with Retry-After: 1. */
  rate_limit: number;
  /** Says 404 to a status query of a bonus that it has. */
  lie: number;
  /** Answers `pending`, and credits when the webhook is sent. */
  accept: number;
  /** The answer waits up to so many milliseconds. */
  delay_ms: number;
  /** The answer ends after so many bytes, head included; null: whole. */
  cut_at: number | null;
  /** Whether the answer ends with the connection instead of after an announced length. */
  is_unframed: boolean;
  /** A webhook is sent twice. */
  duplicate: number;
  /** A webhook is sent after the next one. */
  reorder: number;
  /** A webhook is sent before the answer. */
  early: number;
  /** By how much its clock is ahead. */
  clock_skew_ms: number;
}

/** No faults. */
export const NO_FAULTS: FaultPlan = {
  seed: 1,
  drop: 0,
  error_before: 0,
  error_after: 0,
  lost: 0,
  rate_limit: 0,
  lie: 0,
  accept: 0,
  delay_ms: 0,
  cut_at: null,
  is_unframed: false,
  duplicate: 0,
  reorder: 0,
  early: 0,
  clock_skew_ms: 0,
};

/** A bonus in the platform's ledger. */
export interface FakeBonus {
  grant_id: string;
  platform_bonus_id: string;
  player_external_id: string;
  status: string;
  amount: string;
  total_wagered: string;
  /** How often money was credited: more than once is the worst of faults. */
  credits: number;
  updated_at: string;
}

/** A call as it arrived. */
export interface FakeCall {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** When its first bytes came. */
  at_ms: number;
  /** The answer's status; 0: none. */
  status: number;
}

/** What steers the platform (`POST /control`); what is absent stays. */
export interface Control {
  faults?: Partial<FaultPlan>;
  /** The secrets that it accepts; the first signs its webhooks. */
  secrets?: string[];
  /** The bearer token that it wants; null: none. */
  token?: string | null;
  /** Where its webhooks go, without the last part: `http://…/v1/adapters/<slug>/webhooks`; null: none are sent. */
  webhooks_url?: string | null;
  /** Answers every call with this instead; null: no more. */
  answer?: { status: number; body: string; headers?: Record<string, string> } | null;
  /** True: answers wait until it is false again. What they say was decided when the call came. */
  hold?: boolean;
}

/** Its whole memory (`GET /ledger`). */
export interface Ledger {
  bonuses: FakeBonus[];
  calls: FakeCall[];
  /** Webhooks that were sent: the id of the event, and the status of the answer. */
  webhooks: { event_id: string; event: string; grant_id: string; status: number }[];
}

/** A life's step that a test asks for (`POST /move`): the bonus changes, and a webhook says so. */
export interface Move {
  grant_id: string;
  event: string;
  data?: Record<string, unknown>;
}

/** A running platform. */
export interface FakePlatform {
  url: string;
  close(): Promise<void>;
}

/** Calls of a platform's own endpoints, for tests. */
export class FakePlatformClient {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  /** Changes how it behaves. */
  async control(control: Control): Promise<void> {
    await this.#call('POST', '/control', control);
  }

  /** What it has and what it was asked. */
  async ledger(): Promise<Ledger> {
    return (await this.#call('GET', '/ledger')) as Ledger;
  }

  /** Moves a bonus and sends the webhook; resolves with the status of the webhook's answer (0: none was sent). */
  async move(move: Move): Promise<number> {
    return ((await this.#call('POST', '/move', move)) as { status: number }).status;
  }

  /** Sends what webhooks it still holds back, and forgets its calls. */
  async settle(): Promise<void> {
    await this.#call('POST', '/settle', {});
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`the fake platform says ${response.status}: ${await response.text()}`);
    return response.json();
  }
}

interface Webhook {
  event_id: string;
  event: string;
  grant_id: string;
  body: string;
}

interface Answer {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

const MAX_CALLS = 100_000;
const STATUS_OF_EVENT: Readonly<Record<string, string>> = {
  'bonus.credited': 'active',
  'bonus.completed': 'completed',
  'bonus.expired': 'expired',
  'bonus.forfeited': 'forfeited',
  'bonus.lost': 'lost',
  'bonus.cancelled': 'cancelled',
  'bonus.rejected': 'failed',
};
const LIVE = new Set(['pending', 'active']);

class Platform {
  readonly #bonuses = new Map<string, FakeBonus>();
  /** The same by `platform_bonus_id`. */
  readonly #by_id = new Map<string, FakeBonus>();
  readonly #calls: FakeCall[] = [];
  readonly #webhooks: Ledger['webhooks'] = [];
  /** Held back, to be sent after the next one. */
  readonly #held: Webhook[] = [];
  #faults: FaultPlan = NO_FAULTS;
  #random = new Random(NO_FAULTS.seed);
  #secrets: string[];
  #token: string | null = null;
  #webhooks_url: string | null = null;
  #answer: Answer | null = null;
  /** What lets the answers go on that wait; undefined: none has to wait. */
  #on_hold: (() => void)[] | undefined;

  constructor(secrets: string[]) {
    this.#secrets = secrets;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request;
    const at_ms = Date.now();
    const body = (await buffer(request)).toString();
    const own = await this.#ownEndpoint(method, path, body);
    if (own !== undefined) {
      // Otherwise a test's next call could meet a connection that is just being closed.
      response
        .writeHead(200, { 'content-type': 'application/json', connection: 'close' })
        .end(JSON.stringify(own));
      return;
    }
    const headers = request.headers as Record<string, string>;
    const call: FakeCall = { method, path, headers, body, at_ms, status: 0 };
    if (this.#calls.push(call) > MAX_CALLS) this.#calls.shift();
    const answer = await this.#answerTo(call);
    const on_hold = this.#on_hold;
    if (on_hold !== undefined) await new Promise<void>((resolve) => on_hold.push(resolve));
    if (this.#faults.delay_ms > 0) await sleep(this.#random.integer(0, this.#faults.delay_ms));
    if (answer === undefined) {
      response.destroy();
      return;
    }
    call.status = answer.status;
    this.#write(response, answer);
  }

  async #ownEndpoint(method: string, path: string, body: string): Promise<object | undefined> {
    if (method === 'GET' && path === '/ledger') {
      return { bonuses: [...this.#bonuses.values()], calls: this.#calls, webhooks: this.#webhooks };
    }
    if (method !== 'POST') return undefined;
    if (path === '/control') return this.#control(JSON.parse(body) as Control);
    if (path === '/move') return { status: await this.#move(JSON.parse(body) as Move) };
    if (path !== '/settle') return undefined;
    for (const held of this.#held.splice(0)) await this.#post(held);
    this.#calls.length = 0;
    return {};
  }

  #control({ faults, secrets, token, webhooks_url, answer, hold }: Control): object {
    if (faults !== undefined) this.#faults = { ...this.#faults, ...faults };
    if (faults?.seed !== undefined) this.#random = new Random(faults.seed);
    if (secrets !== undefined) this.#secrets = secrets;
    if (token !== undefined) this.#token = token;
    if (webhooks_url !== undefined) this.#webhooks_url = webhooks_url;
    if (answer !== undefined) this.#answer = answer;
    if (hold !== undefined) this.#hold(hold);
    return {};
  }

  #hold(hold: boolean): void {
    for (const goOn of this.#on_hold ?? []) goOn();
    this.#on_hold = hold ? [] : undefined;
  }

  /** The answer to a call of the protocol; undefined: none. */
  async #answerTo(call: FakeCall): Promise<Answer | undefined> {
    if (this.#answer !== null) return this.#answer;
    const { headers } = call;
    const now_ms = Date.now() + this.#faults.clock_skew_ms;
    const signed = {
      signature: headers['x-service-signature'],
      timestamp: headers['x-service-timestamp'],
      body: call.body,
    };
    const has_token = this.#token === null || headers['authorization'] === `Bearer ${this.#token}`;
    if (!has_token || !isSigned(this.#secrets, signed, now_ms)) return { status: 401, body: '{}' };
    const { drop, error_before, error_after, lost, rate_limit } = this.#faults;
    if (this.#random.chance(drop)) return undefined;
    if (this.#random.chance(rate_limit)) return { status: 429, body: '', headers: { 'retry-after': '1' } };
    if (this.#random.chance(error_before))
      return { status: this.#random.pick([500, 502, 503]), body: 'down' };
    const answer = await this.#work(call);
    if (this.#random.chance(error_after)) return { status: 500, body: 'down after it was done' };
    return this.#random.chance(lost) ? undefined : answer;
  }

  async #work({ method, path, body }: FakeCall): Promise<Answer> {
    if (method === 'POST' && path === '/v1/bonuses/grant') return this.#grant(body);
    if (method === 'POST' && path === '/v1/bonuses/cancel') return this.#cancel(body);
    if (method === 'POST' && path.startsWith('/v1/kyc/'))
      return { status: 200, body: JSON.stringify({ provider_ref: 'kyc-1' }) };
    const by_grant = /^\/v1\/bonuses\/by-grant\/([^/]+)$/.exec(path)?.[1];
    const by_id = /^\/v1\/bonuses\/([^/]+)$/.exec(path)?.[1];
    const bonus = by_grant === undefined ? this.#by_id.get(by_id ?? '') : this.#bonuses.get(by_grant);
    if (method !== 'GET' || bonus === undefined || this.#random.chance(this.#faults.lie))
      return error(404, 'NOT_FOUND', 'there is no such bonus');
    const { grant_id, platform_bonus_id, status, updated_at, total_wagered, amount } = bonus;
    const said = { grant_id, platform_bonus_id, status, updated_at, total_wagered, amount };
    return { status: 200, body: JSON.stringify(said) };
  }

  async #grant(body: string): Promise<Answer> {
    const parsed = grantBody.safeParse(parse(body));
    if (!parsed.success) return error(400, 'INVALID_REQUEST', parsed.error.message);
    const { grant_id, player_external_id, template } = parsed.data;
    if (this.#bonuses.has(grant_id)) return error(409, DUPLICATE_GRANT, 'this grant was made before');
    const is_pending = this.#random.chance(this.#faults.accept);
    const bonus: FakeBonus = {
      grant_id,
      platform_bonus_id: `pb-${grant_id}`,
      player_external_id,
      status: is_pending ? 'pending' : 'active',
      amount: String(template.amount_subunit),
      total_wagered: '0',
      credits: is_pending ? 0 : 1,
      updated_at: this.#now(),
    };
    this.#bonuses.set(grant_id, bonus);
    this.#by_id.set(bonus.platform_bonus_id, bonus);
    if (this.#random.chance(this.#faults.early)) await this.#send(grant_id, 'bonus.credited', {});
    const status = bonus.status === 'pending' ? 'pending' : 'credited';
    return { status: 201, body: JSON.stringify({ platform_bonus_id: bonus.platform_bonus_id, status }) };
  }

  #cancel(body: string): Answer {
    const parsed = cancelBody.safeParse(parse(body));
    if (!parsed.success) return error(400, 'INVALID_REQUEST', parsed.error.message);
    const bonus = this.#bonuses.get(parsed.data.grant_id);
    if (bonus === undefined) return error(404, 'NOT_FOUND', 'there is no such bonus');
    if (!LIVE.has(bonus.status) && bonus.status !== 'cancelled')
      return error(409, 'BONUS_ENDED', `the bonus is ${bonus.status}`);
    if (bonus.status !== 'cancelled') Object.assign(bonus, { status: 'cancelled', updated_at: this.#now() });
    return { status: 200, body: JSON.stringify({ status: 'cancelled' }) };
  }

  #move({ grant_id, event, data = {} }: Move): Promise<number> {
    return this.#send(grant_id, event, data);
  }

  /** Changes the bonus as the event says, and sends the webhook. */
  async #send(grant_id: string, event: string, data: Record<string, unknown>): Promise<number> {
    const bonus = this.#bonuses.get(grant_id);
    if (bonus === undefined) throw new Error(`the platform has no bonus of ${grant_id}`);
    const status = STATUS_OF_EVENT[event];
    // A platform says nothing that it does not do.
    if (status !== undefined && !LIVE.has(bonus.status) && bonus.status !== status) return 0;
    if (status !== undefined && LIVE.has(bonus.status)) {
      if (status === 'active' && bonus.status === 'pending') bonus.credits++;
      bonus.status = status;
    }
    const { total_wagered } = data;
    if (typeof total_wagered === 'number' || typeof total_wagered === 'string')
      bonus.total_wagered = String(total_wagered);
    bonus.updated_at = this.#now();
    const { platform_bonus_id } = bonus;
    const event_id = randomUUID();
    const body = JSON.stringify({ event, event_id, ts: bonus.updated_at, grant_id, platform_bonus_id, data });
    const webhook = { event_id, event, grant_id, body };
    if (this.#random.chance(this.#faults.reorder)) {
      this.#held.push(webhook);
      return 0;
    }
    const answered = await this.#post(webhook);
    if (this.#random.chance(this.#faults.duplicate)) await this.#post(webhook);
    for (const held of this.#held.splice(0)) await this.#post(held);
    return answered;
  }

  async #post({ event_id, event, grant_id, body }: Webhook): Promise<number> {
    const [secret] = this.#secrets;
    if (this.#webhooks_url === null || secret === undefined) return 0;
    const timestamp_s = Math.floor((Date.now() + this.#faults.clock_skew_ms) / 1_000);
    const status = await fetch(`${this.#webhooks_url}/bonus-events`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-service-signature': signatureOf(secret, timestamp_s, body),
        'x-service-timestamp': String(timestamp_s),
      },
      body,
    }).then(
      (response) => response.status,
      () => 0,
    );
    this.#webhooks.push({ event_id, event, grant_id, status });
    return status;
  }

  /** Writes the bytes of the answer, so many of them as the plan says. */
  #write(response: ServerResponse, { status, body, headers = {} }: Answer): void {
    const { cut_at, is_unframed } = this.#faults;
    const framing = is_unframed ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const head = Object.entries({
      'content-type': 'application/json',
      ...headers,
      ...framing,
      connection: 'close',
    })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    const bytes = Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Other'}\r\n${head}\r\n${body}`);
    response.socket?.end(cut_at === null ? bytes : bytes.subarray(0, cut_at));
  }

  #now(): string {
    return new Date(Date.now() + this.#faults.clock_skew_ms).toISOString();
  }
}

function error(status: number, code: string, message: string): Answer {
  return { status, body: JSON.stringify({ code, message }) };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Starts a platform on loopback; it accepts calls that one of these secrets signed. */
export async function startFakePlatform(secrets: string[] = []): Promise<FakePlatform> {
  const platform = new Platform(secrets);
  const server: Server = createServer((request, response) => {
    platform.handle(request, response).catch((thrown: unknown) => {
      if (!response.headersSent) response.writeHead(599).end(String(thrown));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const CHILD = 'dist/test/engines/platform-child.js';

/** Starts a platform in a process of its own, whose times of calls do not depend on what this process does. */
export async function spawnFakePlatform(): Promise<FakePlatform> {
  const child = spawn(process.execPath, [CHILD], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const early = exited.then(([code]: unknown[]) => {
    throw new Error(`the platform ended with ${String(code)}; was it built?`);
  });
  early.catch(() => undefined);
  const [url] = (await Promise.race([once(child.stdout, 'data'), early])) as [Buffer];
  return {
    url: url.toString().trim(),
    async close() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
