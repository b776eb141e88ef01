import { setImmediate } from 'node:timers/promises';
import { CallQueue } from '../../platform/call-queue/call-queue.ts';
import type { LaneRules, LaneVerdict } from '../../platform/call-queue/lanes.ts';
import { DecryptionFailed, type EncryptionKeys } from '../../platform/encryption.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Turned } from '../../platform/poll-loop.ts';
import { WebhookAdmission, type Refusal } from './admission.ts';
import { callWebhook, type Call, type AttemptOutcome } from './call.ts';
import {
  claimDeliveries,
  keepPayloads,
  selectPendingByHost,
  selectWaitingLanes,
  type ClaimedDelivery,
  type MadePayload,
  type Lane,
  type Source,
} from './claim-queries.ts';
import { NO_MONEY, type MoneyCatalogue } from '../templates/money.ts';
import { readMoney } from '../templates/money-catalogue.ts';
import { openHeaders } from '../journeys/graph/webhook-headers.ts';
import { PayloadMaker } from './payload.ts';
import { ResultWriter, resultOf } from './results.ts';
import { selectSubscriptionSecrets } from './secret-queries.ts';
import { readSecret } from './secrets.ts';
import { signingSecrets } from './signing.ts';

/** The parts of the platform that a deliverer uses. */
export type DelivererDeps = Pick<
  Platform,
  'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics' | 'egress'
>;

/** A lane is the deliveries of one tenant to one host; of a subscription, those of this subscription. */
export const DELIVERY_LANES: LaneRules<Lane> = {
  keyOf: ({ tenant_id, host }) => `${tenant_id} ${host}`,
  sharesOf: ({ tenant_id, host }) => [`tenant ${tenant_id}`, `host ${host.split('/', 1)[0]}`],
  rest: { failures: 10, rest_ms: 30_000 },
};
/** How long bodies are made before the event loop gets a turn. */
const RENDERING_MS = 20;
/** How long closing waits for attempts before it stops them. */
const CLOSE_MS = 5_000;
const METRICS_MS = 15_000;
/** Hosts with a metric of their own, and pending deliveries that are counted. */
const MAX_HOSTS = 20;
const MAX_COUNTED = 10_000;

/** What an attempt is made with, or why it is not made. */
type Prepared = ClaimedDelivery & { with_what: Material | Refusal };

/**
 * Calls the webhooks that are due ({@link CallQueue}). The body is kept before the first attempt, so that each one has the
 * same event_id and the same bytes; a lost attempt uses up none of those that the node allows. The result, and waking the
 * run that waits for it, are one transaction. Deliveries of one tenant to one host are a lane.
 *
 * A claimed delivery is attempted only behind the messenger's fence: the deliverer looks at the player, and ends the
 * delivery of one who was excluded, banned or deleted while it was pending (`WebhookAdmission`).
 */
export class Deliverer {
  readonly #deps: DelivererDeps;
  readonly #keys: EncryptionKeys;
  readonly #queue: CallQueue<Lane, Prepared>;
  readonly #payloads = new PayloadMaker();
  readonly #admission: WebhookAdmission;
  readonly #results: ResultWriter;
  readonly #calls = new Set<Call>();
  #counted_ms = Number.NEGATIVE_INFINITY;

  /** `keys` decrypt the secrets that sign. `onFree`: a place is free for which a delivery may be waiting. */
  constructor(deps: DelivererDeps, keys: EncryptionKeys, onFree?: () => void) {
    this.#deps = deps;
    this.#keys = keys;
    this.#admission = new WebhookAdmission(deps);
    this.#results = new ResultWriter(deps);
    this.#queue = new CallQueue(
      deps.clock,
      {
        ...DELIVERY_LANES,
        find: (after, limit) => selectWaitingLanes(deps.postgres.service, after, limit),
        claim: (lanes, now, stop) => this.#claim(lanes, now, stop),
        call: (delivery) => this.#attempt(delivery),
      },
      onFree,
    );
  }

  /** Begins the attempts that are due and have a place: see {@link CallQueue}. */
  async turn(stop?: AbortSignal): Promise<Turned> {
    await this.#count();
    return this.#queue.turn(stop);
  }

  /** Waits for the running attempts, for 5 s, then stops them: the next process makes them again. */
  async close(): Promise<void> {
    const late = setTimeout(() => {
      for (const call of this.#calls) call.stop();
    }, CLOSE_MS);
    try {
      await this.#queue.close();
    } finally {
      clearTimeout(late);
    }
  }

  /** All lanes at once, so that one fence and few statements prepare all attempts. */
  async *#claim(
    lanes: readonly (Lane & { places: number })[],
    now: Date,
    stop: AbortSignal | undefined,
  ): AsyncGenerator<Prepared[]> {
    const claimed = await claimDeliveries(this.#deps.postgres.service, lanes, now);
    const [secrets, bodies] = await Promise.all([this.#secretsOf(claimed), this.#bodiesOf(claimed)]);
    // Last, because making bodies may take long.
    const refused = await this.#admission.refuse(claimed, stop);
    yield claimed.map((delivery) => {
      const { event_id, project_id, subscription_id } = delivery;
      const material = { body: bodies.get(event_id), secret: secrets.get(subscription_id ?? project_id) };
      return { ...delivery, with_what: refused.get(event_id) ?? material };
    });
  }

  /** Never rejects. */
  async #attempt({ with_what, ...delivery }: Prepared): Promise<LaneVerdict> {
    const { clock, logger, metrics } = this.#deps;
    try {
      const outcome = 'kind' in with_what ? refusal(with_what) : await this.#outcomeOf(delivery, with_what);
      metrics.webhookAttempts.inc({ outcome: outcome.kind });
      const result = resultOf(delivery, outcome, clock.now_ms());
      await this.#results.write(result);
      if (result.status !== 'pending') metrics.webhookDeliveries.inc({ outcome: result.status });
      return verdictOf(outcome);
    } catch (error) {
      logger.error({ err: error, event_id: delivery.event_id }, 'an attempt to deliver a webhook failed');
      return 'unknown';
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
      is_of_subscription: delivery.subscription_id !== null,
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

  /** What signs for each project, by its id ({@link signingSecrets}), and for each subscription, by its id, its own. */
  async #secretsOf(claimed: readonly ClaimedDelivery[]): Promise<Map<string, string | { fault: string }>> {
    const { service } = this.#deps.postgres;
    const projects = [...new Map(claimed.map((one) => [one.project_id, one])).values()];
    const events = claimed.filter((one) => one.subscription_id !== null);
    const subscriptions = [...new Map(events.map((one) => [one.subscription_id, one])).values()];
    const [of_projects, of_subscriptions] = await Promise.all([
      signingSecrets(service, this.#keys, projects),
      selectSubscriptionSecrets(service, subscriptions),
    ]);
    const read = (id: string, decrypt: () => string) => {
      const found = this.#readable(decrypt);
      return [id, 'fault' in found ? found : found.value] as const;
    };
    return new Map<string, string | { fault: string }>([
      ...[...of_projects].map(([project_id, decrypt]) => read(project_id, decrypt)),
      ...of_subscriptions.map((row) =>
        read(row.subscription_id, () => readSecret(this.#keys, row, row.secret)),
      ),
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
      if (payload !== null || source === null || delivery.subscription_id !== null) continue;
      if (performance.now() - since_ms > RENDERING_MS) {
        await setImmediate();
        since_ms = performance.now();
      }
      const rendered = this.#payloads.payloadOf(delivery, source, await moneyOf(tenant_id, source));
      if (typeof rendered === 'string') bodies.set(event_id, { fault: rendered });
      else made.push({ tenant_id, event_id, payload: rendered.payload });
    }
    if (made.length === 0) return bodies;
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

/** Without an answer there is no status, or one after which the same request may succeed later. */
function verdictOf({ kind, status, error }: AttemptOutcome): LaneVerdict {
  if (kind === 'delivered' || (kind === 'failed' && status !== null)) return 'answered';
  const is_silent = kind === 'retry' && error !== SECRET_MISSING && error !== SECRET_UNREADABLE;
  return is_silent ? 'silent' : 'unknown';
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
