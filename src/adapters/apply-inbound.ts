import { createHash } from 'node:crypto';
import type { Maybe } from '../http/auth/maybe.ts';
import { ApiError } from '../errors.ts';
import { LIMITS, EndpointBulkhead, type BulkheadLimits } from '../http/endpoint-bulkhead.ts';
import {
  limitBatch,
  BATCH_LIMITS,
  TransactionBatcher,
  type BatchOutcome,
} from '../platform/transaction-batcher.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Postgres, Tx } from '../platform/postgres/port.ts';
import { retryConflicts } from '../platform/postgres/retry.ts';
import { insertApplied, insertWebhook, selectBodyHash, selectKnown, storeResult } from './ledger-queries.ts';
import type { AdapterRef } from './queries.ts';

/** A webhook whose signature and body have been checked. Whether it is new is decided when it is applied. */
export interface Inbound<Event> {
  adapter: { adapter_id: string; slug: string };
  tenant_id: string;
  project_id: string;
  event: Event;
  received_at: Date;
}

/** Webhooks of one adapter that share a transaction. */
export interface InboundLot<Event, Result> {
  /**
   * What the event comes to, after those for which this was called before; nothing is written yet. Undefined: it is to be
   * applied alone, after the lot. An ApiError that it throws refuses this event and no other.
   */
  apply(call: Inbound<Event>): Result | undefined;
  /** Writes the effects of all that was applied, in the transaction that has begun the lot. */
  write(): Promise<unknown>;
}

/** How the events of one kind of webhook have their effects. */
export interface InboundEffect<Event extends { event_id: string }, Result extends object, Prepared> {
  /** The last part of the path: `POST /v1/adapters/:slug/webhooks/<name>`. */
  name: string;
  /**
   * Reads and locks what `apply` needs. Its first statement is sent together with the one that writes the ledger's row,
   * and runs after it, also for a replay: it must not fail for what an event says.
   */
  prepare?(tx: Tx, call: Inbound<Event>): Promise<Prepared>;
  /**
   * Has the effect of the event, in the transaction that writes its row of the ledger; resolves with the answer, which is
   * stored. An ApiError that it throws rolls both back, so that the platform's retry is not a replay.
   */
  apply(tx: Tx, call: Inbound<Event>, prepared: Prepared | undefined): Promise<Result>;
  /**
   * Reads and locks what the events need, also those that are replays, without waiting for locks that others hold. Absent:
   * each webhook has a transaction of its own.
   */
  lot?: (tx: Tx, calls: readonly Inbound<Event>[]) => Promise<InboundLot<Event, Result>>;
  /** Counts the event, once that transaction is committed, which may have been repeated; never throws. */
  committed?: (call: Inbound<Event>) => void;
}

/** An adapter that sends webhooks. */
export interface Sender extends AdapterRef {
  slug: string;
}

/** What one webhook is applied with. */
export interface Received<Event> {
  adapter: Sender;
  event: Event;
  received_at: Date;
  body: Buffer;
}

/** The answer to a webhook that had its effect before. */
export const REPLAYED = { applied: false, replay: true } as const;

interface ApplyDeps {
  postgres: Postgres;
  metrics: Pick<Metrics, 'webhookConflictingReplay' | 'bonusLotsUndone'>;
  /** How many transactions run at once, and how many webhooks wait; by default as many as of any endpoint. */
  limits?: BulkheadLimits;
}

/** A webhook of a lot. */
interface Member<Event> {
  call: Inbound<Event>;
  adapter: Sender;
  event_id: string;
  body_hash: Buffer;
}

/** What is decided about a webhook in the transaction of its lot. */
type Decided<Result> =
  | { kind: 'applied'; result: Result }
  | { kind: 'replay'; is_conflicting: boolean }
  | { kind: 'refused'; error: ApiError }
  | { kind: 'retry_alone' };

/**
 * Applies webhooks, each once. Those of one adapter that come while a transaction of this adapter is under way share the
 * next one. Such a lot waits for nobody: what is held by others, and everything of a lot that fails, is applied alone, in
 * transactions and places of its own, so that it does not delay a lot.
 */
export class InboundApplier<Event extends { event_id: string }, Result extends object, Prepared> {
  readonly #deps: ApplyDeps;
  readonly #effect: InboundEffect<Event, Result, Prepared>;
  readonly #alone: EndpointBulkhead;
  readonly #batcher: TransactionBatcher<Member<Event>, Result | typeof REPLAYED> | undefined;

  constructor(deps: ApplyDeps, effect: InboundEffect<Event, Result, Prepared>) {
    this.#deps = deps;
    this.#effect = effect;
    const { limits = LIMITS } = deps;
    const { lot } = effect;
    if (lot === undefined) {
      this.#alone = new EndpointBulkhead(limits);
      return;
    }
    // Together they hold as many connections as one bulkhead.
    const half = { ...limits, max_running: Math.ceil(limits.max_running / 2) };
    this.#alone = new EndpointBulkhead(half);
    const lots = new EndpointBulkhead(half);
    const { waiting } = limits;
    this.#batcher = new TransactionBatcher(
      {
        kindOf: ({ adapter }) => adapter.adapter_id,
        groupOf: ({ adapter }) => adapter.tenant_id,
        namesOf: () => [],
        runBatch: async (members) =>
          lots.run(members[0]?.adapter.tenant_id, () => this.#applyTogether(lot, members), true),
        retryAlone: {
          run: async (member) => this.#applyAlone(member),
          // An ApiError: the bulkhead has not begun it. After another error a second run replays what was committed after all.
          isFinal: (error) => error instanceof ApiError,
          onFailure: () => deps.metrics.bonusLotsUndone.inc({ work: effect.name }),
        },
      },
      {
        ...BATCH_LIMITS,
        waiting: { ...waiting, max_waiting_of_group: Math.ceil(waiting.max_waiting / 2) },
      },
    );
  }

  /**
   * Resolves with the answer. Rejects with the ApiError that refuses the event, TooBusy, SERVICE_UNAVAILABLE, or an error
   * of Postgres; then nothing is stored.
   */
  async apply({ adapter, event, received_at, body }: Received<Event>): Promise<Result | typeof REPLAYED> {
    const { tenant_id, project_id, adapter_id, slug } = adapter;
    const call = { adapter: { adapter_id, slug }, tenant_id, project_id, event, received_at };
    const body_hash = createHash('sha256').update(body).digest();
    const member = { call, adapter, event_id: event.event_id.toLowerCase(), body_hash };
    return this.#batcher?.run(member) ?? this.#applyAlone(member);
  }

  /** Applies the webhooks of a lot in one transaction. */
  async #applyTogether(
    begin: NonNullable<InboundEffect<Event, Result, Prepared>['lot']>,
    members: readonly Member<Event>[],
  ): Promise<BatchOutcome<Result | typeof REPLAYED>[]> {
    const [first] = members;
    if (first === undefined) return [];
    const decided = await this.#deps.postgres.asTenant(first.adapter.tenant_id, (tx) =>
      this.#applyLot(tx, begin, members, first.adapter),
    );
    return members.map((member, i) => {
      const one = decided[i] ?? { kind: 'retry_alone' };
      if (one.kind === 'applied') {
        this.#effect.committed?.(member.call);
        return { kind: 'done', value: one.result };
      }
      return one.kind === 'replay'
        ? { kind: 'done', value: this.#replayed(member, one.is_conflicting) }
        : one;
    });
  }

  async #applyLot(
    tx: Tx,
    begin: NonNullable<InboundEffect<Event, Result, Prepared>['lot']>,
    members: readonly Member<Event>[],
    { tenant_id, project_id, slug: adapter_slug }: Sender,
  ): Promise<Decided<Result>[]> {
    const ids = [...new Set(members.map(({ event_id }) => event_id))];
    const [, lot, rows] = await Promise.all([
      limitBatch(tx),
      begin(
        tx,
        members.map(({ call }) => call),
      ),
      selectKnown(tx, { tenant_id, adapter_slug }, ids),
    ]);
    const known = new Map(rows.map(({ event_id, body_hash }) => [event_id, body_hash]));
    const decided = decide(lot, members, known);
    const applied = members.flatMap(({ event_id, body_hash, call: { received_at } }, i) => {
      const one = decided[i];
      return one?.kind === 'applied' ? { event_id, body_hash, received_at, result: one.result } : [];
    });
    const ledger = { tenant_id, project_id, adapter_slug, name: this.#effect.name };
    await Promise.all([insertApplied(tx, ledger, applied), lot.write()]);
    return decided;
  }

  #applyAlone(member: Member<Event>): Maybe<Result | typeof REPLAYED> {
    return this.#alone.run(member.adapter.tenant_id, () => this.#applyOnce(member));
  }

  async #applyOnce(member: Member<Event>): Promise<Result | typeof REPLAYED> {
    const { call, adapter, event_id, body_hash } = member;
    const { tenant_id, project_id, slug: adapter_slug } = adapter;
    const { postgres } = this.#deps;
    const effect = this.#effect;
    const key = { tenant_id, adapter_slug, event_id };
    const result = await retryConflicts(() =>
      postgres.asTenant(tenant_id, async (tx) => {
        const row = { ...key, project_id, name: effect.name, body_hash, received_at: call.received_at };
        const [is_new, prepared] = await Promise.all([insertWebhook(tx, row), effect.prepare?.(tx, call)]);
        if (!is_new) return undefined;
        const applied = await effect.apply(tx, call, prepared);
        await storeResult(tx, key, applied);
        return applied;
      }),
    );
    if (result !== undefined) {
      effect.committed?.(call);
      return result;
    }
    const [before] = await postgres.readAsTenant(tenant_id, (tx) => selectBodyHash(tx, key));
    return this.#replayed(member, before?.body_hash.equals(body_hash) === false);
  }

  #replayed({ adapter }: Member<Event>, is_conflicting: boolean): typeof REPLAYED {
    if (is_conflicting) this.#deps.metrics.webhookConflictingReplay.inc({ adapter: adapter.slug });
    return REPLAYED;
  }
}

/** What each webhook of a lot comes to, in order. `known` has the hashes of the bodies that had their effect. */
function decide<Event, Result>(
  lot: InboundLot<Event, Result>,
  members: readonly Member<Event>[],
  known: Map<string, Buffer>,
): Decided<Result>[] {
  const behind = new Set<string>();
  return members.map(({ call, event_id, body_hash }) => {
    const before = known.get(event_id);
    if (before !== undefined) return { kind: 'replay', is_conflicting: !before.equals(body_hash) };
    // The one before it under this id is yet to be applied.
    if (behind.has(event_id)) return { kind: 'retry_alone' };
    let result: Result | undefined;
    try {
      result = lot.apply(call);
    } catch (error) {
      if (error instanceof ApiError) return { kind: 'refused', error };
      throw error;
    }
    if (result === undefined) {
      behind.add(event_id);
      return { kind: 'retry_alone' };
    }
    known.set(event_id, body_hash);
    return { kind: 'applied', result };
  });
}
