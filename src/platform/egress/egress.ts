import { connect as connectTcp, isIP, type BlockList, type LookupFunction, type Socket } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import { canonicalHost, isIn, isLoopback, isPublicAddress, networkList } from './addresses.ts';
import { resolveByDns, type Resolve } from './resolve.ts';

const CONNECT_MS = 10_000;
const CHECK_MS = 3_000;
const FIRST_FREE_PORT = 1_024;
const HTTP_PORTS: readonly number[] = [80, 443];

/** The codes of names without an address. */
const UNRESOLVED = new Set(['ENOTFOUND', 'EAI_AGAIN']);

/** The code of {@link EgressRefused}. */
export const EGRESS_REFUSED = 'EGRESS_REFUSED';

/** The destination is not one that tenants may send to. `message` quotes the host as given, and says what to do. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
  readonly code = EGRESS_REFUSED;
}

/** A host and port that a tenant wrote. `usual_ports`: those below 1024 that its protocol uses. */
export interface Destination {
  host: string;
  port: number;
  usual_ports: readonly number[];
}

/** A request of {@link Egress.request}. */
export interface EgressRequest {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  /**
   * Called right before the first byte of the request is written. Until then the other side cannot know of it. When it
   * throws, nothing is written, the request rejects with that error, and the connection stays open for the next one.
   */
  onSend?: () => void;
}

interface EgressOptions {
  /** Networks, such as `10.0.0.0/8`, that may be reached although they are not public, on any port. */
  allow: readonly string[];
  /** By default the machine's DNS servers. */
  resolve?: Resolve;
  /** How long a connection may take until it is open, TLS included; by default 10 s. */
  connect_ms?: number;
}

/**
 * The only way to addresses that a tenant wrote. A host is resolved and each of its addresses must be public, or in a
 * network that the configuration allows; a name with one other address is refused as a whole. A connection goes to an
 * address that was checked for this connection, so a name that changes its address in between gains nothing. Redirects
 * are not followed.
 */
export class Egress {
  readonly #allowed: BlockList;
  readonly #resolve: Resolve;
  readonly #connect_ms: number;
  #agent: Promise<Agent> | undefined;

  /** Throws RangeError when `allow` has a text that is not a network. */
  constructor(options: EgressOptions) {
    const { allow, resolve = resolveByDns, connect_ms = CONNECT_MS } = options;
    this.#allowed = networkList(allow);
    this.#resolve = resolve;
    this.#connect_ms = connect_ms;
  }

  /**
   * Rejects with {@link EgressRefused} when the destination may not be used. A name that has no address at present, or
   * whose name servers do not answer within 3 s, is accepted: each connection checks it again.
   */
  async check(destination: Destination): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CHECK_MS);
    });
    try {
      await Promise.race([this.#addressesOf(destination), late]);
    } catch (error) {
      if (!UNRESOLVED.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Like {@link check}, for an http(s) URL, which must not contain credentials; http only where {@link mayBePlain}. */
  async checkUrl(text: string): Promise<void> {
    await this.check(destinationOf(text));
    this.#requireEncryption(text);
  }

  /**
   * Whether what goes to the host may be unencrypted: only to this machine, because it passes no network. That it may be
   * reached at all, the configuration must allow.
   */
  mayBePlain(host: string): boolean {
    return isLoopback(canonicalHost(host) ?? '');
  }

  /**
   * Why no request may go to this http(s) URL, so far as the URL itself shows it: its scheme, credentials, or an address
   * instead of a name. Undefined: each connection checks the rest.
   */
  problemOf(url: string): string | undefined {
    try {
      this.#requireUsable(destinationOf(url));
      this.#requireEncryption(url);
      return undefined;
    } catch (error) {
      if (error instanceof EgressRefused) return error.message;
      throw error;
    }
  }

  /**
   * One request, without following redirects; the body of the answer must be read or destroyed. Rejects with
   * {@link EgressRefused}, with the error of the connection, or with the reason of the signal as soon as it is aborted,
   * also while the connection is being opened. A request is sent once at most.
   */
  async request(url: string, { onSend, ...init }: EgressRequest): Promise<Dispatcher.ResponseData> {
    destinationOf(url);
    // Loaded here, because most roles send nothing to tenants' addresses.
    const { request } = await import('undici');
    this.#agent ??= this.#openAgent();
    const agent = await this.#agent;
    const { signal } = init;
    // undici notes a signal while it connects, and does not send the request then; it rejects only after that.
    const announce = onSend === undefined ? undefined : () => signal.aborted || onSend();
    const dispatcher = announce === undefined ? agent : await announcing(agent, announce);
    return unlessAborted(request(url, { ...init, dispatcher }), signal);
  }

  /** A TCP connection, by default within 10 s. Rejects with {@link EgressRefused}, or with the error of the connection. */
  connect(destination: Destination): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const host = this.#requireUsable(destination);
      const { port } = destination;
      const socket = connectTcp({
        host,
        port,
        lookup: this.#lookupFor(destination),
        timeout: this.#connect_ms,
      });
      const fail = (error: Error) => {
        socket.destroy();
        reject(error);
      };
      const late = () =>
        fail(Object.assign(new Error(`no connection to "${destination.host}"`), { code: 'ETIMEDOUT' }));
      socket.once('error', fail).once('timeout', late);
      socket.once('connect', () => {
        socket.off('error', fail).off('timeout', late).setTimeout(0);
        resolve(socket);
      });
    });
  }

  /** Closes idle connections at once, and others after their requests. */
  async close(): Promise<void> {
    await (await this.#agent)?.close();
  }

  async #openAgent(): Promise<Agent> {
    const { Agent, buildConnector } = await import('undici');
    return new Agent({
      connect: (options, callback) => {
        const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
        const destination = { host: options.hostname, port, usual_ports: HTTP_PORTS };
        try {
          const hostname = this.#requireUsable(destination);
          const lookup = this.#lookupFor(destination);
          buildConnector({ timeout: this.#connect_ms, lookup })({ ...options, hostname }, callback);
        } catch (error) {
          callback(error as Error, null);
        }
      },
    });
  }

  #requireEncryption(text: string): void {
    const { protocol, hostname } = new URL(text);
    if (protocol === 'https:' || this.mayBePlain(hostname)) return;
    throw new EgressRefused(
      `the URL of "${hostname.slice(0, 300)}" must begin with https:// and not with ${protocol}//, so that nobody else ` +
        'reads or changes what is sent',
    );
  }

  /** Checks and returns the host; Node connects to an address without asking the lookup function. */
  #requireUsable(destination: Destination): string {
    const host = canonicalHost(destination.host);
    if (host === undefined)
      throw new EgressRefused(`${quoted(destination)} is not a valid host name: give a full one`);
    if (isIP(host) !== 0) this.#requireAllowed(destination, [host]);
    return host;
  }

  /** A lookup function for `net.connect`, which gets nothing but checked addresses. */
  #lookupFor(destination: Destination): LookupFunction {
    return (_host, { all }, callback) => {
      this.#addressesOf(destination).then(
        (addresses) => {
          const found = addresses.map((address) => ({ address, family: isIP(address) }));
          const [first] = found;
          if (all === true) callback(null, found);
          else callback(null, first?.address ?? '', first?.family);
        },
        (error: unknown) => callback(error as NodeJS.ErrnoException, ''),
      );
    };
  }

  /** The addresses of the host, all of them checked. */
  async #addressesOf(destination: Destination): Promise<string[]> {
    const host = this.#requireUsable(destination);
    if (isIP(host) !== 0) return [host];
    const addresses = await this.#resolve(host);
    this.#requireAllowed(destination, addresses);
    return addresses;
  }

  #requireAllowed(destination: Destination, addresses: readonly string[]): void {
    const others = addresses.filter((address) => !isIn(this.#allowed, address));
    if (others.length === 0) return;
    if (!others.every(isPublicAddress)) {
      // The addresses of a name are not quoted: they would show a tenant what the installation's network looks like.
      const must = 'give a host with public addresses only, or have its network added to EGRESS_ALLOW';
      throw new EgressRefused(`${quoted(destination)} is or has an address that is not public: ${must}`);
    }
    const { port, usual_ports } = destination;
    if (port >= FIRST_FREE_PORT || usual_ports.includes(port)) return;
    const usable = `${usual_ports.join(', ')} or one from ${FIRST_FREE_PORT} on`;
    throw new EgressRefused(`port ${port} of ${quoted(destination)} may not be used: give ${usable}`);
  }
}

type Handler = Dispatcher.DispatchHandler;
type Start = Parameters<Required<Handler>['onRequestStart']>;

/** The agent for one request; `onSend` is called when the request is written to a connection. */
async function announcing(agent: Agent, onSend: () => unknown): Promise<Dispatcher> {
  const { DecoratorHandler } = await import('undici');
  // Its types omit the methods that it has.
  const Decorator = DecoratorHandler as new (handler: Handler) => { onRequestStart(...start: Start): void };
  class Announcing extends Decorator {
    override onRequestStart(...start: Start): void {
      onSend();
      super.onRequestStart(...start);
    }
  }
  return agent.compose((dispatch) => (options, handler) => dispatch(options, new Announcing(handler)));
}

/** Settles as the request does, but rejects at once when the signal is aborted. */
async function unlessAborted<T>(requested: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([requested, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** The destination of an http(s) URL. Throws {@link EgressRefused} for any other text, and for one with credentials. */
export function destinationOf(text: string): Destination {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new EgressRefused(`"${text.slice(0, 500)}" is not a valid http(s) URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new EgressRefused(`the URL of "${url.hostname}" contains credentials: remove them`);
  }
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { host: url.hostname, port, usual_ports: HTTP_PORTS };
}

const quoted = ({ host }: Destination) => `"${host.slice(0, 300)}"`;
