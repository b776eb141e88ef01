import type { Conversion } from '../money/conversion.ts';
import { JOIN_SURVIVOR, LEDGER_COLUMNS, toLedgerRow, type LedgerValues } from '../money/ledger-queries.ts';
import type { BetKind, LedgerRow } from '../money/ledger.ts';
import { plainArray, textArray } from '../../platform/postgres/arrays.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { readKyc } from '../../players/kyc/decisions/decision-queries.ts';
import { mayEventsDecide } from '../../players/kyc/decisions/models.ts';
import { anonymousIdentityKey, betKey, playerIdentityKey, referenceKey } from './fold-event.ts';
import { conversionKey, type ProjectOwner, type Snapshot, type SnapshotRequest } from './snapshot.ts';

/**
 * Reads everything a batch needs in one round trip. Each look-up is a `lateral … offset 0`, which reads key by key
 * through the index. For a plain join the planner may choose to scan the whole table.
 *
 * Each statement sees what was committed when it began. So the revisions of bets are read before their ledger rows: a
 * transaction that commits in between raises a revision that was read, and the write detects that. In the opposite
 * order a new revision could be read with old rows, and a bet would count twice.
 *
 * Rates are read after the transaction has its id. fx-restater handles every new rate, and before that it waits for
 * all transactions that may have read rates without it; it finds them by their ids.
 */
export async function readSnapshot(tx: Tx, request: SnapshotRequest): Promise<Snapshot> {
  const players = new Map<string, string>();
  const [projects, , , betRevisions, ledger, conversions] = await Promise.all([
    readProjects(tx, request.projects),
    readAnonymous(tx, request.anonymous, players),
    readPlayers(tx, request.players, players),
    readBetRevisions(tx, request.bets),
    readLedger(tx, request.references),
    readConversions(tx, request.conversions),
  ]);
  const kyc = await readDecidableKyc(tx, request.kyc, { projects, players });
  return { players, ledger, betRevisions, projects, conversions, kyc };
}

/** The KYC of the players whose tenants let events decide it; nothing is asked for other batches, which are nearly all. */
async function readDecidableKyc(
  tx: Tx,
  wanted: SnapshotRequest['kyc'],
  { projects, players }: Pick<Snapshot, 'projects' | 'players'>,
): Promise<Snapshot['kyc']> {
  const refs = wanted.flatMap(({ tenant_id, project_id, identity_key }) => {
    const owner = projects.get(project_id);
    const player_id = players.get(identity_key);
    const is_decidable = owner?.tenant_id === tenant_id && mayEventsDecide(owner.kyc_model);
    return player_id === undefined || !is_decidable ? [] : [{ tenant_id, project_id, player_id }];
  });
  return readKyc(tx, refs);
}

/** The conversion of each wanted currency to its tenant's base currency at the wanted time; no entry without a rate. */
async function readConversions(
  tx: Tx,
  wanted: SnapshotRequest['conversions'],
): Promise<Map<string, Conversion>> {
  if (wanted.length === 0) return new Map();
  type Values = [string, string, bigint, string, bigint, boolean, number, number];
  const [, rows] = await Promise.all([
    tx`select pg_current_xact_id()`,
    tx`
      select r.tenant_id, r.currency, r.at_ms, x.rate::text, epoch_ms(x.rate_ts), x.rate_is_inverse, c.scale, b.scale
      from unnest(${plainArray(wanted.map((r) => r.tenant_id))}::text::uuid[],
        ${textArray(wanted.map((r) => r.currency))}::text::text[],
        ${plainArray(wanted.map((r) => r.occurred_at_ms))}::text::bigint[]) as r (tenant_id, currency, at_ms)
      join tenants t using (tenant_id)
      join currencies c on c.tenant_id = r.tenant_id and c.code = r.currency
      join currencies b on b.tenant_id = r.tenant_id and b.code = t.base_currency
      cross join lateral rate_at(r.tenant_id, r.currency, t.base_currency,
        'epoch'::timestamptz + r.at_ms * interval '1 millisecond') x
      where r.currency <> t.base_currency`.values() as unknown as Promise<Values[]>,
  ]);
  return new Map(
    rows.map(([tenant_id, currency, at_ms, rate, ts_ms, is_inverse, from_scale, to_scale]) => [
      conversionKey(tenant_id, currency, Number(at_ms)),
      { rate, ts_ms: Number(ts_ms), is_inverse, from_scale, to_scale },
    ]),
  );
}

async function readProjects(
  tx: Tx,
  projects: SnapshotRequest['projects'],
): Promise<Map<string, ProjectOwner>> {
  const rows = await tx<(ProjectOwner & { project_id: string })[]>`
    select p.project_id, p.tenant_id, t.base_currency,
      case when c.is_kyc_model_chosen then c.kyc_model end as kyc_model
    from unnest(${plainArray(projects.map((r) => r.tenant_id))}::text::uuid[],
      ${plainArray(projects.map((r) => r.project_id))}::text::uuid[]) as r (tenant_id, project_id)
    join projects p using (tenant_id, project_id)
    join tenants t using (tenant_id)
    left join tenant_configs c using (tenant_id)`;
  return new Map(rows.map((row) => [row.project_id, row]));
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
    cross join lateral (
      select * from player_identities i where i.tenant_id = r.tenant_id and i.project_id = r.project_id
        and i.anonymous_id = r.anonymous_id offset 0) i`.values()) as unknown as [string, string, string][];
  for (const [project_id, id, player_id] of rows) into.set(anonymousIdentityKey(project_id, id), player_id);
}

async function readPlayers(
  tx: Tx,
  ids: SnapshotRequest['players'],
  into: Map<string, string>,
): Promise<void> {
  if (ids.length === 0) return;
  const rows = (await tx`
    select r.project_id, r.player_id, p.player_id
    from unnest(${plainArray(ids.map((r) => r.tenant_id))}::text::uuid[],
      ${plainArray(ids.map((r) => r.project_id))}::text::uuid[],
      ${plainArray(ids.map((r) => r.id))}::text::uuid[]) as r (tenant_id, project_id, player_id)
    cross join lateral (
      select p.player_id from players p where p.tenant_id = r.tenant_id and p.project_id = r.project_id
        and p.player_id = r.player_id
      union all
      select m.into_player_id from player_merges m where m.tenant_id = r.tenant_id and m.project_id = r.project_id
        and m.player_id = r.player_id
      offset 0) p`.values()) as unknown as [string, string, string][];
  for (const [project_id, named_id, player_id] of rows)
    into.set(playerIdentityKey(project_id, named_id), player_id);
}

/** All rows of the given transaction_ids and bet_ids, by reference key. Rows of a merged player name the survivor. */
export async function readLedger(
  tx: Tx,
  references: SnapshotRequest['references'],
): Promise<Map<string, LedgerRow[]>> {
  const ledger = new Map<string, LedgerRow[]>();
  if (references.length === 0) return ledger;
  const rows = (await tx`
    select ${tx.unsafe(LEDGER_COLUMNS)}
    from unnest(${plainArray(references.map((r) => r.tenant_id))}::text::uuid[],
      ${plainArray(references.map((r) => r.project_id))}::text::uuid[],
      ${textArray(references.map((r) => r.reference))}::text::text[]) as r (tenant_id, project_id, reference)
    cross join lateral (
      select * from ledger l where l.tenant_id = r.tenant_id and l.project_id = r.project_id
        and l.reference = r.reference offset 0) l
    ${tx.unsafe(JOIN_SURVIVOR)}`.values()) as unknown as LedgerValues[];
  for (const values of rows) {
    const row = toLedgerRow(values);
    const key = referenceKey(row.project_id, row.reference);
    const list = ledger.get(key);
    if (list === undefined) ledger.set(key, [row]);
    else list.push(row);
  }
  return ledger;
}

/** The revisions of bets, by {@link betKey}. */
export async function readBetRevisions(tx: Tx, bets: SnapshotRequest['bets']): Promise<Map<string, number>> {
  if (bets.length === 0) return new Map();
  const rows = (await tx`
    select b.project_id, b.kind, b.bet_id, b.revision
    from unnest(${plainArray(bets.map((r) => r.tenant_id))}::text::uuid[],
      ${plainArray(bets.map((r) => r.project_id))}::text::uuid[],
      ${plainArray(bets.map((r) => r.kind))}::text::bet_kind[],
      ${textArray(bets.map((r) => r.bet_id))}::text::text[]) as r (tenant_id, project_id, kind, bet_id)
    cross join lateral (
      select * from bets b where b.tenant_id = r.tenant_id and b.project_id = r.project_id
        and b.kind = r.kind and b.bet_id = r.bet_id offset 0) b`.values()) as unknown as [
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
