import { ApiError, validationError } from '../../errors.ts';
import { issuesOf } from '../../http/error-handler.ts';
import { EndpointBulkhead } from '../../http/endpoint-bulkhead.ts';
import { refuseUnstorable } from '../../http/json-body.ts';
import type { ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import { newAddresses, protectAgain } from '../../protection/exclusions/kept.ts';
import { applyPatch } from '../profile/change.ts';
import { isEmptyPatch, maxBytesOf, withoutOverwriting, type ProfilePatch } from '../profile/profile-patch.ts';
import { lockKnownTraits, lockPlayer, noteIdentified } from '../profile/queries.ts';
import { playerNotFound } from '../profile/read.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { WriteConflict, isWriteConflict, isOverflow, retryConflicts } from '../../platform/postgres/retry.ts';
import type { PlayerRef } from '../player-ref.ts';
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
import type { NamedPlayer } from './decide.ts';
import {
  findNamed,
  isActiveCurrency,
  linkAnonymousId,
  markConflict,
  namedOf,
  selectKnown,
  type KnownPlayer,
} from './queries.ts';
import { mergePlayer } from './merge-queries.ts';
import { makePlayers, newcomerOf, Newcomers, type NewcomerDeps } from './newcomers.ts';
import { identifyBody, type IdentifyBody, type IdentifyResult } from './schema.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

/** Whose project it is, and whether the caller must prove who the user is. An API key's principal is one. */
export type IdentifyCaller = ProjectRef & Pick<ApiKeyPrincipal, 'kind' | 'provesUser'>;

/** Identify: which player ids mean, and what is known of the player. */
export class Identifier {
  readonly #deps: NewcomerDeps;
  readonly #newcomers: Newcomers;
  /** Calls and lots of new players hold as many connections as the requests of any endpoint. */
  readonly #places = new EndpointBulkhead();

  constructor(deps: NewcomerDeps) {
    this.#deps = deps;
    this.#newcomers = new Newcomers(
      deps,
      this.#places,
      async (asked) => (await this.#read(asked)).unchanged ?? this.#alone(asked),
    );
  }

  /**
   * Finds or creates the player of the ids, merges other players into it, links the ids and writes the traits; `decide`
   * makes the decisions. A call that changes nothing is one read, unless the time of its traits is to be noted. Players
   * whose ids nobody has share transactions ({@link Newcomers}); every other call is a transaction of its own, which reads
   * again. Other identify calls and the fold, which creates players for unknown anonymous_ids, may run at the same time:
   * the key of `player_identities` lets only one of them create a link. Locks are taken in the order identities, players,
   * player_totals. A merge moves and links identities last; a deadlock that results is a write conflict and is retried. A
   * client key without the `user_hash` of the external_id changes the ids of no player who exists. It sets no guarded trait
   * of a player with an external_id, and of another player none that is set already; `ignored` names what was not set. A
   * currency that is not active is refused, also where it would not be set. `at_ms`: when the traits were known; absent:
   * now. Traits that are older than those of an earlier call overwrite nothing. Rejects with PLAYER_NOT_FOUND,
   * VALIDATION_ERROR, SERVICE_UNAVAILABLE (repeated write conflicts), TooBusy or CONFLICT (the sum of the totals does not
   * fit a 64-bit integer).
   */
  async identify(
    caller: IdentifyCaller,
    { user_hash, traits = {}, ...ids }: IdentifyBody,
    at_ms?: number,
  ): Promise<IdentifyResult> {
    const { tenant_id, project_id } = caller;
    const { external_id } = ids;
    const is_proven =
      caller.kind !== 'client' || (external_id !== undefined && caller.provesUser(external_id, user_hash));
    const asked = { project: { tenant_id, project_id }, ids, traits, at_ms, is_proven };
    const { unchanged, is_newcomer } = await this.#read(asked);
    return unchanged ?? (is_newcomer ? this.#newcomers.make(asked) : this.#alone(asked));
  }

  /** {@link identify} for a body that was not checked, as the endpoint checks it: rejects with VALIDATION_ERROR, too. */
  async identifyChecked(caller: IdentifyCaller, given: unknown, at_ms?: number): Promise<IdentifyResult> {
    refuseUnstorable(given);
    const parsed = identifyBody.safeParse(given);
    if (!parsed.success) throw validationError(issuesOf(parsed.error, given));
    return this.identify(caller, parsed.data, at_ms);
  }

  /**
   * The answer to a call that changes nothing, from one statement and so from one state of the database; undefined: the call
   * may change something. `is_newcomer`: nobody has its ids.
   */
  async #read(asked: Asked): Promise<{ unchanged?: IdentifyResult | undefined; is_newcomer: boolean }> {
    const { project, ids, traits } = asked;
    const guarded = guardedOf(asked);
    const patch = patchWithout(traits, guarded);
    const known = { currency: traits.default_currency_code, is_named: guarded.length > 0 };
    const rows = await this.#places.run(project.tenant_id, () =>
      this.#deps.postgres.readAsTenant(project.tenant_id, (tx) =>
        selectKnown(tx, project, ids, patch, known),
      ),
    );
    const unchanged = unchangedOf(asked, patch, rows, this.#deps.clock.now_ms());
    return { unchanged, is_newcomer: rows.length === 0 && ids.player_id === undefined };
  }

  async #alone(asked: Asked): Promise<IdentifyResult> {
    try {
      const { tenant_id } = asked.project;
      return await this.#places.run(tenant_id, () =>
        retryConflicts(() =>
          this.#deps.postgres.asTenant(tenant_id, (tx) => identifyOnce(this.#deps, tx, asked)),
        ),
      );
    } catch (error) {
      if (isOverflow(error)) {
        const message = 'the totals of the players that these ids name add up to more than 64 bits hold';
        throw new ApiError('CONFLICT', message, { cause: error });
      }
      if (!isWriteConflict(error)) throw error;
      const message = 'these ids are being identified by others right now; try again';
      throw new ApiError('SERVICE_UNAVAILABLE', message, { cause: error });
    }
  }
}

/** The answer to a call if `rows`, which its ids name, have all that it says; `patch` are its traits that are not guarded. */
function unchangedOf(
  asked: Asked,
  patch: ProfilePatch,
  rows: readonly KnownPlayer[],
  now_ms: number,
): IdentifyResult | undefined {
  const decided = decideFor(asked, namedOf(rows));
  const { target, set_external_id, link_anonymous_id, merge, conflict } = decided.decision;
  const known = rows.find(({ player_id }) => player_id === target?.player_id);
  if (target === undefined || known === undefined || !known.has_traits) return undefined;
  if (set_external_id || link_anonymous_id || merge.length > 0 || conflict) return undefined;
  const guarded = guardedOf(asked);
  const refused = refusedOf(guarded, asked.ids, target, known);
  if (refused.length < guarded.length) return undefined;
  // When the traits were known is noted, also of those that the player has already: by calls that say it, and then by all.
  const { identified_at, has_dated_traits } = known;
  const is_noted = has_dated_traits && identified_at !== null && identified_at >= knownAt(asked, now_ms);
  const is_dated = saysWhen(asked, patch) || (has_dated_traits && !isEmptyPatch(patch));
  if (is_dated && asked.is_proven && !is_noted) return undefined;
  return resultOf(target.player_id, decided, refused);
}

/** Whether a call says when what it sets was known. */
function saysWhen({ at_ms }: Asked, patch: ProfilePatch): boolean {
  return at_ms !== undefined && !isEmptyPatch(patch);
}

async function identifyOnce(deps: NewcomerDeps, tx: Tx, asked: Asked): Promise<IdentifyResult> {
  const { project, ids, traits } = asked;
  const code = traits.default_currency_code;
  const [named, isKnownCurrency] = await Promise.all([
    findNamed(tx, project, ids),
    code === undefined ? true : isActiveCurrency(tx, project.tenant_id, code),
  ]);
  if (!isKnownCurrency) {
    throw validationError([
      { path: 'traits.default_currency_code', message: "is not in the tenant's catalogue" },
    ]);
  }
  if (ids.player_id !== undefined && named.by_player_id === undefined) throw playerNotFound(ids.player_id);
  const decided = decideFor(asked, named);
  const { target } = decided.decision;
  if (target === undefined) {
    const now_ms = deps.clock.now_ms();
    const newcomer = newcomerOf(asked, decided, now_ms);
    const [fate] = await makePlayers(deps, tx, [newcomer], new Date(now_ms));
    if (fate?.kind === 'refused') throw fate.error;
    if (fate?.kind !== 'made') throw new WriteConflict('an id was taken');
    return newcomer.result;
  }
  const ref = { ...project, player_id: target.player_id };
  const guarded = guardedOf(asked);
  // Such a player is locked until the transaction ends.
  const known =
    guarded.length > 0 && target.external_id === null ? await lockKnownTraits(tx, ref) : undefined;
  const refused = refusedOf(guarded, ids, target, known);
  await change(deps, tx, asked, { ...decided, target }, patchWithout(traits, refused));
  return resultOf(ref.player_id, decided, refused);
}

/** Merges, links and writes what was decided about a player who exists. */
async function change(
  { clock, dependents, erasure_key }: NewcomerDeps,
  tx: Tx,
  asked: Asked,
  { target, decision, ids: { anonymous_id, external_id } }: Decided & { target: NamedPlayer },
  traits: ProfilePatch,
): Promise<void> {
  const { project, is_proven } = asked;
  const { set_external_id, link_anonymous_id, merge, conflict } = decision;
  const ref = { ...project, player_id: target.player_id };
  const now_ms = clock.now_ms();
  const now = new Date(now_ms);
  const link = link_anonymous_id ? (anonymous_id ?? null) : null;
  const known_at = knownAt(asked, now_ms);
  // Anybody could otherwise make what the tenant's servers say of a player older than what is known.
  const identified_at = is_proven ? known_at : undefined;
  let patch = traits;
  if (set_external_id && external_id !== undefined) patch.columns.external_id = external_id;
  if (link === null && merge.length === 0 && !conflict && isEmptyPatch(patch)) return;
  for (const { player_id } of merge)
    await mergePlayer(tx, { ...ref, player_id, into_player_id: ref.player_id }, now, dependents);
  const says_when = saysWhen(asked, patch);
  const has_traits = !isEmptyPatch(traits);
  const linking = link === null ? true : linkAnonymousId(tx, { ...ref, anonymous_id: link }, now);
  if (says_when) [, patch] = await Promise.all([linking, newerPart(tx, ref, patch, known_at)]);
  // One round trip; the statements run in this order, each under the locks of those before it.
  const [won, locked, , addresses] = await Promise.all([
    linking,
    lockPlayer(tx, ref),
    conflict ? markConflict(tx, ref, now) : undefined,
    newAddresses(tx, ref, patch),
    applyPatch(tx, ref, patch, now_ms, { identified_at, max_bytes: maxBytesOf(is_proven) }),
    identified_at !== undefined && has_traits ? noteIdentified(tx, ref, identified_at, says_when) : undefined,
  ]);
  if (!won) throw new WriteConflict('the anonymous_id was taken');
  if (locked?.external_id !== target.external_id) throw new WriteConflict('the external_id was set');
  if ((locked.deleted_at !== null) !== target.deleted) throw new WriteConflict('the player was deleted');
  await protectAgain(tx, erasure_key, ref, addresses, now);
}

/** The patch, or of one that is older than what identify has written last, what the player does not have. */
async function newerPart(tx: Tx, ref: PlayerRef, patch: ProfilePatch, known_at: Date): Promise<ProfilePatch> {
  const known = await lockKnownTraits(tx, ref);
  if (known?.identified_at == null || known.identified_at <= known_at) return patch;
  return withoutOverwriting(patch, known);
}
