import type { ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import { ApiError } from '../../errors.ts';
import type { EndpointBulkhead } from '../../http/endpoint-bulkhead.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { PlayerIds } from './player-ids.ts';
import type { PublicHost } from './settings.ts';
import type { AliasCall, IdentifyCall, Translated } from './translate.ts';

/** What a call says about a player, as the body of `/v1/players/identify` has it. */
export interface Identification {
  external_id?: string;
  anonymous_id?: string | undefined;
  traits?: Record<string, unknown>;
  user_hash?: string;
}

/**
 * `/v1/players/identify` for the caller of the key. `at_ms`: when the traits were known; absent: now. Rejects with the errors of
 * that endpoint.
 */
export type Identify = (
  key: ApiKeyPrincipal,
  given: Identification,
  at_ms?: number,
) => Promise<{ player_id: string; conflict: boolean }>;

export interface IdentityDeps {
  playerIds: PlayerIds;
  identify: Identify;
  /** Its places are taken call by call, so that tenants take turns. */
  bulkhead: EndpointBulkhead;
  metrics: Pick<Metrics, 'identityConflicts'>;
}

/** What the dialect needs in addition to intake. */
export interface DialectParts extends Omit<IdentityDeps, 'metrics'> {
  /** Where pages reach this host; undefined: at the host of their request. */
  publicHost: PublicHost | undefined;
}

/**
 * Runs the identify and alias calls of a request in their order, and gives each event its player, who is made where there is
 * none. A call that is refused becomes a rejected one in `calls`. Rejects when the request is to be sent again as a whole: with
 * SERVICE_UNAVAILABLE and the like; what was done by then stays, and doing it again changes nothing.
 */
export async function applyIdentities(
  deps: IdentityDeps,
  key: ApiKeyPrincipal,
  calls: Translated[],
): Promise<void> {
  const { playerIds } = deps;
  const unknown = new Set<string>();
  for (const call of calls) {
    if (call.kind === 'event' && call.user_id !== undefined && call.event.player_id === undefined)
      unknown.add(call.user_id);
    if (call.kind === 'alias') unknown.add(call.previous_id);
  }
  const known = new Map(unknown.size === 0 ? [] : await playerIds.find(key, [...unknown]));
  for (let i = 0; i < calls.length; i++) {
    const call = calls[i];
    if (call?.kind !== 'identify' && call?.kind !== 'alias') continue;
    try {
      await identifyOne(deps, key, call, known);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 429) throw error;
      calls[i] = { kind: 'rejected', code: error.code, reason: error.message };
    }
  }
  for (let i = 0; i < calls.length; i++) {
    const call = calls[i];
    if (call?.kind !== 'event' || call.user_id === undefined || call.event.player_id !== undefined) continue;
    const player_id = known.get(call.user_id) ?? (await identified(deps, key, { external_id: call.user_id }));
    known.set(call.user_id, player_id);
    call.event.player_id = player_id;
  }
}

async function identifyOne(
  deps: IdentityDeps,
  key: ApiKeyPrincipal,
  call: IdentifyCall | AliasCall,
  known: Map<string, string>,
): Promise<void> {
  const { external_id, at_ms, user_hash } = call;
  let given: Identification;
  if (call.kind === 'identify') given = { anonymous_id: call.anonymous_id, traits: call.traits };
  // An alias call does not merge two accounts.
  else if (call.previous_id !== external_id && known.has(call.previous_id)) {
    deps.metrics.identityConflicts.inc();
    given = {};
  } else given = { anonymous_id: call.previous_id };
  if (external_id !== undefined) given.external_id = external_id;
  if (user_hash !== undefined) given.user_hash = user_hash;
  const player_id = await identified(deps, key, given, at_ms);
  if (external_id !== undefined) known.set(external_id, player_id);
}

async function identified(
  { playerIds, identify, bulkhead, metrics }: IdentityDeps,
  key: ApiKeyPrincipal,
  given: Identification,
  at_ms?: number,
): Promise<string> {
  const changes = playerIds.changesOf(key);
  const { player_id, conflict } = await bulkhead.run(key.tenant_id, () => identify(key, given, at_ms));
  if (conflict) metrics.identityConflicts.inc();
  if (given.external_id !== undefined) playerIds.set(key, given.external_id, player_id, changes);
  return player_id;
}
