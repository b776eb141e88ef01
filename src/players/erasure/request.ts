import type { z } from 'zod';
import { ApiError, validationError } from '../../errors.ts';
import type { AuditChange } from '../../http/audit.ts';
import { newId } from '../../platform/ids.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { PlayerRef } from '../player-ref.ts';
import { requirePlayer } from '../profile/read.ts';
import { eraseJob } from './job.ts';
import { confirmErasure, insertErasure, selectErasure, type ErasureRow } from './queries.ts';
import type { erasure, erasureAnswer, ErasePlayerBody } from './schema.ts';
import { confirmationHash, newConfirmationToken } from '../../http/auth/confirmation-token.ts';
import type { Platform } from '../../platform/platform.ts';

interface Deps extends Pick<Platform, 'postgres' | 'clock' | 'jobs'> {
  audit: AuditChange;
}

/** How long an erasure waits for its confirmation. */
const CONFIRM_WITHIN_MS = 15 * 60_000;

const ERASES = [
  'email, phone, telegram_id, external_id, anonymous ids, time zone and custom attributes of the player',
  'properties of its events in ClickHouse, except amounts, currencies, transaction_ids and bet_ids',
  'recipients and contexts of its messages, and what sandboxes keep of them',
  'what journeys, webhooks, bonuses, tiers and KYC decisions say of it',
  'both sides of rows of the audit log about it',
];
const KEEPS = [
  'the player_id, statuses, totals and the ledger: a legal duty',
  'exclusions, bans, breaks and suppressions, under keyed hashes of its addresses',
  'who changed what and when, without the content',
  'records of the event log, until their retention ends',
];
/** What the answers say about the event log. */
const LOG = {
  erased: false as const,
  kept: 'records of the event log cannot be changed: they stay until the retention of its topics ends, and are reduced whenever they are read into ClickHouse again',
};

/**
 * The first call notes what is asked, and answers with the token that confirms it within 15 minutes. The call with the token
 * begins the erasure, once. Rejects with PLAYER_NOT_FOUND, CONFLICT (the player is
 * erased already, or is being erased) or VALIDATION_ERROR (the token).
 */
export async function requestErasure(
  deps: Deps,
  named: PlayerRef,
  body: ErasePlayerBody,
  user_id: string,
): Promise<z.infer<typeof erasureAnswer>> {
  const { player_id } = await requirePlayer(deps.postgres, named);
  const ref = { ...named, player_id };
  const { reason = '', basis = '', confirmation_token } = body;
  if (confirmation_token !== undefined) return confirm(deps, ref, confirmation_token, user_id);
  const token = newConfirmationToken();
  const now_ms = deps.clock.now_ms();
  const row = await deps.postgres.asTenant(ref.tenant_id, async (tx) => {
    const asked = await insertErasure(tx, {
      ...ref,
      erasure_id: newId(),
      reason,
      basis,
      requested_by: user_id,
      requested_at: new Date(now_ms),
      token_hash: confirmationHash(token),
      confirm_before: new Date(now_ms + CONFIRM_WITHIN_MS),
    });
    if (asked === undefined) {
      const [other] = await selectErasure(tx, ref);
      throw new ApiError('CONFLICT', `player ${player_id} ${stateOf(other)}: see GET /v1/erasures`);
    }
    await note(deps.audit, tx, ref, asked);
    return asked;
  });
  return {
    ...erasureJson(row),
    confirmation_token: token,
    confirm_before: row.confirm_before.toISOString(),
    erases: ERASES,
    keeps: KEEPS,
  };
}

async function confirm(
  { postgres, clock, jobs, audit }: Deps,
  ref: PlayerRef,
  token: string,
  user_id: string,
): Promise<z.infer<typeof erasureAnswer>> {
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const now = new Date(clock.now_ms());
    const row = await confirmErasure(tx, ref, { token_hash: confirmationHash(token), user_id, now });
    if (row === undefined) {
      const [other] = await selectErasure(tx, ref);
      if (other !== undefined && other.status !== 'requested') {
        throw new ApiError('CONFLICT', `player ${ref.player_id} ${stateOf(other)}: see GET /v1/erasures`);
      }
      const message =
        'is not the token of the last request, or its 15 minutes are over: ask again without it';
      throw validationError([{ path: 'confirmation_token', message }]);
    }
    await note(audit, tx, ref, row);
    await jobs.add(tx, eraseJob());
    return erasureJson(row);
  });
}

/** The audit log says that it was asked and confirmed, and by whom; reasons are texts, and stay in the erasure. */
async function note(audit: AuditChange, tx: Tx, ref: PlayerRef, row: ErasureRow): Promise<void> {
  const { tenant_id, project_id, player_id } = ref;
  const after = { erasure_id: row.erasure_id, status: row.status };
  await audit(tx, { tenant_id, project_id, resource_id: player_id, before: null, after });
}

function stateOf(row: Pick<ErasureRow, 'status'> | undefined): string {
  return row?.status === 'done' ? 'is erased already' : 'is being erased';
}

/** An erasure as the API shows it. */
export function erasureJson(row: ErasureRow): z.infer<typeof erasure> {
  return {
    id: row.erasure_id,
    project_id: row.project_id,
    player_id: row.player_id,
    status: row.status,
    reason: row.reason,
    basis: row.basis,
    requested_by: row.requested_by,
    requested_at: row.requested_at.toISOString(),
    confirmed_by: row.confirmed_by,
    confirmed_at: row.confirmed_at?.toISOString() ?? null,
    completed_at: row.completed_at?.toISOString() ?? null,
    steps: row.steps,
    last_error: row.last_error,
    log: LOG,
  };
}
