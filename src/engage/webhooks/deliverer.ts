import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { activeAdapterSecrets, readSecret as readAdapterSecret } from '../../adapters/secrets.ts';
import { DecryptionFailed, type EncryptionKeys } from '../../platform/encryption.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import { WebhookAdmission, type Refusal } from './admission.ts';
import { callWebhook, type Call, type AttemptOutcome } from './call.ts';
import {
  claimDeliveries,
  keepPayloads,
  selectPendingByHost,
  selectWaitingLanes,
  type ClaimedDelivery,
  type MadePayload,
  type WaitingLane,
  type Source,
} from './claim-queries.ts';
import { Lanes, type HostVerdict } from './lanes.ts';
import { NO_MONEY, type MoneyCatalogue } from '../templates/money.ts';
import { readMoney } from '../templates/money-catalogue.ts';
import { openHeaders } from '../journeys/graph/webhook-headers.ts';
import { PayloadMaker } from './payload.ts';
import { ResultWriter, resultOf } from './results.ts';
import { selectSigningSecrets } from './secret-queries.ts';
import { readSecret } from './secrets.ts';

/** The parts of the platform that a deliverer uses. */
export type DelivererDeps = Pick<
  Platform,
  'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics' | 'egress'
>;

/** Lanes that one look finds; further ones have their turn at the next look. */
const MAX_LANES = 1_000;
/** The longest pause: another process may have written deliveries without its notification arriving. */
const LONGEST_PAUSE_MS = 1_000;
/** How long bodies are made before the event loop gets a turn. */
const RENDERING_MS = 20;
/** How long closing waits for attempts before it stops them. */
const CLOSE_MS = 5_000;
const METRICS_MS = 15_000;
/** Hosts with a metric of their own, and pending deliveries that are counted. */
const MAX_HOSTS = 20;
const MAX_COUNTED = 10_000;

/**
 * Calls the webhooks that are due. A claim raises the number of attempts and lets the delivery come due again after the
 * attempt's time-out; the body is kept before its first attempt. So a process that dies while it makes an attempt leaves
 * nothing to clean up: another attempt is made, with the same event_id and the same bytes, and the lost one uses up none of
 * those that the node allows. The result, and waking the run that waits for it, are one transaction.
 *
 * Deliveries of one tenant to one host take turns in a lane, and no lane, host or tenant has more than its share of the
 * attempts at a time (`Lanes`).
 *
 * A claimed delivery is attempted only behind the messenger's fence: the deliverer looks at the player, and ends the
 * delivery of one who was excluded, banned or deleted while it was pending (`WebhookAdmission`).
 */
export class Deliverer {
  readonly #deps: DelivererDeps;
  readonly #keys: EncryptionKeys;
  readonly #lanes = new Lanes();
  readonly #payloads = new PayloadMaker();
  readonly #admission: WebhookAdmission;
  readonly #results: ResultWriter;
  readonly #calls = new Set<Call>();
  /** Attempts until their result is written; they never reject. */
  readonly #attempts = new Set<Promise<void>>();
  #after: WaitingLane | undefined;
  #counted_ms = Number.NEGATIVE_INFINITY;
  #woken = new AbortController();

  /** `keys` decrypt the secrets that sign. */
  constructor(deps: DelivererDeps, keys: EncryptionKeys) {
    this.#deps = deps;
    this.#keys = keys;
    this.#admission = new WebhookAdmission(deps);
    this.#results = new ResultWriter(deps);
  }

  /** Begins the attempts that are due and have a place, or waits until one is due, at most 1 s; false when none is pending. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    const { postgres, clock } = this.#deps;
    this.#woken = new AbortController();
    const { signal } = this.#woken;
    await this.#count();
    const lanes = await selectWaitingLanes(postgres.service, this.#after, MAX_LANES);
    const has_more = lanes.length === MAX_LANES;
    const has_begun_again = this.#after !== undefined && !has_more;
    this.#after = has_more ? lanes.at(-1) : undefined;
    const now_ms = clock.now_ms();
    const due = lanes.filter(({ next_at }) => next_at.getTime() <= now_ms);
    const places = this.#lanes.grant(due, now_ms);
    if (places.length > 0) {
      const claimed = await claimDeliveries(postgres.service, places, new Date(now_ms));
      await this.#begin(claimed, stop);
      if (claimed.length > 0) return true;
    }
    if (has_more || has_begun_again || stop?.aborted === true) return true;
    if (lanes.length === 0) return false;
    await this.#pause(lanes, now_ms, signal, stop);
    return true;
  }

  /** Ends the pause: something may be due, or a place is free. */
  wake(): void {
    this.#woken.abort();
  }

  /** Waits for the running attempts, for 5 s, then stops them: they are made again by whoever comes next. */
  async close(): Promise<void> {
    const late = setTimeout(() => {
      for (const call of this.#calls) call.stop();
    }, CLOSE_MS);
    try {
      await Promise.all(this.#attempts);
    } finally {
      clearTimeout(late);
    }
  }

  /** Until the next delivery is due or a lane ends its rest. The end of an attempt ends it, too. */
  async #pause(
    lanes: readonly WaitingLane[],
    now_ms: number,
    signal: AbortSignal,
    stop: AbortSignal | undefined,
  ): Promise<void> {
    const next_ms = lanes.map((lane) => {
      const due_ms = lane.next_at.getTime();
      // A lane that is due and has no place waits for the end of an attempt.
      return due_ms > now_ms ? due_ms : (this.#lanes.restsUntil(lane, now_ms) ?? Number.POSITIVE_INFINITY);
    });
    const pause_ms = Math.min(...next_ms.map((ms) => ms - now_ms), LONGEST_PAUSE_MS);
    const end = () => this.#woken.abort();
    stop?.addEventListener('abort', end, { once: true });
    await sleep(pause_ms, undefined, { signal }).catch(() => undefined);
    stop?.removeEventListener('abort', end);
  }

  async #begin(claimed: readonly ClaimedDelivery[], stop: AbortSignal | undefined): Promise<void> {
    for (const delivery of claimed) this.#lanes.begin(delivery);
    let begun = 0;
    try {
      const [secrets, bodies] = await Promise.all([this.#secretsOf(claimed), this.#bodiesOf(claimed)]);
      // Last, because making bodies may take long.
      const refused = await this.#admission.refuse(claimed, stop);
      for (const delivery of claimed) {
        const secret = secrets.get(delivery.project_id);
        const { event_id } = delivery;
        this.#track(this.#attempt(delivery, refused.get(event_id) ?? { body: bodies.get(event_id), secret }));
        begun++;
      }
    } finally {
      // What could not be begun is claimed again when its claim is over.
      for (const delivery of claimed.slice(begun)) {
        this.#lanes.end(delivery, 'unknown', this.#deps.clock.now_ms());
      }
    }
  }

  #track(attempt: Promise<void>): void {
    const tracked = attempt.finally(() => {
      this.#attempts.delete(tracked);
      this.wake();
    });
    this.#attempts.add(tracked);
  }

  /** Never rejects. */
  async #attempt(delivery: ClaimedDelivery, with_what: Refusal | Material): Promise<void> {
    const { clock, logger, metrics } = this.#deps;
    let verdict: HostVerdict = 'unknown';
    try {
      const outcome = 'kind' in with_what ? refusal(with_what) : await this.#outcomeOf(delivery, with_what);
      // Without an answer there is no status, or one that says that the host cannot answer now.
      if (outcome.kind === 'delivered' || (outcome.kind === 'failed' && outcome.status !== null))
        verdict = 'answered';
      else if (
        outcome.kind === 'retry' &&
        outcome.error !== SECRET_MISSING &&
        outcome.error !== SECRET_UNREADABLE
      ) {
        verdict = 'silent';
      }
      metrics.webhookAttempts.inc({ outcome: outcome.kind });
      await this.#results.write(resultOf(delivery, outcome, clock.now_ms()));
    } catch (error) {
      logger.error({ err: error, event_id: delivery.event_id }, 'an attempt to deliver a webhook failed');
    } finally {
      this.#lanes.end(delivery, verdict, clock.now_ms());
    }
  }

  async #outcomeOf(delivery: ClaimedDelivery, { body, secret }: Material): Promise<AttemptOutcome> {
    const { egress, clock } = this.#deps;
    const { url, event_id, attempts, timeout_ms } = delivery;
    if (body === undefined || typeof body === 'object')
      return failure(body?.fault ?? 'WEBHOOK_REQUEST_INVALID');
    // Somebody can make a secret, or configure the key of the headers, before the last attempt.
    if (typeof secret !== 'string') return { ...failure(secret?.fault ?? SECRET_MISSING), kind: 'retry' };
    const opened = this.#readable(() => openHeaders(this.#keys, delivery, delivery));
    if ('fault' in opened) return { ...failure(opened.fault), kind: 'retry' };
    const now_ms = clock.now_ms();
    const call = callWebhook(egress, {
      url,
      headers: opened.value,
      payload: body,
      event_id,
      attempt: attempts,
      secret,
      timeout_ms,
      now_ms,
    });
    this.#calls.add(call);
    try {
      return await call.outcome;
    } finally {
      this.#calls.delete(call);
    }
  }

  /**
   * What signs for each project, by its id: the secret of its active adapter, so that one secret works in both directions;
   * without one the newest of its own.
   */
  async #secretsOf(claimed: readonly ClaimedDelivery[]): Promise<Map<string, string | { fault: string }>> {
    const { service } = this.#deps.postgres;
    const projects = [...new Map(claimed.map((one) => [one.project_id, one])).values()];
    const [own, adapters] = await Promise.all([
      selectSigningSecrets(service, projects),
      activeAdapterSecrets(service, projects),
    ]);
    const read = (row: { project_id: string }, decrypt: () => string) => {
      const found = this.#readable(decrypt);
      return [row.project_id, 'fault' in found ? found : found.value] as const;
    };
    return new Map<string, string | { fault: string }>([
      ...own.map((row) => read(row, () => readSecret(this.#keys, row, row.secret))),
      ...adapters.map((row) => read(row, () => readAdapterSecret(this.#keys, row, row.secret))),
    ]);
  }

  #readable<T>(decrypt: () => T): { value: T } | { fault: string } {
    try {
      return { value: decrypt() };
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error;
      this.#deps.logger.error({ err: error }, 'webhooks cannot be called: no key reads their secrets');
      return { fault: SECRET_UNREADABLE };
    }
  }

  /** The bodies by event_id; those that are made now are kept before they are returned. */
  async #bodiesOf(claimed: readonly ClaimedDelivery[]): Promise<Map<string, string | { fault: string }>> {
    const bodies = new Map<string, string | { fault: string }>();
    const made: MadePayload[] = [];
    const catalogues = new Map<string, MoneyCatalogue>();
    const moneyOf = async (tenant_id: string, source: Source): Promise<MoneyCatalogue> => {
      if (!PayloadMaker.needsMoney(source)) return NO_MONEY;
      const known = catalogues.get(tenant_id) ?? (await readMoney(this.#deps.postgres.service, tenant_id));
      catalogues.set(tenant_id, known);
      return known;
    };
    let since_ms = performance.now();
    for (const delivery of claimed) {
      const { tenant_id, event_id, payload, source } = delivery;
      if (payload !== null) bodies.set(event_id, payload);
      if (payload !== null || source === null) continue;
      if (performance.now() - since_ms > RENDERING_MS) {
        await setImmediate();
        since_ms = performance.now();
      }
      const rendered = this.#payloads.payloadOf(delivery, source, await moneyOf(tenant_id, source));
      if (typeof rendered === 'string') bodies.set(event_id, { fault: rendered });
      else made.push({ tenant_id, event_id, payload: rendered.payload });
    }
    // Cancelling locks deliveries in another order.
    const { service } = this.#deps.postgres;
    const kept = await retryConflicts(() => service.begin((tx) => keepPayloads(tx, made)));
    for (const [event_id, payload] of kept) bodies.set(event_id, payload);
    return bodies;
  }

  async #count(): Promise<void> {
    if (performance.now() - this.#counted_ms < METRICS_MS) return;
    this.#counted_ms = performance.now();
    const { postgres, metrics } = this.#deps;
    const counts = await selectPendingByHost(postgres.service, MAX_HOSTS, MAX_COUNTED);
    metrics.webhookPending.reset();
    for (const { host, pending } of counts) metrics.webhookPending.set({ host }, pending);
  }
}

const SECRET_MISSING = 'WEBHOOK_SECRET_MISSING';
const SECRET_UNREADABLE = 'WEBHOOK_SECRET_UNREADABLE';

/** What an attempt is made with. */
interface Material {
  body: string | { fault: string } | undefined;
  secret: string | { fault: string } | undefined;
}

/** An attempt that is not made. */
function refusal(refused: Refusal): AttemptOutcome {
  if (refused.kind === 'barred') return { ...failure(refused.code), kind: 'barred' };
  return { ...NOTHING, kind: 'behind' };
}

/** A failure before anything was sent. */
function failure(error: string): AttemptOutcome {
  return { ...NOTHING, kind: 'failed', error };
}

const NOTHING = { status: null, error: null, reason: null, retry_after_ms: null, text: null, is_cut: false };
