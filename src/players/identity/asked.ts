import type { ProjectRef } from '../../tenants/project-ref.ts';
import { splitAttributes, type ProfilePatch } from '../profile/profile-patch.ts';
import type { TraitNames } from '../profile/queries.ts';
import {
  decide,
  withoutProof,
  type Decision,
  type GivenIds,
  type Named,
  type NamedPlayer,
} from './decide.ts';
import { guardedAndKnown, isGuardedTrait } from './guarded-traits.ts';
import type { IdentifyResult, Traits } from './schema.ts';

/** What identify is called with. `at_ms`: when the traits were known; undefined: now. */
export interface Asked {
  project: ProjectRef;
  ids: GivenIds;
  traits: Traits;
  at_ms: number | undefined;
  is_proven: boolean;
}

/** What is to be done with the ids of a call. `ids`: those that count; `ignored` names the others. */
export interface Decided {
  decision: Decision;
  ids: GivenIds;
  ignored: readonly string[];
}

/** Decides about the ids of a call, of which `named` has the players. */
export function decideFor({ ids, is_proven }: Asked, named: Named): Decided {
  const counted = is_proven ? { given: ids, named, ignored: [] } : withoutProof(ids, named);
  return { decision: decide(counted.given, counted.named), ids: counted.given, ignored: counted.ignored };
}

/** The traits that the caller may not set of every player. */
export function guardedOf({ traits, is_proven }: Asked): string[] {
  return is_proven ? [] : Object.keys(traits).filter(isGuardedTrait);
}

/**
 * Of the guarded traits those that are not set: all of a player who has an external_id, or gets one now, and of another
 * player, `known`, those that are there already.
 */
export function refusedOf(
  guarded: string[],
  { external_id }: GivenIds,
  target: NamedPlayer | undefined,
  known: Partial<TraitNames> | undefined,
): string[] {
  if (target === undefined ? external_id !== undefined : target.external_id !== null) return guarded;
  return guardedAndKnown(guarded, [...(known?.columns ?? []), ...(known?.attributes ?? [])]);
}

/** The traits except those of these names, as a change of the profile. */
export function patchWithout(traits: Traits, names: readonly string[]): ProfilePatch {
  const { email, phone, telegram_id, timezone, default_currency_code, ...others }: Traits =
    names.length === 0
      ? traits
      : Object.fromEntries(Object.entries(traits).filter(([name]) => !names.includes(name)));
  return {
    columns: { email, phone, telegram_id, timezone, default_currency_code },
    ...splitAttributes(others),
  };
}

/** When the traits were known, which is never later than now. */
export function knownAt({ at_ms }: Asked, now_ms: number): Date {
  return new Date(Math.min(at_ms ?? now_ms, now_ms));
}

/** The answer to a call; `refused` names the traits that were not set. */
export function resultOf(
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
