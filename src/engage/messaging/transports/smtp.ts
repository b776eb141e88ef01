import { isLoopback } from '../../../platform/egress/addresses.ts';
import { EGRESS_REFUSED, type Egress } from '../../../platform/egress/egress.ts';
import { IMPLICIT_TLS_PORT, smtpDestination } from '../../providers/destinations.ts';
import type { SmtpConfig } from '../../providers/kinds.ts';
import type { Message, SendOutcome, Transport } from '../../providers/message.ts';
import { enhancedCodeOf, faultFrom } from './answers.ts';
import { emailHtml, isAddress, NO_ADDRESS, oneLine, parseSender, picturesOf, PNG } from './email.ts';

const CONNECTIONS = 5;
const MESSAGES_PER_CONNECTION = 100;
const STEP_TIMEOUT_MS = 10_000;
/** How long the server may be silent: it may check a message for a while before it accepts it. */
const SILENCE_TIMEOUT_MS = 30_000;
const MESSAGE_TIMEOUT_MS = 60_000;
const IDLE_MS = 15_000;

/** How nodemailer is given a connection. */
type SocketCallback = (
  error: Error | null,
  opened: { connection: Awaited<ReturnType<Egress['connect']>>; requireTLS: boolean } | false,
) => void;

interface SmtpOptions {
  egress: Egress;
  /** A limit that tests shorten. */
  silence_ms?: number;
  /** Authorities that are trusted instead of those of the system, in PEM. */
  ca?: string;
}

/**
 * Email over SMTP, on a pool of up to 5 connections. Unless `require_tls` is false, nothing of a message is sent before
 * the connection is encrypted; by default a server on a loopback address need not offer encryption.
 */
export function openSmtp(config: SmtpConfig, options: SmtpOptions): Transport {
  const opening = openMailer(config, options);
  // `send` reports it.
  opening.catch(() => undefined);
  const sender = parseSender(config.from);
  return {
    concurrency: CONNECTIONS,
    async send(message): Promise<SendOutcome> {
      if (!isAddress(message.recipient)) return NO_ADDRESS;
      const progress = new Progress();
      try {
        const mailer = await opening;
        await mailer.sendMail(mailOf(message, sender, progress));
        return { kind: 'sent', provider_message_id: messageIdOf(message, sender.email) ?? null };
      } catch (error) {
        return failureOf(error, progress.has_begun);
      }
    },
    async close() {
      (await opening).close();
    },
  };
}

/** The library is loaded with the first provider that needs it: it takes 10 MB of memory. */
async function openMailer(
  { host, port, secure = port === IMPLICIT_TLS_PORT, require_tls, username, password = '' }: SmtpConfig,
  { egress, silence_ms = SILENCE_TIMEOUT_MS, ca }: SmtpOptions,
) {
  const { createTransport } = await import('nodemailer');
  const mailer = createTransport({
    pool: true,
    host,
    port,
    secure,
    ...(ca === undefined ? {} : { tls: { ca } }),
    ...(username === undefined ? {} : { auth: { user: username, pass: password } }),
    maxConnections: CONNECTIONS,
    maxMessages: MESSAGES_PER_CONNECTION,
    // Otherwise nodemailer itself would send a message again when a connection ends; the messenger decides on retries.
    maxRequeues: 0,
    idleTimeout: IDLE_MS,
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    dnsTimeout: STEP_TIMEOUT_MS,
    socketTimeout: silence_ms,
    // Opens every connection, so that nodemailer neither resolves the name nor connects by itself. It still checks that
    // certificates name the host.
    getSocket: (_options: unknown, callback: SocketCallback) => {
      egress.connect(smtpDestination(host, port)).then(
        (connection) => {
          const requireTLS = require_tls ?? !isLoopback(connection.remoteAddress ?? '');
          callback(null, { connection, requireTLS });
        },
        (error: unknown) => callback(error as Error, false),
      );
    },
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
  return mailer;
}

/**
 * Records whether nodemailer has begun to send the text of the message: from then on the server may have the message.
 */
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
    ...(message.text === null || message.text === '' ? {} : { text: message.text }),
    headers: Object.fromEntries(headers) as Record<string, string>,
    attachments: picturesOf(message).map(({ png, content_id: cid, ...rest }) => ({
      ...rest,
      cid,
      content: Buffer.from(png, 'base64'),
      contentType: PNG,
      contentDisposition: 'inline' as const,
    })),
    ...(messageId === undefined ? {} : { messageId }),
    signal: AbortSignal.timeout(MESSAGE_TIMEOUT_MS),
    progress,
  };
}

/** The Message-ID: the send_id in the sender's domain, so that a recipient can recognise a duplicate. */
function messageIdOf({ send_id }: Message, from: string): string | undefined {
  return send_id === null ? undefined : `<${send_id}@${from.slice(from.lastIndexOf('@') + 1)}>`;
}

/** Commands before the server knows of a message: a refusal of these is not a refusal of the message. */
const SESSION_COMMANDS = new Set(['CONN', 'EHLO', 'HELO', 'LHLO', 'STARTTLS', 'API']);

/**
 * Replies for one recipient: the mailbox is unavailable at present, or the server delays the first attempt
 * (greylisting).
 */
const RECIPIENT_WAITS = new Set([450, 451, 452]);

/** Replies to any command that ask for other credentials, or for any (RFC 4954). */
const OF_CREDENTIALS = new Set([530, 534, 535, 538]);

/** Nodemailer's error; `response`: the server's reply, such as `550 5.1.1 No such user`. */
interface SmtpError {
  code?: string;
  responseCode?: number;
  command?: string;
  response?: string;
}

/** A reply that says that there is no such mailbox, and one that is about the sender or its server all the same. */
const NO_MAILBOX =
  /no such|unknown (?:user|recipient|mailbox)|(?:user|recipient|mailbox) unknown|does(?: not|n't) exist|no mailbox/i;
const OF_SENDER = /sender|relay|auth|polic|spam|block|black|list|denied|reject/i;

/**
 * Whether a refusal of the recipient says that the mailbox or its domain does not exist. By the enhanced code where
 * there is one: addressing (5.1.x, but not 5.1.0, which leaves open whose address is meant) or a disabled mailbox
 * (5.2.1). Without one only by a text that says so: a suppressed address gets no message any more.
 */
function isDeadMailbox(code: number, response: string): boolean {
  const enhanced = enhancedCodeOf(response);
  if (enhanced !== undefined) return /^5\.(?:1\.(?:1|2|3|6|10)|2\.1)$/.test(enhanced);
  return [550, 551, 553].includes(code) && NO_MAILBOX.test(response) && !OF_SENDER.test(response);
}

/** The outcome that nodemailer's error stands for; `reason` omits the error's text, which quotes addresses. */
function failureOf(error: unknown, has_begun: boolean): SendOutcome {
  const { code, responseCode, command, response } = error as SmtpError;
  const reason = [code ?? 'ERROR', command, responseCode].filter((part) => part !== undefined).join(' ');
  const fault = faultFrom(enhancedCodeOf(response) ?? responseCode ?? code, response);
  // Without a reply the encryption itself failed: a certificate that is not trusted, say.
  if (code === 'ETLS' && command === 'STARTTLS' && response !== undefined) {
    const says = 'the server does not encrypt the connection (STARTTLS), and require_tls is not false';
    return { kind: 'retry', reason: `${reason}: ${says}`, fault, retry_after_ms: null };
  }
  const retry: SendOutcome = { kind: 'retry', reason, fault, retry_after_ms: null };
  // Without a reply nodemailer itself misses a part of the credentials; a reply of 4xx is a temporary failure.
  const of_login = code === 'EAUTH' && (responseCode === undefined || responseCode >= 500);
  if (of_login || OF_CREDENTIALS.has(responseCode ?? 0)) return { ...retry, is_of_credentials: true };
  if (responseCode !== undefined && responseCode >= 400) {
    const is_final = responseCode >= 500 && !SESSION_COMMANDS.has(command ?? '');
    if (is_final) {
      const is_dead = command === 'RCPT TO' && isDeadMailbox(responseCode, response ?? '');
      return { kind: 'rejected', reason, fault, ...(is_dead && { suppresses: 'bounce' }) };
    }
    const is_of_recipient = command === 'RCPT TO' && RECIPIENT_WAITS.has(responseCode);
    return is_of_recipient ? { ...retry, is_of_recipient } : retry;
  }
  if (code === EGRESS_REFUSED) return retry;
  if (has_begun) return { kind: 'unknown', reason, fault };
  // Errors without a reply: nodemailer refuses the address or the message before it sends them.
  return code === 'EENVELOPE' || code === 'EMESSAGE' ? { kind: 'rejected', reason, fault } : retry;
}
