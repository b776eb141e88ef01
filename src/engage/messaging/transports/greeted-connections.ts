import type { Egress } from '../../../platform/egress/egress.ts';

type Socket = Awaited<ReturnType<Egress['connect']>>;

interface Options {
  connect: () => Promise<Socket>;
  max: number;
  /** How long a server may take to say its first word. */
  greeting_ms: number;
  /** A connection that nobody takes for so long is closed. */
  idle_ms: number;
  /** False: the server says nothing before the client does (TLS from the start). */
  is_greeted: boolean;
}

/** The server did not greet: `code` is nodemailer's. */
class NoGreeting extends Error {
  override readonly name = 'NoGreeting';
  readonly code = 'ECONNECTION';
  readonly command = 'CONN';
}

/**
 * Connections to a mail server that are opened, and greeted by it, before messages are claimed for them: between the
 * gate and the hand-over nobody waits for a slow server to answer.
 */
export class GreetedConnections {
  readonly #options: Options;
  readonly #greeted = new Set<Socket>();
  /** Connections that were taken and are still open. */
  readonly #taken = new Set<Socket>();
  #opening = 0;
  #is_closed = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Connections that are open, in use or not. */
  get open(): number {
    return this.#greeted.size + this.#taken.size;
  }

  /**
   * Opens connections in the background until `wanted` are open; `onEnd` is called for each, with the error of one that
   * failed.
   */
  prepare(wanted: number, onEnd: (error?: unknown) => void): void {
    const missing = Math.min(wanted, this.#options.max) - this.open - this.#opening;
    for (let n = 0; n < missing; n++) {
      this.#opening += 1;
      void this.#openOne()
        .finally(() => (this.#opening -= 1))
        .then(() => onEnd(), onEnd);
    }
  }

  /** A connection that was greeted, or a new one. Rejects when the server cannot be reached. */
  async take(): Promise<Socket> {
    const [greeted] = this.#greeted;
    if (greeted !== undefined) this.#greeted.delete(greeted);
    const socket = greeted ?? (await this.#options.connect());
    if (!socket.destroyed) {
      this.#taken.add(socket);
      socket.once('close', () => this.#taken.delete(socket));
    }
    return socket;
  }

  /** Closes connections that nobody has taken. */
  close(): void {
    this.#is_closed = true;
    for (const socket of this.#greeted) socket.destroy();
  }

  async #openOne(): Promise<void> {
    const { connect, greeting_ms, idle_ms, is_greeted } = this.#options;
    const socket = await connect();
    socket.on('error', () => undefined);
    if (is_greeted) await firstWord(socket, greeting_ms);
    if (this.#is_closed) {
      socket.destroy();
      return;
    }
    this.#greeted.add(socket);
    socket.once('close', () => this.#greeted.delete(socket));
    setTimeout(() => {
      if (this.#greeted.delete(socket)) socket.destroy();
    }, idle_ms).unref();
  }
}

/** Resolves when the server has said something, which stays to be read; closes the connection and rejects otherwise. */
async function firstWord(socket: Socket, limit_ms: number): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), limit_ms);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('readable', () => (socket.readableLength > 0 ? resolve() : socket.destroy()));
      socket.once('close', () => reject(new NoGreeting('the server did not greet')));
    });
  } finally {
    clearTimeout(timer);
  }
}
