import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import { decryptSecrets } from '../providers/credentials.ts';
import { selectProvidersByIds, type ProviderRow } from '../providers/queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import { retryPauseMs } from '../../platform/retry-pause.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import type { Platform } from '../../platform/platform.ts';
import { resultOf, renderFailed, requeued } from './delivery.ts';
import { tenantGateAt } from './gate.ts';
import { BatchDispatcher, Deliveries, type Served } from './batch-dispatcher.ts';
import { QueueFence, type FencePass } from './queue-fence.ts';
import { MessageRenderer } from './message-renderer.ts';
import type { Message, SendOutcome } from '../providers/message.ts';
import {
  claimSends,
  countDue,
  extendClaims,
  giveUpAbandoned,
  recordResults,
  selectQueuedZones,
  tryLockMessages,
  type ClaimedSend,
  type ClaimTerms,
  type SendResultRow,
} from './messenger-queries.ts';
import { countSkipped } from './skipped.ts';
import { giveUpLate, MAX_QUEUES, selectQueues, type SendQueue } from './queue-queries.ts';
import type { HeldPlaces } from './transports/provider-state.ts';
import { Transports, type OpenedTransport } from './transports/transports.ts';

/** The keys and the URL that making messages needs. */
export interface MessengerSettings {
  credentials_keys: EncryptionKeys;
  /** Signs unsubscribe links. */
  link_key: Buffer;
  public_url: string;
}

/** The parts of the platform that a messenger uses. */
export type MessengerDeps = Pick<
  Platform,
  'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics' | 'rateLimiter' | 'egress'
>;

/** Messages per batch, for a transport that takes many at once. */
const MAX_BATCH = 1_000;
/** Pages of queues read in one turn while no batch can be started. */
const MAX_PAGES = 10;
/**
 * A batch has no more messages than are rendered in this time, so that none waits long for the others. Before the first
 * batch of a queue a message is assumed to take so long.
 */
const BATCH_RENDERING_MS = 300;
const ASSUMED_RENDER_MS = 5;
/** Attempts to write the results of a batch, with pauses that double. */
const RECORD_TRIES = 20;
const RECORD_PAUSES = { first_ms: 100, longest_ms: 5_000 };
const HEARTBEAT_MS = 5_000;
/** Queues of which something is remembered. */
const MAX_REMEMBERED = 1_000;
/** How often a queue whose provider takes no messages is searched for messages that have waited too long. */
const LATE_PAUSE_MS = 60_000;
/** How often such a queue is searched from its first message on. */
const SEARCH_ANEW_MS = 1_800_000;

/** A claim: the rows that it wrote, and the places at the provider for those that may go out. */
interface Claimed {
  rows: ClaimedSend[];
  places: HeldPlaces | undefined;
  /** The moment that the gate looked at, in milliseconds. */
  gated_at_ms: number;
}

/** A batch of messages that may go out. */
interface Batch extends Pick<Claimed, 'gated_at_ms'> {
  queue: SendQueue;
  transport: OpenedTransport;
  places: HeldPlaces;
  rows: ClaimedSend[];
}

/** Rolls a claim back: a player got an id whose events are not folded. The messages are tried again. */
class FenceMoved extends Error {
  override readonly name = 'FenceMoved';
}

/**
 * Sends queued messages (spec part 4) in batches. Each batch: 1. waits until the fold has reached the present end of
 * the event log, in the partitions of the players ({@link QueueFence}); 2. passes messages through the gate and marks those
 * that may go out as `sending`; 3. hands them to the provider; 4. writes the results. After a crash before step 2
 * commits the messages are still queued. Afterwards they are claimed for 30 s, and a heartbeat extends the claims of
 * those that are being delivered. So after a later crash, and where the results of a batch cannot be written, the claims
 * pass, and any messenger gives the messages up with OUTCOME_UNKNOWN.
 */
export class Messenger {
  readonly #platform: MessengerDeps;
  readonly #settings: MessengerSettings;
  readonly #transports: Transports;
  readonly #dispatcher: BatchDispatcher;
  readonly #fence: QueueFence;
  readonly #renderer: MessageRenderer;
  /** How long a message of a queue took to render lately, in milliseconds. */
  readonly #render_ms = new BoundedCache<string, number>({ max: MAX_REMEMBERED });
  /** Queues that were searched for messages that waited too long; they are not searched again for a minute. */
  readonly #searched = new BoundedCache<string, true>({ max: MAX_REMEMBERED, ttl: LATE_PAUSE_MS });
  /**
   * The message up to which a queue was searched: old messages before it were queued again, and wait for their second
   * deadline. The search begins anew after a while; `noUpdateTTL`: however often it goes on meanwhile.
   */
  readonly #searched_until = new BoundedCache<string, string>({
    max: MAX_REMEMBERED,
    ttl: SEARCH_ANEW_MS,
    noUpdateTTL: true,
  });
  readonly #deliveries = new Deliveries<Batch>();
  /** The running claim of each project. */
  readonly #claiming = new Map<string, Promise<undefined>>();
  #extended_ms = -Infinity;

  constructor(platform: MessengerDeps, settings: MessengerSettings) {
    this.#platform = platform;
    this.#settings = settings;
    this.#fence = new QueueFence(platform);
    this.#renderer = new MessageRenderer(platform, settings);
    this.#dispatcher = new BatchDispatcher(({ queue_id }, error) =>
      platform.logger.warn({ err: error, queue_id }, 'a batch of messages failed; its queue backs off'),
    );
    this.#transports = new Transports(
      platform,
      settings,
      (row) => this.#secretsOf(row),
      (queue_id) => this.#dispatcher.wake(queue_id),
    );
  }

  /** Starts batches, and waits until there may be more work; false when no queue has a message. */
  async turn(stop?: AbortSignal): Promise<boolean> {
    await this.#heartbeat();
    const found = stop?.aborted === true ? 0 : await this.#beginBatches(stop);
    if (found === 0 && this.#dispatcher.running === 0 && this.#deliveries.count === 0) return false;
    await this.#dispatcher.nextWakeUp();
    return true;
  }

  /** Ends back-offs and the wait: the queue, or without an id any queue, may have work. */
  wake(queue_id?: string): void {
    this.#dispatcher.wake(queue_id);
  }

  /** Waits for running batches and closes the transports. */
  async close(): Promise<void> {
    await this.#dispatcher.close();
    await this.#deliveries.ended();
    await this.#transports.close();
  }

  /** Starts batches of the next queues; returns how many queues were read. */
  async #beginBatches(stop: AbortSignal | undefined): Promise<number> {
    let found = 0;
    for (let page = 0; page < MAX_PAGES; page++) {
      const queues = await this.#queuesInTurn();
      found += queues.length;
      const serve = (queue: SendQueue) =>
        this.#serve(queue, stop).catch((error: unknown) => {
          // The batch was waiting for the fold when the service stopped.
          if (stop?.aborted === true && error === stop.reason) return 'nothing' as const;
          throw error;
        });
      // Messages of a cancelled campaign are skipped; nothing is delivered.
      const mayServe = ({ tenant_id, is_cancelled }: SendQueue) =>
        is_cancelled || this.#deliveries.mayBegin(tenant_id);
      const begun = this.#dispatcher.dispatch(queues, serve, mayServe);
      if (begun > 0 || this.#dispatcher.running > 0 || queues.length < MAX_QUEUES) break;
    }
    return found;
  }

  /** A page of queues: those after the queue that was served last, then those from the first on. */
  async #queuesInTurn(): Promise<SendQueue[]> {
    const { service } = this.#platform.postgres;
    const { last } = this.#dispatcher;
    const queues = await selectQueues(service, last);
    if (last === undefined || queues.length >= MAX_QUEUES) return queues;
    const known = new Set(queues.map(({ queue_id }) => queue_id));
    return [...queues, ...(await selectQueues(service)).filter(({ queue_id }) => !known.has(queue_id))];
  }

  async #heartbeat(): Promise<void> {
    const { postgres, clock, logger } = this.#platform;
    if (clock.now_ms() < this.#extended_ms + HEARTBEAT_MS) return;
    const delivering = this.#deliveries.batches.flatMap(({ queue: { tenant_id, project_id }, rows }) =>
      rows.map(({ send_id, attempts }) => ({ tenant_id, project_id, send_id, attempts })),
    );
    await extendClaims(postgres.service, delivering);
    this.#extended_ms = clock.now_ms();
    await this.#transports.tidyBackOffs();
    const messages = await giveUpAbandoned(postgres.service);
    if (messages > 0) {
      logger.warn(
        { messages },
        'messages that were being sent when their messenger died are of unknown outcome',
      );
    }
  }

  /** Claims a batch of the queue, and begins to deliver it; the delivery goes on without holding up other queues. */
  async #serve(queue: SendQueue, stop: AbortSignal | undefined): Promise<Served> {
    const { postgres } = this.#platform;
    const [provider] = await selectProvidersByIds(postgres.service, queue.tenant_id, [queue.provider_id]);
    const is_gone = provider === undefined || provider.deleted_at !== null;
    let transport: OpenedTransport | undefined;
    if (!is_gone && !queue.is_cancelled) {
      try {
        transport = this.#transports.open(provider);
      } catch (error) {
        if (await this.#giveUpLate(queue)) return 'worked';
        throw error;
      }
      const is_waiting = provider.status !== 'active' || transport.is_failing;
      if (is_waiting && (await this.#giveUpLate(queue))) return 'worked';
    }
    if (transport?.mayBegin(queue.queue_id) === false) return 'nothing';
    // The fence comes before the turn of the claim: a queue that waits for the fold delays no other of its project.
    const pass = await this.#fence.pass(queue, stop);
    if (pass.send_ids?.length === 0) return 'nothing';
    const claimed = await this.#claim(queue, () => this.#claimNow(queue, transport, pass));
    if (claimed === 'locked') return claimed;
    const { places, gated_at_ms } = claimed;
    const rows = claimed.rows.filter(({ status }) => status === 'sending');
    if (transport !== undefined && places !== undefined && rows.length > 0) {
      this.#beginDelivery({ queue, transport, places, rows, gated_at_ms }, stop);
    }
    return claimed.rows.length > 0 ? 'worked' : 'nothing';
  }

  /** Gives up messages that have waited too long for their provider; returns whether there may be more. */
  async #giveUpLate(queue: SendQueue): Promise<boolean> {
    const { postgres, clock, metrics, logger } = this.#platform;
    const { queue_id, channel } = queue;
    if (this.#searched.has(queue_id)) return false;
    const after = this.#searched_until.get(queue_id);
    const now = new Date(clock.now_ms());
    const { late, last_old, has_more } = await giveUpLate(postgres.service, queue, now, after);
    if (last_old !== undefined) this.#searched_until.set(queue_id, last_old);
    if (!has_more) this.#searched.set(queue_id, true);
    if (late > 0) {
      metrics.messagesSent.inc({ channel, outcome: 'failed' }, late);
      logger.warn({ queue_id, late }, 'messages waited too long for their provider and were given up');
    }
    return has_more;
  }

  #beginDelivery(batch: Batch, stop: AbortSignal | undefined): void {
    const { queue, places } = batch;
    const delivered = this.#send(batch, stop)
      .catch((error: unknown) => this.#dispatcher.fail(queue, error))
      .finally(() => {
        places.keep(0);
        this.#dispatcher.endWait();
      });
    this.#deliveries.add(queue.tenant_id, batch, delivered);
  }

  /** Runs the claims of a project one after another; meanwhile other slots deliver. */
  async #claim<T>({ project_id }: SendQueue, claimNow: () => Promise<T>): Promise<T> {
    const before = this.#claiming.get(project_id);
    const claim = Promise.resolve(before).then(claimNow);
    const settled = claim.then(
      () => undefined,
      () => undefined,
    );
    this.#claiming.set(project_id, settled);
    try {
      return await claim;
    } finally {
      if (this.#claiming.get(project_id) === settled) this.#claiming.delete(project_id);
    }
  }

  async #claimNow(
    queue: SendQueue,
    transport: OpenedTransport | undefined,
    pass: FencePass,
  ): Promise<Claimed | 'locked'> {
    const { postgres, clock, metrics } = this.#platform;
    // An exclusion that was accepted before `fenced_at` is folded before the gate decides. The claimed rows keep the
    // moment in `counted_at`.
    const { fenced_at, send_ids: only } = pass;
    const places = await transport?.reserve(this.#wanted(queue), (most) =>
      countDue(postgres.service, queue, new Date(clock.now_ms()), most, only),
    );
    const limit = places?.count ?? MAX_BATCH;
    const nothing = { rows: [], places, gated_at_ms: fenced_at.getTime() };
    if (limit === 0) return nothing;
    const terms = {
      limit,
      only,
      least_tried_first: transport?.is_failing === true,
      has_provider: transport !== undefined,
      fenced_at,
    };
    try {
      const rows = await this.#claimRows(queue, terms, pass);
      if (rows === 'locked') places?.keep(0);
      else places?.keep(rows.filter(({ status }) => status === 'sending').length);
      if (rows === 'locked') return rows;
      for (const { error_code } of rows) countSkipped(metrics, queue.channel, error_code);
      return { ...nothing, rows };
    } catch (error) {
      places?.keep(0);
      throw error;
    }
  }

  #claimRows(queue: SendQueue, terms: ClaimTerms, pass: FencePass): Promise<ClaimedSend[] | 'locked'> {
    const { postgres, clock } = this.#platform;
    const claim = async (tx: Tx): Promise<ClaimedSend[] | 'locked'> => {
      if (!(await tryLockMessages(tx, queue))) return 'locked';
      const now = new Date(clock.now_ms());
      const gate = await tenantGateAt(tx, queue, now, () => selectQueuedZones(tx, queue, now, terms));
      const claimed = await claimSends(tx, queue, terms, gate);
      const let_through = claimed.flatMap(({ status, player_id }) => (status === 'sending' ? player_id : []));
      if (!(await pass.holdsFor(tx, queue, let_through))) throw new FenceMoved();
      return claimed;
    };
    return postgres.service.begin(claim).catch((error: unknown) => {
      if (error instanceof FenceMoved) return [];
      throw error;
    });
  }

  /** How many messages of the queue one batch may have: those that are rendered soon. */
  #wanted({ queue_id }: SendQueue): number {
    const render_ms = this.#render_ms.get(queue_id) ?? ASSUMED_RENDER_MS;
    return Math.max(1, Math.min(MAX_BATCH, Math.floor(BATCH_RENDERING_MS / render_ms)));
  }

  /** Hands messages over and writes the results. After an error before the hand-over, all of them are queued again. */
  async #send(
    { queue, transport, places, rows, gated_at_ms }: Batch,
    stop: AbortSignal | undefined,
  ): Promise<void> {
    const { clock, metrics } = this.#platform;
    const { channel } = queue;
    const results: SendResultRow[] = [];
    const ready: { row: ClaimedSend; message: Message }[] = [];
    const begun_ms = performance.now();
    try {
      for await (const { row, message } of this.#renderer.renderAll(queue, rows)) {
        if (message === undefined) results.push(renderFailed(row));
        else ready.push({ row, message });
      }
    } catch (error) {
      await this.#record(queue, rows.map(requeued), stop);
      throw error;
    }
    this.#render_ms.set(queue.queue_id, (performance.now() - begun_ms) / rows.length);
    const waited_s = (clock.now_ms() - gated_at_ms) / 1_000;
    for (const _ of ready) metrics.messageHandOver.observe({ channel }, waited_s);
    const outcomes = await transport.deliver(
      ready.map(({ message }) => message),
      places,
    );
    const now_ms = clock.now_ms();
    for (const [i, { row }] of ready.entries()) {
      const outcome: SendOutcome = outcomes[i] ?? {
        kind: 'unknown',
        reason: 'the transport returned no outcome',
      };
      this.#logUnlessSent(row, outcome);
      results.push(resultOf(row, outcome, now_ms));
    }
    await this.#record(queue, results, stop);
    for (const { status } of results) metrics.messagesSent.inc({ channel, outcome: status });
  }

  #logUnlessSent({ send_id }: ClaimedSend, outcome: SendOutcome): void {
    if (outcome.kind === 'sent') return;
    const { kind, reason } = outcome;
    this.#platform.logger.warn({ send_id, outcome: kind, reason }, 'a message was not sent');
  }

  /**
   * Writes results, with up to 20 attempts. If all fail, or the service stops, it rejects, and the messages are given
   * up with OUTCOME_UNKNOWN.
   */
  async #record(
    queue: SendQueue,
    results: readonly SendResultRow[],
    stop: AbortSignal | undefined,
  ): Promise<void> {
    const { postgres, clock, logger } = this.#platform;
    const { queue_id } = queue;
    for (let attempt = 1; ; attempt++) {
      const pause_ms = retryPauseMs(RECORD_PAUSES, { attempt });
      try {
        const now = new Date(clock.now_ms());
        await retryConflicts(() => postgres.service.begin((tx) => recordResults(tx, queue, results, now)));
        return;
      } catch (error) {
        if (attempt === RECORD_TRIES || stop?.aborted === true) throw error;
        logger.warn(
          { err: error, queue_id, pause_ms },
          'results of messages could not be written; trying again',
        );
      }
      await sleep(pause_ms, undefined, { ...(stop && { signal: stop }) }).catch(() => undefined);
    }
  }

  #secretsOf({ tenant_id, provider_id, credentials }: ProviderRow): Record<string, unknown> {
    if (credentials === null) return {};
    return decryptSecrets(this.#settings.credentials_keys, { tenant_id, provider_id }, credentials);
  }
}
