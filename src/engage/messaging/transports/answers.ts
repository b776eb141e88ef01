import type { Fault, Suppression } from '../../providers/message.ts';

/** What the answers of one provider mean, except success. */
export interface AnswerRules {
  /**
   * The statuses after which the message may have gone out all the same: something between us and the provider, or a
   * time-out, answered, while the provider may be working on the request. Empty where a repetition does no harm.
   */
  uncertain: ReadonlySet<number>;
  /** The provider's code and text, from the parsed body of an answer; what is not there is omitted. */
  faultOf(body: unknown): Said;
  /** Whether a refusal with this status and code is of the credentials: it would meet every other message too. */
  ofCredentials(status: number, code: string | null): boolean;
  /** Why the recipient's address is suppressed after a refusal with this code and body; undefined: it is not. */
  suppressionOf?(code: string | null, text: string | null): Suppression | undefined;
}

/** A provider's own words, as it sent them. */
interface Said {
  code?: unknown;
  text?: unknown;
}

/** 408, 502 and 504, and Cloudflare's statuses for an origin that took the request and did not answer properly. */
const IN_BETWEEN: ReadonlySet<number> = new Set([408, 502, 504, 520, 524]);
const NONE: ReadonlySet<number> = new Set();

const isUnauthorized = (status: number) => status === 401 || status === 403;
/** Twilio's code for an account, in the URL, that does not exist. */
const TWILIO_NOT_FOUND = '20404';
/** Twilio's codes about one message, also with status 403, such as 21408: no messages to this country. */
const TWILIO_OF_MESSAGE = /^(?:21|30)\d{3}$/;
/** The codes of Twilio that say that its recipient can or wants to get no message, here and in its callbacks. */
const TWILIO_SUPPRESSIONS: ReadonlyMap<string, Suppression> = new Map([
  // The recipient has answered STOP.
  ['21610', 'unsubscribe'],
  // No telephone number; not a mobile number; no such handset.
  ['21211', 'bounce'],
  ['21614', 'bounce'],
  ['30005', 'bounce'],
]);
/** FCM's codes about one message: its token is of an app for which Firebase has no APNs key, or of another sender. */
const FCM_OF_MESSAGE: ReadonlySet<string | null> = new Set(['THIRD_PARTY_AUTH_ERROR', 'SENDER_ID_MISMATCH']);

/** Why Twilio's code of a failure suppresses the recipient's number; undefined: it does not. */
export function twilioSuppression(code: string | null): Suppression | undefined {
  return code === null ? undefined : TWILIO_SUPPRESSIONS.get(code);
}

/**
 * Per provider: none of SendGrid, Twilio and FCM takes an idempotency key that would drop a repeated message. A second
 * access token does no harm. SMTP and the sandbox have no statuses of HTTP: there a message may have gone out once its
 * text was begun, and the sandbox stores a send once.
 */
export const ANSWERS = {
  /** `{errors: [{message, field, help}]}` */
  sendgrid: {
    uncertain: IN_BETWEEN,
    faultOf: (body) => {
      const [first] = listOf(fieldOf(body, 'errors'));
      return { code: fieldOf(first, 'field'), text: fieldOf(first, 'message') };
    },
    ofCredentials: isUnauthorized,
  },
  /** `{code, message, more_info, status}` */
  twilio: {
    uncertain: IN_BETWEEN,
    faultOf: (body) => ({ code: fieldOf(body, 'code'), text: fieldOf(body, 'message') }),
    ofCredentials: (status, code) =>
      code === TWILIO_NOT_FOUND || (isUnauthorized(status) && !TWILIO_OF_MESSAGE.test(code ?? '')),
    suppressionOf: twilioSuppression,
  },
  /** `{error: {code, message, status, details: [{errorCode}]}}` */
  fcm: {
    uncertain: IN_BETWEEN,
    faultOf: (body) => {
      const error = fieldOf(body, 'error');
      return { code: fcmCodeOf(error) ?? fieldOf(error, 'status'), text: fieldOf(error, 'message') };
    },
    ofCredentials: (status, code) => isUnauthorized(status) && !FCM_OF_MESSAGE.has(code),
    suppressionOf: (_code, text) => (isDeadToken(text) ? 'bounce' : undefined),
  },
  /** `{error, error_description}` */
  fcm_token: {
    uncertain: NONE,
    faultOf: (body) => ({ code: fieldOf(body, 'error'), text: fieldOf(body, 'error_description') }),
    // A request for a token is about the service account alone.
    ofCredentials: () => true,
  },
} as const satisfies Record<string, AnswerRules>;

/** The fault that an answer with this status and text reports; its code is the status when the provider gives none. */
export function faultOf(rules: AnswerRules, status: number, text: string | null): Fault {
  const { code, text: said } = rules.faultOf(parsed(text));
  return { code: bounded(code, MAX_CODE) ?? String(status), text: bounded(said, MAX_TEXT) };
}

/** A code and a text of a provider as they are stored: one line each, not too long; null for anything but a text. */
export function faultFrom(code: unknown, text: unknown): Fault {
  return { code: bounded(code, MAX_CODE), text: bounded(text, MAX_TEXT) };
}

/** The enhanced status code of a mail server's reply (RFC 3463), such as `5.1.1`. */
export function enhancedCodeOf(response: string | undefined): string | undefined {
  return /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '')?.[1];
}

/** Whether an answer of FCM says that its token addresses no device, now or later. */
function isDeadToken(text: string | null): boolean {
  const error = fieldOf(parsed(text), 'error');
  const code = fcmCodeOf(error) ?? fieldOf(error, 'status');
  if (code === 'UNREGISTERED') return true;
  if (code !== 'INVALID_ARGUMENT') return false;
  // FCM answers INVALID_ARGUMENT also when the message itself is wrong.
  const fields = listOf(fieldOf(error, 'details'))
    .flatMap((detail) => listOf(fieldOf(detail, 'fieldViolations')))
    .map((violation) => fieldOf(violation, 'field'));
  const message = fieldOf(error, 'message');
  return (
    fields.includes('message.token') ||
    (typeof message === 'string' && /\bregistration token\b/i.test(message))
  );
}

/** The code of FCM itself, among the details of an error. */
function fcmCodeOf(error: unknown): unknown {
  return listOf(fieldOf(error, 'details'))
    .map((detail) => fieldOf(detail, 'errorCode'))
    .find((code) => typeof code === 'string');
}

const MAX_CODE = 100;
const MAX_TEXT = 500;

function bounded(value: unknown, length: number): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const line = String(value)
    .slice(0, 4 * length)
    .replace(/[\p{Cc}\u2028\u2029\s]+/gu, ' ')
    .trimStart()
    .slice(0, length)
    .trimEnd()
    .toWellFormed();
  return line === '' ? null : line;
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
