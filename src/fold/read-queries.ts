import type { BetKind, LedgerRow, MoneyEvent } from '../money/ledger.ts';
import { plainArray, textArray } from '../platform/postgres/arrays.ts';
import type { Tx } from '../platform/postgres/port.ts';
import { betKey, referenceKey, type Snapshot, type SnapshotRequest } from './snapshot.ts';

/** Reads everything a batch needs in one round trip. */
export async function readSnapshot(tx: Tx, request: SnapshotRequest): Promise<Snapshot> {
  const players = new Map<string, string>();
  const [baseCurrencies, , , ledger, betRevisions] = await Promise.all([
    readBaseCurrencies(tx, request.tenants),
    readAnonymous(tx, request.anonymous, players),
    readPlayers(tx, request.players, players),
    readLedger(tx, request.references),
    readBetRevisions(tx, request.bets),
  ]);
  return { players, ledger, betRevisions, baseCurrencies };
}

async function readBaseCurrencies(tx: Tx, tenants: string[]): Promise<Map<string, string>> {
  const rows = await tx<{ tenant_id: string; base_currency: string }[]>`
    select tenant_id, base_currency from tenants where tenant_id = any(${plainArray(tenants)}::text::uuid[])`;
  return new Map(rows.map((row) => [row.tenant_id, row.base_currency]));
}

async function readAnonymous(
  tx: Tx,
  ids: SnapshotRequest['anonymous'],
  into: Map<string, string>,
): Promise<void> {
  if (ids.length === 0) return;
  const rows = (await tx`
    select i.project_id, i.anonymous_id, i.player_id
    from unnest(${plainArray(ids.map((r) => r.tenant_id))}::text::uuid[],
      ${plainArray(ids.map((r) => r.project_id))}::text::uuid[],
      ${textArray(ids.map((r) => r.id))}::text::text[]) as r (tenant_id, project_id, anonymous_id)
    join player_identities i using (tenant_id, project_id, anonymous_id)`.values()) as unknown as [
    string,
    string,
    string,
  ][];
  for (const [project_id, id, player_id] of rows) into.set(`${project_id}:a:${id}`, player_id);
}

async function readPlayers(
  tx: Tx,
  ids: SnapshotRequest['players'],
  into: Map<string, string>,
): Promise<void> {
  if (ids.length === 0) return;
  const rows = (await tx`
    select p.project_id, p.player_id
    from unnest(${plainArray(ids.map((r) => r.tenant_id))}::text::uuid[],
      ${plainArray(ids.map((r) => r.project_id))}::text::uuid[],
      ${plainArray(ids.map((r) => r.id))}::text::uuid[]) as r (tenant_id, project_id, player_id)
    join players p using (tenant_id, project_id, player_id)`.values()) as unknown as [string, string][];
  for (const [project_id, player_id] of rows) into.set(`${project_id}:p:${player_id}`, player_id);
}

type LedgerValues = [
  string,
  string,
  string,
  MoneyEvent,
  bigint,
  string,
  Date,
  string | null,
  string | null,
  string | null,
  bigint | null,
  bigint | null,
  string,
  number,
  number,
  bigint,
];

async function readLedger(
  tx: Tx,
  references: SnapshotRequest['references'],
): Promise<Map<string, LedgerRow[]>> {
  const ledger = new Map<string, LedgerRow[]>();
  if (references.length === 0) return ledger;
  const rows = (await tx`
    select l.tenant_id, l.project_id, l.reference, l.event, l.occurrence, l.player_id, l.occurred_at, l.currency,
      l.amount, l.payout, l.base_amount, l.base_payout, l.ingestion_id, l.event_index, l.log_partition, l.log_offset
    from unnest(${plainArray(references.map((r) => r.tenant_id))}::text::uuid[],
      ${plainArray(references.map((r) => r.project_id))}::text::uuid[],
      ${textArray(references.map((r) => r.reference))}::text::text[]) as r (tenant_id, project_id, reference)
    join ledger l using (tenant_id, project_id, reference)`.values()) as unknown as LedgerValues[];
  for (const values of rows) {
    const row = toLedgerRow(values);
    const key = referenceKey(row.project_id, row.reference);
    const list = ledger.get(key);
    if (list === undefined) ledger.set(key, [row]);
    else list.push(row);
  }
  return ledger;
}

function toLedgerRow(v: LedgerValues): LedgerRow {
  return {
    tenant_id: v[0],
    project_id: v[1],
    reference: v[2],
    event: v[3],
    occurrence: Number(v[4]),
    player_id: v[5],
    occurred_at_ms: v[6].getTime(),
    currency: v[7],
    amount: v[8] === null ? null : BigInt(v[8]),
    payout: v[9] === null ? null : BigInt(v[9]),
    base_amount: v[10],
    base_payout: v[11],
    ingestion_id: v[12],
    event_index: v[13],
    log_partition: v[14],
    log_offset: v[15],
  };
}

async function readBetRevisions(tx: Tx, bets: SnapshotRequest['bets']): Promise<Map<string, number>> {
  if (bets.length === 0) return new Map();
  const rows = (await tx`
    select b.project_id, b.kind, b.bet_id, b.revision
    from unnest(${plainArray(bets.map((r) => r.tenant_id))}::text::uuid[],
      ${plainArray(bets.map((r) => r.project_id))}::text::uuid[],
      ${plainArray(bets.map((r) => r.kind))}::text::text[],
      ${textArray(bets.map((r) => r.bet_id))}::text::text[]) as r (tenant_id, project_id, kind, bet_id)
    join bets b using (tenant_id, project_id, kind, bet_id)`.values()) as unknown as [
    string,
    BetKind,
    string,
    number,
  ][];
  return new Map(
    rows.map(([project_id, kind, bet_id, revision]) => [betKey(project_id, kind, bet_id), revision]),
  );
}

/** The next offset to apply, or undefined before the partition's first batch. */
export async function readPosition(tx: Tx, topic: string, partition: number): Promise<bigint | undefined> {
  const [row] = await tx<{ next_offset: bigint }[]>`
    select next_offset from fold_positions where topic = ${topic} and partition = ${partition}`;
  return row?.next_offset;
}
