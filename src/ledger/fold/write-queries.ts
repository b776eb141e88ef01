import {
  recheckDaily,
  requestTiers,
  type TierRequest,
  crossed,
  fits,
  NO_TOTALS,
  type TenantThresholds,
} from '../tier-thresholds/queries.ts';
import { byLedgerKey, type Item, type LedgerRow } from '../money/ledger.ts';
import { hashedId } from '../../platform/ids.ts';
import { queueCorrections } from '../../analytics/correction-queries.ts';
import { LISTED_WITHIN_MS } from '../../analytics/mirrored-columns.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY, type ProjectRef } from '../../tenants/project-ref.ts';
import { recordExclusions, type ExclusionCause } from '../../protection/exclusions/record-queries.ts';
import { writeKyc } from '../../protection/kyc/decision-queries.ts';
import { WriteConflict } from '../../platform/postgres/retry.ts';
import { placesOf, projectsInPlaces } from '../../tenants/project-numbers-queries.ts';
import { insertLimits } from '../../protection/limits/limit-queries.ts';
import { noteWithdrawals } from '../withdrawals/queries.ts';
import { insertEventIds } from './event-ids-queries.ts';
import { insertSentIds } from './sent-ids-queries.ts';
import type { Effects, PlayerEffect, PlayerStatusChange, NewPlayer } from './snapshot.ts';
import { hasDeposit, hasFeedSums, totalsRows } from './totals-rows-queries.ts';

interface Position {
  topic: string;
  partition: number;
  /** The position at which this batch was decided; undefined for a partition's first batch. */
  read: bigint | undefined;
  next: bigint;
  /** Everything below was emitted, and is at most `read`. */
  emitted: bigint;
}

/** Statements that are ready to be sent. */
type Write<T = void> = () => Promise<T>;

/**
 * Makes the statements that write a batch's effects, of thousands of values each, and returns a function that sends them in
 * one round trip: they can be made while another transaction is still awaited. Rejects with {@link WriteConflict} when
 * another transaction changed the position or a row that was read; the caller's transaction must then roll back. Every
 * writer of players or money except merges takes its locks in this order: identities, players, player_totals, bet_items, ledger,
 * open_withdrawals, deposit_limits, event_ids, sent_ids.
 * Players whose tier is to be computed are noted in a second round trip.
 */
export function prepareWrite(
  tx: Tx,
  effects: Effects,
  position: Position,
  now_ms: number,
  thresholds: ReadonlyMap<string, TenantThresholds>,
): Write {
  const new_ids = new Set(effects.new_players.map((p) => p.player_id));
  const players = insertPlayers(tx, effects.new_players, now_ms);
  const totals = addToTotals(tx, effects.players, { new_ids, thresholds }, now_ms);
  const relied_on = lockReliedOn(tx, effects.relied_on);
  const items = insertItems(tx, effects.ledger_rows);
  const ledger = insertLedger(tx, effects.ledger_rows, position.partition);
  const withdrawals = noteWithdrawals(tx, effects.ledger_rows);
  const event_ids = insertEventIds(tx, effects.event_ids, now_ms);
  const sent_ids = insertSentIds(tx, effects.sent_ids, now_ms);
  const corrections = insertCorrections(tx, effects.recounted);
  return async () => {
    const [, , , , rechecks] = await Promise.all([
      movePosition(tx, position),
      players(),
      changeStatuses(tx, effects.statuses, now_ms),
      writeKyc(tx, effects.kyc, now_ms),
      totals(),
      relied_on(),
      items(),
      ledger(),
      withdrawals(),
      insertLimits(tx, effects.limits),
      event_ids(),
      sent_ids(),
      corrections(),
    ]);
    await Promise.all([
      requestTiers(tx, rechecks.immediate),
      recheckDaily(tx, rechecks.daily, new Date(now_ms)),
    ]);
  };
}

const nothing: Write = async () => undefined;

async function movePosition(tx: Tx, { topic, partition, read, next, emitted }: Position): Promise<void> {
  const moved =
    read === undefined
      ? await tx`insert into fold_positions (topic, partition, next_offset, emitted_offset)
          values (${topic}, ${partition}, ${next}, ${emitted}) on conflict do nothing`
      : await tx`update fold_positions set next_offset = ${next}, emitted_offset = ${emitted}
          where topic = ${topic} and partition = ${partition} and next_offset = ${read}`;
  if (moved.count !== 1)
    throw new WriteConflict(`another process moved the position of ${topic}/${partition}`);
}

/** Two writers may create a player for one identity: the second violates the identity's key and starts again. */
function insertPlayers(tx: Tx, players: NewPlayer[], now_ms: number): Write {
  if (players.length === 0) return nothing;
  const sorted = players.toSorted((a, b) => (a.anonymous_id < b.anonymous_id ? -1 : 1));
  const now = new Date(now_ms);
  const statements = [
    tx`
      insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
      select r.tenant_id, r.project_id, r.anonymous_id, r.player_id, ${now}
      from ${rowsOf(tx, 'r', sorted, { ...PROJECT_KEY, anonymous_id: 'text', player_id: 'uuid' })}`,
    tx`
      insert into players (tenant_id, project_id, player_id, anonymous_ids, default_currency_code, created_at, updated_at)
      select r.tenant_id, r.project_id, r.player_id, array[r.anonymous_id], r.currency, ${now}, ${now}
      from ${rowsOf(tx, 'r', sorted, {
        ...PROJECT_KEY,
        player_id: 'uuid',
        anonymous_id: 'text',
        currency: ['text', (p) => p.default_currency_code],
      })}`,
  ];
  return async () => void (await Promise.all(statements));
}

/**
 * Locks rows whose base amounts this batch relies on, so that they stay as they are until its commit. Rejects with
 * {@link WriteConflict} when one of them was restated since it was read. Only amounts in other currencies are in question.
 * By the same rate bonus parts are the same, and so is what is left of a deposit.
 */
function lockReliedOn(tx: Tx, rows: LedgerRow[]): Write {
  if (rows.length === 0) return nothing;
  const sorted = rows.toSorted(byLedgerKey);
  const { projects, place } = placesOf(sorted);
  const unchanged = tx`
    select l.ordinal
    from ${projectsInPlaces(tx, projects)} p
    join ${rowsOf(tx, 'r', sorted, {
      place,
      reference: 'text',
      ordinal: 'integer',
      base_amount: 'bigint',
      base_payout: 'bigint',
      rate: ['numeric', (row) => row.rate?.rate ?? null],
      rate_is_inverse: ['boolean', (row) => row.rate?.is_inverse ?? null],
    })} using (place)
    cross join lateral (
      select l.ordinal from ledger l where l.project_no = p.project_no and l.reference = r.reference
        and l.ordinal = r.ordinal
        and (l.base_amount, l.base_payout, l.rate, l.rate_is_inverse)
          is not distinct from (r.base_amount, r.base_payout, r.rate, r.rate_is_inverse)
      for share offset 0) l`;
  return async () => {
    if ((await unchanged).length !== rows.length)
      throw new WriteConflict('a reference of this batch was restated');
  };
}

/** Names what a bet is about: 128 bits of a hash, since texts of any length do not fit into an index. */
function itemKey({ item, item_group }: Item): string {
  return hashedId(JSON.stringify([item, item_group]));
}

/**
 * Numbers what placed bets are about, where nobody has before. Sorted, so that two writers wait for each other in the same
 * order; who waits finds the other's number, because the rows of the ledger are a later statement.
 */
function insertItems(tx: Tx, added: readonly LedgerRow[]): Write {
  const items = new Map<string, ProjectRef & Item & { item_key: string }>();
  for (const { tenant_id, project_id, item } of added) {
    if (item === null) continue;
    const item_key = itemKey(item);
    items.set(`${project_id} ${item_key}`, { tenant_id, project_id, item_key, ...item });
  }
  if (items.size === 0) return nothing;
  const rows = [...items.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  const { projects, place } = placesOf(rows);
  const insertion = tx`
    insert into bet_items (project_no, item_key, item, item_group)
    select p.project_no, r.item_key, r.item, r.item_group
    from ${projectsInPlaces(tx, projects)} p
    join ${rowsOf(tx, 'r', rows, { place, item_key: 'uuid', item: 'text', item_group: 'text' })} using (place)
    where not exists (
      select from bet_items b where b.project_no = p.project_no and b.item_key = r.item_key offset 0)
    order by p.project_no, r.item_key
    on conflict do nothing`;
  return async () => void (await insertion);
}

/**
 * The primary key is the claim: the second writer of an ordinal violates it and starts again. Sorted, so that two writers
 * of the same references wait for each other in the same order.
 */
function insertLedger(tx: Tx, added: LedgerRow[], log_partition: number): Write {
  if (added.length === 0) return nothing;
  const rows = added.toSorted(byLedgerKey);
  const { projects, place } = placesOf(rows);
  const columns = {
    place,
    reference: 'text',
    ordinal: 'integer',
    event: 'enum money_event',
    player_id: 'uuid',
    occurred_at_ms: 'bigint',
    currency: 'text',
    amount: 'numeric',
    payout: 'numeric',
    base_amount: 'bigint',
    base_payout: 'bigint',
    ingestion_id: 'uuid',
    event_index: 'smallint',
    log_offset: 'bigint',
    detail_hash: 'integer',
  } as const;
  const parts = {
    movement_id: 'text',
    reason: 'text',
    bonus_stake: 'numeric',
    bonus_payout: 'numeric',
    base_bonus_stake: 'bigint',
    base_bonus_payout: 'bigint',
  } as const;
  const rates = {
    rate: ['numeric', (r: LedgerRow) => r.rate?.rate ?? null],
    rate_ts_ms: ['bigint', (r: LedgerRow) => r.rate?.ts_ms ?? null],
    rate_is_inverse: ['boolean', (r: LedgerRow) => r.rate?.is_inverse ?? null],
  } as const;
  const items = {
    item_key: ['uuid', (r: LedgerRow) => (r.item === null ? null : itemKey(r.item))],
  } as const;
  // Every column costs time per row. Most installations have few amounts in foreign currencies, and many have no movements.
  const has_rates = rows.some((r) => r.rate !== null);
  const has_parts = rows.some(
    (r) => r.movement_id !== null || r.reason !== null || r.bonus_stake !== null || r.bonus_payout !== null,
  );
  const has_items = rows.some((r) => r.item !== null);
  const insertion = tx`
    insert into ledger (project_no, reference, ordinal, event, player_id, occurred_at, currency, amount, payout,
      base_amount, base_payout, rate, rate_ts, rate_is_inverse, ingestion_id, event_index, log_partition, log_offset,
      detail_hash, item_no, movement_id, reason, bonus_stake, bonus_payout, base_bonus_stake, base_bonus_payout)
    select p.project_no, r.reference, r.ordinal, r.event, r.player_id,
      'epoch'::timestamptz + r.occurred_at_ms * interval '1 millisecond', r.currency,
      r.amount, r.payout, r.base_amount, r.base_payout, ${has_rates ? tx`r.rate, 'epoch'::timestamptz + r.rate_ts_ms * interval '1 millisecond', r.rate_is_inverse` : tx`null, null, null`},
      r.ingestion_id, r.event_index, ${log_partition}::smallint, r.log_offset, r.detail_hash,
      ${
        has_items
          ? tx`(select b.item_no from bet_items b where b.project_no = p.project_no and b.item_key = r.item_key)`
          : tx`null`
      },
      ${has_parts ? tx`r.movement_id, r.reason, r.bonus_stake, r.bonus_payout, r.base_bonus_stake, r.base_bonus_payout` : tx`null, null, null, null, null, null`}
    from ${projectsInPlaces(tx, projects)} p
    join ${rowsOf(tx, 'r', rows, { ...columns, ...(has_rates ? rates : {}), ...(has_items ? items : {}), ...(has_parts ? parts : {}) })} using (place)`;
  return async () => void (await insertion);
}

/** Has event-rewriter write what the rows count now into their events in ClickHouse. */
function insertCorrections(tx: Tx, rows: readonly LedgerRow[]): Write {
  return rows.length === 0 ? nothing : () => queueCorrections(tx, rows);
}

/** Players whose tier is to be computed again: at once, because a total crossed what a tier requires, or by the daily sweep. */
interface TierRechecks {
  immediate: TierRequest[];
  daily: TierRequest[];
}

/**
 * Inserts the totals of new players and adds to those of known players. A known player without a totals row was merged
 * into another since it was read: that is a write conflict. Sorted for the same reason as the
 * rows of the ledger. The trigger that notes changed players for player-mirror looks for the new `changed_xid`.
 */
function addToTotals(
  tx: Tx,
  players: PlayerEffect[],
  {
    new_ids,
    thresholds,
  }: { new_ids: ReadonlySet<string>; thresholds: ReadonlyMap<string, TenantThresholds> },
  now_ms: number,
): Write<TierRechecks> {
  const sorted = players.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
  const added = sorted.filter((player) => new_ids.has(player.player_id));
  const known = sorted.filter((player) => !new_ids.has(player.player_id));
  const insertion = insertTotals(tx, added, now_ms);
  const update = updateTotals(tx, known, now_ms, thresholds);
  return async () => {
    const [, updated] = await Promise.all([insertion(), update()]);
    const rechecks: TierRechecks = { immediate: [], daily: [] };
    recheckNew(rechecks, added, thresholds);
    recheckKnown(rechecks, known, updated, thresholds);
    return rechecks;
  };
}

/** Those whose first events cross a threshold; a tier that requires no totals is given by the daily sweep. */
function recheckNew(
  rechecks: TierRechecks,
  added: readonly PlayerEffect[],
  thresholds: ReadonlyMap<string, TenantThresholds>,
): void {
  if (thresholds.size === 0) return;
  for (const player of added) {
    const of_tenant = thresholds.get(player.tenant_id);
    if (of_tenant === undefined) continue;
    if (crossed(of_tenant, NO_TOTALS, player.sums)) rechecks.immediate.push(player);
    else if (of_tenant.thresholds.some((one) => fits(NO_TOTALS, one))) rechecks.daily.push(player);
  }
}

/** player_id, the totals after the batch, whether the first event is one of the batch, and whether a demotion is over. */
type UpdatedTotals = [string, bigint, bigint, boolean | null, boolean | null];

/**
 * Those whose totals cross a threshold, and those who are back after a demotion. If the first event of a player turns out
 * to be earlier, the days may fit: the daily sweep computes the tier.
 */
function recheckKnown(
  rechecks: TierRechecks,
  known: readonly PlayerEffect[],
  updated: readonly UpdatedTotals[],
  thresholds: ReadonlyMap<string, TenantThresholds>,
): void {
  const by_id = new Map(known.map((player) => [player.player_id, player]));
  for (const [player_id, total_deposited, total_wagered, is_first, is_back] of updated) {
    const player = by_id.get(player_id);
    const of_tenant = player && thresholds.get(player.tenant_id);
    if (player === undefined || of_tenant === undefined) continue;
    const before = {
      total_deposited: total_deposited - player.sums.total_deposited,
      total_wagered: total_wagered - player.sums.total_wagered,
    };
    const has_crossed = crossed(of_tenant, before, { total_deposited, total_wagered });
    if (has_crossed || is_back === true) rechecks.immediate.push(player);
    else if (is_first === true && of_tenant.counts_days) rechecks.daily.push(player);
  }
}

function insertTotals(tx: Tx, players: PlayerEffect[], now_ms: number): Write {
  if (players.length === 0) return nothing;
  const now = new Date(now_ms);
  const has_feed_sums = players.some(hasFeedSums);
  const has_deposits = players.some(hasDeposit);
  const insertion = tx`
    insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, total_deposited,
      total_withdrawn, total_wagered, total_won, bet_count, session_count, pending_conversions,
      ${has_feed_sums ? tx`total_bonus_wagered, total_bonus_won, total_credited, total_debited,` : tx``}
      ${has_deposits ? tx`first_deposit_at,` : tx``} last_active_at, updated_at)
    select r.tenant_id, r.project_id, r.player_id, coalesce(r.first_seen_at, ${now}), coalesce(r.last_seen_at, ${now}),
      r.deposited, r.withdrawn, r.wagered, r.won, r.bets, r.sessions, r.pending,
      ${has_feed_sums ? tx`r.bonus_wagered, r.bonus_won, r.credited, r.debited,` : tx``}
      ${has_deposits ? tx`r.first_deposit_at,` : tx``} coalesce(r.last_active_at, '-infinity'), ${now}
    from ${totalsRows(tx, players, { has_feed_sums, has_deposits })}`;
  return async () => void (await insertion);
}

/** Returns rows only for a batch with tenants that have tiers: each returned row costs time. */
function updateTotals(
  tx: Tx,
  players: PlayerEffect[],
  now_ms: number,
  thresholds: ReadonlyMap<string, TenantThresholds>,
): Write<UpdatedTotals[]> {
  if (players.length === 0) return async () => [];
  const has_feed_sums = players.some(hasFeedSums);
  const has_deposits = players.some(hasDeposit);
  const returning =
    thresholds.size === 0
      ? tx``
      : tx`returning t.player_id, t.total_deposited, t.total_wagered, t.first_seen_at = r.first_seen_at,
          t.tier_demoted_at < t.last_active_at`;
  const update = tx`
    update player_totals t set
      first_seen_at = least(t.first_seen_at, r.first_seen_at),
      listed_at = case when r.last_seen_at >= t.listed_at + ${LISTED_WITHIN_MS}::integer * interval '1 millisecond'
        then r.last_seen_at else t.listed_at end,
      seen_at = greatest(t.seen_at, t.listed_at, r.last_seen_at),
      last_active_at = greatest(t.last_active_at, r.last_active_at),
      ${has_deposits ? tx`first_deposit_at = least(t.first_deposit_at, r.first_deposit_at),` : tx``}
      total_deposited = t.total_deposited + r.deposited,
      total_withdrawn = t.total_withdrawn + r.withdrawn,
      total_wagered = t.total_wagered + r.wagered,
      total_won = t.total_won + r.won,
      ${
        has_feed_sums
          ? tx`total_bonus_wagered = t.total_bonus_wagered + r.bonus_wagered,
              total_bonus_won = t.total_bonus_won + r.bonus_won,
              total_credited = t.total_credited + r.credited, total_debited = t.total_debited + r.debited,`
          : tx``
      }
      bet_count = t.bet_count + r.bets,
      session_count = t.session_count + r.sessions,
      pending_conversions = t.pending_conversions + r.pending,
      updated_at = ${new Date(now_ms)},
      changed_xid = pg_current_xact_id()
    from ${totalsRows(tx, players, { has_feed_sums, has_deposits })}
    where t.tenant_id = r.tenant_id and t.project_id = r.project_id and t.player_id = r.player_id
    ${returning}`.values();
  return async () => {
    const updated = await update;
    if (updated.count !== players.length)
      throw new WriteConflict('a player of this batch was merged into another');
    return thresholds.size === 0 ? [] : (updated as unknown as UpdatedTotals[]);
  };
}

/**
 * A status changes only by an event that is not older than the one that set it, and a pause only gets longer. A ban or
 * a deletion hides an exclusion in `status`, but does not end it: `self_excluded` keeps its value.
 */
async function updateStatuses(tx: Tx, c: readonly PlayerStatusChange[], now: Date): Promise<void> {
  await tx`
    with r as (
      select r.tenant_id, r.project_id, r.player_id,
        r.excluded, 'epoch'::timestamptz + r.excluded_ms * interval '1 millisecond' as excluded_at,
        'epoch'::timestamptz + r.cooldown_ms * interval '1 millisecond' as cooldown_until
      from ${rowsOf(tx, 'r', c, {
        ...PROJECT_KEY,
        player_id: 'uuid',
        excluded: ['boolean', (r) => r.self_excluded?.value ?? null],
        excluded_ms: ['bigint', (r) => r.self_excluded?.at_ms ?? null],
        cooldown_ms: ['bigint', (r) => r.cooldown?.until_ms ?? null],
      })}
    ), judged as (
      select r.*,
        r.excluded is not null and (p.self_excluded_at is null or p.self_excluded_at < r.excluded_at
          or (p.self_excluded_at = r.excluded_at and r.excluded)) as excluded_holds
      from r join players p using (tenant_id, project_id, player_id)
      for update of p
    )
    update players p set
      self_excluded = case when excluded_holds then j.excluded else p.self_excluded end,
      self_excluded_at = case when excluded_holds then j.excluded_at else p.self_excluded_at end,
      status = case
        when excluded_holds and j.excluded and p.status in ('active', 'conflict') then 'self_excluded'
        when excluded_holds and not j.excluded and p.status = 'self_excluded' then 'active'
        else p.status end,
      cooldown_until = greatest(p.cooldown_until, j.cooldown_until),
      updated_at = ${now}
    from judged j
    where p.tenant_id = j.tenant_id and p.project_id = j.project_id and p.player_id = j.player_id`;
}

/** Changes statuses, round by round, and records since when and until when players are excluded. */
async function changeStatuses(tx: Tx, rounds: PlayerStatusChange[][], now_ms: number): Promise<void> {
  const now = new Date(now_ms);
  // Sent together, run in this order.
  await Promise.all(
    rounds.flatMap((changes) => {
      const sorted = changes.toSorted((a, b) => (a.player_id < b.player_id ? -1 : 1));
      return [updateStatuses(tx, sorted, now), recordExclusions(tx, sorted.map(causeOf), now)];
    }),
  );
}

function causeOf({ self_excluded, cooldown, ...ref }: PlayerStatusChange): ExclusionCause {
  const { tenant_id, project_id, player_id } = ref;
  return {
    tenant_id,
    project_id,
    player_id,
    source: 'event',
    excluded_at_ms: self_excluded?.at_ms,
    excluded_by: self_excluded?.by,
    cooldown_at_ms: cooldown?.at_ms,
    cooldown_by: cooldown?.by,
  };
}
