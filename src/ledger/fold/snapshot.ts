import type { Anomalies } from '../money/anomalies.ts';
import { needsRate, type Conversion } from '../money/conversion.ts';
import type { LedgerRow } from '../money/ledger.ts';
import type { KnownKyc, KycChange } from '../../protection/kyc/decision-queries.ts';
import type { PlayerLimit } from '../../protection/limits/limit-queries.ts';
import type { KycModel } from '../../tenants/config/catalogue.ts';
import {
  anonymousIdentityKey,
  kycKindOf,
  playerIdentityKey,
  referenceKey,
  sentKey,
  type DifferingDuplicate,
  type FoldEvent,
  type Rejection,
} from './fold-event.ts';
import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Sum } from '../money/totals.ts';
import type { StatusChange } from './status-events.ts';

/** The players, ledger rows, projects and rates of a batch, as the transaction read them from Postgres. */
export interface Snapshot {
  /** identity key → player_id, for the identities that exist. */
  players: Map<string, string>;
  /** player_ids of erased players among these: of their events only what is about money goes on. */
  erased: Set<string>;
  /** reference key → all ledger rows of that transaction_id or bet_id, in the order of their ordinals. */
  ledger: Map<string, LedgerRow[]>;
  /** project_id → its tenant and base currency, for the projects that exist. */
  projects: Map<string, ProjectOwner>;
  /** conversion key → the conversion to the base currency at that time, where a rate is known. */
  conversions: Map<string, Conversion>;
  /** event key → the claim of that `dedupe_id`, where there is one. */
  event_ids: Map<string, HeldEventId>;
  /** key of a sender's name (`sentKey`) → the place of the record that claimed it, where there is one. */
  sent_ids: Map<string, LogPlace>;
  /** player_id → what is known of the KYC of players whose kyc_* events may decide it. */
  kyc: Map<string, KnownKyc>;
}

/** The position of a record on the log. */
export interface LogPlace {
  log_partition: number;
  log_offset: bigint;
}

/** Who holds a `dedupe_id`, and the record that claimed it. */
export interface HeldEventId extends LogPlace {
  player_id: string;
}

/** A sender's name of an event that a batch claims, and how long it is kept. */
export interface ClaimedSentId extends LogPlace {
  tenant_id: string;
  sent_id: string;
  keep: 'short' | 'long';
}

/** A `dedupe_id` that a batch claims. */
export interface ClaimedEventId extends HeldEventId, ProjectRef {
  event_key: string;
}

export interface ProjectOwner {
  tenant_id: string;
  base_currency: string;
  /** Who decides the KYC of the tenant's players; null: nobody has chosen. */
  kyc_model: KycModel | null;
}

/** The keys to read from Postgres to decide a batch, each once. */
export interface SnapshotRequest {
  anonymous: (ProjectRef & { id: string })[];
  players: (ProjectRef & { id: string })[];
  references: (ProjectRef & { reference: string })[];
  projects: ProjectRef[];
  conversions: { tenant_id: string; currency: string; occurred_at_ms: number }[];
  event_ids: (ProjectRef & { event_key: string })[];
  sent_ids: { tenant_id: string; sent_id: string }[];
  /** The identities of which the batch has kyc_* events. */
  kyc: (ProjectRef & { identity_key: string })[];
}

/** tenant_id → base currency, which never changes. A missing tenant costs unneeded look-ups of rates, nothing else. */
type BaseCurrencies = ReadonlyMap<string, string>;

/** Lists the keys that a batch needs, each once. */
export function requestFor(events: readonly FoldEvent[], base_currencies: BaseCurrencies): SnapshotRequest {
  // Kept per tenant. A record with a wrong tenant_id must not take the entry of its project's other records: their keys
  // would then be read under the wrong tenant.
  const seenByTenant = new Map<string, { keys: Set<string>; references: Set<string> }>();
  const request: SnapshotRequest = {
    anonymous: [],
    players: [],
    references: [],
    projects: [],
    conversions: [],
    event_ids: [],
    sent_ids: [],
    kyc: [],
  };
  for (const { accepted, identity, claim, money = claim, event_key, sent_id, occurred_at_ms } of events) {
    const { tenant_id, project_id } = accepted;
    let seen = seenByTenant.get(tenant_id);
    if (seen === undefined) seenByTenant.set(tenant_id, (seen = { keys: new Set(), references: new Set() }));
    if (isFirst(seen.keys, project_id)) request.projects.push({ tenant_id, project_id });
    if (isFirst(seen.keys, identity.key)) {
      const list = identity.kind === 'player' ? request.players : request.anonymous;
      list.push({ tenant_id, project_id, id: identity.id });
    }
    if (kycKindOf(accepted.event.event) !== undefined && isFirst(seen.keys, `kyc:${identity.key}`))
      request.kyc.push({ tenant_id, project_id, identity_key: identity.key });
    if (claim !== undefined && isFirst(seen.references, claim.reference_key))
      request.references.push({ tenant_id, project_id, reference: claim.reference });
    if (event_key !== undefined && isFirst(seen.keys, event_key))
      request.event_ids.push({ tenant_id, project_id, event_key });
    if (sent_id !== undefined && isFirst(seen.keys, sent_id)) request.sent_ids.push({ tenant_id, sent_id });
    if (money === undefined) continue;
    const { currency } = money;
    if (currency === null || !needsRate(money, base_currencies.get(tenant_id))) continue;
    if (isFirst(seen.keys, conversionKey(tenant_id, currency, occurred_at_ms)))
      request.conversions.push({ tenant_id, currency, occurred_at_ms });
  }
  return request;
}

/**
 * Adds to a snapshot what the part before does, whose transaction may not have been committed when the snapshot was read.
 * What was committed by then is in the snapshot, and stays as it was read: it may have changed since.
 */
export function addEffects(
  { players, ledger, event_ids, sent_ids }: Snapshot,
  { new_players, ledger_rows, event_ids: claimed, sent_ids: named }: Effects,
): void {
  for (const { project_id, anonymous_id, player_id } of new_players) {
    for (const key of [
      anonymousIdentityKey(project_id, anonymous_id),
      playerIdentityKey(project_id, player_id),
    ]) {
      if (!players.has(key)) players.set(key, player_id);
    }
  }
  for (const { event_key, player_id, log_partition, log_offset } of claimed)
    if (!event_ids.has(event_key)) event_ids.set(event_key, { player_id, log_partition, log_offset });
  for (const { tenant_id, sent_id, log_partition, log_offset } of named) {
    const key = sentKey(tenant_id, sent_id);
    if (!sent_ids.has(key)) sent_ids.set(key, { log_partition, log_offset });
  }
  for (const row of ledger_rows) {
    const key = referenceKey(row.project_id, row.reference);
    const rows = ledger.get(key);
    if (rows === undefined) ledger.set(key, [row]);
    else if (rows.every(({ ordinal }) => ordinal < row.ordinal)) rows.push(row);
  }
}

function isFirst(seen: Set<string>, key: string): boolean {
  const before = seen.size;
  return seen.add(key).size > before;
}

export function conversionKey(tenant_id: string, currency: string, occurred_at_ms: number): string {
  return `c:${tenant_id}:${occurred_at_ms}:${currency}`;
}

/** What a batch adds to the totals row of one player. */
export interface PlayerEffect extends ProjectRef {
  player_id: string;
  /** Null when no event of the batch is the player's: a bet changed the totals, or a verdict depends on the player. */
  first_seen_at_ms: number | null;
  last_seen_at_ms: number | null;
  /** Null when none of these events is the player's own activity. */
  last_active_at_ms: number | null;
  /** The first of these deposits that count; null: none. A later reversal does not undo it. */
  first_deposit_at_ms: number | null;
  sums: Record<Sum, bigint>;
}

export interface NewPlayer extends ProjectRef {
  player_id: string;
  anonymous_id: string;
  default_currency_code: string;
  first_seen_at_ms: number;
}

export interface PlayerStatusChange extends StatusChange, ProjectRef {
  player_id: string;
}

/** What a batch does to Postgres, decided before anything is written. */
export interface Effects {
  new_players: NewPlayer[];
  ledger_rows: LedgerRow[];
  event_ids: ClaimedEventId[];
  sent_ids: ClaimedSentId[];
  /**
   * Rows of the ledger that a change of rates may restate, and that the totals of this batch depend on: they must still
   * have these base amounts.
   */
  relied_on: LedgerRow[];
  /** Rows from before this batch that count another amount now: their events are written anew. */
  recounted: LedgerRow[];
  players: PlayerEffect[];
  /** Rounds, to be written one after the other; a player is in each at most once. */
  statuses: PlayerStatusChange[][];
  /** Deposit limits that players have set. */
  limits: PlayerLimit[];
  kyc: KycChange[];
}

/** What the fold appends to the log after the transaction of a batch. */
export interface Emission {
  events: PlayerEvent[];
  rejections: Rejection[];
}

export interface Decision {
  effects: Effects;
  emission: Emission;
  /** Become dead letters as far as their projects have some left; in log order. */
  differing: DifferingDuplicate[];
  duplicates: number;
  stake_mismatches: number;
  /** Of the references that the batch changed, since before it. */
  anomalies: Anomalies;
}
