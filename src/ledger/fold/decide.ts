import { isActivity } from '../../ingest/events/catalogue.ts';
import type { PlayerEvent } from '../../ingest/events/envelope.ts';
import { moneyOnly } from '../../ingest/events/money-only.ts';
import type { PlayerLimit } from '../../protection/limits/limit-queries.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { addAnomalies, anomaliesOf, NO_ANOMALIES, type Anomalies } from '../money/anomalies.ts';
import { COUNTS_NOTHING, stakesDiffer } from '../money/bets.ts';
import { effectOf, isCountedAlike } from '../money/counting.ts';
import { isSameItem, itemOfPlaced, placedItem } from '../money/items.ts';
import { TotalsAccumulator, type TotalsDelta } from '../money/totals.ts';
import { exceeds64Bits, inBase, scalesOf, type BaseMoney, type Conversions } from '../money/conversion.ts';
import {
  isMovementTooMany,
  isRestatable,
  judgeClaim,
  rowOfKey,
  moneyKindOf,
  type LedgerRow,
  type MoneyKind,
} from '../money/ledger.ts';
import { depositLimitOf } from './deposit-limit.ts';
import { addChange, statusChangeOf, type StatusChange } from './status-events.ts';
import {
  type ClaimedEventId,
  type ClaimedSentId,
  type Decision,
  type HeldEventId,
  type NewPlayer,
  type PlayerEffect,
  type PlayerStatusChange,
  conversionKey,
  type Effects,
  type Snapshot,
} from './snapshot.ts';
import { takeItem, toPlayerEvent } from './emitted-event.ts';
import { KycOfBatch } from './kyc-events.ts';
import {
  type FoldClaim,
  type FoldEvent,
  type Rejection,
  amountOutOfRange,
  tooManyMovements,
  conflictingDuplicate,
  conflictingEventId,
  differingDuplicate,
  isReported,
  sentKey,
  type DifferingDuplicate,
  unknownPlayer,
  unknownProject,
} from './fold-event.ts';

interface DecideOptions {
  /** Makes the id of a player that the batch creates. */
  newId: () => string;
  partition: number;
}

/** Rows of one kind and one reference, to which the batch adds. */
interface TouchedRows {
  kind: MoneyKind;
  /** All rows of the reference. */
  of_reference: readonly LedgerRow[];
  /** How many of this kind were in the ledger before this batch. */
  rows_before: number;
  /** The events of the others, in their order: what they count is known at the end of the batch. */
  emitted: PlayerEvent[];
}

/** What follows from the touched references, apart from the totals. */
interface Settled extends Pick<Effects, 'relied_on' | 'recounted'> {
  stake_mismatches: number;
  anomalies: Anomalies;
}

interface Seen {
  first_seen_at_ms: number | null;
  last_seen_at_ms: number | null;
  last_active_at_ms: number | null;
  first_deposit_at_ms: number | null;
}

/**
 * Decides what a batch does. The function is pure: the rules for money can be read and tested without a database.
 * Events are taken in log order; each decision sees the decisions before it. `snapshot.ledger` is changed: it gets the
 * new rows.
 */
export function decide(events: readonly FoldEvent[], snapshot: Snapshot, options: DecideOptions): Decision {
  return new Decider(snapshot, options).decide(events);
}

class Decider {
  #snapshot: Snapshot;
  #options: DecideOptions;
  #new_players = new Map<string, NewPlayer>();
  #ledger_rows: LedgerRow[] = [];
  /** By the rows of their reference, for each kind. */
  #touched = new Map<MoneyKind, Map<readonly LedgerRow[], TouchedRows>>();
  #totals = new TotalsAccumulator();
  /** player_id → first and last event times, and the last of own activity; has every player whose totals row the batch writes. */
  #seen = new Map<string, ProjectRef & Seen>();
  #statuses = new Map<string, StatusChange[]>();
  #limits: PlayerLimit[] = [];
  #kyc: KycOfBatch;
  #emitted: PlayerEvent[] = [];
  #rejections: Rejection[] = [];
  #differing: DifferingDuplicate[] = [];
  #event_ids: ClaimedEventId[] = [];
  #sent_ids: ClaimedSentId[] = [];
  #duplicates = 0;

  constructor(snapshot: Snapshot, options: DecideOptions) {
    this.#snapshot = snapshot;
    this.#options = options;
    this.#kyc = new KycOfBatch(snapshot);
  }

  decide(events: readonly FoldEvent[]): Decision {
    for (const event of events) this.#take(event);
    const { relied_on, recounted, stake_mismatches, anomalies } = this.#settle();
    return {
      effects: {
        new_players: [...this.#new_players.values()],
        ledger_rows: this.#ledger_rows,
        event_ids: this.#event_ids,
        sent_ids: this.#sent_ids,
        relied_on,
        recounted,
        players: this.#playerEffects(),
        statuses: this.#statusRounds(),
        limits: this.#limits,
        kyc: this.#kyc.changes(),
      },
      emission: { events: this.#emitted, rejections: this.#rejections },
      differing: this.#differing,
      duplicates: this.#duplicates,
      stake_mismatches,
      anomalies,
    };
  }

  #take(accepted: FoldEvent): void {
    const owner = this.#snapshot.projects.get(accepted.accepted.project_id);
    if (owner?.tenant_id !== accepted.accepted.tenant_id) {
      return void this.#rejections.push(unknownProject(accepted));
    }
    const { base_currency } = owner;
    const { identity, claim } = accepted;
    const known = this.#snapshot.players.get(identity.key) ?? this.#new_players.get(identity.key)?.player_id;
    if (known === undefined && identity.kind === 'player') {
      return void this.#rejections.push(unknownPlayer(accepted));
    }
    if (this.#isNameHeld(accepted)) return void this.#duplicates++;
    // Before the verdict: so a replay can tell from the claim alone which event of a name came first.
    this.#claimName(accepted);
    const player_id = known ?? this.#options.newId();
    const event = knownOf(accepted, player_id, this.#snapshot);
    const rows = claim && this.#rowsOf(claim.reference_key);
    const row = rows && this.#claim(event, claim, rows, { player_id, base_currency });
    if (row === 'dropped' || this.#isEventIdHeld(event, player_id)) return;
    if (known === undefined) this.#addPlayer(event, identity.key, identity.id, player_id, base_currency);
    this.#see(event, player_id);
    if (event.accepted.event.event === 'session_start') this.#totals.add({ player_id, session_count: 1n });
    this.#changeStatus(accepted, player_id);
    this.#takeLimit(event, player_id);
    this.#kyc.take(event, player_id);
    const worth = row ?? worthOf(event, base_currency, this.#snapshot);
    const emitted = toPlayerEvent(event, player_id, worth);
    if (rows !== undefined && row !== undefined) this.#book(rows, row, emitted);
    this.#emitted.push(emitted);
  }

  /** Claims the event's reference: returns the new ledger row, or 'dropped' for a duplicate or a rejection. */
  #claim(
    event: FoldEvent,
    claim: FoldClaim,
    rows: readonly LedgerRow[],
    { player_id, base_currency }: { player_id: string; base_currency: string },
  ): LedgerRow | 'dropped' {
    const verdict = judgeClaim(claim, player_id, rows);
    if (verdict === 'duplicate') {
      this.#duplicates++;
      if (differsFrom(rowOfKey(claim, rows), claim) && !isReported(event))
        this.#differing.push(differingDuplicate(event, claim));
      return 'dropped';
    }
    const { tenant_id, project_id, ingestion_id, index } = event.accepted;
    if (verdict === 'conflict') {
      const holders = rows.map((row) => row.player_id);
      this.#refuseConflict(event, player_id, holders, conflictingDuplicate(event, claim));
      return 'dropped';
    }
    if (isMovementTooMany(claim, rows)) {
      this.#rejections.push(tooManyMovements(event, claim));
      return 'dropped';
    }
    if (exceeds64Bits(claim, base_currency)) {
      this.#rejections.push(amountOutOfRange(event));
      return 'dropped';
    }
    const conversion = conversionOf(event, claim.currency, base_currency, this.#snapshot);
    const base = inBase(claim, conversion);
    // Written out: copies of a claim and of its money cost the fold a tenth of its time.
    return {
      tenant_id,
      project_id,
      reference: claim.reference,
      ordinal: rows.length,
      event: claim.event,
      occurrence: claim.occurrence,
      player_id,
      occurred_at_ms: event.occurred_at_ms,
      currency: claim.currency,
      movement_id: claim.movement_id,
      amount: claim.amount,
      payout: claim.payout,
      bonus_stake: claim.bonus_stake,
      bonus_payout: claim.bonus_payout,
      reason: claim.reason,
      detail_hash: claim.detail_hash,
      item: itemOfPlaced(claim.event, event.properties),
      base_amount: base.base_amount,
      base_payout: base.base_payout,
      base_bonus_stake: base.base_bonus_stake,
      base_bonus_payout: base.base_bonus_payout,
      scales: scalesOf(conversion),
      rate: base.rate,
      ingestion_id,
      event_index: index,
      log_partition: this.#options.partition,
      log_offset: event.record.offset,
    };
  }

  /**
   * The verdict depends on which players hold the claims and the event. Touching them makes the write fail, and the batch
   * start again, when one of them is merged in the meantime.
   */
  #refuseConflict(
    event: FoldEvent,
    player_id: string,
    holders: readonly string[],
    rejection: Rejection,
  ): void {
    for (const holder of holders) this.#touch(event.accepted, holder);
    if (this.#isKnown(event)) this.#touch(event.accepted, player_id);
    if (!isReported(event)) this.#rejections.push(rejection);
  }

  /** Claims the event's `dedupe_id`, if it has one; true for an event that came before, which is dropped. */
  #isEventIdHeld(event: FoldEvent, player_id: string): boolean {
    const { event_key } = event;
    if (event_key === undefined) return false;
    const holder = this.#snapshot.event_ids.get(event_key);
    if (holder === undefined) {
      const { tenant_id, project_id } = event.accepted;
      const log_partition = this.#options.partition;
      const claim: HeldEventId = { player_id, log_partition, log_offset: event.record.offset };
      this.#snapshot.event_ids.set(event_key, claim);
      this.#event_ids.push({ tenant_id, project_id, event_key, ...claim });
      return false;
    }
    if (holder.player_id === player_id) this.#duplicates++;
    else this.#refuseConflict(event, player_id, [holder.player_id], conflictingEventId(event));
    return true;
  }

  /** Whether the sender gave its name to an event before: the first one stands, whatever this one says. */
  #isNameHeld({ accepted: { tenant_id }, sent_id }: FoldEvent): boolean {
    return sent_id !== undefined && this.#snapshot.sent_ids.has(sentKey(tenant_id, sent_id));
  }

  #claimName({ accepted: { tenant_id, named }, sent_id, record }: FoldEvent): void {
    if (sent_id === undefined) return;
    const place = { log_partition: this.#options.partition, log_offset: record.offset };
    this.#snapshot.sent_ids.set(sentKey(tenant_id, sent_id), place);
    this.#sent_ids.push({ tenant_id, sent_id, keep: named === 'long' ? 'long' : 'short', ...place });
  }

  #isKnown({ identity }: FoldEvent): boolean {
    return this.#snapshot.players.has(identity.key);
  }

  #rowsOf(reference_key: string): LedgerRow[] {
    let rows = this.#snapshot.ledger.get(reference_key);
    if (rows === undefined) this.#snapshot.ledger.set(reference_key, (rows = []));
    return rows;
  }

  /** Adds a new ledger row to those of its reference. It changes the totals at the end of the batch. */
  #book(of_reference: LedgerRow[], row: LedgerRow, emitted: PlayerEvent): void {
    this.#ledger_rows.push(row);
    if (row.event === 'deposit_confirmed') this.#seeDeposit(row);
    const kind = moneyKindOf(row.event);
    let of_kind = this.#touched.get(kind);
    if (of_kind === undefined) this.#touched.set(kind, (of_kind = new Map()));
    const touched = of_kind.get(of_reference);
    if (touched === undefined) {
      const rows_before = rowsOfKind(kind, of_reference).length;
      of_kind.set(of_reference, { kind, of_reference, rows_before, emitted: [emitted] });
    } else touched.emitted.push(emitted);
    of_reference.push(row);
  }

  /** For each touched reference, adds what it counts now and subtracts what it counted before the batch. */
  #settle(): Settled {
    const settled: Settled = {
      relied_on: [],
      recounted: [],
      stake_mismatches: 0,
      anomalies: { ...NO_ANOMALIES },
    };
    for (const of_kind of this.#touched.values())
      for (const touched of of_kind.values()) this.#settleOne(touched, settled);
    return settled;
  }

  #settleOne({ kind, of_reference, rows_before, emitted }: TouchedRows, settled: Settled): void {
    const rows = rowsOfKind(kind, of_reference);
    const before = rows.slice(0, rows_before);
    const after = effectOf(kind, rows);
    const item = placedItem(kind, rows);
    addAnomalies(settled.anomalies, anomaliesOf(kind, rows, after), 1);
    if (before.length > 0) {
      const was = effectOf(kind, before);
      const is_item_new = !isSameItem(placedItem(kind, before), item);
      addAnomalies(settled.anomalies, anomaliesOf(kind, before, was), -1);
      for (const delta of was.deltas) this.#addFor(before, delta, -1n);
      for (const row of before) {
        if (isRestatable(row)) settled.relied_on.push(row);
        if (is_item_new || !isCountedAlike(was.counts.get(row), after.counts.get(row)))
          settled.recounted.push(row);
      }
    }
    for (const delta of after.deltas) this.#addFor(rows, delta, 1n);
    let place = rows_before;
    for (const event of emitted) {
      const row = rows[place++];
      const counts = (row && after.counts.get(row)) ?? COUNTS_NOTHING;
      event.stake_counted = counts.stake;
      event.payout_counted = counts.payout;
      event.bonus_stake_counted = counts.bonus_stake;
      event.bonus_payout_counted = counts.bonus_payout;
      takeItem(event, item, this.#snapshot);
    }
    if (stakesDiffer(rows) && !stakesDiffer(before)) settled.stake_mismatches++;
  }

  /**
   * Adds a delta and touches its player: a reference can change totals of a player that no event of this batch names.
   */
  #addFor([of]: readonly LedgerRow[], delta: TotalsDelta, sign: 1n | -1n): void {
    this.#totals.add(delta, sign);
    if (of !== undefined) this.#touch(of, delta.player_id);
  }

  /** Has the player's totals row updated, even by nothing: the update finds no row when the player was merged away. */
  #touch({ tenant_id, project_id }: ProjectRef, player_id: string): void {
    if (this.#seen.has(player_id)) return;
    const never = { first_seen_at_ms: null, last_seen_at_ms: null, last_active_at_ms: null };
    this.#seen.set(player_id, { tenant_id, project_id, ...never, first_deposit_at_ms: null });
  }

  #addPlayer(
    event: FoldEvent,
    key: string,
    anonymous_id: string,
    player_id: string,
    default_currency_code: string,
  ): void {
    const { tenant_id, project_id } = event.accepted;
    this.#new_players.set(key, {
      tenant_id,
      project_id,
      player_id,
      anonymous_id,
      default_currency_code,
      first_seen_at_ms: seenAt(event),
    });
  }

  #see(event: FoldEvent, player_id: string): void {
    const at_ms = seenAt(event);
    const is_active = isActivity(event.accepted.event.event);
    const seen = this.#seen.get(player_id);
    if (seen === undefined) {
      const { tenant_id, project_id } = event.accepted;
      const times = { first_seen_at_ms: at_ms, last_seen_at_ms: at_ms };
      this.#seen.set(player_id, {
        tenant_id,
        project_id,
        ...times,
        last_active_at_ms: is_active ? at_ms : null,
        first_deposit_at_ms: null,
      });
    } else {
      seen.first_seen_at_ms = Math.min(seen.first_seen_at_ms ?? at_ms, at_ms);
      seen.last_seen_at_ms = Math.max(seen.last_seen_at_ms ?? at_ms, at_ms);
      if (is_active) seen.last_active_at_ms = Math.max(seen.last_active_at_ms ?? at_ms, at_ms);
    }
  }

  /** The player was seen with this event. */
  #seeDeposit({ player_id, occurred_at_ms }: LedgerRow): void {
    const seen = this.#seen.get(player_id);
    if (seen !== undefined)
      seen.first_deposit_at_ms = Math.min(seen.first_deposit_at_ms ?? occurred_at_ms, occurred_at_ms);
  }

  #changeStatus(event: FoldEvent, player_id: string): void {
    const { ingestion_id, index, received_at_ms } = event.accepted;
    const by = { ingestion_id, event_index: index, received_at_ms };
    const change = statusChangeOf(event.accepted.event.event, event.properties, seenAt(event), by);
    if (change === undefined) return;
    this.#statuses.set(player_id, addChange(this.#statuses.get(player_id) ?? [], change));
  }

  #takeLimit(event: FoldEvent, player_id: string): void {
    const { tenant_id, project_id } = event.accepted;
    const limit = depositLimitOf(event.accepted.event.event, event.properties, seenAt(event));
    if (limit !== undefined) this.#limits.push({ tenant_id, project_id, player_id, ...limit });
  }

  #statusRounds(): PlayerStatusChange[][] {
    const rounds: PlayerStatusChange[][] = [];
    for (const [player_id, changes] of this.#statuses) {
      const project = this.#projectOf(player_id);
      for (const [round, change] of changes.entries()) {
        (rounds[round] ??= []).push({ ...project, player_id, ...change });
      }
    }
    return rounds;
  }

  #playerEffects(): PlayerEffect[] {
    return [...this.#seen].map(([player_id, seen]) => ({
      player_id,
      ...seen,
      sums: this.#totals.of(player_id),
    }));
  }

  #projectOf(player_id: string): ProjectRef {
    const { tenant_id, project_id } = this.#seen.get(player_id) ?? { tenant_id: '', project_id: '' };
    return { tenant_id, project_id };
  }
}

/** The rows of this kind, in their order: a bet and a transaction may have the same reference. */
function rowsOfKind(kind: MoneyKind, of_reference: readonly LedgerRow[]): readonly LedgerRow[] {
  const isOfKind = ({ event }: LedgerRow) => moneyKindOf(event) === kind;
  return of_reference.every(isOfKind) ? of_reference : of_reference.filter(isOfKind);
}

/** Whether a duplicate has other details than the row that counts. Rows without a hash are older than the hashes: they are not compared. */
export function differsFrom(row: LedgerRow | undefined, { detail_hash }: FoldClaim): boolean {
  return row !== undefined && row.detail_hash !== null && row.detail_hash !== detail_hash;
}

function conversionOf(
  { accepted, occurred_at_ms }: FoldEvent,
  currency: string | null,
  base_currency: string,
  { conversions }: Pick<Snapshot, 'conversions'>,
): Conversions {
  if (currency === null) return undefined;
  if (currency === base_currency) return 'same';
  return conversions.get(conversionKey(accepted.tenant_id, currency, occurred_at_ms));
}

/**
 * What the amounts of an event that is not in the ledger are worth in the base currency, by the rate that is known now.
 * No later rate changes it. Undefined for an event without such amounts; null for those that cannot be converted.
 */
export function worthOf(
  event: FoldEvent,
  base_currency: string,
  snapshot: Pick<Snapshot, 'conversions'>,
): BaseMoney | undefined {
  const { money } = event;
  if (money === undefined || exceeds64Bits(money, base_currency)) return undefined;
  return inBase(money, conversionOf(event, money.currency, base_currency, snapshot));
}

/** The time at which the event shows activity of the player: the event time, but never after it was received. */
function seenAt(event: FoldEvent): number {
  return Math.min(event.occurred_at_ms, event.accepted.received_at_ms);
}

/** The event as far as it may be known: of an erased player what is about money, so that nothing else follows from it. */
export function knownOf(
  event: FoldEvent,
  player_id: string,
  { erased }: Pick<Snapshot, 'erased'>,
): FoldEvent {
  if (!erased.has(player_id)) return event;
  return { ...event, properties: moneyOnly(event.accepted.event.event, event.properties) };
}
