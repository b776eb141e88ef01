import type { ProjectSession } from '../../http/endpoint.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import { readPage, type PageQuery } from '../../http/keyset-page.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { requirePlayer } from '../profile/read.ts';
import {
  findMoneyEvents,
  selectLedgerRows,
  type MoneyEventRow,
  type ShownAdjustment,
  type ShownLedgerRow,
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
  const found = await postgres.readAsTenant(tenant_id, (tx) => selectLedgerRows(tx, project, rows));
  const by_event = new Map(found.map((row) => [keyOf(row), row]));
  return rows.flatMap((event) => {
    const row = by_event.get(keyOf(event));
    return row === undefined ? [] : [rowJson(row)];
  });
}

const keyOf = ({ ingestion_id, event_index }: Pick<MoneyEventRow, 'ingestion_id' | 'event_index'>) =>
  `${ingestion_id} ${event_index}`;

/** Amounts are written digit by digit: one in wei has more digits than a double. */
function rowJson(row: ShownLedgerRow): string {
  const rate_ts_ms = row.rate_ts_ms === null ? null : Number(row.rate_ts_ms);
  return exactJson({
    event: row.event,
    reference: row.reference,
    at: row.occurred_at,
    currency: row.currency,
    amount: jsonDigits(row.amount),
    payout: jsonDigits(row.payout),
    ...moneyOf({ ...row, rate_ts_ms }),
    adjustments: (JSON.parse(row.adjustments) as ShownAdjustment[]).map(({ adjusted_ms, ...money }) => ({
      adjusted_at: new Date(adjusted_ms),
      ...moneyOf(money),
    })),
    ingestion_id: row.ingestion_id,
    event_index: row.event_index,
  });
}

function moneyOf(money: Omit<ShownAdjustment, 'adjusted_ms'>) {
  return {
    base_amount: jsonDigits(money.base_amount),
    base_payout: jsonDigits(money.base_payout),
    rate: money.rate,
    rate_ts: money.rate_ts_ms === null ? null : new Date(money.rate_ts_ms),
    rate_is_inverse: money.rate_is_inverse,
  };
}
