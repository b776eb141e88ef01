import type { ProjectSession } from '../../http/endpoint.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import { readPage, type PageQuery } from '../../http/keyset-page.ts';
import type { NotCountedReason } from '../../ledger/money/bets.ts';
import { byKind, effectOf } from '../../ledger/money/counting.ts';
import type { LedgerRow } from '../../ledger/money/ledger.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { requirePlayer } from '../profile/read.ts';
import {
  findMoneyEvents,
  selectLedgerRows,
  toShownRow,
  type MoneyEventRow,
  type ShownAdjustment,
} from './ledger-queries.ts';
import { POSITION_SHAPE, positionOf, type HistoryDeps, type TimelinePosition } from './queries.ts';
import { jsonDigits, exactJson } from '../../platform/exact-json.ts';

/**
 * A page of the rows of the ledger of a player, the newest first by event time. ClickHouse says which they are, so that a
 * row is shown once its event is there; the amounts are those of the ledger. Rejects with PLAYER_NOT_FOUND.
 */
export async function ledgerPage(
  { postgres, clickhouse }: HistoryDeps,
  { tenant_id, project_id }: ProjectSession,
  id: string,
  page: PageQuery,
): Promise<string> {
  const project = { tenant_id, project_id };
  const { player_id, event_player_ids } = await requirePlayer(postgres, { ...project, player_id: id });
  const { rows, next_cursor } = await readPage<MoneyEventRow, TimelinePosition>(
    {
      scope: { kind: 'player-ledger', project_id, filters: { player_id } },
      shape: POSITION_SHAPE,
      positionOf,
      select: (after, count) => findMoneyEvents(clickhouse, { ...project, event_player_ids }, after, count),
    },
    page,
  );
  const shown = await ledgerLines(postgres, project, rows);
  return envelopeOfText(`[${shown.join(',')}]`, { next_cursor });
}

/** The rows of the ledger of these events, in their order, as JSON text. */
export async function ledgerLines(
  postgres: Postgres,
  project: ProjectRef,
  rows: readonly MoneyEventRow[],
): Promise<string[]> {
  if (rows.length === 0) return [];
  const { tenant_id } = project;
  const found = (await postgres.readAsTenant(tenant_id, (tx) => selectLedgerRows(tx, project, rows))).map(
    (columns) => toShownRow(project, columns),
  );
  const reasons = notCountedOf(found.map(({ row }) => row));
  const by_event = new Map(found.map((one) => [keyOf(one.row), one]));
  return rows.flatMap((event) => {
    const one = by_event.get(keyOf(event));
    return one === undefined ? [] : [rowJson(one.row, one.adjustments, reasons.get(one.row))];
  });
}

/** Why rows with money count nothing: the rows of a reference count together. */
function notCountedOf(rows: readonly LedgerRow[]): Map<LedgerRow, NotCountedReason> {
  const of_reference = new Map<string, LedgerRow[]>();
  for (const row of rows) {
    const others = of_reference.get(row.reference);
    if (others === undefined) of_reference.set(row.reference, [row]);
    else others.push(row);
  }
  const reasons = new Map<LedgerRow, NotCountedReason>();
  for (const all of of_reference.values()) {
    for (const [kind, of_kind] of byKind(all)) {
      for (const [row, reason] of effectOf(kind, of_kind).notCounted()) reasons.set(row, reason);
    }
  }
  return reasons;
}

const keyOf = ({ ingestion_id, event_index }: Pick<MoneyEventRow, 'ingestion_id' | 'event_index'>) =>
  `${ingestion_id} ${event_index}`;

/** Amounts are written digit by digit: one in wei has more digits than a double. */
function rowJson(row: LedgerRow, adjustments: string | null, reason: NotCountedReason | undefined): string {
  const has_money = row.amount !== null || row.payout !== null;
  return exactJson({
    event: row.event,
    reference: row.reference,
    movement_id: row.movement_id,
    at: new Date(row.occurred_at_ms),
    currency: row.currency,
    amount: row.amount,
    payout: row.payout,
    bonus_stake: row.bonus_stake,
    bonus_payout: row.bonus_payout,
    reason: row.reason,
    base_amount: row.base_amount,
    base_payout: row.base_payout,
    base_bonus_stake: row.base_bonus_stake,
    base_bonus_payout: row.base_bonus_payout,
    rate: row.rate?.rate ?? null,
    rate_ts: row.rate === null ? null : new Date(row.rate.ts_ms),
    rate_is_inverse: row.rate?.is_inverse ?? null,
    counts: has_money ? reason === undefined : null,
    not_counted_reason: reason ?? null,
    adjustments: (JSON.parse(adjustments ?? '[]') as ShownAdjustment[]).map(adjustmentJson),
    ingestion_id: row.ingestion_id,
    event_index: row.event_index,
  });
}

function adjustmentJson(was: ShownAdjustment) {
  return {
    adjusted_at: new Date(was.adjusted_ms),
    base_amount: jsonDigits(was.base_amount),
    base_payout: jsonDigits(was.base_payout),
    base_bonus_stake: jsonDigits(was.base_bonus_stake),
    base_bonus_payout: jsonDigits(was.base_bonus_payout),
    rate: was.rate,
    rate_ts: was.rate_ts_ms === null ? null : new Date(was.rate_ts_ms),
    rate_is_inverse: was.rate_is_inverse,
  };
}
