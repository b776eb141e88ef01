import { JOIN_SURVIVOR } from '../../analytics/correction-queries.ts';
import type { Conversion } from '../money/conversion.ts';
import { LEDGER_COLUMNS, toLedgerRow, type LedgerValues } from '../money/ledger-queries.ts';
import type { LedgerRow } from '../money/ledger.ts';
import { placesOf, projectsInPlaces } from '../../tenants/project-numbers-queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import { rowsOf } from '../../platform/postgres/rows.ts';
import { PROJECT_KEY } from '../../tenants/project-ref.ts';
import { readKyc } from '../../protection/kyc/decision-queries.ts';
import { mayEventsDecide } from '../../protection/kyc/decide.ts';
import { anonymousIdentityKey, playerIdentityKey, referenceKey } from './fold-event.ts';
import { readEventIds } from './event-ids-queries.ts';
import { readSentIds } from './sent-ids-queries.ts';
import { conversionKey, type ProjectOwner, type Snapshot, type SnapshotRequest } from './snapshot.ts';

/**
 * Reads everything a batch needs in one round trip. Each look-up is a `lateral … offset 0`, which reads key by key
 * through the index. For a plain join the planner may choose to scan the whole table.
 *
 * Each statement sees what was committed when it began. What is committed later is noticed by the write: another row of
 * a reference that was read takes the ordinal of this batch's row.
 *
 * Rates are read after the transaction has its id. fx-restater handles every new rate, and before that it waits for
 * all transactions that may have read rates without it; it finds them by their ids.
 */
export async function readSnapshot(tx: Tx, request: SnapshotRequest): Promise<Snapshot> {
  const players = new Map<string, string>();
  const erased = new Set<string>();
  const [projects, , , ledger, conversions, event_ids, sent_ids] = await Promise.all([
    readProjects(tx, request.projects),
    readAnonymous(tx, request.anonymous, players, erased),
    readPlayers(tx, request.players, players, erased),
    readLedger(tx, request.references),
    readConversions(tx, request.conversions),
    readEventIds(tx, request.event_ids),
    readSentIds(tx, request.sent_ids),
  ]);
  const kyc = await readDecidableKyc(tx, request.kyc, { projects, players });
  return { players, erased, ledger, projects, conversions, event_ids, sent_ids, kyc };
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

/**
 * Keeps the scales of the currencies as they are until the transaction ends: a transaction that changes one waits for this one,
 * and then finds its rows. To be sent before the scales are read.
 */
export async function lockScales(tx: Tx, wanted: SnapshotRequest['conversions']): Promise<void> {
  if (wanted.length === 0) return;
  const currencies = new Map(wanted.map((one) => [`${one.tenant_id} ${one.currency}`, one]));
  await tx`
    select from ${rowsOf(tx, 'r', [...currencies.values()], { tenant_id: 'uuid', currency: 'text' })}
    cross join lateral (
      select from currencies c where c.tenant_id = r.tenant_id and c.code = r.currency for key share offset 0) c`;
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
      from ${rowsOf(tx, 'r', wanted, { tenant_id: 'uuid', currency: 'text', at_ms: ['bigint', (r) => r.occurred_at_ms] })}
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
    from ${rowsOf(tx, 'r', projects, PROJECT_KEY)}
    join projects p using (tenant_id, project_id)
    join tenants t using (tenant_id)
    left join tenant_configs c using (tenant_id)`;
  return new Map(rows.map((row) => [row.project_id, row]));
}

async function readAnonymous(
  tx: Tx,
  ids: SnapshotRequest['anonymous'],
  into: Map<string, string>,
  erased: Set<string>,
): Promise<void> {
  if (ids.length === 0) return;
  const rows = (await tx`
    select i.project_id, i.anonymous_id, i.player_id, i.is_erased
    from ${rowsOf(tx, 'r', ids, { ...PROJECT_KEY, anonymous_id: ['text', (r) => r.id] })}
    cross join lateral (
      select i.*, exists (select from players s where s.player_id = i.player_id and s.tenant_id = i.tenant_id
        and s.project_id = i.project_id and s.erased_at is not null) as is_erased
      from player_identities i where i.tenant_id = r.tenant_id and i.project_id = r.project_id
        and i.anonymous_id = r.anonymous_id offset 0) i`.values()) as unknown as [
    string,
    string,
    string,
    boolean,
  ][];
  for (const [project_id, id, player_id, is_erased] of rows) {
    into.set(anonymousIdentityKey(project_id, id), player_id);
    if (is_erased) erased.add(player_id);
  }
}

async function readPlayers(
  tx: Tx,
  ids: SnapshotRequest['players'],
  into: Map<string, string>,
  erased: Set<string>,
): Promise<void> {
  if (ids.length === 0) return;
  const rows = (await tx`
    select r.project_id, r.player_id, p.player_id, p.is_erased
    from ${rowsOf(tx, 'r', ids, { ...PROJECT_KEY, player_id: ['uuid', (r) => r.id] })}
    cross join lateral (
      select p.player_id, p.erased_at is not null as is_erased from players p
      where p.tenant_id = r.tenant_id and p.project_id = r.project_id and p.player_id = r.player_id
      union all
      select m.into_player_id, exists (select from players s where s.player_id = m.into_player_id
        and s.tenant_id = r.tenant_id and s.project_id = r.project_id and s.erased_at is not null)
      from player_merges m where m.tenant_id = r.tenant_id and m.project_id = r.project_id
        and m.player_id = r.player_id
      offset 0) p`.values()) as unknown as [string, string, string, boolean][];
  for (const [project_id, named_id, player_id, is_erased] of rows) {
    into.set(playerIdentityKey(project_id, named_id), player_id);
    if (is_erased) erased.add(player_id);
  }
}

/**
 * All rows of the given transaction_ids and bet_ids, by reference key, in the order of their ordinals. Rows of a merged
 * player name the survivor.
 */
export async function readLedger(
  tx: Tx,
  references: SnapshotRequest['references'],
): Promise<Map<string, LedgerRow[]>> {
  const ledger = new Map<string, LedgerRow[]>();
  if (references.length === 0) return ledger;
  const { projects, place } = placesOf(references);
  const rows = (await tx`
    select p.place, ${tx.unsafe(LEDGER_COLUMNS)}
    from ${projectsInPlaces(tx, projects)} p
    join ${rowsOf(tx, 'r', references, { place, reference: 'text' })} using (place)
    cross join lateral (
      select * from ledger l where l.project_no = p.project_no and l.reference = r.reference offset 0) l
    ${tx.unsafe(JOIN_SURVIVOR)}`.values()) as unknown as [number, ...LedgerValues][];
  for (const [place, ...values] of rows) {
    const project = projects[place - 1];
    if (project === undefined) throw new Error('a row of the ledger is of no project that was asked for');
    const row = toLedgerRow(project, values);
    const key = referenceKey(row.project_id, row.reference);
    const list = ledger.get(key);
    if (list === undefined) ledger.set(key, [row]);
    else list.push(row);
  }
  for (const list of ledger.values()) if (list.length > 1) list.sort((a, b) => a.ordinal - b.ordinal);
  return ledger;
}

/** The next offset to apply, or undefined before the partition's first batch. */
export async function readPosition(tx: Tx, topic: string, partition: number): Promise<bigint | undefined> {
  const [row] = await tx<{ next_offset: bigint }[]>`
    select next_offset from fold_positions where topic = ${topic} and partition = ${partition}`;
  return row?.next_offset;
}
