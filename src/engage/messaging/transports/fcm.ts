import { createPrivateKey } from 'node:crypto';
import { importPKCS8, SignJWT } from 'jose';
import type { Clock } from '../../../platform/clock.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { FcmConfig } from '../../providers/kinds.ts';
import type { Message, SendOutcome, Transport } from '../../providers/message.ts';
import { ANSWERS } from './answers.ts';
import { egressFaultOf, jsonText, outcomeOf, postToProvider, type ProviderAnswer } from './http-call.ts';

const BASE_URL = 'https://fcm.googleapis.com';
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const ASSERTION_SECONDS = 3_600;
/** A token is renewed this long before it expires. */
const MARGIN_MS = 60_000;
const CONCURRENCY = 60;

interface Granted {
  value: string;
  until_ms: number;
  /** The token was accepted before: if it is refused later, a new token may be accepted. */
  is_proven: boolean;
}

/** A token, or the outcome of the messages that wait for it. */
type Token = Granted | { failed: Exclude<SendOutcome, { kind: 'sent' }> };

/** Push messages through Firebase Cloud Messaging (HTTP v1), as a service account. */
export function openFcm(
  { service_account, base_url = BASE_URL }: FcmConfig,
  { clock, egress }: { clock: Clock; egress: Egress },
): Transport {
  const url = `${base_url}/v1/projects/${encodeURIComponent(service_account.project_id)}/messages:send`;
  const token = keptToken(() => fetchToken(service_account, clock, egress), clock);
  return {
    concurrency: CONCURRENCY,
    async send(message): Promise<SendOutcome> {
      const granted = await token.get();
      if ('failed' in granted) return granted.failed;
      const headers = { authorization: `Bearer ${granted.value}`, 'content-type': 'application/json' };
      const answer = await postToProvider({ egress, url, headers, body: JSON.stringify(requestOf(message)) });
      const outcome = outcomeOf(answer, ANSWERS.fcm, clock.now_ms(), (text) => jsonText(text, 'name'));
      if (!('status' in answer)) return outcome;
      // A refusal of one message has this status too; then the token was accepted.
      if (answer.status !== 401 || outcome.kind === 'rejected') {
        granted.is_proven = true;
        return outcome;
      }
      token.drop(granted);
      return granted.is_proven ? { kind: 'retry', reason: 'HTTP 401', retry_after_ms: null } : outcome;
    },
    close: () => Promise.resolve(),
  };
}

/**
 * One token for all messages until it expires. Messages that wait for the same request share its failure; later ones
 * make a new request.
 */
function keptToken(fetchNew: () => Promise<Token>, clock: Clock) {
  let current: Promise<Token> | undefined;
  const fetchShared = () => {
    const fetched: Promise<Token> = fetchNew().then((token) => {
      if ('failed' in token && current === fetched) current = undefined;
      return token;
    });
    current = fetched;
    return fetched;
  };
  return {
    async get(): Promise<Token> {
      const held = current;
      if (held === undefined) return fetchShared();
      const token = await held;
      if ('failed' in token || token.until_ms > clock.now_ms()) return token;
      return current === held || current === undefined ? fetchShared() : current;
    },
    /** Drops a token that was refused, unless a newer one has replaced it. */
    drop(refused: Granted): void {
      const held = current;
      void held?.then((token) => {
        if (token === refused && current === held) current = undefined;
      });
    },
  };
}

function requestOf({ recipient, subject, body, data, send_id }: Message) {
  const notification = { ...(subject === null || subject === '' ? {} : { title: subject }), body };
  return {
    message: {
      token: recipient,
      notification,
      data: send_id === null ? data : { ...data, send_id },
    },
  };
}

/** Requests a token. Any failure means that no message went out, so even a request without an answer may be retried. */
async function fetchToken(
  account: FcmConfig['service_account'],
  clock: Clock,
  egress: Egress,
): Promise<Token> {
  const now_ms = clock.now_ms();
  const now_s = Math.floor(now_ms / 1_000);
  let assertion: string;
  try {
    const pem = createPrivateKey(account.private_key).export({ type: 'pkcs8', format: 'pem' });
    const key = await importPKCS8(String(pem), 'RS256');
    assertion = await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({
        alg: 'RS256',
        ...(account.private_key_id ? { kid: account.private_key_id } : {}),
      })
      .setIssuer(account.client_email)
      .setAudience(account.token_uri)
      .setIssuedAt(now_s)
      .setExpirationTime(now_s + ASSERTION_SECONDS)
      .sign(key);
  } catch {
    const reason = 'the private key of the service account cannot sign';
    const fault = { code: 'private_key', text: reason };
    return { failed: { kind: 'retry', reason, fault, retry_after_ms: null, is_of_credentials: true } };
  }
  const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const body = String(new URLSearchParams({ grant_type, assertion }));
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await postToProvider({ egress, url: account.token_uri, headers, body });
  if ('not_sent' in answer) {
    const { reason } = answer;
    return {
      failed: { kind: 'retry', reason: `token: ${reason}`, retry_after_ms: null, ...egressFaultOf(reason) },
    };
  }
  return tokenOf(answer, now_ms);
}

function tokenOf(answer: ProviderAnswer, now_ms: number): Token {
  const outcome = outcomeOf(answer, ANSWERS.fcm_token, now_ms, (text) => jsonText(text, 'access_token'));
  if (outcome.kind !== 'sent') return { failed: { ...outcome, reason: `token: ${outcome.reason}` } };
  if (outcome.provider_message_id === null) {
    return { failed: { kind: 'retry', reason: 'token: the answer has none', retry_after_ms: null } };
  }
  const { expires_in } = JSON.parse(answer.text ?? '{}') as { expires_in?: unknown };
  const seconds = typeof expires_in === 'number' && expires_in > 0 ? expires_in : ASSERTION_SECONDS;
  const until_ms = now_ms + seconds * 1_000 - MARGIN_MS;
  return { value: outcome.provider_message_id, until_ms, is_proven: false };
}
