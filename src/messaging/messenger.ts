import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { waitUntilFolded } from '../analytics/caught-up.ts';
import { unseal } from '../messaging-providers/credentials.ts';
import { selectProvidersByIds, type ProviderRow } from '../messaging-providers/queries.ts';
import { newId } from '../platform/ids.ts';
import { retryLostRaces } from '../platform/postgres/retry.ts';
import { playerScope } from '../templates/player-scope.ts';
import { compileTemplate, isBlank, renderMessage, type CompiledTemplate } from '../templates/render.ts';
import type { Platform } from '../wiring/platform.ts';
import { resultOf, unrendered } from './delivery.ts';
import { tenantGateAt } from './gate-at.ts';
import type { Message, Outcome } from './message.ts';
import {
  claimSends,
  countDue,
  failOrphans,
  MAX_QUEUES,
  recordResults,
  retireMessenger,
  selectQueuedZones,
  selectQueues,
  selectSources,
  showAlive,
  tryLockMessages,
  type ClaimedSend,
  type ClaimTerms,
  type SendQueue,
  type SendResultRow,
  type SourceTemplate,
} from './messenger-queries.ts';
import { Transports, type OpenedTransport } from './transports/transports.ts';
import { unsubscribeHeaders } from './unsubscribe-link.ts';

/** What messages are made with, beside the platform. */
export interface MessengerSettings {
  /** 32 bytes in hexadecimal. */
  credentials_key: string;
  public_url: string;
}

/** What a messenger works with. */
export type MessengerDeps = Pick<
  Platform,
  'postgres' | 'eventLog' | 'clock' | 'logger' | 'metrics' | 'rateLimiter'
>;

/** Where a transport takes many at once. */
const MAX_BATCH = 1_000;
/** Batches in hand at the same time, and of one queue: while one is delivered, the next is claimed. */
const MAX_RUNNING = 12;
const MAX_PER_QUEUE = 3;
/** How long a turn waits for a batch to end before it looks at the queues again. */
const LOOK_AGAIN_MS = 1_000;
/** A queue that failed is left alone for so long. */
const REST_MS = 5_000;
/** Messages rendered before others get their turn in this process. */
const RENDERED_AT_ONCE = 50;
/** Longer than the fold is ever behind; while it stands still, nothing is sent. */
const FENCE_WAIT_MS = 10_000;
const ALIVE_MS = 20_000;
const SHOW_ALIVE_EVERY_MS = 5_000;
const MAX_TEMPLATES = 1_000;

/**
 * Sends queued messages (spec part 4), batch by batch: the end of the event log is noted, and the fold waited for; then
 * the gate decides, and what may go out is marked as being sent; then it is handed over; then what became of it is
 * written. Dying before the mark leaves it queued; after it, the next messenger gives it up as of unknown outcome.
 */
export class Messenger {
  readonly #platform: MessengerDeps;
  readonly #settings: MessengerSettings;
  readonly #messenger_id = newId();
  readonly #transports: Transports;
  readonly #templates = new LRUCache<string, CompiledTemplate>({ max: MAX_TEMPLATES });
  /** The claim under way of each project. */
  readonly #claiming = new Map<string, Promise<undefined>>();
  /** Batches in hand, by campaign and lane; they never reject. */
  readonly #running = new Map<string, Promise<'worked' | undefined>>();
  readonly #rest_until_ms = new Map<string, number>();
  /** Where the next turn looks for queues; undefined: from the first. */
  #last_queue: SendQueue | undefined;
  #shown_alive_ms = -Infinity;

  constructor(platform: MessengerDeps, settings: MessengerSettings) {
    this.#platform = platform;
    this.#settings = settings;
    this.#transports = new Transports(platform, settings, (row) => this.#secretsOf(row));
  }

  /**
   * Begins to serve queues, and waits for the first batch to end; whether something is in hand, or was. A queue that is
   * slow, or fails, holds up no other.
   */
  async turn(stop?: AbortSignal): Promise<boolean> {
    await this.#showAlive();
    const { service } = this.#platform.postgres;
    const queues = await selectQueues(service, this.#last_queue);
    this.#last_queue = queues.length < MAX_QUEUES ? undefined : queues.at(-1);
    for (let lane = 0; lane < MAX_PER_QUEUE; lane++) {
      for (const queue of queues) this.#begin(queue, lane, stop);
    }
    if (this.#running.size === 0) return this.#last_queue !== undefined;
    const look_again = new AbortController();
    const looking = sleep(LOOK_AGAIN_MS, undefined, { signal: look_again.signal }).catch(() => undefined);
    const ended = await Promise.race([...this.#running.values(), looking]);
    look_again.abort();
    return ended === 'worked' || this.#running.size > 0;
  }

  /** Lets what is in hand end, and others know that nothing is left in these hands. */
  async close(): Promise<void> {
    await Promise.all(this.#running.values());
    await this.#transports.close();
    await retireMessenger(this.#platform.postgres.service, this.#messenger_id);
  }

  /** Serves a queue in the background, unless that lane of it is busy, it rests, or there is enough in hand. */
  #begin(queue: SendQueue, lane: number, stop: AbortSignal | undefined): void {
    const { clock, logger } = this.#platform;
    const { campaign_id } = queue;
    const key = `${campaign_id} ${lane}`;
    if (this.#running.size >= MAX_RUNNING || this.#running.has(key) || stop?.aborted === true) return;
    if ((this.#rest_until_ms.get(campaign_id) ?? 0) > clock.now_ms()) return;
    this.#rest_until_ms.delete(campaign_id);
    const serving = this.#serve(queue, stop)
      .catch((error: unknown) => {
        if (stop?.aborted === true) return false;
        this.#rest_until_ms.set(campaign_id, clock.now_ms() + REST_MS);
        logger.warn({ err: error, campaign_id }, 'a batch of messages failed; its queue rests');
        return false;
      })
      .then((worked) => {
        this.#running.delete(key);
        return worked ? ('worked' as const) : undefined;
      });
    this.#running.set(key, serving);
  }

  async #showAlive(): Promise<void> {
    const { postgres, clock, logger } = this.#platform;
    if (clock.now_ms() < this.#shown_alive_ms + SHOW_ALIVE_EVERY_MS) return;
    await showAlive(postgres.service, this.#messenger_id, ALIVE_MS);
    this.#shown_alive_ms = clock.now_ms();
    const lost = this.#running.size === 0 ? this.#messenger_id : undefined;
    const orphans = await failOrphans(postgres.service, lost);
    if (orphans > 0)
      logger.warn(
        { orphans },
        'messages that were being sent when their messenger died are of unknown outcome',
      );
  }

  async #serve(queue: SendQueue, stop: AbortSignal | undefined): Promise<boolean> {
    const { postgres, clock, metrics } = this.#platform;
    const [provider] = await selectProvidersByIds(postgres.service, queue.tenant_id, [queue.provider_id]);
    const is_gone = provider === undefined || provider.deleted_at !== null;
    const transport = is_gone || queue.is_cancelled ? undefined : this.#transports.open(provider);
    const limit =
      transport === undefined
        ? MAX_BATCH
        : await transport.permits(MAX_BATCH, (most) =>
            countDue(postgres.service, queue, new Date(clock.now_ms()), most),
          );
    if (limit === 0) return false;
    const claimed = await this.#claim(queue, { has_provider: transport !== undefined, limit }, stop);
    const mine = claimed.filter(({ status }) => status === 'sending');
    if (transport !== undefined && mine.length > 0) {
      const results = await this.#deliver(queue, transport, mine);
      const now = new Date(clock.now_ms());
      await retryLostRaces(() => postgres.service.begin((tx) => recordResults(tx, queue, results, now)));
      for (const { status } of results) metrics.messagesSent.inc({ channel: queue.channel, outcome: status });
    }
    return claimed.length > 0;
  }

  /** One lane at a time claims of a project, while the others deliver; another messenger's turn is not waited for. */
  async #claim(
    queue: SendQueue,
    terms: Pick<ClaimTerms, 'has_provider' | 'limit'>,
    stop: AbortSignal | undefined,
  ): Promise<ClaimedSend[]> {
    const before = this.#claiming.get(queue.project_id);
    const claim = Promise.resolve(before).then(() => this.#claimNow(queue, terms, stop));
    const settled = claim.then(
      () => undefined,
      () => undefined,
    );
    this.#claiming.set(queue.project_id, settled);
    try {
      return await claim;
    } finally {
      if (this.#claiming.get(queue.project_id) === settled) this.#claiming.delete(queue.project_id);
    }
  }

  async #claimNow(
    queue: SendQueue,
    terms: Pick<ClaimTerms, 'has_provider' | 'limit'>,
    stop: AbortSignal | undefined,
  ): Promise<ClaimedSend[]> {
    const { postgres, clock } = this.#platform;
    // The fence: an exclusion accepted before this moment is folded before the gate looks; `counted_at` tells the moment.
    const fenced_at = new Date(clock.now_ms());
    await waitUntilFolded(this.#platform, FENCE_WAIT_MS, stop);
    return postgres.service.begin(async (tx) => {
      if (!(await tryLockMessages(tx, queue))) return [];
      const now = new Date(clock.now_ms());
      const gate = await tenantGateAt(tx, queue, now, () => selectQueuedZones(tx, queue, now, terms.limit));
      return claimSends(tx, queue, { ...terms, messenger_id: this.#messenger_id, fenced_at }, gate);
    });
  }

  async #deliver(
    queue: SendQueue,
    transport: OpenedTransport,
    claimed: readonly ClaimedSend[],
  ): Promise<SendResultRow[]> {
    const { clock, logger } = this.#platform;
    const templates = await this.#templatesOf(queue, claimed);
    const results: SendResultRow[] = [];
    const ready: { row: ClaimedSend; message: Message }[] = [];
    for (const [i, row] of claimed.entries()) {
      if (i % RENDERED_AT_ONCE === RENDERED_AT_ONCE - 1) await setImmediate();
      const message = this.#render(queue, row, templates.get(row.template_id ?? ''));
      if (message === undefined) results.push(unrendered(row.send_id));
      else ready.push({ row, message });
    }
    const outcomes = await transport.deliver(ready.map(({ message }) => message));
    const now_ms = clock.now_ms();
    for (const [i, { row }] of ready.entries()) {
      const outcome: Outcome = outcomes[i] ?? { kind: 'unknown', reason: 'the transport said nothing of it' };
      if (outcome.kind !== 'sent') {
        logger.warn(
          { send_id: row.send_id, outcome: outcome.kind, reason: outcome.reason },
          'a message was not sent',
        );
      }
      results.push(resultOf(row.send_id, row.attempts, outcome, now_ms));
    }
    return results;
  }

  async #templatesOf(
    queue: SendQueue,
    claimed: readonly ClaimedSend[],
  ): Promise<Map<string, CompiledTemplate>> {
    const ids = new Set(claimed.flatMap(({ template_id }) => (template_id === null ? [] : [template_id])));
    const sources = await selectSources(this.#platform.postgres.service, queue, [...ids]);
    const compiled = sources.flatMap((source) => {
      const key = `${source.template_id} ${source.updated_at.getTime()}`;
      const template = this.#templates.get(key) ?? this.#compile(source);
      if (template === undefined) return [];
      this.#templates.set(key, template);
      return [[source.template_id, template] as const];
    });
    return new Map(compiled);
  }

  /** Undefined for one that was stored when the language was another. */
  #compile(source: SourceTemplate): CompiledTemplate | undefined {
    try {
      return compileTemplate(source);
    } catch (error) {
      this.#platform.logger.warn({ err: error, template_id: source.template_id }, 'a template is unusable');
      return undefined;
    }
  }

  /** Undefined when there is nothing to send: the template fails for this player, or says nothing. */
  #render(queue: SendQueue, row: ClaimedSend, template: CompiledTemplate | undefined): Message | undefined {
    if (template === undefined) return undefined;
    const { channel, tenant_id, project_id } = queue;
    const { send_id, player_id, recipient } = row;
    const { credentials_key, public_url } = this.#settings;
    const who = { tenant_id, project_id, player_id, channel, address: recipient };
    const { url, headers } = unsubscribeHeaders(credentials_key, public_url, who);
    try {
      const scope = playerScope(row, { context: row.context, unsubscribe_url: url });
      const rendered = renderMessage(template, scope);
      if (isBlank(rendered)) return undefined;
      const { subject, preheader, body, data } = rendered;
      const of_email = channel === 'email' ? headers : {};
      return { channel, recipient, subject, preheader, body, data, headers: of_email, send_id };
    } catch (error) {
      this.#platform.logger.warn({ err: error, send_id }, 'a template could not be rendered');
      return undefined;
    }
  }

  #secretsOf({ tenant_id, provider_id, credentials }: ProviderRow): Record<string, unknown> {
    if (credentials === null) return {};
    return unseal(this.#settings.credentials_key, { tenant_id, provider_id }, credentials);
  }
}
