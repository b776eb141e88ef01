import { createTransport } from 'nodemailer';
import type { SmtpConfig } from '../../providers/kinds.ts';
import type { Message, Outcome, Transport } from '../../providers/message.ts';
import { emailHtml, isAddress, NO_ADDRESS, oneLine, parseSender } from './email.ts';

const CONNECTIONS = 5;
const MESSAGES_PER_CONNECTION = 100;
const STEP_TIMEOUT_MS = 10_000;
/** A server may think about a message for a while before it takes it. */
const SILENCE_TIMEOUT_MS = 30_000;
const MESSAGE_TIMEOUT_MS = 60_000;
const IDLE_MS = 15_000;
const IMPLICIT_TLS_PORT = 465;

/** Limits that tests shorten. */
export interface SmtpTimeouts {
  silence_ms: number;
}

/** Email over SMTP, on a few connections that are kept. */
export function openSmtp(
  { host, port, secure = port === IMPLICIT_TLS_PORT, username, password = '', from }: SmtpConfig,
  { silence_ms }: SmtpTimeouts = { silence_ms: SILENCE_TIMEOUT_MS },
): Transport {
  const mailer = createTransport({
    pool: true,
    host,
    port,
    secure,
    ...(username === undefined ? {} : { auth: { user: username, pass: password } }),
    maxConnections: CONNECTIONS,
    maxMessages: MESSAGES_PER_CONNECTION,
    // It would hand a message over again on its own when a connection ends: that is for others to decide.
    maxRequeues: 0,
    idleTimeout: IDLE_MS,
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    dnsTimeout: STEP_TIMEOUT_MS,
    socketTimeout: silence_ms,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  mailer.use('stream', ({ data, message }, proceed) => {
    const { progress } = data as { progress?: Progress };
    const createReadStream = message.createReadStream.bind(message);
    message.createReadStream = (options) => {
      const stream = createReadStream(options);
      return progress?.watch(stream) ?? stream;
    };
    proceed();
  });
  const sender = parseSender(from);
  return {
    concurrency: CONNECTIONS,
    async send(message): Promise<Outcome> {
      if (!isAddress(message.recipient)) return NO_ADDRESS;
      const progress = new Progress();
      try {
        await mailer.sendMail(mailOf(message, sender, progress));
        return { kind: 'sent', provider_message_id: messageIdOf(message, sender.email) ?? null };
      } catch (error) {
        return failureOf(error, progress.has_begun);
      }
    },
    close() {
      mailer.close();
      return Promise.resolve();
    },
  };
}

/** Whether the server has asked for the text of the message: from then on it may have it. */
class Progress {
  #streams: { readableDidRead: boolean }[] = [];

  get has_begun(): boolean {
    return this.#streams.some(({ readableDidRead }) => readableDidRead);
  }

  watch<Stream extends { readableDidRead: boolean }>(stream: Stream): Stream {
    this.#streams.push(stream);
    return stream;
  }
}

function mailOf(message: Message, sender: { email: string; name?: string }, progress: Progress) {
  const { recipient } = message;
  const headers = Object.entries(message.headers).map(([name, value]) => [oneLine(name), oneLine(value)]);
  const messageId = messageIdOf(message, sender.email);
  return {
    from: { name: sender.name ?? '', address: sender.email },
    to: { name: '', address: recipient },
    envelope: { from: sender.email, to: [recipient] },
    subject: oneLine(message.subject ?? ''),
    html: emailHtml(message),
    headers: Object.fromEntries(headers) as Record<string, string>,
    ...(messageId === undefined ? {} : { messageId }),
    signal: AbortSignal.timeout(MESSAGE_TIMEOUT_MS),
    progress,
  };
}

/** The send in the sender's domain: whoever gets a message twice can tell. */
function messageIdOf({ send_id }: Message, from: string): string | undefined {
  return send_id === null ? undefined : `<${send_id}@${from.slice(from.lastIndexOf('@') + 1)}>`;
}

/** Before the server knows of a message: what it refuses then is not the message. */
const SESSION_COMMANDS = new Set(['CONN', 'EHLO', 'HELO', 'LHLO', 'STARTTLS', 'API']);

/** What a server answers to a recipient whose mailbox cannot now, or whom it makes wait the first time (greylisting). */
const RECIPIENT_WAITS = new Set([450, 451, 452]);

/** What nodemailer's error means; its text is not told on: it quotes addresses. */
function failureOf(error: unknown, has_begun: boolean): Outcome {
  const { code, responseCode, command } = error as { code?: string; responseCode?: number; command?: string };
  const reason = [code ?? 'ERROR', command, responseCode].filter((part) => part !== undefined).join(' ');
  const retry: Outcome = { kind: 'retry', reason, retry_after_ms: null };
  if (responseCode !== undefined && responseCode >= 400) {
    const is_final = responseCode >= 500 && !(code !== 'EAUTH' && SESSION_COMMANDS.has(command ?? ''));
    if (is_final) return { kind: 'rejected', reason };
    const is_of_recipient = command === 'RCPT TO' && RECIPIENT_WAITS.has(responseCode);
    return is_of_recipient ? { ...retry, is_of_recipient } : retry;
  }
  if (has_begun) return { kind: 'unknown', reason };
  // No reply: an address or credentials that are never sent to a server.
  return code === 'EENVELOPE' || code === 'EMESSAGE' || code === 'EAUTH'
    ? { kind: 'rejected', reason }
    : retry;
}
