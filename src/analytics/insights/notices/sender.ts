import { callWebhook, type AttemptOutcome } from '../../../engage/webhooks/call.ts';
import { DELIVERY_LANES } from '../../../engage/webhooks/deliverer.ts';
import { deliveryPauseMs, LONG_ATTEMPTS } from '../../../engage/webhooks/retry-schedule.ts';
import { signingSecrets } from '../../../engage/webhooks/signing.ts';
import type { Message, SendOutcome } from '../../../engage/providers/message.ts';
import { decryptSecrets } from '../../../engage/providers/credentials.ts';
import { selectProviderFor } from '../../../engage/providers/queries.ts';
import { Transports } from '../../../engage/messaging/transports/transports.ts';
import { CallQueue } from '../../../platform/call-queue/call-queue.ts';
import type { LaneVerdict } from '../../../platform/call-queue/lanes.ts';
import { DecryptionFailed, type EncryptionKeys } from '../../../platform/encryption.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Turned } from '../../../platform/poll-loop.ts';
import { jitterOf } from '../../../platform/retry-pause.ts';
import {
  claimNotices,
  readContent,
  selectMembers,
  selectNoticeLanes,
  writeNotice,
  type ClaimedNotice,
  type NoticeLane,
} from './queries.ts';
import type { Receiver } from './schema.ts';

/** For an attempt at a webhook, from the look-up of the name to the end of the answer. */
const WEBHOOK_TIMEOUT_MS = 10_000;
/** After so long a claim is over: providers of mail have up to a minute. */
const LOST_AFTER_MS = 120_000;
/** The pause of mail whose provider has no place, or is in a back-off. */
const NO_PLACE_MS = 5_000;

type Deps = Pick<Platform, 'postgres' | 'clock' | 'logger' | 'metrics' | 'rateLimiter' | 'egress'>;

/** How an attempt has ended. `behind`: it was not made. */
type Outcome =
  | { kind: 'sent' }
  | { kind: 'failed'; error: string }
  | { kind: 'retry'; error: string; retry_after_ms: number | null }
  | { kind: 'behind' };

/**
 * Sends the notices of alerts and reports that are due, at least once, each time with the same id and content. Notices of a
 * tenant to one host are a lane, and so is its mail: who does not answer holds up nobody else ({@link CallQueue}). Mail goes
 * through the tenant's oldest active provider for email.
 */
export class NoticeSender {
  readonly #deps: Deps;
  readonly #keys: EncryptionKeys;
  readonly #transports: Transports;
  readonly #queue: CallQueue<NoticeLane, ClaimedNotice>;

  /** `keys` decrypt the secrets that sign, and those of providers. `onFree`: a place is free. */
  constructor(
    deps: Deps,
    { credentials_keys, public_url }: { credentials_keys: EncryptionKeys; public_url: string },
    onFree?: () => void,
  ) {
    this.#deps = deps;
    this.#keys = credentials_keys;
    this.#transports = new Transports(deps, { public_url }, (row) =>
      row.credentials === null ? {} : decryptSecrets(credentials_keys, row, row.credentials),
    );
    const { service } = deps.postgres;
    this.#queue = new CallQueue(
      deps.clock,
      {
        keyOf: ({ tenant_id, lane }) => `${tenant_id} ${lane}`,
        sharesOf: ({ tenant_id, lane }) => [`tenant ${tenant_id}`, `lane ${lane}`],
        ...(DELIVERY_LANES.rest === undefined ? {} : { rest: DELIVERY_LANES.rest }),
        find: (after, limit) => selectNoticeLanes(service, after, limit),
        async *claim(lanes, now) {
          yield await claimNotices(service, lanes, now, LOST_AFTER_MS);
        },
        call: (notice) => this.#attempt(notice),
      },
      onFree,
    );
  }

  /** Begins the attempts that are due and have a place. */
  turn(stop?: AbortSignal): Promise<Turned> {
    return this.#queue.turn(stop);
  }

  /** Resolves when the running attempts have ended and their results are written. */
  async close(): Promise<void> {
    await this.#queue.close();
    await this.#transports.close();
  }

  /** Never rejects. */
  async #attempt(notice: ClaimedNotice): Promise<LaneVerdict> {
    const { postgres, clock, logger } = this.#deps;
    try {
      const outcome = await this.#outcomeOf(notice);
      const now_ms = clock.now_ms();
      await writeNotice(postgres.service, notice, resultOf(notice, outcome, now_ms), new Date(now_ms));
      if (outcome.kind === 'behind') return 'not_made';
      return outcome.kind === 'retry' ? 'silent' : 'answered';
    } catch (error) {
      // The claim ends by itself.
      logger.error({ err: error, notice_id: notice.notice_id }, 'an attempt to send a notice failed');
      return 'unknown';
    }
  }

  async #outcomeOf(notice: ClaimedNotice): Promise<Outcome> {
    const { receiver } = notice;
    // Also attempts that were lost count, so none is made for ever.
    if (notice.attempts > LONG_ATTEMPTS) return { kind: 'failed', error: 'OUTCOME_UNKNOWN' };
    try {
      return await (receiver.kind === 'webhook'
        ? this.#call(notice, receiver)
        : this.#mail(notice, receiver));
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error;
      this.#deps.logger.error({ err: error }, 'notices cannot be sent: no key reads their secrets');
      return { kind: 'retry', error: 'SECRET_UNREADABLE', retry_after_ms: null };
    }
  }

  async #call(notice: ClaimedNotice, { url }: Receiver & { kind: 'webhook' }): Promise<Outcome> {
    const { project_id, tenant_id, notice_id: event_id, attempts: attempt } = notice;
    const { postgres, egress, clock } = this.#deps;
    const content = await readContent(postgres.service, notice);
    if (content === undefined || !('payload' in content)) return NO_CONTENT;
    const { payload } = content;
    const secrets = await signingSecrets(postgres.service, this.#keys, [{ tenant_id, project_id }]);
    const secret = secrets.get(project_id)?.();
    if (secret === undefined) return { kind: 'retry', error: 'WEBHOOK_SECRET_MISSING', retry_after_ms: null };
    const call = { url, headers: {}, payload, event_id, attempt, secret, is_of_subscription: false };
    const { outcome } = callWebhook(egress, {
      ...call,
      timeout_ms: WEBHOOK_TIMEOUT_MS,
      now_ms: clock.now_ms(),
    });
    return ofCall(await outcome);
  }

  async #mail(notice: ClaimedNotice, { user_id, address }: Receiver & { kind: 'email' }): Promise<Outcome> {
    if (notice.was_lost) return ofMail();
    const { tenant_id, notice_id } = notice;
    const { service } = this.#deps.postgres;
    if (!(await selectMembers(service, tenant_id, [user_id])).has(user_id))
      return { kind: 'failed', error: 'NO_MEMBER' };
    const provider = await selectProviderFor(service, tenant_id, 'email', null);
    if (provider === undefined)
      return { kind: 'retry', error: 'PROVIDER_NOT_CONFIGURED', retry_after_ms: null };
    const transport = this.#transports.open(provider);
    const places = await transport.reserve(1, () => Promise.resolve(1));
    if (places.count === 0) return { kind: 'behind' };
    const content = await readContent(service, notice);
    if (content === undefined || !('subject' in content)) return NO_CONTENT;
    const { subject, text, html, pictures = [] } = content;
    const message: Message = {
      channel: 'email',
      recipient: address,
      subject,
      preheader: null,
      body: html,
      text,
      data: {},
      headers: { 'X-Service-Event-Id': notice_id },
      pictures,
      send_id: null,
    };
    const [outcome] = await transport.deliver([message], places);
    return ofMail(outcome);
  }
}

const NO_CONTENT: Outcome = { kind: 'failed', error: 'NO_CONTENT' };

function ofCall({ kind, error, reason, retry_after_ms }: AttemptOutcome): Outcome {
  if (kind === 'delivered') return { kind: 'sent' };
  const says = [error ?? kind, ...(reason === null ? [] : [reason])].join(': ');
  return kind === 'failed' ? { kind, error: says } : { kind: 'retry', error: says, retry_after_ms };
}

/** Mail of which it is not known whether it went out is not sent again. */
function ofMail(outcome: SendOutcome = { kind: 'unknown', reason: 'no outcome' }): Outcome {
  switch (outcome.kind) {
    case 'sent':
      return { kind: 'sent' };
    case 'rejected':
      return { kind: 'failed', error: `PROVIDER_REJECTED: ${outcome.reason}` };
    case 'retry':
      return {
        kind: 'retry',
        error: `PROVIDER_UNAVAILABLE: ${outcome.reason}`,
        retry_after_ms: outcome.retry_after_ms,
      };
    case 'unknown':
      return { kind: 'failed', error: 'OUTCOME_UNKNOWN' };
  }
}

function resultOf({ notice_id, attempts }: ClaimedNotice, outcome: Outcome, now_ms: number) {
  const ended = { next_at: new Date(now_ms), was_not_made: false };
  switch (outcome.kind) {
    case 'sent':
      return { ...ended, status: 'sent', error: null } as const;
    case 'failed':
      return { ...ended, status: 'failed', error: outcome.error } as const;
    case 'behind': {
      const next_at = new Date(now_ms + NO_PLACE_MS);
      return { status: 'pending', error: null, next_at, was_not_made: true } as const;
    }
    case 'retry': {
      const { error, retry_after_ms } = outcome;
      if (attempts >= LONG_ATTEMPTS) return { ...ended, status: 'failed', error } as const;
      const failure = { backoff_ms: null, failed: attempts, retry_after_ms };
      const pause_ms = deliveryPauseMs(failure, jitterOf(notice_id, attempts));
      return { status: 'pending', error, next_at: new Date(now_ms + pause_ms), was_not_made: false } as const;
    }
  }
}
