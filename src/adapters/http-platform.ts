import { v5 as uuidv5 } from 'uuid';
import type { Clock } from '../platform/clock.ts';
import type { Egress } from '../platform/egress/egress.ts';
import type { Metrics } from '../platform/metrics.ts';
import { readCancel, readGrant, readKyc, readStatus, type Heard } from './answers.ts';
import { callSigned, type Late } from './call.ts';
import type { Gate } from './gate.ts';
import {
  UNSUPPORTED,
  type BonusPlatform,
  type CancelAnswer,
  type CancelOrder,
  type Departure,
  type GrantAnswer,
  type GrantOrder,
  type KycAnswer,
  type KycCall,
  type StatusAnswer,
  type Unsent,
} from './platform.ts';
import type { Capabilities } from './protocol.ts';

/** The parts of the platform that calls need. */
export interface CallDeps {
  egress: Egress;
  clock: Clock;
  metrics: Pick<
    Metrics,
    | 'adapterCalls'
    | 'adapterCallSeconds'
    | 'adapterRequestSeconds'
    | 'adapterCredentialsRefused'
    | 'adapterCircuitOpen'
  >;
}

/** An adapter of the kind http, decrypted. */
export interface HttpAdapter {
  slug: string;
  base_url: string;
  /** The valid secrets, the current one first; at least one. */
  secrets: readonly string[];
  token: string | undefined;
  timeout_ms: number;
  max_rps: number;
  max_in_flight: number;
  capabilities: Capabilities;
}

/** Ids that no path can end with: a URL would drop them, however they are encoded. */
const DOT_SEGMENT = /^\.{1,2}$/;

type CallName = 'grant' | 'cancel' | 'status' | 'kyc';

interface Request {
  name: CallName;
  method: 'GET' | 'POST';
  path: string;
  body: string;
  headers: Record<string, string>;
  mayDepart: () => Promise<Departure>;
}

/** What is not a grant may leave at any time. */
const AT_ANY_TIME = () => Promise.resolve({ by_ms: Infinity });

/** Older secrets are tried for so long, so that with the last attempt (30 s) a call ends before the claims on it, 90 s. */
const SECRETS_MS = 55_000;
/** How often a call is begun that was late, each time on the connection that it had waited for. */
const MAX_DEPARTURES = 3;
const LATE = {
  kind: 'unsent',
  reason: 'busy',
  message: 'the player was looked at too long before the connection was open',
} as const;
const HELD = { kind: 'held' } as const;

/** The Idempotency-Key of a grant's cancel. */
export function cancelKeyOf(grant_id: string): string {
  return uuidv5('cancel', grant_id);
}

/** A casino platform that speaks the protocol of docs/adapter.md. */
export class HttpPlatform implements BonusPlatform {
  readonly kind = 'http';
  readonly #deps: CallDeps;
  readonly #adapter: HttpAdapter;
  readonly #gate: Gate;

  /** `gate` is shared by all platforms of the adapter in this process. */
  constructor(deps: CallDeps, adapter: HttpAdapter, gate: Gate) {
    this.#deps = deps;
    this.#adapter = adapter;
    this.#gate = gate;
  }

  get slug(): string {
    return this.#adapter.slug;
  }

  get capabilities(): Capabilities {
    return this.#adapter.capabilities;
  }

  get max_in_flight(): number {
    return this.#adapter.max_in_flight;
  }

  get max_rps(): number {
    return this.#adapter.max_rps;
  }

  async grant({ grant_id, body, mayDepart }: GrantOrder, attempt: number): Promise<GrantAnswer> {
    if (!this.capabilities.grant) return UNSUPPORTED;
    const headers = { 'Idempotency-Key': grant_id, 'X-Attempt': String(attempt) };
    const path = '/v1/bonuses/grant';
    return this.#ask<GrantAnswer>(
      { name: 'grant', method: 'POST', path, body, headers, mayDepart },
      readGrant,
    );
  }

  async cancel({ grant_id, body }: CancelOrder, attempt: number): Promise<CancelAnswer> {
    if (!this.capabilities.cancel) return UNSUPPORTED;
    const headers = { 'Idempotency-Key': cancelKeyOf(grant_id), 'X-Attempt': String(attempt) };
    const path = '/v1/bonuses/cancel';
    return this.#plain<CancelAnswer>({ name: 'cancel', method: 'POST', path, body, headers }, readCancel);
  }

  async status(ref: { grant_id: string; platform_bonus_id: string | null }): Promise<StatusAnswer> {
    if (!this.capabilities.status) return { kind: 'unsupported' };
    const { grant_id, platform_bonus_id } = ref;
    const path =
      platform_bonus_id === null || DOT_SEGMENT.test(platform_bonus_id)
        ? `/v1/bonuses/by-grant/${grant_id}`
        : `/v1/bonuses/${encodeURIComponent(platform_bonus_id)}`;
    const request = { name: 'status', method: 'GET', path, body: '', headers: {} } as const;
    return this.#plain<StatusAnswer>(request, (heard) => readStatus(heard, ref));
  }

  async kyc({ action, call_id, body }: KycCall, attempt: number): Promise<KycAnswer> {
    if (!this.capabilities.kyc) return { kind: 'unsupported' };
    const headers = { 'Idempotency-Key': call_id, 'X-Attempt': String(attempt) };
    const request = { name: 'kyc', method: 'POST', path: `/v1/kyc/${action}`, body, headers } as const;
    return this.#plain<KycAnswer>(request, readKyc);
  }

  /** Asks what may leave at any time. */
  #plain<A extends { kind: string }>(
    request: Omit<Request, 'mayDepart'>,
    read: (heard: Heard) => A,
  ): Promise<A> {
    return this.#ask<A>({ ...request, mayDepart: AT_ANY_TIME }, read);
  }

  async #ask<A extends { kind: string }>(request: Request, read: (heard: Heard) => A): Promise<A> {
    const { metrics } = this.#deps;
    const { slug: adapter } = this.#adapter;
    const answer = await this.#gate.run(() => this.#tried(request, read), {
      // A platform that takes no connection holds a place as long as one that does not answer.
      isUnknown: (said) => said.kind === 'unknown' || 'is_time_out' in said,
      saysNothing,
    });
    metrics.adapterCalls.inc({ adapter, call: request.name, outcome: answer.kind });
    metrics.adapterCircuitOpen.set({ adapter }, this.#gate.isOpen ? 1 : 0);
    // Every answer can be `unsent`, which is what the gate says.
    return answer as A;
  }

  /** Signs with the current secret; while an older one is valid, with that too if the platform does not know the new one. */
  async #tried<A extends { kind: string }>(
    request: Request,
    read: (heard: Heard) => A,
  ): Promise<A | Unsent | typeof HELD> {
    const [current = '', ...older] = this.#adapter.secrets;
    const { clock, metrics } = this.#deps;
    const until_ms = clock.now_ms() + SECRETS_MS;
    let answer = await this.#departed(request, current, read);
    for (const secret of older) {
      if (!isCredentials(answer) || clock.now_ms() >= until_ms) break;
      answer = await this.#departed(request, secret, read);
    }
    if (isCredentials(answer)) metrics.adapterCredentialsRefused.set({ adapter: this.slug }, 1);
    else if (answer.kind !== 'unsent' && answer.kind !== 'unknown' && answer.kind !== 'held')
      metrics.adapterCredentialsRefused.set({ adapter: this.slug }, 0);
    return answer;
  }

  /**
   * Calls with this secret as soon as it may. When the call was late, because a connection had to be opened, it is asked
   * again whether it may leave, and the connection is used.
   */
  async #departed<A extends { kind: string }>(
    request: Request,
    secret: string,
    read: (heard: Heard) => A,
  ): Promise<A | Unsent | typeof HELD> {
    for (let n = 0; n < MAX_DEPARTURES; n++) {
      const departure = await request.mayDepart();
      if (departure === undefined) return HELD;
      const { heard, took_s } = await this.#call(request, secret, departure.by_ms);
      const answer = heard.kind === 'late' ? undefined : read(heard);
      const labels = { adapter: this.slug, outcome: answer?.kind ?? heard.kind };
      this.#deps.metrics.adapterRequestSeconds.observe(labels, took_s);
      if (answer !== undefined) return answer;
    }
    return LATE;
  }

  async #call(
    { method, path, body, headers }: Request,
    secret: string,
    depart_by_ms: number,
  ): Promise<{ heard: Heard | Late; took_s: number }> {
    const { egress, clock, metrics } = this.#deps;
    const { base_url, token, timeout_ms, slug } = this.#adapter;
    const end = metrics.adapterCallSeconds.startTimer({ adapter: slug });
    const url = `${base_url}${path}`;
    const now_ms = clock.now_ms();
    const heard = await callSigned(egress, {
      method,
      url,
      body,
      secret,
      token,
      headers,
      timeout_ms,
      now_ms,
      depart_by_ms,
    });
    return { heard, took_s: end() };
  }
}

/** Whether the platform was not reached, so that nothing is known of it. */
function saysNothing(answer: { kind: string; reason?: unknown; is_time_out?: unknown }): boolean {
  if (answer === HELD || answer === LATE) return true;
  return answer.reason === 'unreachable' && answer.is_time_out === undefined;
}

function isCredentials(answer: { kind: string; reason?: unknown }): boolean {
  return answer.kind === 'unsent' && answer.reason === 'credentials';
}
