import { ApiError, validationError } from '../../errors.ts';
import { issuesOf } from '../../http/error-handler.ts';
import { refuseUnstorable } from '../../http/json-body.ts';
import type { ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import { newAddresses, protectAgain } from '../../protection/exclusions/kept.ts';
import { applyPatch } from '../profile/change.ts';
import {
  isEmptyPatch,
  MAX_ATTRIBUTES_BYTES,
  MAX_UNPROVEN_BYTES,
  splitAttributes,
  withoutOverwriting,
  type ProfilePatch,
} from '../profile/profile-patch.ts';
import { lockKnownTraits, lockPlayer, noteIdentified, type KnownTraits } from '../profile/queries.ts';
import { playerNotFound } from '../profile/read.ts';
import { newId } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { WriteConflict, isWriteConflict, isOverflow, retryConflicts } from '../../platform/postgres/retry.ts';
import type { PlayerDependent } from '../dependents.ts';
import type { PlayerRef } from '../player-ref.ts';
import {
  decide,
  withoutProof,
  type Decision,
  type GivenIds,
  type Named,
  type NamedPlayer,
} from './decide.ts';
import { guardedAndKnown, isGuardedTrait } from './guarded-traits.ts';
import {
  findNamed,
  insertPlayer,
  isActiveCurrency,
  linkAnonymousId,
  markConflict,
  namedOf,
  selectKnown,
} from './queries.ts';
import { mergePlayer } from './merge-queries.ts';
import { identifyBody, type IdentifyBody, type IdentifyResult, type Traits } from './schema.ts';
import type { Platform } from '../../platform/platform.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';

interface Deps extends Pick<Platform, 'postgres' | 'clock'> {
  /** Their rows of a player are moved when players are merged. */
  dependents: readonly PlayerDependent[];
  /** The key under which protections of erased people are kept. */
  erasure_key: Buffer;
}

/** Whose project it is, and whether the caller must prove who the user is. An API key's principal is one. */
export type IdentifyCaller = ProjectRef & Pick<ApiKeyPrincipal, 'kind' | 'provesUser'>;

/**
 * Finds or creates the player of the ids, merges other players into it, links the ids and writes the traits; `decide` makes
 * the decisions. A call that changes nothing is one read. Every other call is one transaction, which reads again. Other
 * identify calls and the fold, which creates players for unknown
 * anonymous_ids, may run at the same time: the key of `player_identities` lets only one of them create a link. Locks
 * are taken in the order identities, players, player_totals. A merge moves and links identities last; a deadlock that
 * results is a write conflict and is retried. A client key without the `user_hash` of the external_id changes the ids of no
 * player who exists. It sets no guarded trait of a player with an external_id, and of another player none that is set
 * already; `ignored` names what was left out. `at_ms`: when the traits were known; absent: now. Traits that are older than
 * those of an earlier call overwrite nothing. Rejects with PLAYER_NOT_FOUND, VALIDATION_ERROR, SERVICE_UNAVAILABLE
 * (repeated write conflicts) or CONFLICT (the sum of the totals does not fit a 64-bit integer).
 */
export async function identify(
  deps: Deps,
  caller: IdentifyCaller,
  { user_hash, traits = {}, ...ids }: IdentifyBody,
  at_ms?: number,
): Promise<IdentifyResult> {
  const { tenant_id, project_id } = caller;
  const { external_id } = ids;
  const is_proven =
    caller.kind !== 'client' || (external_id !== undefined && caller.provesUser(external_id, user_hash));
  const asked = { project: { tenant_id, project_id }, ids, traits, at_ms, is_proven };
  const unchanged = await readUnchanged(deps, asked);
  if (unchanged !== undefined) return unchanged;
  try {
    return await retryConflicts(() =>
      deps.postgres.asTenant(tenant_id, (tx) => identifyOnce(deps, tx, asked)),
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

/** {@link identify} for a body that was not checked, as the endpoint checks it: rejects with VALIDATION_ERROR, too. */
export async function identifyChecked(
  deps: Deps,
  caller: IdentifyCaller,
  given: unknown,
  at_ms?: number,
): Promise<IdentifyResult> {
  refuseUnstorable(given);
  const parsed = identifyBody.safeParse(given);
  if (!parsed.success) throw validationError(issuesOf(parsed.error));
  return identify(deps, caller, parsed.data, at_ms);
}

/** What identify is called with. */
interface Asked {
  project: ProjectRef;
  ids: GivenIds;
  traits: Traits;
  at_ms: number | undefined;
  is_proven: boolean;
}

/** What is to be done with the ids of a call. */
interface Decided {
  decision: Decision;
  ids: GivenIds;
  ignored: readonly string[];
}

function decideFor({ ids, is_proven }: Asked, named: Named): Decided {
  const counted = is_proven ? { given: ids, named, ignored: [] } : withoutProof(ids, named);
  return {
    decision: decide(counted.given, counted.named),
    ids: counted.given,
    ignored: counted.ignored,
  };
}

/**
 * The answer to a call that changes nothing, from one statement and so from one state of the database; undefined: the call may
 * change something.
 */
async function readUnchanged(
  { postgres, clock }: Pick<Deps, 'postgres' | 'clock'>,
  asked: Asked,
): Promise<IdentifyResult | undefined> {
  const { project, at_ms, is_proven } = asked;
  const guarded = guardedOf(asked);
  const patch = patchOf(withoutNames(asked.traits, guarded));
  const rows = await postgres.readAsTenant(project.tenant_id, (tx) =>
    selectKnown(tx, project, asked.ids, patch),
  );
  const decided = decideFor(asked, namedOf(rows));
  const { target, set_external_id, link_anonymous_id, merge, conflict } = decided.decision;
  const known = rows.find(({ player_id }) => player_id === target?.player_id);
  if (target === undefined || known === undefined) return undefined;
  if (set_external_id || link_anonymous_id || merge.length > 0 || conflict || !known.has_traits)
    return undefined;
  const refused = refusedOf(guarded, asked.ids, target, known);
  if (refused.length < guarded.length) return undefined;
  // The time of traits that the player has already is noted, too.
  const is_noted = known.identified_at !== null && known.identified_at >= knownAt(at_ms, clock.now_ms());
  if (at_ms !== undefined && is_proven && !isEmptyPatch(patch) && !is_noted) return undefined;
  return resultOf(target.player_id, decided, refused);
}

async function identifyOnce(deps: Deps, tx: Tx, asked: Asked): Promise<IdentifyResult> {
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
  const ref = { ...project, player_id: decided.decision.target?.player_id ?? newId() };
  const guarded = guardedOf(asked);
  const { target } = decided.decision;
  // Such a player is locked until the transaction ends.
  const known =
    guarded.length > 0 && target?.external_id === null ? await lockKnownTraits(tx, ref) : undefined;
  const refused = refusedOf(guarded, ids, target, known);
  await write(
    deps,
    tx,
    ref,
    { ...asked, ids: decided.ids, traits: withoutNames(traits, refused) },
    decided.decision,
  );
  return resultOf(ref.player_id, decided, refused);
}

function resultOf(
  player_id: string,
  { decision, ignored }: Decided,
  refused: readonly string[],
): IdentifyResult {
  const left_out = [...ignored, ...refused.map((name) => `traits.${name}`)];
  return {
    player_id,
    created: decision.target === undefined,
    merged_player_ids: decision.merge.map((merged) => merged.player_id),
    conflict: decision.conflict,
    ...(left_out.length === 0 ? {} : { ignored: left_out }),
  };
}

/** The traits that the caller may not set of every player. */
function guardedOf({ traits, is_proven }: Asked): string[] {
  return is_proven ? [] : Object.keys(traits).filter(isGuardedTrait);
}

/**
 * Of the guarded traits those that are not set: all of a player who has an external_id, or gets one now, and of another
 * player, `known`, those that are there already.
 */
function refusedOf(
  guarded: string[],
  { external_id }: GivenIds,
  target: NamedPlayer | undefined,
  known: Pick<KnownTraits, 'columns' | 'attributes'> | undefined,
): string[] {
  if (target === undefined ? external_id !== undefined : target.external_id !== null) return guarded;
  return guardedAndKnown(guarded, [...(known?.columns ?? []), ...(known?.attributes ?? [])]);
}

function withoutNames(traits: Traits, names: readonly string[]): Traits {
  return Object.fromEntries(Object.entries(traits).filter(([name]) => !names.includes(name)));
}

/** When traits were known, which is never later than now. */
function knownAt(at_ms: number | undefined, now_ms: number): Date {
  return new Date(Math.min(at_ms ?? now_ms, now_ms));
}

async function write(
  { clock, dependents, erasure_key }: Deps,
  tx: Tx,
  ref: PlayerRef,
  { ids: { anonymous_id, external_id }, traits, at_ms, is_proven }: Asked,
  { target, set_external_id, link_anonymous_id, merge, conflict }: Decision,
): Promise<void> {
  const now_ms = clock.now_ms();
  const now = new Date(now_ms);
  const link = link_anonymous_id ? (anonymous_id ?? null) : null;
  const known_at = knownAt(at_ms, now_ms);
  // Anybody could otherwise make what the tenant's servers say of a player older than what is known.
  const identified_at = is_proven ? known_at : undefined;
  const limits = { identified_at, max_bytes: is_proven ? MAX_ATTRIBUTES_BYTES : MAX_UNPROVEN_BYTES };
  let patch = patchOf(traits);
  if (set_external_id && external_id !== undefined) patch.columns.external_id = external_id;
  if (target === undefined) {
    const status = conflict ? 'conflict' : 'active';
    const player = { ...ref, external_id: external_id ?? null, anonymous_id: link, status } as const;
    const written = { ...patch, columns: { ...patch.columns, external_id } };
    const [won, addresses] = await Promise.all([
      insertPlayer(tx, player, now),
      newAddresses(tx, ref, written, true),
      applyPatch(tx, ref, patch, now_ms, limits),
      ...dependents.map((dependent) => dependent.onCreate?.(tx, ref)),
    ]);
    if (!won) throw new WriteConflict('an id was taken');
    await protectAgain(tx, erasure_key, ref, addresses, now);
    return;
  }
  if (link === null && merge.length === 0 && !conflict && isEmptyPatch(patch)) return;
  for (const { player_id } of merge)
    await mergePlayer(tx, { ...ref, player_id, into_player_id: ref.player_id }, now, dependents);
  const says_when = at_ms !== undefined && !isEmptyPatch(patch);
  const linking = link === null ? true : linkAnonymousId(tx, { ...ref, anonymous_id: link }, now);
  if (says_when) [, patch] = await Promise.all([linking, newerPart(tx, ref, patch, known_at)]);
  // One round trip; the statements run in this order, each under the locks of those before it.
  const [won, locked, , addresses] = await Promise.all([
    linking,
    lockPlayer(tx, ref),
    conflict ? markConflict(tx, ref, now) : undefined,
    newAddresses(tx, ref, patch),
    applyPatch(tx, ref, patch, now_ms, limits),
    identified_at !== undefined && says_when ? noteIdentified(tx, ref, identified_at) : undefined,
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

function patchOf(traits: Traits): ProfilePatch {
  const { email, phone, telegram_id, timezone, default_currency_code, ...others } = traits;
  return {
    columns: { email, phone, telegram_id, timezone, default_currency_code },
    ...splitAttributes(others),
  };
}
