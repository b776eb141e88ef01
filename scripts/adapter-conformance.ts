import { randomUUID } from 'node:crypto';
import { v5 as uuidv5 } from 'uuid';
import { signatureOf, SIGNATURE_HEADER, TIMESTAMP_HEADER } from '../src/http/auth/webhook-signature.ts';
import { readCancel, readGrant, readStatus, type Heard } from '../src/adapters/answers.ts';
import { MAX_ANSWER_BYTES, type GrantBody } from '../src/adapters/protocol.ts';
import { trimEnd } from '../src/platform/trim-end.ts';

/** What a platform's engineer gives. */
export interface Target {
  /** The base URL of the adapter. */
  url: string;
  secret: string;
  bearer?: string | undefined;
  /** The platform's id of a player that may be given bonuses. */
  player?: string | undefined;
  timeout_ms?: number;
}

/** One check: what was expected, and what happened. */
export interface Check {
  name: string;
  passed: boolean;
  expected: string;
  got: string;
}

interface Sent {
  method?: 'GET' | 'POST';
  path: string;
  body?: string;
  key?: string;
  /** What is signed instead. */
  signature?: (timestamp_s: number, body: string, secret: string) => string;
  /** Seconds that the timestamp is behind. */
  age_s?: number;
}

const TIMEOUT_MS = 5_000;
const STALE_S = 3_600;

/** Grants, asks for and cancels a bonus of the smallest amount, and calls `onCheck` with each result. */
export async function checkAdapter(target: Target, onCheck: (check: Check) => void): Promise<boolean> {
  let all_passed = true;
  const check = (name: string, expected: string, heard: Heard, passed: boolean) => {
    all_passed &&= passed;
    onCheck({ name, passed, expected, got: shown(heard) });
  };
  const send = (sent: Sent) => callOnce(target, sent);
  const player = target.player ?? 'adapter-check';
  const { grant_id, body } = grantOf(player);
  const grant = { path: '/v1/bonuses/grant', body, key: grant_id } as const;
  await checkRefusals(send, check, grant);

  const first = await send(grant);
  const granted = readGrant(first);
  const is_granted = granted.kind === 'credited' || granted.kind === 'accepted';
  check('grant', '200 or 201 {platform_bonus_id, status: credited or pending}', first, is_granted);
  const platform_bonus_id = is_granted ? granted.platform_bonus_id : '';

  const again = await send(grant);
  const repeated = readGrant(again);
  const is_same = 'platform_bonus_id' in repeated && repeated.platform_bonus_id === platform_bonus_id;
  const same = '409 with the code DUPLICATE_GRANT, or the first answer again';
  check('the same grant again', same, again, repeated.kind === 'duplicate' || is_same);

  for (const [name, path, id] of [
    ['status by grant', `/v1/bonuses/by-grant/${grant_id}`, null],
    ['status by id', `/v1/bonuses/${encodeURIComponent(platform_bonus_id)}`, platform_bonus_id],
  ] as const) {
    const heard = await send({ method: 'GET', path });
    const { kind } = readStatus(heard, { grant_id, platform_bonus_id: id });
    check(
      name,
      '200 {grant_id, platform_bonus_id, status, updated_at} of this bonus',
      heard,
      kind === 'found',
    );
  }
  const unknown = await send({ method: 'GET', path: `/v1/bonuses/by-grant/${randomUUID()}` });
  check('status of an unknown grant', '404', unknown, isStatus(unknown, 404));

  await checkCancels(send, check, { grant_id, platform_bonus_id }, player);
  return all_passed;
}

type Send = (sent: Sent) => Promise<Heard>;
type Note = (name: string, expected: string, heard: Heard, passed: boolean) => void;

async function checkRefusals(send: Send, check: Note, grant: Sent): Promise<void> {
  const refused = (heard: Heard) => isStatus(heard, 401) || isStatus(heard, 403);
  const of_other = await send({
    ...grant,
    signature: (at_s, body) => signatureOf('another secret', at_s, body),
  });
  check('a grant with a wrong signature', '401, and nothing is done', of_other, refused(of_other));
  const of_body = await send({
    ...grant,
    signature: (at_s, body, secret) => signatureOf(secret, at_s, `${body} `),
  });
  check('a grant whose signature is of another body', '401, and nothing is done', of_body, refused(of_body));
  const stale = await send({ ...grant, age_s: STALE_S });
  check('a grant with a stale timestamp', '401, and nothing is done', stale, refused(stale));
}

async function checkCancels(
  send: Send,
  check: Note,
  bonus: { grant_id: string; platform_bonus_id: string },
  player_external_id: string,
): Promise<void> {
  const cancelOf = (fields: { grant_id: string; platform_bonus_id: string | null }): Sent => ({
    path: '/v1/bonuses/cancel',
    body: JSON.stringify({
      action: 'cancel',
      ...fields,
      player_external_id,
      reason: 'adapter-check',
    }),
    key: uuidv5('cancel', fields.grant_id),
  });
  const first = await send(cancelOf(bonus));
  check('cancel', '200 {status: cancelled}', first, readCancel(first).kind === 'cancelled');
  const again = await send(cancelOf(bonus));
  const { kind } = readCancel(again);
  check('cancel again', '200 {status: cancelled}, or 409', again, kind === 'cancelled' || kind === 'ended');
  const after = await send({ method: 'GET', path: `/v1/bonuses/by-grant/${bonus.grant_id}` });
  const status = readStatus(after, { ...bonus });
  const is_cancelled = status.kind === 'found' && status.bonus.status === 'cancelled';
  check('status after the cancel', '200 with the status cancelled', after, is_cancelled);
  const missing = await send(cancelOf({ grant_id: randomUUID(), platform_bonus_id: null }));
  check('cancel of an unknown grant', '404', missing, readCancel(missing).kind === 'missing');
}

function isStatus(heard: Heard, status: number): boolean {
  return heard.kind === 'answered' && heard.status === status;
}

function shown(heard: Heard): string {
  return heard.kind === 'answered' ? `${heard.status} ${heard.text.slice(0, 300)}`.trim() : heard.message;
}

function grantOf(player_external_id: string): { grant_id: string; body: string } {
  const grant_id = randomUUID();
  const body: GrantBody = {
    action: 'grant',
    grant_id,
    tenant_id: randomUUID(),
    player_id: randomUUID(),
    player_external_id,
    template: {
      id: randomUUID(),
      name: 'adapter-check',
      type: 'no_deposit',
      amount_subunit: 1,
      currency: 'EUR',
      wagering: {
        multiplier: 0,
        basis: 'bonus',
        required_subunit: 0,
        max_bet_subunit: null,
        game_contribution: null,
      },
      max_win_cap_subunit: null,
      wallet_model: null,
      expires_at: null,
      config: { amount: 1, currency: 'EUR' },
    },
    granted_by: { kind: 'manual', ref: null },
  };
  return { grant_id, body: JSON.stringify(body) };
}

async function callOnce(
  { url, secret, bearer, timeout_ms = TIMEOUT_MS }: Target,
  sent: Sent,
): Promise<Heard> {
  const { method = 'POST', path, body = '', key, age_s = 0, signature } = sent;
  const timestamp_s = Math.floor(Date.now() / 1_000) - age_s;
  const sign = signature ?? ((at_s: number, text: string, key: string) => signatureOf(key, at_s, text));
  try {
    const response = await fetch(`${trimEnd(url, '/')}${path}`, {
      method,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout_ms),
      headers: {
        ...(method === 'POST' ? { 'Content-Type': 'application/json' } : {}),
        ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
        ...(key === undefined ? {} : { 'Idempotency-Key': key, 'X-Attempt': '1' }),
        [SIGNATURE_HEADER]: sign(timestamp_s, body, secret),
        [TIMESTAMP_HEADER]: String(timestamp_s),
      },
      ...(method === 'POST' ? { body } : {}),
    });
    const text = await response.text();
    if (Buffer.byteLength(text) > MAX_ANSWER_BYTES)
      return { kind: 'unknown', message: 'an answer over 64 KiB' };
    return { kind: 'answered', status: response.status, text, retry_after_ms: null };
  } catch (error) {
    const { cause } = error as { cause?: { code?: unknown } };
    const why = typeof cause?.code === 'string' ? cause.code : String(error);
    return { kind: 'unknown', message: `no answer: ${why}` };
  }
}
