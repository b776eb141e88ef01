import type { ApiKeyPrincipal } from '../../http/auth/api-key.ts';
import { ApiError } from '../../errors.ts';
import { exactJson } from '../../platform/exact-json.ts';
import { newId } from '../../platform/ids.ts';
import type { TenantCapability } from '../../tenants/config/capability-cache.ts';
import { segmentEventsOf } from '../../tenants/config/read.ts';
import { encodeAccepted, identityKey } from '../events/envelope.ts';
import { stampFor, type Accepted } from '../intake/accept.ts';
import { isProtecting } from '../intake/exclusions.ts';
import { sentIdOf } from '../intake/sent-id.ts';
import type { RejectedRow } from '../rejected/refusals.ts';
import type { Calls } from './calls.ts';
import type { PlayerIds } from './player-ids.ts';
import { translate, type CallType, type Translated } from './translate.ts';

/** The calls of a request, and what their translation depends on. */
interface Sent {
  key: ApiKeyPrincipal;
  tenant: Pick<TenantCapability, 'currencies' | 'config'>;
  calls: Calls;
  /** Undefined: a batch. */
  type: CallType | undefined;
  now_ms: number;
}

/**
 * Translates the calls of a request. Events get the players that are known now; `are_players_known`: all of them, and no call
 * changes one.
 */
export function translateAll(
  { playerIds }: { playerIds: Pick<PlayerIds, 'get'> },
  { key, tenant, calls, type, now_ms }: Sent,
): { translated: Translated[]; are_players_known: boolean } {
  const { currencies } = tenant;
  const given = {
    now_ms,
    kind: key.kind,
    hasCurrency: (code: string) => currencies.has(code),
    names: segmentEventsOf(tenant, key.project_id),
    keeps_ip: tenant.config.segment_ip === true,
    sent_at: calls.sent_at,
  };
  const translated: Translated[] = [];
  let are_players_known = true;
  for (const call of calls.calls) {
    const one = translate(call, type, given, calls.may_be_large);
    translated.push(one);
    if (one.kind === 'rejected') continue;
    if (one.kind !== 'event') are_players_known = false;
    else if (one.user_id !== undefined) {
      const player_id = playerIds.get(key, one.user_id);
      if (player_id === undefined) are_players_known = false;
      else one.event.player_id = player_id;
    }
  }
  return { translated, are_players_known };
}

/** The log records of the calls that are events, whose players are known, and the calls that are rejected. */
export function acceptCalls(
  key: ApiKeyPrincipal,
  translated: readonly Translated[],
  now_ms: number,
): Accepted & { rejected: RejectedRow[] } {
  const accepted: Accepted & { rejected: RejectedRow[] } = {
    records: [],
    is_protecting: false,
    rejected: [],
  };
  const stamp = stampFor(key, now_ms);
  for (let index = 0; index < translated.length; index++) {
    const call = translated[index];
    if (call?.kind === 'event') {
      const { event, message_id } = call;
      stamp.ingestion_id = message_id === undefined ? newId() : sentIdOf(key.key_id, message_id);
      const named = message_id === undefined ? undefined : call.is_time_of_receipt ? 'long' : 'short';
      const value = encodeAccepted(stamp, 0, exactJson(event), named);
      accepted.records.push({ key: identityKey(key.project_id, event), value });
      accepted.is_protecting ||= isProtecting(event.event);
    } else if (call?.kind === 'rejected') {
      const { code, reason } = call;
      accepted.rejected.push({ index, code, reason });
    }
  }
  return accepted;
}

/** The error of a request without an accepted call, so that its client reports it. Throws TypeError without a rejected call. */
export function refusalOf(rejected: readonly RejectedRow[], is_batch: boolean): ApiError {
  const [first] = rejected;
  if (first === undefined) throw new TypeError('no call is rejected');
  const { code, reason } = first;
  // Its own status tells the program that the key is the wrong one.
  if (!is_batch && code === 'KEY_KIND_FORBIDDEN')
    return new ApiError(code, reason, { details: { rejected } });
  const message = is_batch ? `no call of the batch is accepted; the first: ${reason}` : reason;
  return new ApiError(code, message, { status: 400, details: { rejected } });
}
