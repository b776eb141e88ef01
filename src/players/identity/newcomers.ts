import type { EndpointBulkhead } from '../../http/endpoint-bulkhead.ts';
import type { Platform } from '../../platform/platform.ts';
import { newId } from '../../platform/ids.ts';
import { isDoubtful } from '../../platform/postgres/exclusive-pool.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import { limitBatch, TransactionBatcher, type BatchOutcome } from '../../platform/transaction-batcher.ts';
import { protectNewcomers } from '../../protection/exclusions/kept.ts';
import type { PlayerDependent } from '../dependents.ts';
import { attributesTooLarge } from '../profile/change.ts';
import { isEmptyPatch, maxBytesOf, type ProfilePatch } from '../profile/profile-patch.ts';
import {
  decideFor,
  guardedOf,
  knownAt,
  patchWithout,
  refusedOf,
  resultOf,
  type Asked,
  type Decided,
} from './asked.ts';
import { insertPlayers, type NewPlayer } from './queries.ts';
import type { IdentifyResult } from './schema.ts';

/** What making players needs. */
export interface NewcomerDeps extends Pick<Platform, 'postgres' | 'clock' | 'logger'> {
  /** They note players who are made, and their rows of a player are moved when players are merged. */
  dependents: readonly PlayerDependent[];
  /** The key under which protections of erased people are kept. */
  erasure_key: Buffer;
}

/** A player who is to be made, and the answer to the call. */
export interface Newcomer extends NewPlayer {
  patch: ProfilePatch;
  result: IdentifyResult;
}

/** The player of a call of whose ids `decided` has found no player to go on with. */
export function newcomerOf(asked: Asked, decided: Decided, now_ms: number): Newcomer {
  const { decision, ids } = decided;
  const refused = refusedOf(guardedOf(asked), ids, undefined, undefined);
  const patch = patchWithout(asked.traits, refused);
  const player_id = newId();
  return {
    ...asked.project,
    player_id,
    external_id: ids.external_id ?? null,
    anonymous_id: decision.link_anonymous_id ? (ids.anonymous_id ?? null) : null,
    status: decision.conflict ? 'conflict' : 'active',
    email: patch.columns.email ?? null,
    phone: patch.columns.phone ?? null,
    telegram_id: patch.columns.telegram_id ?? null,
    timezone: patch.columns.timezone ?? null,
    currency: patch.columns.default_currency_code ?? null,
    asked_currency: asked.traits.default_currency_code ?? null,
    attributes: patch.attributes,
    // Anybody could otherwise make what the tenant's servers say of a player older than what is known.
    identified_at: asked.is_proven && !isEmptyPatch(patch) ? knownAt(asked, now_ms) : null,
    has_dated_traits: asked.at_ms !== undefined && asked.is_proven && !isEmptyPatch(patch),
    max_bytes: maxBytesOf(asked.is_proven),
    patch,
    result: resultOf(player_id, decided, refused),
  };
}

/** What became of a newcomer. `taken`: nothing was written, because an id is another player's or the currency is not active. */
type Fate = { kind: 'made' } | { kind: 'taken' } | { kind: 'refused'; error: Error };

/**
 * Makes players with different ids, each with its traits, and gives them what is kept of erased people who had their
 * addresses. Rejects with {@link WriteConflict} when a part of one was written: then the transaction must be rolled back.
 */
export async function makePlayers(
  { dependents, erasure_key }: Pick<NewcomerDeps, 'dependents' | 'erasure_key'>,
  tx: Tx,
  newcomers: readonly Newcomer[],
  now: Date,
): Promise<Fate[]> {
  const inserted = await insertPlayers(tx, newcomers, now);
  if (inserted.some(({ is_linked, is_made }) => is_linked && !is_made))
    throw new WriteConflict('an id was taken');
  const made = newcomers.filter((_, i) => inserted[i]?.is_made);
  if (made.length > 0) {
    const written = made.map(({ patch: { columns, attributes }, external_id, ...ref }) => ({
      ref,
      written: { columns: { ...columns, external_id: external_id ?? undefined }, attributes },
    }));
    await Promise.all([
      ...dependents.map((dependent) => dependent.onCreate?.(tx, made)),
      protectNewcomers(tx, erasure_key, written, now),
    ]);
  }
  return newcomers.map(({ max_bytes }, i) => {
    const { is_made = false, bytes = 0 } = inserted[i] ?? {};
    if (is_made) return { kind: 'made' };
    return bytes > max_bytes ? { kind: 'refused', error: attributesTooLarge(max_bytes) } : { kind: 'taken' };
  });
}

/**
 * Makes the players of calls whose ids nobody has: those of one tenant that are asked for together share a transaction
 * ({@link TransactionBatcher}). It waits for no id longer than a lot may: what somebody has taken meanwhile, and each call of a lot
 * that Postgres refuses, goes alone.
 */
export class Newcomers {
  readonly #deps: NewcomerDeps;
  readonly #batcher: TransactionBatcher<Asked, IdentifyResult>;

  /** A lot takes a place of `places`; `alone` runs a call in a transaction of its own. */
  constructor(
    deps: NewcomerDeps,
    places: EndpointBulkhead,
    alone: (asked: Asked) => Promise<IdentifyResult>,
  ) {
    this.#deps = deps;
    this.#batcher = new TransactionBatcher({
      kindOf: ({ project }) => project.tenant_id,
      groupOf: ({ project }) => project.tenant_id,
      namesOf: ({ project, ids }) => [
        ...(ids.anonymous_id === undefined ? [] : [`anonymous ${project.project_id} ${ids.anonymous_id}`]),
        ...(ids.external_id === undefined ? [] : [`external ${project.project_id} ${ids.external_id}`]),
      ],
      runBatch: async (lot) => places.run(lot[0]?.project.tenant_id, () => this.#runBatch(lot), true),
      retryAlone: {
        run: alone,
        isFinal: isDoubtful,
        onFailure: (err) => deps.logger.debug({ err }, 'a lot of new players is made one by one'),
      },
    });
  }

  /** Resolves with the committed answer. Rejects with TooBusy when too many wait, and as the call alone does. */
  make(asked: Asked): Promise<IdentifyResult> {
    return this.#batcher.run(asked);
  }

  #runBatch(lot: readonly Asked[]): Promise<BatchOutcome<IdentifyResult>[]> {
    const now_ms = this.#deps.clock.now_ms();
    const newcomers = lot.map((asked) => newcomerOf(asked, decideFor(asked, {}), now_ms));
    return this.#deps.postgres.asTenant(lot[0]?.project.tenant_id ?? '', async (tx) => {
      const [, fates] = await Promise.all([
        limitBatch(tx),
        makePlayers(this.#deps, tx, newcomers, new Date(now_ms)),
      ]);
      return newcomers.map(({ result }, i) => {
        const fate = fates[i];
        if (fate?.kind === 'made') return { kind: 'done', value: result };
        return fate?.kind === 'refused' ? fate : { kind: 'retry_alone' };
      });
    });
  }
}
