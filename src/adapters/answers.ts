import type { z } from 'zod';
import type { CancelAnswer, GrantAnswer, KycAnswer, StatusAnswer, Unknown, Unsent } from './platform.ts';
import {
  cancelAnswer,
  DUPLICATE_GRANT,
  errorAnswer,
  grantAnswer,
  kycAnswer,
  statusAnswer,
} from './protocol.ts';

/** An answer that arrived as a whole. */
export interface Reply {
  kind: 'answered';
  status: number;
  text: string;
  /** What `Retry-After` asks for; null: nothing. */
  retry_after_ms: number | null;
}

/** What came of a call: an answer, or why there is none that means anything. */
export type Heard = Reply | Unsent | Unknown;

const MAX_MESSAGE = 500;

/** Statuses that say: nothing was done, try again later. */
const LATER = new Set([408, 425, 429]);

/** What an answer to a grant means (the table of bonuses part 9). */
export function readGrant(heard: Heard): GrantAnswer {
  const read = readCommon(heard);
  if (read.kind !== 'success' && read.kind !== 'error') return read;
  if (read.kind === 'success') {
    const body = bodyOf(grantAnswer, read.json);
    if (body === undefined) return unreadable(read.status);
    const kind = body.status === 'credited' ? 'credited' : 'accepted';
    return { kind, platform_bonus_id: body.platform_bonus_id };
  }
  const { status, code, message } = read;
  if (status === 409 && code === DUPLICATE_GRANT) return { kind: 'duplicate' };
  // It may have been DUPLICATE_GRANT, and to release money that was credited would be a guess.
  if (status === 409 && code === undefined) return unknown('HTTP 409 without a code');
  return { kind: 'refused', code: code ?? `HTTP_${status}`, message };
}

/** What an answer to a cancel means. */
export function readCancel(heard: Heard): CancelAnswer {
  const read = readCommon(heard);
  if (read.kind !== 'success' && read.kind !== 'error') return read;
  if (read.kind === 'success')
    return bodyOf(cancelAnswer, read.json) === undefined ? unreadable(read.status) : { kind: 'cancelled' };
  const { status, code = `HTTP_${status}`, message } = read;
  if (status === 404) return { kind: 'missing' };
  if (status === 409) return { kind: 'ended' };
  return { kind: 'refused', code, message };
}

/** What an answer to a status query means; an answer about another bonus than the asked one means nothing. */
export function readStatus(
  heard: Heard,
  asked: { grant_id: string; platform_bonus_id: string | null },
): StatusAnswer {
  const read = readCommon(heard);
  if (read.kind !== 'success' && read.kind !== 'error') return read;
  if (read.kind === 'error') {
    if (read.status === 404) return { kind: 'missing' };
    return unknown(`HTTP ${read.status} to a status query`);
  }
  const body = bodyOf(statusAnswer, read.json);
  if (body === undefined) return unreadable(read.status);
  const { total_wagered, released_amount, amount, ...bonus } = body;
  const is_asked =
    bonus.grant_id.toLowerCase() === asked.grant_id.toLowerCase() &&
    (asked.platform_bonus_id === null || bonus.platform_bonus_id === asked.platform_bonus_id);
  if (!is_asked) return unknown('the answer to a status query is about another bonus');
  return {
    kind: 'found',
    bonus: {
      grant_id: asked.grant_id,
      platform_bonus_id: bonus.platform_bonus_id,
      status: bonus.status,
      updated_at: new Date(bonus.updated_at),
      ...(total_wagered === undefined ? {} : { total_wagered: BigInt(total_wagered) }),
      ...(released_amount === undefined ? {} : { released_amount: BigInt(released_amount) }),
      ...(amount === undefined ? {} : { amount: BigInt(amount) }),
    },
  };
}

/** What an answer to a call about KYC means. */
export function readKyc(heard: Heard): KycAnswer {
  const read = readCommon(heard);
  if (read.kind !== 'success' && read.kind !== 'error') return read;
  if (read.kind === 'error') {
    const { status, code = `HTTP_${status}`, message } = read;
    return { kind: 'refused', code, message };
  }
  return { kind: 'accepted', provider_ref: bodyOf(kycAnswer, read.json)?.provider_ref ?? null };
}

type Read =
  | { kind: 'success'; status: number; json: unknown }
  /** 400 to 499; `code` is undefined when the answer has none. */
  | { kind: 'error'; status: number; code: string | undefined; message: string }
  | Unsent
  | Unknown;

/** What all answers have in common. */
function readCommon(heard: Heard): Read {
  if (heard.kind !== 'answered') return heard;
  const { status, text, retry_after_ms } = heard;
  const json = parsed(text);
  if (status >= 200 && status < 300) return { kind: 'success', status, json };
  if (status < 400 || status >= 500) return unknown(`HTTP ${status}`);
  if (LATER.has(status)) {
    const later = retry_after_ms === null ? {} : { retry_after_ms };
    return {
      kind: 'unsent',
      reason: 'busy',
      message: `HTTP ${status}: the platform asks to try later`,
      ...later,
    };
  }
  // An error that breaks off cannot be distinguished from another one.
  if (json === undefined && /^\s*[[{"]/.test(text)) return unreadable(status);
  const { code, message } = errorOf(json);
  if ((status === 401 || status === 403) && code === undefined) {
    return {
      kind: 'unsent',
      reason: 'credentials',
      message: `HTTP ${status}: it does not accept the signature or token`,
    };
  }
  return { kind: 'error', status, code, message: message ?? `HTTP ${status}` };
}

function bodyOf<T>(schema: z.ZodType<T>, json: unknown): T | undefined {
  const body = schema.safeParse(json);
  return body.success ? body.data : undefined;
}

/** The code and message of an error, alone or under `error`. */
function errorOf(json: unknown): { code?: string; message?: string } {
  const inner = typeof json === 'object' && json !== null && 'error' in json ? json.error : json;
  const { code, message } = bodyOf(errorAnswer, inner) ?? {};
  return {
    ...(code === undefined ? {} : { code: storable(code) }),
    ...(message === undefined ? {} : { message: storable(message).slice(0, MAX_MESSAGE) }),
  };
}

/** The text without what Postgres cannot hold. */
function storable(text: string): string {
  return text.toWellFormed().replace(/\p{Cc}/gu, ' ');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unreadable(status: number): Unknown {
  return unknown(`HTTP ${status} with an unreadable body`);
}

function unknown(message: string): Unknown {
  return { kind: 'unknown', message };
}
